package disk

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// An outage is a tiny program on ext4, and then the power goes. The layer and
// a real ext4 must leave the same.
type outage struct {
	name string
	base func(program)
	run  func(program)
	wait wait   // after run
	want string // name=content, by name
	// real is what the real one leaves where both are right, and why says so.
	real, why string
	// early is what the real one leaves too, now and then, where a commit comes
	// while bytes are on their way: since Linux 5.6 (dioread_nolock) their blocks
	// are marked as unwritten until they are there, and no commit waits for those.
	early string
}

// A wait is how much time passes before the power goes.
type wait int

const (
	atOnce    wait = iota
	commit         // longer than a commit's interval, shorter than written bytes wait
	writeback      // until the kernel has written everything
)

// In the machine's time. Both timers are rounded up: the journal's to a second,
// the writing's to the 5 s after which the kernel looks again; and what it wrote
// waits for a commit.
const (
	afterCommit    = 7 * time.Second
	afterWriteback = 45 * time.Second
)

func (w wait) String() string { return [...]string{"", "7 s", "45 s"}[w] }

// outages are those of the known programs that lose all on ext4, and more.
func outages() (list []outage) {
	for _, k := range allKnown() {
		if k.model == Ext4() && k.policy == LoseAll {
			o := outage{name: k.name, base: k.base, run: k.run, want: k.want}
			if o.name == orderedBefore {
				o.early = "a=\x00\x00\x00"
			}
			list = append(list, o)
		}
	}
	return append(append(list, commitOutages()...), waitOutages()...)
}

func other(p program) { p.write("o", "x", 0, "fsync") }

// commitOutages are programs in which somebody else's sync commits the journal.
func commitOutages() []outage {
	two := func(p program) { p.write("a", "old", 0, ""); p.write("b", "old", 0, "") }
	return []outage{
		{name: "create; overwrite and fdatasync another file", base: two, want: "a=old b=NEW",
			run: func(p program) { p.write("c", "new", 0, ""); p.write("b", "NEW", 0, "fdatasync") }},
		{name: "create; overwrite and fsync another file", base: two, want: "a=old b=NEW c=",
			run: func(p program) { p.write("c", "new", 0, ""); p.write("b", "NEW", 0, "fsync") }},
		{name: "append; fsync of another file", base: old, want: "a=old\x00\x00 o=x",
			run: func(p program) { p.write("a", "+2", -1, ""); other(p) }},
		{name: "append to an empty file; fsync of another file", want: "a= o=x",
			base: func(p program) { p.write("a", "", 0, "") }, run: func(p program) { p.write("a", "new", 0, ""); other(p) }},
		{name: "append, unlink another; fsync, append", base: two, want: "a=old+1\x00\x00 o=x",
			run: func(p program) {
				p.write("a", "+1", -1, "fsync")
				p.must(os.Remove(p.path("b")))
				p.write("a", "+2", -1, "")
				other(p)
			}},
		{name: "truncate; fsync of another file", base: old, want: "a=o o=x",
			run: func(p program) { p.must(os.Truncate(p.path("a"), 1)); other(p) }},
		{name: "open to write anew", base: old, want: "a=old",
			run: func(p program) { p.write("a", "N", 0, "", os.O_TRUNC) }},
		{name: "open to write anew, close; fsync of another file", base: old, want: "a=N o=x", early: "a=\x00 o=x",
			run: func(p program) { p.write("a", "N", 0, "", os.O_TRUNC); other(p) }},
		{name: "unlink; fsync of another file", base: old, want: "o=x",
			run: func(p program) { p.must(os.Remove(p.path("a"))); other(p) }},
		{name: "rename to a new name; fsync of another file", base: none, want: "c= o=x",
			run: func(p program) { p.write("b", "new", 0, ""); p.rename("b", "c"); other(p) }},
		{name: "overwrite and sync_file_range", base: old, run: ranged, want: "a=old", real: "a=NEW",
			why: "without a flush, only a disk without a volatile cache has it"},
	}
}

// waitOutages are programs after which time passes.
func waitOutages() []outage {
	return []outage{
		{name: "create", base: none, wait: commit, want: "a=",
			run: func(p program) { p.write("a", "new", 0, "") }},
		{name: "overwrite", base: old, wait: commit, want: "a=old",
			run: func(p program) { p.write("a", "NEW", 0, "") }},
		{name: "append", base: old, wait: commit, want: "a=old\x00\x00",
			run: func(p program) { p.write("a", "+2", -1, "") }},
		{name: "truncate", base: old, wait: commit, want: "a=o",
			run: func(p program) { p.must(os.Truncate(p.path("a"), 1)) }},
		{name: "unlink", base: old, wait: commit, want: "",
			run: func(p program) { p.must(os.Remove(p.path("a"))) }},
		{name: "replace without a sync", base: old, wait: commit, want: "a=new", run: replace("")},
		{name: "open to write anew, close", base: old, wait: commit, want: "a=N",
			run: func(p program) { p.write("a", "N", 0, "", os.O_TRUNC) }},
		{name: "create", base: none, wait: writeback, want: "a=new",
			run: func(p program) { p.write("a", "new", 0, "") }},
		{name: "overwrite", base: old, wait: writeback, want: "a=NEW",
			run: func(p program) { p.write("a", "NEW", 0, "") }},
		{name: "append", base: old, wait: writeback, want: "a=old+2",
			run: func(p program) { p.write("a", "+2", -1, "") }},
	}
}

func ranged(p program) {
	f, err := os.OpenFile(p.path("a"), os.O_RDWR, 0)
	p.must(err)
	defer f.Close()
	_, err = f.WriteAt([]byte("NEW"), 0)
	p.must(err)
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	p.must(unix.SyncFileRange(int(f.Fd()), 0, 0, all))
}

// TestOutages checks what the layer leaves after each outage. It replaces waiting by
// its effect: a commit, or a commit and the writing of everything.
func TestOutages(t *testing.T) {
	for _, o := range outages() {
		t.Run(o.name+" "+o.wait.String(), func(t *testing.T) {
			model := never(Ext4())
			if o.wait != atOnce {
				model.Commit = time.Millisecond
			}
			if o.wait == writeback {
				model.Writeback = time.Millisecond
			}
			c, dir := started(t, model)
			p := program{t, dir}
			o.base(p)
			p.must(c.Sync(t.Context()))
			o.run(p)
			if o.wait != atOnce {
				p.await(c, o.wait)
			}
			_, err := c.Crash(t.Context(), Crash{Policy: LoseAll})
			p.must(err)
			p.must(os.RemoveAll(p.path(lastProbe)))
			if got := contents(t, dir); got != o.want {
				t.Errorf("left %q, want %q", got, o.want)
			}
		})
	}
}

const lastProbe = ProbePrefix + "last"

// await waits until a commit covers everything, or nothing is pending.
func (p program) await(c *Client, w wait) {
	p.t.Helper()
	p.must(os.WriteFile(p.path(lastProbe), nil, 0o600)) // committed with all that was before it
	for end := time.Now().Add(hosttest.Bound); time.Now().Before(end); {
		pending, err := c.Report(p.t.Context())
		p.must(err)
		if pending.Probes.Entries == 0 && (w == commit || pending.Nothing()) {
			return
		}
		time.Sleep(time.Millisecond)
	}
	p.t.Fatal("no commit")
}
