package random

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// space is one on a host that can do everything.
func space(t *testing.T, flavor string, nodes int, namespaces bool) Space {
	t.Helper()
	s := Space{Flavor: flavor, Nodes: nodes, Faults: Doable(namespaces, cluster.Config{}, func(faults.Kind) bool { return true })}
	for name, protocol := range map[string]string{"go/paho.mqtt.golang": "mqtt3", "python/paho-mqtt@2.1.0": "mqtt3", "go/paho.golang": "mqtt5"} {
		sdk, err := clients.ResolveFor(name, protocol)
		if err != nil {
			t.Fatal(err)
		}
		if flavor != "reference" || protocol == "mqtt3" {
			s.Clients = append(s.Clients, Client{sdk, protocol})
		}
	}
	slices.SortFunc(s.Clients, func(a, b Client) int { return slices.Compare([]string{a.SDK.String()}, []string{b.SDK.String()}) })
	return s
}

// narrow is an envelope with every limit that a schedule can leave.
func narrow() *envelope.Envelope {
	e := envelope.Default("")
	e.AllowMajority, e.MaxConcurrentFaults, e.MaxTotalFaultS, e.MaxFaultDurationS = false, 2, 15, 6
	e.AllowedFaults = []string{"kill", "pause", "delay", "packet_drop", "slow_reader", "cpu", "power_loss"}
	e.AllowedTargets = []string{"follower", "publishers"}
	return &e
}

// Every scenario drawn can be run in its space: it says so as a file, and the
// envelope allows it.
func TestWhatIsDrawnCanBeRun(t *testing.T) {
	spaces := map[string]Space{
		"reference":             space(t, "reference", 3, true),
		"reference of five":     space(t, "reference", 5, true),
		"reference on loopback": space(t, "reference", 3, false),
		"two nodes":             space(t, "reference", 2, true),
		"mosquitto":             space(t, "mosquitto", 1, true),
		"robustmq":              space(t, "robustmq", 3, true),
	}
	limited := space(t, "reference", 3, true)
	limited.Limits = narrow()
	spaces["an envelope"] = limited
	for name, s := range spaces {
		t.Run(name, func(t *testing.T) {
			for seed := int64(1); seed <= 80; seed++ {
				one, err := s.Scenario(seed)
				if err != nil {
					t.Fatal(err)
				}
				check(t, s, one)
			}
			one, err := s.Scenario(7)
			again, err2 := s.Scenario(7)
			if err != nil || err2 != nil || again.Text != one.Text {
				t.Errorf("a seed is two scenarios: %v, %v\n%s\n%s", err, err2, one.Text, again.Text)
			}
			used := map[string]bool{}
			for seed := range int64(600) {
				for _, step := range s.draw(seed).Schedule {
					used[step.Fault] = true
				}
			}
			for _, k := range s.kinds(load{scenarios.Workload{QoS: []uint8{1}}}) {
				if !used[k.Type] {
					t.Errorf("%s can be drawn, and never was", k.Type)
				}
			}
		})
	}
}

func check(t *testing.T, s Space, one *scenarios.Scenario) {
	t.Helper()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s\n%s", fmt.Sprintf(format, args...), one.Text)
	}
	if n := len(one.Schedule); n < 1 || n > 4 {
		bad("%d faults", n)
	}
	tier, err := one.Tier("", s.Flavor)
	if err != nil {
		bad("%v", err)
	}
	if s.Limits != nil {
		if err := one.Within(*s.Limits, tier); err != nil {
			bad("%v", err)
		}
		var total time.Duration
		for _, step := range one.Schedule {
			total += time.Duration(step.DurationS * float64(time.Second))
		}
		if err := s.Limits.Load(envelope.Load{Concurrent: most(one), Total: total, Nodes: s.Nodes}); err != nil {
			bad("%v", err)
		}
	}
	sdk, err := clients.ResolveFor(one.SDK, one.Protocol)
	if err != nil || !slices.ContainsFunc(s.Clients, func(c Client) bool { return c.SDK.String() == sdk.String() && c.Protocol == one.Protocol }) {
		bad("%s with %s: %v", one.SDK, one.Protocol, err)
	}
	for _, step := range one.Schedule {
		i := slices.IndexFunc(faults.Catalog(), func(k faults.Kind) bool { return k.Type == step.Fault })
		k := faults.Catalog()[i]
		if !slices.Contains(s.Faults, k.Type) {
			bad("%s cannot be done here", k.Type)
		}
		if least := k.Example.Params["duration_s"].(float64); step.DurationS < least || step.DurationS > k.MaxDuration.Seconds() {
			bad("%s for %g s", k.Type, step.DurationS)
		}
		if s.Nodes == 1 && slices.Contains([]string{"follower", "majority", "all"}, step.Target) {
			bad("%s of %s on one node", k.Type, step.Target)
		}
	}
	if err := one.RunsOn(s.Flavor, one.Protocol); err != nil {
		bad("%v", err)
	}
	dropped := slices.ContainsFunc(one.Schedule, func(step scenarios.Step) bool { return step.Fault == "packet_drop" })
	if dropped && slices.Contains(one.Claims, "order-per-stream") {
		bad("the order is what the fault breaks")
	}
	twice := slices.ContainsFunc(one.Schedule, func(step scenarios.Step) bool { return step.Fault == "packet_duplicate" })
	if twice && one.Workload.Registers > 0 && one.Workload.QoS[0] == 1 {
		bad("a write takes effect twice by our doing")
	}
	if back := one.Workload.Subscribers.Offline > 0; !back && slices.Contains(one.Claims, "session-kept") {
		bad("nobody has to come back")
	}
	if s := one.ExpectedS(tier); s > 300 {
		bad("it takes %g s", s)
	}
}

// most are the faults of a schedule that are in place at the same time, at most.
func most(s *scenarios.Scenario) (most int) {
	for _, step := range s.Schedule {
		n := 0
		for _, other := range s.Schedule {
			if other.AtS <= step.AtS && step.AtS < other.AtS+other.DurationS {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// Without namespaces there is no network to disturb.
func TestDoableWithoutNamespaces(t *testing.T) {
	for _, k := range faults.Catalog() {
		in := slices.Contains(Doable(false, cluster.Config{}, func(faults.Kind) bool { return true }), k.Type)
		if want := (k.Draw.Never == "") && k.Family != "network"; in != want {
			t.Errorf("%s: %v", k.Type, in)
		}
	}
	if list := Doable(true, cluster.Config{}, func(k faults.Kind) bool { return k.Type == "kill" }); !slices.Equal(list, []string{"kill"}) {
		t.Errorf("a host that can kill alone: %v", list)
	}
}

// Network faults of pods act between nodes, and nothing else is drawn for them.
func TestDoableOnPods(t *testing.T) {
	on := cluster.Config{Runtime: cluster.RuntimePods}
	s := space(t, "reference", 3, true)
	s.Pods, s.Faults = true, Doable(false, on, func(faults.Kind) bool { return true })
	drawn := map[string]bool{}
	for seed := range int64(400) {
		one, err := s.Scenario(seed)
		if err != nil {
			t.Fatal(err)
		}
		if err := one.Fits(on); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, step := range one.Schedule {
			drawn[step.Fault] = true
		}
	}
	for _, typ := range []string{"partition", "reset", "loss", "delay", "duplicate", "reorder", "corrupt", "kill"} {
		if !drawn[typ] {
			t.Errorf("%s is not drawn", typ)
		}
	}
}

// A space with nothing in it is refused, with what to do.
func TestCheck(t *testing.T) {
	whole := space(t, "reference", 3, true)
	for name, change := range map[string]func(*Space){
		"no node":   func(s *Space) { s.Nodes = 0 },
		"no client": func(s *Space) { s.Clients = nil },
		"no fault":  func(s *Space) { s.Faults = []string{"upgrade"} },
		"protocol":  func(s *Space) { s.Clients = space(t, "mosquitto", 1, true).Clients },
		"no time": func(s *Space) { // pause takes 4 s to land, cpu 5
			e := envelope.Default("")
			e.AllowedFaults, e.MaxTotalFaultS = []string{"pause", "cpu"}, 3
			s.Limits = &e
		},
	} {
		s := whole
		change(&s)
		if _, err := s.Scenario(1); err == nil {
			t.Errorf("%s: something was drawn", name)
		}
	}
}

// A campaign without a fault proves nothing: a workload that no fault suits is not drawn.
func TestEveryDrawHasAFault(t *testing.T) {
	s := space(t, "reference", 3, true)
	e := envelope.Default("")
	e.AllowedFaults = []string{"slow_reader"} // of no register
	s.Limits = &e
	for seed := int64(1); seed <= 80; seed++ {
		one, err := s.Scenario(seed)
		if err != nil {
			t.Fatal(err)
		}
		check(t, s, one)
	}
}

// Thinly covered cells are taken next: a campaign whose faults all land tries
// every kind of fault far sooner than chance alone does.
func TestNextGoesWhereItIsThin(t *testing.T) {
	s := space(t, "reference", 3, true)
	kinds := func(next func(n int, c *Coverage) *scenarios.Scenario) (tried int) {
		var c Coverage
		seen := map[string]bool{}
		for n := range 20 {
			one := next(n, &c)
			c.Add(Planned(one), nil)
			for _, step := range one.Schedule {
				seen[step.Fault] = true
			}
		}
		return len(seen)
	}
	led := kinds(func(n int, c *Coverage) *scenarios.Scenario {
		one, seed, err := s.Next(7, n, c)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Scenario(seed); err != nil || again.Text != one.Text {
			t.Fatalf("seed %d is not what was taken: %v", seed, err)
		}
		return one
	})
	blind := kinds(func(n int, _ *Coverage) *scenarios.Scenario {
		one, err := s.Scenario(int64(n))
		if err != nil {
			t.Fatal(err)
		}
		return one
	})
	if all := len(s.kinds(load{})); 10*led < 8*all || led <= blind {
		t.Errorf("20 runs try %d of %d kinds of faults, chance alone %d", led, all, blind)
	}
}

// A fault that was tried in vain is not covered, and less is expected of it.
func TestGainOfWhatDoesNotLand(t *testing.T) {
	s := space(t, "reference", 3, true)
	one, err := s.Scenario(1)
	if err != nil {
		t.Fatal(err)
	}
	var fresh, vain, covered Coverage
	cells := Planned(one)
	vain.Add(nil, cells)
	covered.Add(cells, nil)
	covered.Add(cells, nil)
	if a, b, c := fresh.Gain(one), vain.Gain(one), covered.Gain(one); !(a > b && b > c) {
		t.Errorf("new %g, tried in vain %g, covered twice %g", a, b, c)
	}
}

// Only what landed counts, in the phase in which it really began.
func TestRecorded(t *testing.T) {
	s := &scenarios.Scenario{
		Workload: scenarios.Workload{QoS: []uint8{1, 2}, Subscribers: scenarios.Subscribers{Online: 1, Offline: 1}},
		Schedule: []scenarios.Step{
			{Fault: "kill", Target: "leader", DurationS: 5}, {AtS: 2, Fault: "delay", Target: "follower", DurationS: 2}, {AtS: 9, Fault: "pause", Target: "leader", DurationS: 1},
		},
	}
	at := func(start, end float64) history.LandingTimes {
		return history.LandingTimes{ApplyNS: int64(start * 1e9), AppliedNS: int64(start * 1e9), HealedNS: int64(end * 1e9)}
	}
	cell := func(fault, role, phase string) Cell { return Cell{fault, role, phase, "QoS 1+2 away", "go/x@1"} }
	want := []Cell{cell("kill", "leader", PhaseSteady), cell("delay", "follower", PhaseFault), cell("pause", "leader", PhaseRecovery)}
	unnamed := func(list []Cell) []Cell {
		out := slices.Clone(list)
		for i := range out {
			out[i].SDK = "go/x@1"
		}
		return out
	}
	if got := unnamed(Planned(s)); !slices.Equal(got, want) {
		t.Errorf("planned %v, want %v", got, want)
	}
	kill := history.Landing{Type: "kill", Target: "leader", State: history.Landed, Times: at(1, 6)}
	late := history.Landing{Type: "delay", Target: "follower", State: history.Landed, Times: at(7, 8)} // after the kill was healed, not during
	vain := history.Landing{Type: "pause", Target: "leader", State: history.Partial, Times: at(10, 11)}
	landed, missed := Recorded(s, "go/x@1", []history.Landing{kill, late, vain})
	if !slices.Equal(landed, []Cell{want[0], cell("delay", "follower", PhaseRecovery)}) || !slices.Equal(missed, want[2:]) {
		t.Errorf("landed %v, missed %v", landed, missed)
	}
}
