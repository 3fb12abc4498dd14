package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A miss is a fault that hits nothing.
type miss struct {
	typ, target string
	params      map[string]any
	want        history.LandingState
}

// misses are faults that hit nothing on one node of the embedded broker that no
// client uses, at least one of each family.
func misses() []miss {
	const notLanded = history.NotLanded
	return []miss{
		{"crash_at", "node-1", map[string]any{"trigger": "log", "pattern": "no line says this", "wait_s": 1}, notLanded},
		{"partition", "node-1~clients", nil, notLanded},
		{"partition", "node-1>clients", map[string]any{"mode": "reject"}, notLanded},
		{"delay", "node-1~clients", nil, notLanded},
		{"loss", "node-1~clients", nil, notLanded},
		{"bandwidth", "node-1~clients", nil, notLanded},
		{"unreachable", "node-1", map[string]any{"with": "clients"}, notLanded},
		{"reset", "node-1~clients", nil, notLanded},
		{"slow", "node-1", map[string]any{"path": "*.nothing"}, notLanded},
		{"io_error", "node-1", map[string]any{"path": "*.nothing", "op": "any"}, notLanded},
		{"full", "node-1", map[string]any{"free_kib": 1 << 20}, notLanded},
		{"torn_write", "node-1", map[string]any{"path": "*.nothing"}, notLanded},
		{"bit_rot", "node-1", map[string]any{"path": "*.nothing"}, notLanded},
		{"clock_jump", "node-1", nil, history.Unsupported},
		{"cpu", "node-1", map[string]any{"percent": 6400}, notLanded},
		{"memory", "node-1", map[string]any{"headroom_mib": 10_000}, notLanded},
		{"fds", "node-1", map[string]any{"spare": 500}, notLanded},
		{"pids", "node-1", map[string]any{"spare": 10_000}, notLanded},
		{"inodes", "node-1", map[string]any{"spare": 10_000}, notLanded},
		{"disconnect_all", "node-1", nil, notLanded},
		{"reconnect_storm", "node-1", nil, notLanded},
		{"half_open", "node-1", nil, notLanded},
		{"slow_reader", "node-1", nil, notLanded},
		{"packet_drop", "node-1", nil, notLanded},
		{"packet_mutate", "node-1", nil, notLanded},
		{"config_divergence", "node-1", map[string]any{"setting": "max_ack_pending", "value": "1024"}, notLanded},
		{"upgrade", "node-1", map[string]any{"binary": binary()}, notLanded},
	}
}

// Nothing that hit nothing is landed, and it is healed all the same.
func TestMissesAreNotLanded(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	t.Parallel()
	c := explored(t, keeper.Start{GraceS: 1, Cluster: cluster.Config{Flavor: "reference", Nodes: 1, Arm: armed(t, misses())}})
	for _, m := range misses() {
		checkMiss(t, c, m)
	}
}

// A broker that keeps nothing on its disk has nothing to lose.
func TestPowerLossOfNothing(t *testing.T) {
	hosttest.Long(t, "it runs a broker")
	hosttest.Program(t, "mosquitto")
	t.Parallel()
	all := []miss{
		{"power_loss", "node-1", nil, history.NotLanded},
		{"lost_rename", "node-1", nil, history.NotLanded},
	}
	arm := armed(t, all)
	if len(arm) == 0 {
		hosttest.Skip(t, "this host cannot arm a disk")
	}
	c := explored(t, keeper.Start{GraceS: 1, Cluster: cluster.Config{Flavor: "mosquitto", Nodes: 1, Arm: arm}})
	for _, m := range all {
		checkMiss(t, c, m)
	}
}

// armed is what the faults need, as far as this host has it.
func armed(t *testing.T, all []miss) []string {
	arms := []string{}
	for _, k := range faults.Catalog() {
		used := slices.ContainsFunc(all, func(m miss) bool { return m.typ == k.Type })
		_, missing := k.Available(t.Context())
		if used && missing == "" && k.Arms != "" && k.Arms != "clock" && !slices.Contains(arms, k.Arms) {
			arms = append(arms, k.Arms)
		}
	}
	return arms
}

func checkMiss(t *testing.T, c *keeper.Client, m miss) {
	t.Helper()
	params := map[string]any{"duration_s": 1.0}
	for key, value := range m.params {
		params[key] = value
	}
	before, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, refused := c.Inject(t.Context(), keeper.Inject{Type: m.typ, Target: m.target, Params: params})
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		s, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Faults) == len(before.Faults) {
			t.Errorf("%s %s %v: refused: %v", m.typ, m.target, m.params, refused)
			return
		}
		f := s.Faults[len(s.Faults)-1]
		if f.Healed == history.HealPending && time.Now().Before(end) {
			continue
		}
		lacks := f.State == history.Unsupported && !hosttest.Required()
		if f.State != m.want && !lacks || f.Healed != history.HealVerified && f.Healed != "" {
			t.Errorf("%s %s %v: %s, want %s, healed %s: %q, %v", m.typ, m.target, m.params, f.State, m.want, f.Healed, f.Reasons, refused)
		}
		return
	}
}

// A scenario passes with a fault that lands. With the same traffic it never
// passes with a fault that does not land, alone or beside one that did.
func TestMissNeverPasses(t *testing.T) {
	hosttest.Long(t, "it runs clusters")
	for _, test := range []struct{ name, schedule, want string }{
		{"a hit", "- {fault: pause, target: any}", "PASS"},
		{"a processor that is enough", "- {fault: cpu, target: any, params: {percent: 6400}}", ""},
		{"a clock that cannot be moved", "- {fault: clock_jump, target: any}", ""},
		{"errors of a file that is not there", "- {fault: io_error, target: any, params: {op: any, path: '*.nothing'}}", ""},
		{"a packet that nobody sends", "- {fault: packet_drop, target: clients, params: {packet: unsubscribe}}", ""},
		{"the same version", "- {fault: config_divergence, target: any, params: {setting: max_ack_pending, value: '1024'}}", ""},
		{"a miss beside a hit", "- {fault: crash_at, target: any, params: {trigger: log, pattern: no line says this, wait_s: 1}}\n  - {at_s: 2, fault: pause, target: any}", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			verdict, landings := runSchedule(t, test.schedule)
			passed := strings.HasPrefix(verdict, "PASS")
			if want := test.want == "PASS"; passed != want {
				t.Errorf("%s; the landings are %v", verdict, landings)
			}
			if missed := len(landings) == 0 || slices.ContainsFunc(landings, func(s history.LandingState) bool { return s != history.Landed }); missed == passed {
				t.Errorf("the landings are %v", landings)
			}
			t.Log(verdict, landings)
		})
	}
}

// runSchedule runs a small scenario and answers its verdict and landings.
func runSchedule(t *testing.T, schedule string) (verdict string, landings []history.LandingState) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "kill", "one-node.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	scenario := strings.Replace(string(text), "- {fault: pause, target: any}", schedule, 1)
	path := filepath.Join(dir, "scenario.md")
	if err := os.WriteFile(path, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // its guard cleans up behind the keeper
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if left, _ := filepath.Glob(filepath.Join(dir, "state", "live", "*")); len(left) == 0 {
				return
			}
		}
		t.Error("the experiment is still there")
	})
	out, err := rmq(t, filepath.Join(dir, "state"), "run", "--json", "--no-repeat", path).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var report struct {
		Verdict  struct{ State string }
		Landings []history.Landing
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, l := range report.Landings {
		landings = append(landings, l.State)
	}
	return report.Verdict.State, landings
}
