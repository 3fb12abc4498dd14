package experiment

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// Several external brokers do not say who leads: the plan says so, and
// takes any of them.
func TestLeaderOfBrokersOfSomebodyElse(t *testing.T) {
	for _, test := range []struct {
		endpoints []string
		target    string
	}{
		{[]string{"127.0.0.1:1883"}, "leader"},
		{[]string{"127.0.0.1:1883", "127.0.0.1:1884", "127.0.0.1:1885"}, "any"},
	} {
		c := cluster.Config{Flavor: "external", Endpoints: test.endpoints, Containers: []string{"one", "two", "three"}[:len(test.endpoints)]}
		s, err := checked(keeper.Start{Scenario: "mqtt/broker-kill-9", Cluster: c})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.scenario.Schedule[0].Target; got != test.target || (len(s.led) > 0) != (test.target == "any") {
			t.Errorf("%d brokers: the target is %s, said of %q", len(test.endpoints), got, s.led)
		}
	}
}

// Packets alone show how long an external broker keeps a session of MQTT 5.
func TestPacketsOfBrokersOfSomebodyElse(t *testing.T) {
	for _, test := range []struct {
		start keeper.Start
		want  bool
	}{
		{keeper.Start{Protocol: "mqtt5"}, true},
		{keeper.Start{Protocol: "mqtt3"}, false},
		{keeper.Start{Protocol: "mqtt5", Transport: "ws"}, false},
	} {
		test.start.Scenario, test.start.Cluster.Flavor, test.start.Cluster.Endpoints = "mqtt/persistent-session", "external", []string{"127.0.0.1:1883"}
		s, err := checked(test.start)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(s.start.Cluster.Arm, cluster.ArmTap); got != test.want {
			t.Errorf("%+v: armed %v", test.start, s.start.Cluster.Arm)
		}
	}
}

// Brokers of somebody else get no faults but those on clients, and those for which their
// process or container is enough.
func TestFaultsOnBrokersOfSomebodyElse(t *testing.T) {
	external := cluster.Config{Flavor: "external", Endpoints: []string{"127.0.0.1:1883"}}
	theirs := external
	theirs.PIDs = []int{4711}
	boxed := external
	boxed.Containers = []string{"broker"}
	vanishing := boxed
	vanishing.Vanishing = "broker"
	paused := rewritten(t, "mqtt/broker-kill-9", "fault: kill", "fault: pause")
	for _, test := range []struct {
		scenario string
		cluster  cluster.Config
		leftOut  []string
		steps    int
		control  bool
	}{
		{"mqtt/will", external, []string{"kill of node-3"}, 4, false},
		{"mqtt/will", theirs, []string{"kill of node-3"}, 4, false},
		{"mqtt/will", boxed, nil, 5, false},
		{"mqtt/broker-kill-9", external, nil, 0, true},
		{"mqtt/broker-kill-9", theirs, nil, 0, true},
		{"mqtt/broker-kill-9", boxed, nil, 1, false},
		{"mqtt/broker-kill-9", vanishing, nil, 0, true},
		{"mqtt/will", vanishing, []string{"kill of node-3"}, 4, false},
		{paused, vanishing, nil, 1, false},
		{paused, external, nil, 0, true},
		{paused, theirs, nil, 1, false},
		{paused, boxed, nil, 1, false},
		{"mqtt/power-loss", theirs, nil, 0, true},
		{"mqtt/power-loss", boxed, nil, 0, true},
		{"mqtt/clock-jump", boxed, nil, 0, true},
		{"mqtt/leader-isolated", boxed, nil, 0, true},
		{"mqtt/broker-starved", boxed, nil, 0, true},
		{"mqtt/degraded-quorum", boxed, []string{"delay of follower", "slow of follower"}, 1, false},
		{"mqtt/ack-lost", external, nil, 2, false},
		{"mqtt/connection-flood", external, nil, 1, false},
		{"mqtt/bad-neighbours", external, []string{"publish_flood of any"}, 2, false},
		{"mqtt/malformed-packets", external, nil, 0, true},
		{"mqtt/malformed-packets", theirs, nil, 1, false},
		{"mqtt/qos-roundtrip", external, nil, 0, false},
		{"mqtt/will", cluster.Config{Nodes: 1}, []string{"kill of node-3"}, 4, false}, // the control of such a run
	} {
		off := test.cluster.Flavor == ""
		s, err := checked(keeper.Start{Scenario: test.scenario, Cluster: test.cluster, OffNodes: off})
		if err != nil {
			t.Errorf("%s: %v", test.scenario, err)
			continue
		}
		if !slices.Equal(s.leftOut, test.leftOut) || len(s.scenario.Schedule) != test.steps || s.start.NoFaults != test.control {
			t.Errorf("%s on %+v: left out %q, %d steps, a control: %v", test.scenario, test.cluster, s.leftOut, len(s.scenario.Schedule), s.start.NoFaults)
		}
		if without := test.control || len(test.leftOut) > 0; (s.notice != "") != (without && !off) {
			t.Errorf("%s on %+v: says %q", test.scenario, test.cluster, s.notice)
		}
	}
}

// A scenario with a fault that nodes made of an image cannot have is refused before anything starts.
func TestFaultsOnImages(t *testing.T) {
	pods := cluster.Config{Runtime: cluster.RuntimePods}
	tapped := cluster.Config{Runtime: cluster.RuntimePods, Arm: []string{cluster.ArmTap}}
	for _, test := range []struct {
		scenario string
		on       cluster.Config
		sdk      string
		want     string
	}{
		{"mqtt/leader-isolated", pods, "python", ""},
		{"mqtt/network-delay", pods, "", ""},
		{"mqtt/network-delay", pods, "python", "a fault between nodes and clients needs clients in pods"},
		{"mqtt/network-delay", tapped, "", "needs clients in pods: choose an SDK that is part of rmq-mcp, such as go, and arm no tap"},
		{rewritten(t, "mqtt/network-delay", "with: clients", "with: nodes"), tapped, "", ""},
		{rewritten(t, "mqtt/leader-isolated", "target: leader", "target: node-1~clients"), tapped, "", "needs clients in pods"},
		{rewritten(t, "mqtt/leader-isolated", "fault: partition", "fault: unreachable"), pods, "", "unreachable of leader: the network between pods is not ours"},
		{"mqtt/network-delay", cluster.Config{Runtime: cluster.RuntimeDocker}, "python", ""},
		{"mqtt/broker-starved", cluster.Config{Runtime: cluster.RuntimeDocker}, "", "schedule step 1: cpu of leader: nothing is mounted, loaded or limited"},
		{"mqtt/broker-starved", cluster.Config{}, "", ""},
	} {
		_, err := checked(keeper.Start{Scenario: test.scenario, Cluster: test.on, SDK: test.sdk})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s of %q on %+v: %v; want %q", test.scenario, test.sdk, test.on, err, test.want)
		}
	}
}

// rewritten is the path of a file with a scenario of the library in which something is
// replaced.
func rewritten(t *testing.T, name, old, with string) string {
	t.Helper()
	s, err := scenarios.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mine.md")
	if err := os.WriteFile(file, []byte(strings.Replace(s.Text, old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Endpoints of somebody else's brokers are listeners of the scenario's protocol.
func TestMailboxesOfSomebodyElse(t *testing.T) {
	for name, want := range map[string]string{"mq9/mailbox-roundtrip": contract.MQ9, "mqtt/qos-roundtrip": ""} {
		s, err := checked(keeper.Start{Scenario: name, Cluster: cluster.Config{Flavor: "external", Endpoints: []string{"127.0.0.1:4222"}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.start.Cluster.Protocol; got != want || (want != "" && s.sdk.Package != "async-nats") {
			t.Errorf("%s: the endpoints speak %q, by %s; expected %q", name, got, s.sdk, want)
		}
	}
}

// A run has what a plan froze of its scenario, on any broker.
func TestAsPlanned(t *testing.T) {
	external := cluster.Config{Flavor: "external", Endpoints: []string{"127.0.0.1:1883"}}
	for _, c := range []cluster.Config{external, {Flavor: "mosquitto", Profile: "as-shipped"}, {Flavor: "robustmq"}, {Flavor: "reference"}} {
		for _, name := range []string{"mqtt/will", "mqtt/persistent-session", "mqtt/bad-neighbours", "mqtt/mass-disconnect"} {
			run, err := checked(keeper.Start{Scenario: name, Cluster: c})
			if err != nil {
				t.Fatal(err)
			}
			s, err := scenarios.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			planned := s.On(c)
			tier, err := planned.Tier("", c.Flavor)
			if err != nil {
				t.Fatal(err)
			}
			planned, tier, _, _ = planned.Spared(c, tier)
			if is := run.scenario.Budget(run.tier); is != planned.Budget(tier) {
				t.Errorf("%s on %s: %+v, planned is %+v", name, c.Flavor, is, planned.Budget(tier))
			}
		}
	}
}

// A control, and a run that leaves faults out, publish as much as they are asked for.
func TestBudgetsWithoutFaults(t *testing.T) {
	file := rewritten(t, "mqtt/bad-neighbours", "flavors:\n", "flavors:\n  external: {rate_per_s: 24}\n")
	of := func(flavor string, noFaults bool) (int64, float64) {
		config := cluster.Config{Flavor: flavor}
		if flavor == "external" {
			config.Endpoints = []string{"127.0.0.1:1883"}
		}
		s, err := checked(keeper.Start{Scenario: file, Cluster: config, NoFaults: noFaults})
		if err != nil {
			t.Fatal(err)
		}
		return s.tier.Messages, s.rate * s.tier.PublishS(s.scenario.Schedule)
	}
	with, published := of("robustmq", false)
	if without, also := of("robustmq", true); without != with || also != published {
		t.Errorf("with its faults a run is asked for %d of %g messages, its control for %d of %g", with, published, without, also)
	}
	if asked, published := of("external", false); float64(asked) > 0.9*published {
		t.Errorf("without faults of nodes %d of %g messages are asked for", asked, published)
	}
}

// A crowd of publishers whose end markers alone are more than a broker keeps for a session
// has no offline subscriber, and its rate. Others publish less, of which their markers are a
// part.
func TestSpare(t *testing.T) {
	external := cluster.Config{Flavor: "external", Endpoints: []string{"127.0.0.1:1883"}}
	for _, test := range []struct {
		scenario string
		offline  int
		all      bool
	}{
		{"mqtt/many-connections", 0, true},
		{"mqtt/mass-disconnect", 0, true},
		{"mqtt/persistent-session", 3, false},
	} {
		s, err := checked(keeper.Start{Scenario: test.scenario, Cluster: external})
		if err != nil {
			t.Errorf("%s: %v", test.scenario, err)
			continue
		}
		w, asked := s.scenario.Workload, s.scenario.Rate("external")
		if w.Subscribers.Offline != test.offline || (s.rate == asked) != test.all || s.lowered == "" {
			t.Errorf("%s: %d offline, %g of %g messages a second, %q", test.scenario, w.Subscribers.Offline, s.rate, asked, s.lowered)
		}
		waiting := float64(w.Markers()) + s.rate*s.tier.PublishS(s.scenario.Schedule)
		if limit := cluster.QueueLimit(external); w.Subscribers.Offline > 0 && waiting > float64(limit) {
			t.Errorf("%s: %.0f messages may wait for a subscriber, of %d", test.scenario, waiting, limit)
		}
	}
}
