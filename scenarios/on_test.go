package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/checker"
)

// The embedded broker has no shared subscriptions, and says so before anything
// is started.
func TestRunsOn(t *testing.T) {
	s, err := Load("mqtt/shared-subscription")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RunsOn("reference", "mqtt3"); err == nil || !strings.Contains(err.Error(), "choose flavor mosquitto") {
		t.Errorf("on the embedded broker: %v", err)
	}
	if err := errors.Join(s.RunsOn("mosquitto", "mqtt3"), s.RunsOn("mosquitto", "mqtt5"), s.RunsOn("external", "mqtt3")); err != nil {
		t.Error(err)
	}
}

func TestTier(t *testing.T) {
	s, err := Parse("test", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	tier, err := s.Tier("", "robustmq")
	if err != nil {
		t.Fatal(err)
	}
	if tier.FaultS != 45 || tier.AfterS != 1 || tier.Rounds != 1 || s.Rate("robustmq") != 5 || tier.Messages != 5 {
		t.Errorf("tier for robustmq: %+v, rate %g", tier, s.Rate("robustmq"))
	}
	s.Tiers["hardening"] = Tier{FaultS: 60, Messages: 1000}
	if tier, _ := s.Tier("hardening", "robustmq"); tier.FaultS != 60 || tier.Messages != 500 {
		t.Errorf("a fault of 60 s lasts %g s; of 1000 messages, %d are asked for at half the rate", tier.FaultS, tier.Messages)
	}
	if tier, _ := s.Tier("smoke", "reference"); tier.FaultS != 2 || s.Rate("reference") != 10 {
		t.Errorf("tier for reference: %+v, rate %g", tier, s.Rate("reference"))
	}
	if _, err := s.Tier("nightly", ""); err == nil || !strings.Contains(err.Error(), "it has hardening, smoke") {
		t.Errorf("an unknown tier answers %v", err)
	}
}

// Each tier of each flavor publishes more messages than it asks for: faults keep some back.
func TestBudgetsCanBeReached(t *testing.T) {
	all, err := Library()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for tier := range s.Tiers {
			for _, flavor := range cluster.FlavorNames(cluster.Any) {
				of, err := s.Tier(tier, flavor)
				if err != nil {
					t.Fatal(err)
				}
				if most := int64(0.85 * s.Rate(flavor) * of.PublishS(s.Schedule)); of.Messages > most {
					t.Errorf("%s, %s on %s: %d messages are asked for and at most %d published", s.Name, tier, flavor, of.Messages, most)
				}
			}
		}
	}
}

// A schedule may name only nodes that the cluster has, also as a side of a
// link.
func TestFits(t *testing.T) {
	for target, most := range map[string]int{"node-3": 3, "leader": 1, "node-1~node-2": 2, "node-2>clients": 2} {
		s := &Scenario{Name: "x", Schedule: []Step{{Target: target}}}
		if err := s.Fits(cluster.Config{Nodes: most}); err != nil {
			t.Errorf("%s of %d: %v", target, most, err)
		}
		if err := s.Fits(cluster.Config{Nodes: most - 1}); (err == nil) != (target == "leader") {
			t.Errorf("%s of %d: %v", target, most-1, err)
		}
	}
}

// A run claims only what it can show. It claims nothing about logs, processes
// or connections that it does not see. A workload by hand claims nothing that
// only a schedule bounds.
func TestClaimsThatARunCanShow(t *testing.T) {
	sdk := clients.SDK{Lang: "go", Package: "x", Version: "1"}
	s, err := Parse("test", []byte(strings.Replace(minimal, "claims: [qos1-no-loss]", "claims: [qos1-no-loss, qos1-dup-flag, no-leak, no-panic, no-exit, progress, order-per-stream]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(s.Claims, "no-exit") {
		t.Fatalf("the scenario of this test claims %v", s.Claims)
	}
	for name, c := range map[string]struct {
		on           Conditions
		claims, hand []string
	}{
		"all is seen": {Conditions{},
			[]string{"qos1-no-loss", "qos1-dup-flag", "no-leak", "no-panic", "no-exit", "progress", "order-per-stream"},
			[]string{"qos1-no-loss", "qos1-dup-flag", "no-leak", "no-panic", "no-exit"}},
		"order is promised": {Conditions{Cluster: history.ClusterInfo{Promises: []string{"order-per-stream"}}},
			[]string{"qos1-no-loss", "qos1-dup-flag", "no-leak", "no-panic", "no-exit", "progress", "order-per-stream"},
			[]string{"qos1-no-loss", "qos1-dup-flag", "no-leak", "no-panic", "no-exit", "order-per-stream"}},
		"somebody else's brokers": {Conditions{Cluster: history.ClusterInfo{Lacks: map[string]string{history.LacksLogs: "x", history.LacksProcesses: "x", history.LacksResources: "x"}}},
			[]string{"qos1-no-loss", "qos1-dup-flag", "progress", "order-per-stream"},
			[]string{"qos1-no-loss", "qos1-dup-flag"}},
		"TLS": {Conditions{Transport: contract.TLS},
			[]string{"qos1-no-loss", "qos1-dup-flag", "no-panic", "no-exit", "progress", "order-per-stream"},
			[]string{"qos1-no-loss", "qos1-dup-flag", "no-panic", "no-exit"}},
		"a library that hides DUP": {Conditions{SDK: clients.SDK{Cannot: []string{contract.CannotDup}}},
			[]string{"qos1-no-loss", "no-leak", "no-panic", "no-exit", "progress", "order-per-stream"},
			[]string{"qos1-no-loss", "no-leak", "no-panic", "no-exit"}},
	} {
		on := c.on
		on.Protocol = "mqtt3"
		if on.SDK.Cannot == nil {
			on.SDK = sdk
		}
		if got := s.Claimed(on); !slices.Equal(got, c.claims) {
			t.Errorf("%s: claims %v, want %v", name, got, c.claims)
		}
		if got := s.ByHand(on); !slices.Equal(got, c.hand) {
			t.Errorf("%s: by hand %v, want %v", name, got, c.hand)
		}
	}
}

// Before external brokers nothing is armed but the tap.
func TestArmsOnBrokersOfSomebodyElse(t *testing.T) {
	for name, want := range map[string]string{"mqtt/power-loss": "[]", "mqtt/ack-lost": "[tap]"} {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(s.ArmsOn(cluster.Config{Flavor: "external"})); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if got := s.ArmsOn(cluster.Config{Flavor: "external", Arm: []string{"tap"}}); !slices.Equal(got, []string{"tap"}) {
			t.Errorf("%s, with packets recorded: %q", name, got)
		}
		if ours, all := s.ArmsOn(cluster.Config{Flavor: "reference"}), s.Arms(); !slices.Equal(ours, all) {
			t.Errorf("%s on nodes of ours: %q, want %q", name, ours, all)
		}
		with := s.ArmsOn(cluster.Config{Flavor: "reference", Arm: []string{"tap"}})
		if slices.Sort(with); !slices.Equal(with, slices.Compact(slices.Sorted(slices.Values(append(s.Arms(), "tap"))))) {
			t.Errorf("%s on nodes of ours, with packets recorded: %q", name, with)
		}
	}
}

// A fault in place of the scenario's own leaves its workload, and traffic goes on long
// enough after the heal to be judged.
func TestWithAFaultOfOnesOwn(t *testing.T) {
	s, err := Load("mqtt/qos-roundtrip")
	if err != nil {
		t.Fatal(err)
	}
	with, err := s.With(Step{Fault: "packet_drop", Target: "publishers", DurationS: 5, Params: map[string]any{"packet": "publish"}}, "", cluster.Config{Flavor: "reference"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := with.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	read, err := Parse(with.Name, text)
	if err != nil {
		t.Fatal(err)
	}
	tier, err := read.Tier("", "reference")
	if err != nil || read.Name != "mqtt/qos-roundtrip-with-packet-drop" || len(read.Schedule) != 1 || read.Schedule[0].DurationS != 5 || tier.AfterS < leastAfterS {
		t.Errorf("%s: %+v, tier %+v, %v", read.Name, read.Schedule, tier, err)
	}
	if read.Workload.Publishers != s.Workload.Publishers || len(s.Schedule) != 0 {
		t.Errorf("%+v; the scenario itself has %d steps", read.Workload, len(s.Schedule))
	}
	if bad, err := s.With(Step{Fault: "kill", Target: "nobody"}, "", cluster.Config{Flavor: "reference"}); err == nil {
		if _, err = bad.Markdown(); err == nil {
			t.Error("a target that there is none of is taken")
		}
	}
}

// A scenario that has a fault in place of its own does not ask what the fault excuses.
func TestWithAFaultThatExcuses(t *testing.T) {
	s, err := Load("mqtt/qos-roundtrip")
	if err != nil {
		t.Fatal(err)
	}
	if with, err := s.With(Step{Fault: "lost_disk", Target: "leader"}, "", cluster.Config{Flavor: "reference"}); err != nil || !slices.Contains(with.Claims, "qos1-no-loss") {
		t.Errorf("one disk of three is lost, and %v are asked, %v", with.Claims, err)
	}
	for fault, out := range map[string][]string{
		"pids":         {"no-panic", "no-exit"},
		"bit_rot":      {"no-corruption", "qos1-no-loss", "qos2-no-loss"},
		"replace_node": {"qos1-no-loss", "qos2-no-loss"},
		"pause":        nil,
	} {
		with, err := s.With(Step{Fault: fault, Target: "any", DurationS: 5}, "", cluster.Config{Flavor: "reference", Nodes: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(with.Claims) == 0 {
			t.Errorf("%s: nothing is asked", fault)
		}
		for _, claim := range s.Claims {
			if e, err := checker.Find(claim); err != nil || !e.ByFault && slices.Contains(with.Claims, claim) == slices.Contains(out, claim) {
				t.Errorf("%s: %s is asked: %v, %v", fault, claim, slices.Contains(with.Claims, claim), err)
			}
		}
		on := Conditions{Protocol: "mqtt3", Cluster: history.ClusterInfo{Flavor: "reference", Nodes: 1}}
		for _, claim := range out {
			if claims, _ := with.Beside(on); slices.Contains(claims, claim) {
				t.Errorf("%s: %s is judged beside", fault, claim)
			}
		}
	}
}
