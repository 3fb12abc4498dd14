package faults

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
)

// TestRelaunching compares the landings of faults that start processes again
// with the behaviour of the nodes.
func TestRelaunching(t *testing.T) {
	tests := []struct {
		name   string
		fault  string
		params map[string]any
		nodes  []int
		bend   func(*rig)
		want   history.LandingState
		reason string
		did    []string // to node-1 and node-2, as it was done
	}{
		{
			name: "restart", fault: "restart", params: map[string]any{"signal": "SIGKILL"}, nodes: []int{1}, want: history.Landed,
			did: []string{"set node-1 killed", "set node-1 running", "set node-1 running"},
		},
		{
			name: "no client noticed", fault: "restart", nodes: []int{1}, want: history.NotLanded, reason: "did not answer",
			bend: func(r *rig) { r.nodes[0].answers = true },
		},
		{
			name: "it is the same process", fault: "restart", nodes: []int{1}, want: history.NotLanded, reason: "process 0 before, process 0 during",
			bend: func(r *rig) { r.nodes[0].deaf = true },
		},
		{
			name: "one by one", fault: "rolling_restart", nodes: []int{1, 2}, want: history.Landed,
			did: []string{"set node-1 stopped", "set node-1 running", "set node-2 stopped", "set node-2 running", "set node-1 running", "set node-2 running"},
		},
		{
			name: "replaced", fault: "replace_node", nodes: []int{1}, want: history.Landed,
			did: []string{"set node-1 killed", "wipe node-1", "set node-1 running", "set node-1 running"},
		},
		{
			name: "the data are somebody else's", fault: "replace_node", nodes: []int{1}, want: history.Unsupported, reason: "none of them are removed",
			bend: func(r *rig) { r.nodes[0].theirs = map[string]any{"container": "broker"} },
		},
		{
			name: "upgraded and back", fault: "upgrade", params: map[string]any{"binary": "/b"}, nodes: []int{1, 2}, want: history.Landed,
			did: []string{
				"set node-1 stopped", "launch node-1 /b map[]", "set node-1 running", "set node-2 stopped", "launch node-2 /b map[]", "set node-2 running",
				"set node-1 stopped", "launch node-1  map[]", "set node-1 running", "set node-2 stopped", "launch node-2  map[]", "set node-2 running",
			},
		},
		{
			name: "the other binary is the same version", fault: "upgrade", params: map[string]any{"binary": "/b"}, nodes: []int{1}, want: history.NotLanded, reason: "A before, A during",
			bend: func(r *rig) { r.nodes[0].word = map[string]string{"version": "A"} },
		},
		{
			name: "it does not say its version", fault: "upgrade", params: map[string]any{"binary": "/b"}, nodes: []int{1}, want: history.Unsupported, reason: "does not say its own version",
			bend: func(r *rig) { r.nodes[0].word = map[string]string{"version": ""} },
		},
		{
			name: "another setting", fault: "config_divergence", params: map[string]any{"setting": "limit", "value": "7"}, nodes: []int{1}, want: history.Landed,
			did: []string{"set node-1 stopped", "launch node-1  map[limit:7]", "set node-1 running", "set node-1 stopped", "launch node-1  map[]", "set node-1 running"},
		},
		{
			name: "the setting it has anyway", fault: "config_divergence", params: map[string]any{"setting": "limit", "value": "10"}, nodes: []int{1}, want: history.NotLanded, reason: "10 before, 10 during",
		},
		{name: "all at once", fault: "kill_all", nodes: []int{1, 2, 3}, want: history.Landed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(3)
				if test.bend != nil {
					test.bend(r)
				}
				req, err := Parse(test.fault, test.params)
				if err != nil {
					t.Fatal(err)
				}
				l, err := r.Inject(t.Context(), req, r.on(test.nodes...))
				if err != nil && !errors.Is(err, ErrUnsupported) {
					t.Fatal(err)
				}
				if l, err = r.Wait(t.Context(), l.Fault); err != nil {
					t.Fatal(err)
				}
				if l.State != test.want || !strings.Contains(strings.Join(l.Reasons, "; "), test.reason) || l.Healed != history.HealVerified {
					t.Errorf("landing %s %q, healed %s, want %s for %q", l.State, l.Reasons, l.Healed, test.want, test.reason)
				}
				did := slices.DeleteFunc(r.seen(), func(s string) bool { return !strings.Contains(s, " node-") })
				if diff := cmp.Diff(test.did, did); test.did != nil && diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A restart under a pause, and a kill under an upgrade: each shows when the
// other is healed, in whatever order.
func TestRelaunchingComposes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(3)
		pause := r.inject(t, "pause", r.on(1), 100)
		r.inject(t, "restart", r.on(1), 1)
		if r.nodes[0].now() != Frozen || r.nodes[0].births != 1 {
			t.Errorf("restarted under a pause: %s, born %d times", r.nodes[0].now(), r.nodes[0].births)
		}
		if _, err := r.Heal(t.Context(), pause.Fault); err != nil {
			t.Fatal(err)
		}
		req, err := Parse("upgrade", map[string]any{"binary": "/b", "duration_s": 100})
		if err != nil {
			t.Fatal(err)
		}
		up, err := r.Inject(t.Context(), req, r.on(1))
		if err != nil {
			t.Fatal(err)
		}
		kill := r.inject(t, "kill", r.on(1), 100)
		if _, err := r.Heal(t.Context(), up.Fault); err != nil {
			t.Fatal(err)
		}
		if n := r.nodes[0]; !hasEnded(n.now()) || n.binary != "" {
			t.Errorf("under the kill: %s from %q", n.now(), n.binary)
		}
		if _, err := r.Heal(t.Context(), kill.Fault); err != nil {
			t.Fatal(err)
		}
		if err := r.HealAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := r.nodes[0]; n.now() != Running {
			t.Errorf("after all: %s", n.now())
		}
	})
}

// A process that does not come back was restarted all the same; its heal says
// that it is away.
func TestRestartThatDoesNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(3)
		r.nodes[0].broken = errors.New("data directory is corrupt")
		l := r.inject(t, "restart", r.on(1), 1)
		l, _ = r.Wait(t.Context(), l.Fault)
		if l.Healed != history.HealFailed || !strings.Contains(strings.Join(l.Reasons, "; "), "data directory is corrupt") {
			t.Errorf("%s, healed %s: %q", l.State, l.Healed, l.Reasons)
		}
	})
}

func TestCrashAt(t *testing.T) {
	tests := []struct {
		name   string
		params map[string]any
		write  []string // to the log, one each 10 ms
		want   history.LandingState
		reason string
	}{
		{name: "a line", params: map[string]any{"pattern": "compact.*done"}, write: []string{"hello", "compaction done", "bye"}, want: history.Landed},
		{name: "the second line", params: map[string]any{"pattern": "flush", "nth": 2}, write: []string{"flush 1", "flush 2"}, want: history.Landed},
		{name: "only one line", params: map[string]any{"pattern": "flush", "nth": 2}, write: []string{"flush 1"}, want: history.NotLanded, reason: `log line "flush", number 2 did not come on node-1 within 5s`},
		{name: "a role", params: map[string]any{"trigger": "role", "pattern": "leader"}, want: history.Landed},
		{name: "not the role", params: map[string]any{"trigger": "role", "pattern": "follower"}, want: history.NotLanded, reason: "did not come"},
		{name: "no metrics", params: map[string]any{"trigger": "metric", "pattern": "x > 1"}, want: history.Unsupported, reason: "no metrics"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte("flush 0\ncompaction done\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				r := newRig(3)
				r.nodes[0].log = path
				test.params["duration_s"], test.params["wait_s"] = 1, 5
				req, err := Parse("crash_at", test.params)
				if err != nil {
					t.Fatal(err)
				}
				target := r.on(1)
				target.Site.Roles = func(ctx context.Context) map[string][]string { return map[string][]string{"node-1": {"leader"}} }
				go write(t, path, test.write)
				time.Sleep(time.Millisecond) // 0 is not yet
				l, err := r.Inject(t.Context(), req, target)
				if err != nil && !errors.Is(err, ErrUnsupported) {
					t.Fatal(err)
				}
				if l, err = r.Wait(t.Context(), l.Fault); err != nil {
					t.Fatal(err)
				}
				if l.State != test.want || !strings.Contains(strings.Join(l.Reasons, "; "), test.reason) || l.Healed != history.HealVerified {
					t.Errorf("landing %s %q, healed %s, want %s for %q", l.State, l.Reasons, l.Healed, test.want, test.reason)
				}
				if landed := l.State == history.Landed; landed != (l.Times.TriggerNS > 0) || landed != slices.Contains(r.seen(), "set node-1 killed") {
					t.Errorf("triggered at %d: %v", l.Times.TriggerNS, r.seen())
				}
				if late := l.Times.AppliedNS - l.Times.TriggerNS; late > int64(10*time.Millisecond) {
					t.Errorf("killed %v after the trigger", time.Duration(late))
				}
			})
		})
	}
}

func write(t *testing.T, path string, lines []string) {
	log, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Error(err)
		return
	}
	defer log.Close()
	for _, line := range lines {
		time.Sleep(10 * time.Millisecond)
		if _, err := log.WriteString(line + "\n"); err != nil {
			t.Error(err)
		}
	}
}

func TestCrashAtSaysWhatIsWrong(t *testing.T) {
	for want, params := range map[string]map[string]any{
		"parameter pattern is required": {},
		"missing closing )":             {"pattern": "a(b"},
		"nats_connections >= 10":        {"trigger": "metric", "pattern": "nats_connections"},
		"valid: leader, follower":       {"trigger": "role", "pattern": "boss"},
		"belongs to trigger file":       {"pattern": "x", "op": "fsync"},
		"did you mean wait_s":           {"pattern": "x", "wait": 3},
	} {
		if _, err := Parse("crash_at", params); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", params, err, want)
		}
	}
}
