package experiment

import (
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

func TestAlone(t *testing.T) {
	theirs := cluster.Config{Flavor: "external", Endpoints: []string{"127.0.0.1:1883"}}
	process, box := theirs, theirs
	process.PIDs, box.Containers = []int{4242}, []string{"broker"}
	for _, c := range []struct {
		name  string
		start keeper.Start
		want  bool
	}{
		{"brokers of our own", keeper.Start{Scenario: "mqtt/broker-kill-9"}, false},
		{"faults of nodes that cannot be had", keeper.Start{Scenario: "mqtt/broker-kill-9", Cluster: theirs}, false},
		{"a container", keeper.Start{Scenario: "mqtt/broker-kill-9", Cluster: box}, true},
		{"a container, and no faults", keeper.Start{Scenario: "mqtt/broker-kill-9", Cluster: box, NoFaults: true}, false},
		{"a process that cannot be started again", keeper.Start{Scenario: "mqtt/broker-kill-9", Cluster: process}, false},
		{"a process, and a scenario without faults", keeper.Start{Scenario: "mqtt/qos-roundtrip", Cluster: process}, false},
		{"malformed packets", keeper.Start{Scenario: "mqtt/malformed-packets", Cluster: process}, true},
		{"a flood of connections", keeper.Start{Scenario: "mqtt/connection-flood", Cluster: theirs}, true},
		{"faults of its own clients", keeper.Start{Scenario: "mqtt/mass-disconnect", Cluster: theirs}, false},
		{"by hand", keeper.Start{Cluster: theirs}, false},
		{"by hand, with a process", keeper.Start{Cluster: process}, true},
	} {
		if got, err := Alone(c.start); err != nil || got != c.want {
			t.Errorf("%s: Alone = %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	if _, err := Alone(keeper.Start{Scenario: "no/such", Cluster: theirs}); err == nil {
		t.Error("a scenario that is not there was taken")
	}
}
