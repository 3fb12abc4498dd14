package faults

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// TestDiskLanding compares the landing with the behaviour of the disks. The
// decision is the real one.
func TestDiskLanding(t *testing.T) {
	idle := func(r *diskRig) { r.disks["node-2"].ops = 0 }
	numb := func(r *diskRig) { r.disks["node-2"].numb = true }
	clean := func(r *diskRig) { r.disks["node-2"].pending = disk.Loss{} }
	tests := []struct {
		name   string
		fault  string
		params map[string]any
		nodes  []int
		bend   func(*diskRig)
		want   history.LandingState
		reason string
	}{
		{name: "full", fault: "full", want: history.Landed},
		{name: "no more files", fault: "inodes", want: history.Landed},
		{name: "no more files, and none is made", fault: "inodes", bend: idle, want: history.NotLanded, reason: "operations refused on node-2"},
		{name: "files that no probe is refused", fault: "inodes", bend: numb, want: history.NotLanded, reason: "wanted ENOSPC"},
		{name: "slow", fault: "slow", want: history.Landed},
		{name: "io_error", fault: "io_error", want: history.Landed},
		{name: "every tenth fails", fault: "io_error", params: map[string]any{"every": 10}, want: history.Landed},
		{name: "power_loss", fault: "power_loss", want: history.Landed},
		{name: "of all nodes", fault: "power_loss", nodes: []int{1, 2, 3}, want: history.Landed},
		{name: "torn_write", fault: "torn_write", want: history.Landed},
		{name: "lost_rename", fault: "lost_rename", want: history.Landed},
		{name: "bit_rot", fault: "bit_rot", params: map[string]any{"bytes": 20}, want: history.Landed},
		{name: "lost_disk", fault: "lost_disk", want: history.Landed},

		{name: "full, and nothing is written", fault: "full", bend: idle, want: history.NotLanded, reason: "operations refused on node-2"},
		{name: "slow, and nothing is done", fault: "slow", bend: idle, want: history.NotLanded, reason: "operations hit on node-2"},
		{name: "an error that nothing meets", fault: "io_error", bend: idle, want: history.NotLanded, reason: "operations hit on node-2"},
		{name: "a limit that no probe feels", fault: "full", bend: numb, want: history.NotLanded, reason: "wanted ENOSPC"},
		{name: "a delay that no probe feels", fault: "slow", bend: numb, want: history.NotLanded, reason: "wanted at least 100 ms"},
		{name: "an error that no probe gets", fault: "io_error", bend: numb, want: history.NotLanded, reason: "wanted EIO"},
		{name: "nothing is pending", fault: "power_loss", bend: clean, want: history.NotLanded, reason: "lost on the disk of node-2"},
		{name: "nothing is pending on one of two", fault: "power_loss", nodes: []int{1, 2}, bend: clean, want: history.Partial, reason: "node-2"},
		{name: "no write to tear", fault: "torn_write", bend: clean, want: history.NotLanded},
		{
			name: "no entry to lose", fault: "lost_rename", want: history.NotLanded,
			bend: func(r *diskRig) { r.disks["node-2"].pending.Entries = 0 },
		},
		{name: "no file to spoil", fault: "bit_rot", params: map[string]any{"path": "*.none"}, want: history.NotLanded},
		{name: "spoiled bytes that read as before", fault: "bit_rot", bend: numb, want: history.Partial},
		{
			name: "an empty disk is lost", fault: "lost_disk", want: history.NotLanded,
			bend: func(r *diskRig) { r.disks["node-2"].files = nil },
		},
		{
			name: "the node was down before", fault: "power_loss", want: history.NotLanded, reason: "no fault has ended it",
			bend: func(r *diskRig) { r.nodes[1].state = "exited: signal 9 (killed)" },
		},
		{
			name: "another disk is slow too", fault: "slow", want: history.Indeterminate, reason: "disk of node-3",
			bend: func(r *diskRig) { go slowLater(r.disks["node-3"]) },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newDiskRig(3)
				if test.bend != nil {
					test.bend(r)
				}
				if test.nodes == nil {
					test.nodes = []int{2}
				}
				params := map[string]any{"duration_s": 10}
				for key, value := range test.params {
					params[key] = value
				}
				req, err := Parse(test.fault, params)
				if err != nil {
					t.Fatal(err)
				}
				l, err := r.Inject(t.Context(), req, r.on(test.nodes...))
				if err == nil {
					l, err = r.Wait(t.Context(), l.Fault)
				}
				if err != nil {
					t.Logf("error: %v", err)
				}
				if l.State != test.want {
					t.Errorf("%s %q, want %s\n%s", l.State, l.Reasons, test.want, encode(l.Proofs))
				}
				if !strings.Contains(strings.Join(l.Reasons, "; "), test.reason) {
					t.Errorf("reasons %q, want %q", l.Reasons, test.reason)
				}
				for _, d := range r.disks {
					if len(d.faults.Rules) > 0 || d.faults.Limit != (disk.Limit{}) || d.cut {
						t.Errorf("the disk of %s is left with %+v, cut %t", d.name, d.faults, d.cut)
					}
				}
			})
		})
	}
}

// slowLater makes a disk slow between a fault's first sample and its second.
func slowLater(d *fakeDisk) {
	time.Sleep(time.Second)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lag = 3 * time.Second
}

// done injects a fault and waits for its end.
func (r *diskRig) done(t *testing.T, fault string, params map[string]any, nodes ...int) history.Landing {
	t.Helper()
	req, err := Parse(fault, params)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Inject(t.Context(), req, r.on(nodes...))
	if err != nil {
		t.Fatal(err)
	}
	if l, err = r.Wait(t.Context(), l.Fault); err != nil {
		t.Fatal(err)
	}
	return l
}

// The power is cut first, then the process is killed, and then the disk drops
// the lost data, before the process starts again. The landing lists the loss.
func TestPowerLossInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDiskRig(1)
		l := r.done(t, "power_loss", map[string]any{"duration_s": 3, "keep": "subset", "seed": 9}, 1)
		var order []string
		for _, s := range r.seen() {
			if strings.Contains(s, "node-1") && !strings.Contains(s, "rules") || strings.HasPrefix(s, "journal") {
				order = append(order, s)
			}
		}
		want := []string{"journal plan", "cut node-1", "set node-1 killed", "crash node-1", "journal applied", "set node-1 running", "journal healed"}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Error(diff)
		}
		lost, ok := l.Detail.([]lossDetail)
		if !ok || lost[0].Outcome.Policy != disk.Subset || lost[0].Outcome.Seed != 9 || lost[0].Pending.Bytes != 9000 {
			t.Errorf("detail: %s", encode(l.Detail))
		}
	})
}

// A power loss that did not come about is taken back.
func TestPowerLossHalfWay(t *testing.T) {
	tests := map[string]func(*diskRig){
		"the process does not die": func(r *diskRig) { r.nodes[0].refuses = errors.New("operation not permitted") },
		"the disk does not crash":  func(r *diskRig) { r.disks["node-1"].fails = errors.New("its process is gone") },
		"another's is not cut":     func(r *diskRig) { r.disks["node-2"].whole = errors.New("its process is gone") },
	}
	for name, bend := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newDiskRig(2)
				bend(r)
				req, err := Parse("power_loss", nil)
				if err != nil {
					t.Fatal(err)
				}
				l, err := r.Inject(t.Context(), req, r.on(1, 2))
				if err == nil || l.State == history.Landed || l.Healed != history.HealVerified {
					t.Errorf("error %v, landing %s, healed %s", err, l.State, l.Healed)
				}
				if r.nodes[0].now() != Running || r.disks["node-1"].cut || !slices.Contains(r.seen(), "restore node-1") {
					t.Errorf("node-1 is %s, its disk cut: %t", r.nodes[0].now(), r.disks["node-1"].cut)
				}
			})
		})
	}
}

// A trap that cannot be taken out is a heal that failed, and can be healed again.
func TestTrapStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDiskRig(2)
		d := r.disks["node-1"]
		d.stuck = errors.New("its process does not answer")
		req, err := Parse("crash_at", map[string]any{"trigger": "file", "pattern": "*.db", "op": "fsync"})
		if err != nil {
			t.Fatal(err)
		}
		l, err := r.Inject(t.Context(), req, r.on(1))
		if err != nil || l.State != history.NotLanded || l.Healed != history.HealFailed || len(d.faults.Rules) == 0 {
			t.Errorf("%s, healed %s, %v", l.State, l.Healed, err)
		}
		if pending, err := Pending(r.lines); err != nil || len(pending) == 0 {
			t.Errorf("pending %v, %v", pending, err)
		}
		d.stuck = nil
		if l, err = r.Heal(t.Context(), l.Fault); err != nil || l.Healed != history.HealVerified || len(d.faults.Rules) > 0 {
			t.Errorf("again: healed %s, %v", l.Healed, err)
		}
		if pending, err := Pending(r.lines); err != nil || len(pending) > 0 {
			t.Errorf("pending %v, %v", pending, err)
		}
	})
}

func TestDiskNotArmed(t *testing.T) {
	for _, k := range diskKinds() {
		t.Run(k.Type, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newDiskRig(2)
				delete(r.disks, "node-1")
				for _, armed := range []bool{true, false} {
					target := r.on(1)
					if !armed {
						target.Site.Disks = nil
					}
					l, err := r.Inject(t.Context(), request(t, k.Type, 1), target)
					want := "arm [disk]"
					if lacks := disk.Available(); lacks != nil {
						want = lacks.Error()
					}
					if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), want) || l.State != history.Unsupported {
						t.Errorf("%s, %v", l.State, err)
					}
				}
				for _, s := range r.seen() {
					if strings.HasPrefix(s, "set") || strings.HasPrefix(s, "disk") || strings.HasPrefix(s, "journal") {
						t.Errorf("although it is unsupported: %s", s)
					}
				}
			})
		})
	}
}

// A disk that does not answer is neither injected into nor called healed.
func TestDiskThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDiskRig(2)
		l, err := r.Inject(t.Context(), request(t, "slow", 5), r.on(1))
		if err != nil {
			t.Fatal(err)
		}
		r.disks["node-1"].broken = errors.New("its process 7 is gone")
		if l, err = r.Heal(t.Context(), l.Fault); err == nil || l.Healed != history.HealFailed {
			t.Errorf("healed %s, %v", l.Healed, err)
		}
		if l, err = r.Inject(t.Context(), request(t, "slow", 5), r.on(1)); err == nil || l.State == history.Landed || !strings.Contains(err.Error(), "gone") {
			t.Errorf("%s, %v", l.State, err)
		}
	})
}

// Faults on one disk overlap: all rules, the smallest limit.
func TestDiskLayer(t *testing.T) {
	rule := func(fault string, r disk.Rule) Entry {
		return Entry{Fault: fault, Want: wantRule, Args: diskArgs{Rule: r}}
	}
	limit := func(fault string, bytes int64) Entry {
		return Entry{Fault: fault, Want: wantLimit, Args: map[string]any{"limit": map[string]any{"bytes": bytes}}} // as read from a journal
	}
	tests := []struct {
		name   string
		active []Entry
		want   disk.Faults
		err    string
	}{
		{name: "nothing"},
		{
			name:   "two rules and two limits",
			active: []Entry{rule("f1", disk.Rule{Delay: 1}), limit("f2", 300), rule("f3", disk.Rule{Errno: "EIO"}), limit("f4", 200)},
			want:   disk.Faults{Rules: []disk.Rule{{ID: "f1", Delay: 1}, {ID: "f3", Errno: "EIO"}}, Limit: disk.Limit{Bytes: 200}},
		},
		{name: "a loss shows nothing", active: []Entry{{Fault: "f1", Want: wantLoss}}},
		{name: "nobody knows it", active: []Entry{{Fault: "f1", Want: "melted"}}, err: `f1 wants "melted" of a disk`},
		{name: "a rule that does nothing", active: []Entry{rule("f1", disk.Rule{})}, err: "does nothing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := diskFaults(test.active)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// Overlapping faults heal in any order, and the disk shows what is left.
func TestDiskOverlap(t *testing.T) {
	for _, first := range []string{"slow", "full", "power_loss"} {
		t.Run(first+" is healed first", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newDiskRig(2)
				by := map[string]string{}
				for _, typ := range []string{"slow", "full", "power_loss"} {
					l, err := r.Inject(t.Context(), request(t, typ, 60), r.on(1))
					if err != nil {
						t.Fatal(err)
					}
					by[typ] = l.Fault
				}
				if _, err := r.Heal(t.Context(), by[first]); err != nil {
					t.Fatal(err)
				}
				f := r.disks["node-1"].faults
				if (len(f.Rules) == 0) != (first == "slow") || (f.Limit.Bytes == 0) != (first == "full") || (r.nodes[0].now() == Running) != (first == "power_loss") {
					t.Errorf("after the heal of %s: %+v, node-1 %s", first, f, r.nodes[0].now())
				}
				if err := r.HealAll(t.Context()); err != nil {
					t.Fatal(err)
				}
				if f := r.disks["node-1"].faults; len(f.Rules) > 0 || f.Limit.Bytes > 0 || r.nodes[0].now() != Running {
					t.Errorf("at the end: %+v, node-1 %s", f, r.nodes[0].now())
				}
			})
		})
	}
}

func TestDiskParams(t *testing.T) {
	tests := []struct {
		fault  string
		params map[string]any
		want   string // "": it is fine
	}{
		{"io_error", map[string]any{"errno": "EBROKEN"}, "parameter errno"},
		{"io_error", map[string]any{"errno": 5}, "parameter errno"},
		{"io_error", map[string]any{"op": "fsynk"}, `no file operation "fsynk"; valid: any, open`},
		{"io_error", map[string]any{"op": ""}, `no file operation ""`},
		{"io_error", map[string]any{"op": "any,write"}, `no file operation "any"`},
		{"io_error", map[string]any{"op": "write, fsync"}, ""},
		{"io_error", map[string]any{"path": "[a-"}, "syntax error in pattern"},
		{"io_error", map[string]any{"path": "**/*.blk"}, ""},
		{"io_error", map[string]any{"every": 3, "percent": 10}, "every and percent contradict each other"},
		{"io_error", map[string]any{"every": 2.5}, "whole number"},
		{"io_error", map[string]any{"every": -1}, "parameter every"},
		{"io_error", map[string]any{"percent": 101}, "parameter percent"},
		{"io_error", map[string]any{"percent": 0.1}, "use every"},
		{"io_error", map[string]any{"op": "write", "fsync_then": "sticky"}, "has to be, or to name, fsync"},
		{"io_error", map[string]any{"op": "any", "fsync_then": "lie"}, "has to be, or to name, fsync"},
		{"io_error", map[string]any{"fsync_then": "sticky"}, ""},
		{"slow", map[string]any{"delay": 5}, "did you mean delay_ms"},
		{"slow", map[string]any{"delay_ms": 0}, "parameter delay_ms"},
		{"slow", map[string]any{"path": "[", "op": "read"}, "syntax error in pattern"},
		{"full", map[string]any{"free_kib": -1}, "parameter free_kib"},
		{"full", map[string]any{"free_kib": "10MB"}, "parameter free_kib"},
		{"power_loss", map[string]any{"keep": "most"}, "nothing, prefix, subset, entries"},
		{"power_loss", map[string]any{"policy": "ext4"}, `no parameter "policy"`},
		{"torn_write", map[string]any{"sector_bytes": 100}, "valid: 512, 4096"},
		{"torn_write", map[string]any{"path": "a[", "sector_bytes": 512}, "parameter path"},
		{"bit_rot", map[string]any{"bytes": 0}, "parameter bytes"},
		{"bit_rot", map[string]any{"bytes": 1.5}, "whole number"},
		{"bit_rot", map[string]any{"path": "a["}, "parameter path"},
		{"lost_disk", map[string]any{"keep": "nothing"}, `no parameter "keep"`},
		{"lost_rename", map[string]any{"seed": -1}, "parameter seed"},
	}
	for _, test := range tests {
		_, err := Parse(test.fault, test.params)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s %v: error %v, want %q", test.fault, test.params, err, test.want)
		}
	}
}

// For the same files, the seed alone decides which bytes rot. No byte rots twice.
func TestChooseBits(t *testing.T) {
	files := []disk.File{{Path: "a.db", Size: 3}, {Path: "log/b.blk", Size: 5}, {Path: "log/empty.blk"}, {Path: "c.txt", Size: 100}}
	f := BitRot{Bytes: 50, Path: "*.blk", Seed: 4}
	got := choose(files, f)
	if diff := cmp.Diff(got, choose(files, f)); diff != "" {
		t.Error(diff)
	}
	seen := map[int64]bool{}
	for _, b := range got {
		if b.Path != "log/b.blk" || b.Offset < 0 || b.Offset >= 5 || b.Bit < 0 || b.Bit > 7 || seen[b.Offset] {
			t.Errorf("%+v", b)
		}
		seen[b.Offset] = true
	}
	if len(got) != 5 {
		t.Errorf("%d bytes of a file of 5", len(got))
	}
	f.Seed++
	if cmp.Diff(got, choose(files, f)) == "" {
		t.Error("another seed chose the same bits")
	}
}
