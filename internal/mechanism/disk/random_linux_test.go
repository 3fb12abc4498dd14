package disk

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestRandom compares thousands of random histories with the plain model:
// what is seen before every crash, and what is left after it.
func TestRandom(t *testing.T) {
	histories := 2_000
	if hosttest.Required() {
		histories = 10_000
	}
	var crashes, nothing, torn int
	for i := range histories {
		h := &randomHistory{t: t, seed: uint64(i), random: rand.New(rand.NewPCG(uint64(i), 7))}
		h.run(memoryOf(t, i))
		crashes += h.crashes
		nothing += h.nothing
		torn += h.torn
		if t.Failed() {
			return
		}
	}
	t.Logf("%d histories, %d crashes, of them %d that took nothing, %d torn writes", histories, crashes, nothing, torn)
	if crashes < histories || nothing > crashes/2 || torn < histories/20 {
		t.Error("the histories are too tame")
	}
}

func memoryOf(t *testing.T, i int) string {
	if i == 0 {
		t.Setenv("DISK_TEST_MEMORY", memory(t))
	}
	dir := filepath.Join(os.Getenv("DISK_TEST_MEMORY"), fmt.Sprint(i))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

type randomHistory struct {
	t       *testing.T
	seed    uint64
	random  *rand.Rand
	tree    *tree
	model   *refModel
	trace   []string
	opened  []*inode
	crashes int
	nothing int
	torn    int
}

func (h *randomHistory) run(dir string) {
	models := []Model{Ext4(), XFS(), Strict()}
	h.tree = newTestTree(h.t, dir, models[h.seed%3])
	h.model = newRefModel(h.tree)
	for range 2 {
		for range 5 + h.random.IntN(30) {
			h.step()
			if h.t.Failed() {
				return
			}
		}
		h.crash()
	}
	h.tree.spool.close()
	if err := os.RemoveAll(dir); err != nil {
		h.t.Fatal(err)
	}
}

func (h *randomHistory) say(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
}

func (h *randomHistory) fail(what string) {
	h.t.Errorf("seed %d, %s: %s\n%s", h.seed, h.tree.model.Name, what, strings.Join(h.trace, "\n"))
}

// check fails unless the tree answered what it should.
func (h *randomHistory) check(err, want error) bool {
	if err != want {
		h.fail(fmt.Sprintf("answered %v, want %v", err, want))
	}
	return err == nil && want == nil
}

func (h *randomHistory) crash() {
	t := h.tree
	contents, names := h.model.after(everything(t))
	if diff := same(h.model.paths(contents, names), onDisk(h.t, t.live)); diff != "" {
		h.fail("before the crash:\n" + diff)
		return
	}
	c := Crash{Policy: Policies()[h.random.IntN(len(Policies()))], Seed: h.random.Uint64(), Sector: 512}
	h.say("crash %s", c.Policy)
	t.ns.Lock()
	defer t.ns.Unlock()
	f, err := t.survivors(c)
	if err != nil {
		h.t.Fatal(err)
	}
	before := onDisk(h.t, t.live)
	contents, names = h.model.after(f)
	outcome, _, err := t.crash(c)
	if err != nil {
		h.fail(err.Error())
		return
	}
	after := onDisk(h.t, t.live)
	if diff := same(h.model.paths(contents, names), after); diff != "" {
		h.fail("after the crash:\n" + diff)
	}
	if outcome.Dropped.Nothing() && outcome.Probes.Nothing() && same(before, after) != "" {
		h.fail(fmt.Sprintf("something was lost, and the outcome is %+v", outcome))
	}
	h.sound()
	h.count(outcome)
	h.model.reset(t, contents, names)
}

func (h *randomHistory) count(o Outcome) {
	h.crashes++
	if o.Dropped.Nothing() {
		h.nothing++
	}
	if o.Torn != nil {
		h.torn++
	}
}

// sound fails where something is left over that nothing needs.
func (h *randomHistory) sound() {
	t := h.tree
	graves, err := os.ReadDir(t.grave)
	if err != nil {
		h.t.Fatal(err)
	}
	if len(t.dirty)+len(t.eager)+len(t.log) > 0 || t.spool.held() > 0 {
		h.fail("something is pending after a crash")
	}
	want := 0
	for _, x := range t.nodes {
		if x.pins != 0 {
			h.fail("pinned after a crash")
		}
		if x.buried {
			want++
		}
	}
	if len(graves) != want {
		h.fail(fmt.Sprintf("%d in the grave, want %d", len(graves), want))
	}
	used := t.usage.read()
	t.recount()
	if used != t.usage.read() {
		h.fail(fmt.Sprintf("usage %+v, counted %+v", used, t.usage.read()))
	}
}

// everything is a survivors that loses nothing.
func everything(t *tree) survivors {
	f := survivors{files: map[*inode]int{}, entries: closure(t.log, func(*entryOp) bool { return true })}
	for _, x := range t.pendingFiles() {
		f.files[x] = len(x.ops)
	}
	return f
}
