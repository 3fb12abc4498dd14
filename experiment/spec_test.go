package experiment

import (
	"slices"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

// Brokers that somebody else runs get the faults alone that act on clients.
func TestFaultsOnBrokersOfSomebodyElse(t *testing.T) {
	external := cluster.Config{Flavor: "external", Endpoints: []string{"127.0.0.1:1883"}}
	theirs := external
	theirs.PIDs = []int{4711}
	for _, test := range []struct {
		scenario string
		cluster  cluster.Config
		leftOut  []string
		steps    int
		control  bool
	}{
		{"mqtt/will", external, []string{"kill of node-3"}, 4, false},
		{"mqtt/will", theirs, nil, 5, false},
		{"mqtt/broker-kill-9", external, nil, 0, true},
		{"mqtt/ack-lost", external, nil, 2, false},
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
			t.Errorf("%s: left out %q, %d steps, a control: %v", test.scenario, s.leftOut, len(s.scenario.Schedule), s.start.NoFaults)
		}
	}
}
