package disk

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A program is what a broker does in its data directory.
type program struct {
	t   testing.TB
	dir string
}

func (p program) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p program) path(name string) string { return filepath.Join(p.dir, name) }

// start starts a command. It ends with the test, also where an operation of its waits for
// ever.
func (p program) start(cmd *exec.Cmd) {
	p.t.Helper()
	p.must(cmd.Start())
	p.t.Cleanup(func() { cmd.Process.Kill() })
}

// shell starts a script in the directory.
func (p program) shell(script string) *exec.Cmd {
	p.t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = p.dir
	p.start(cmd)
	return cmd
}

// write writes at an offset, -1 for the end, and then syncs as it is told:
// "", fsync or fdatasync.
func (p program) write(name, data string, off int64, sync string, flags ...int) {
	p.t.Helper()
	mode := os.O_CREATE | os.O_RDWR
	for _, f := range flags {
		mode |= f
	}
	f, err := os.OpenFile(p.path(name), mode, 0o644)
	p.must(err)
	defer f.Close()
	if off < 0 {
		off, err = f.Seek(0, 2)
		p.must(err)
	}
	_, err = f.WriteAt([]byte(data), off)
	p.must(err)
	switch sync {
	case "fsync":
		p.must(f.Sync())
	case "fdatasync":
		p.must(unix.Fdatasync(int(f.Fd())))
	}
}

func (p program) sync(name string) { // a file or a directory
	p.t.Helper()
	f, err := os.Open(p.path(name))
	p.must(err)
	defer f.Close()
	p.must(f.Sync())
}

func (p program) rename(from, to string) { p.must(os.Rename(p.path(from), p.path(to))) }

// mapped writes through a shared mapping.
func (p program) mapped(name, data string, msync bool) {
	p.t.Helper()
	f, err := os.OpenFile(p.path(name), os.O_RDWR, 0)
	p.must(err)
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	p.must(err)
	copy(m, data)
	if msync {
		p.must(unix.Msync(m, unix.MS_SYNC))
	}
	p.must(unix.Munmap(m))
}

// A known is a tiny program whose outcome is known. base is done and synced
// before.
type known struct {
	name   string
	model  Model
	policy Policy
	base   func(program)
	run    func(program)
	want   string // name=content, by name
	lost   Loss
}

func old(p program) { p.write("a", "old", 0, "") }
func none(program)  {}

func allKnown() []known {
	return []known{
		{"write without a sync", Ext4(), LoseAll, old, func(p program) { p.write("a", "NEW", 0, "") }, "a=old", Loss{1, 3, 0}},
		{"write and fsync", Ext4(), LoseAll, old, func(p program) { p.write("a", "NEW", 0, "fsync") }, "a=NEW", Loss{}},
		{"write and fdatasync", Strict(), LoseAll, old, func(p program) { p.write("a", "NEW", 0, "fdatasync") }, "a=NEW", Loss{}},
		{"create and fsync, ext4", Ext4(), LoseAll, none, func(p program) { p.write("a", "new", 0, "fsync") }, "a=new", Loss{}},
		{"create and fdatasync, ext4", Ext4(), LoseAll, none, func(p program) { p.write("a", "new", 0, "fdatasync") }, "a=new", Loss{}},
		{"create and fsync, strict", Strict(), LoseAll, none, func(p program) { p.write("a", "new", 0, "fsync") }, "", Loss{0, 0, 1}},
		{"create, fsync and fsync of the directory", Strict(), LoseAll, none, func(p program) { p.write("a", "new", 0, "fsync"); p.sync("") }, "a=new", Loss{}},
		{"create and fsync of the directory only", Strict(), LoseAll, none, func(p program) { p.write("a", "new", 0, ""); p.sync("") }, "a=", Loss{1, 3, 0}},
		{"another file's fsync commits the entry, not the bytes", Ext4(), LoseAll, none, func(p program) { p.write("a", "new", 0, ""); p.write("b", "x", 0, "fsync") }, "a= b=x", Loss{1, 3, 0}},
		{"O_DSYNC", Ext4(), LoseAll, none, func(p program) { p.write("a", "new", 0, "", unix.O_DSYNC) }, "a=new", Loss{}},
		{"O_SYNC, strict", Strict(), LoseAll, old, func(p program) { p.write("a", "NEW", 0, "", unix.O_SYNC) }, "a=NEW", Loss{}},
		{"append", Ext4(), LoseAll, old, func(p program) { p.write("a", "+1", -1, "fsync"); p.write("a", "+2", -1, "") }, "a=old+1", Loss{1, 2, 0}},
		{"truncate", Ext4(), LoseAll, old, func(p program) { p.must(os.Truncate(p.path("a"), 1)) }, "a=old", Loss{1, 0, 0}},
		{"truncate and fsync", Strict(), LoseAll, old, func(p program) { p.must(os.Truncate(p.path("a"), 1)); p.sync("a") }, "a=o", Loss{}},
		{"open to write anew", Strict(), LoseAll, old, func(p program) { p.write("a", "N", 0, "", os.O_TRUNC) }, "a=old", Loss{1, 1, 0}},
		{"unlink", Ext4(), LoseAll, old, func(p program) { p.must(os.Remove(p.path("a"))) }, "a=old", Loss{0, 0, 1}},
		{"unlink and fsync of the directory", Strict(), LoseAll, old, func(p program) { p.must(os.Remove(p.path("a"))); p.sync("") }, "", Loss{}},
		{"replace without a sync", Ext4(), LoseAll, old, replace(""), "a=old", Loss{1, 3, 1}},
		{"replace with fsync", Ext4(), LoseAll, old, replace("fsync"), "a=old b=new", Loss{0, 0, 2}},
		{"replace: every byte, no entry", Ext4(), LostRename, old, replace(""), "a=old", Loss{0, 0, 1}},
		{"replace: every entry, no byte", Strict(), ZeroLength, old, replace(""), "a=", Loss{1, 3, 0}},
		{orderedBefore, Ext4(), LoseAll, old, func(p program) { replace("")(p); p.sync("") }, "a=new", Loss{}},
		{"replace, then a commit, on XFS", XFS(), LoseAll, old, func(p program) { replace("")(p); p.sync("") }, "a=", Loss{1, 3, 0}},
		{"a mapping", Ext4(), LoseAll, old, func(p program) { p.mapped("a", "MAP", false) }, "a=old", Loss{1, 3, 0}},
		{"a mapping and msync", Ext4(), LoseAll, old, func(p program) { p.mapped("a", "MAP", true) }, "a=MAP", Loss{}},
		{"made and removed again", Ext4(), LoseAll, old, func(p program) { p.write("b", "x", 0, ""); p.must(os.Remove(p.path("b"))) }, "a=old", Loss{}},
		{"a directory and a file in it", Ext4(), LoseAll, none, func(p program) { p.must(os.Mkdir(p.path("d"), 0o755)); p.write("d/a", "x", 0, "") }, "", Loss{1, 1, 2}},
		{"the same, the file synced", Ext4(), LoseAll, none, func(p program) { p.must(os.Mkdir(p.path("d"), 0o755)); p.write("d/a", "x", 0, "fsync") }, "d/a=x", Loss{}},
		{"the same, its directory not", Strict(), LoseAll, none, func(p program) { p.must(os.Mkdir(p.path("d"), 0o755)); p.write("d/a", "x", 0, "fsync"); p.sync("d") }, "", Loss{0, 0, 1}},
		{"a probe is no loss of the broker", Ext4(), LoseAll, old, func(p program) { p.write(ProbePrefix, "x", 0, "") }, "a=old", Loss{}},
	}
}

const orderedBefore = "replace, then a commit: the bytes are ordered before it"

func TestKnown(t *testing.T) {
	for _, test := range allKnown() {
		t.Run(test.name, func(t *testing.T) {
			c, dir := started(t, never(test.model))
			p := program{t, dir}
			test.base(p)
			p.must(c.Sync(t.Context()))
			test.run(p)
			pending, err := c.Report(t.Context())
			p.must(err)
			o, err := c.Crash(t.Context(), Crash{Policy: test.policy})
			p.must(err)
			if got := contents(t, dir); got != test.want {
				t.Errorf("left %q, want %q", got, test.want)
			}
			if strings.HasPrefix(test.name, "a mapping") && test.lost.Bytes > 0 {
				o.Dropped.Bytes = 3 // it came by the page
			}
			if o.Dropped != test.lost {
				t.Errorf("dropped %+v, want %+v; was pending %+v", o.Dropped, test.lost, pending)
			}
			if after, err := c.Report(t.Context()); err != nil || !after.Nothing() {
				t.Errorf("pending after the crash: %+v, %v", after, err)
			}
		})
	}
}

func replace(sync string) func(program) {
	return func(p program) { p.write("b", "new", 0, sync); p.rename("b", "a") }
}

// never is a model without the kernel's own writing: tests do not hang on time.
func never(m Model) Model {
	m.Commit, m.Writeback = 0, 0
	return m
}

func contents(t testing.TB, dir string) string {
	t.Helper()
	var list []string
	p := program{t, dir}
	p.must(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		list = append(list, name+"="+string(b))
		return err
	}))
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestTear reaches each of the cuts that a write can be torn at.
func TestTear(t *testing.T) {
	c, dir := started(t, never(Ext4()))
	p := program{t, dir}
	seen := map[int64]bool{}
	for seed := uint64(0); len(seen) < 3 && seed < 100; seed++ {
		p.write("a", strings.Repeat("o", 4096), 0, "fsync")
		p.write("a", strings.Repeat("N", 2048), 0, "")
		o, err := c.Crash(t.Context(), Crash{Policy: Torn, Seed: seed, Sector: 512})
		p.must(err)
		if o.Torn == nil || o.Dropped.Bytes != 2048-o.Torn.Kept || o.Kept.Bytes != o.Torn.Kept {
			t.Fatalf("%+v", o)
		}
		want := "a=" + strings.Repeat("N", int(o.Torn.Kept)) + strings.Repeat("o", 4096-int(o.Torn.Kept))
		if got := contents(t, dir); got != want {
			t.Fatalf("kept %d of it, and left %d new bytes", o.Torn.Kept, strings.Count(got, "N"))
		}
		seen[o.Torn.Kept] = true
	}
	if !seen[512] || !seen[1024] || !seen[1536] {
		t.Error("cuts", seen)
	}
}
