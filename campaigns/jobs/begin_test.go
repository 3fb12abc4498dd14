package jobs

import (
	"slices"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A series with a fault of its own asks for no loss where the nodes of its runs keep a copy
// of the disk that is lost, however many nodes the scenario has by itself.
func TestSeriesAsksByTheNodesOfItsRuns(t *testing.T) {
	three := []string{"127.0.0.1:1883", "127.0.0.1:1884", "127.0.0.1:1885"}
	for _, test := range []struct {
		scenario string
		on       cluster.Config
		target   string
		nodes    int
		asked    bool
	}{
		{"mqtt/qos-roundtrip", cluster.Config{Flavor: "robustmq"}, "leader", 3, true},
		{"mqtt/qos-roundtrip", cluster.Config{Flavor: "robustmq", Nodes: 1}, "leader", 1, false},
		{"mqtt/qos-roundtrip", cluster.Config{Flavor: "mosquitto"}, "any", 1, false},
		{"mqtt/session-expiry", cluster.Config{}, "any", 1, false},
		{"mqtt/session-expiry", cluster.Config{Flavor: "robustmq", Nodes: 3}, "node-3", 3, true},
		{"mqtt/session-expiry", cluster.Config{Flavor: "external", Endpoints: three}, "node-3", 3, true},
		{"mqtt/qos-roundtrip", cluster.Config{Flavor: "external", Endpoints: three[:1]}, "any", 1, false},
	} {
		ask := Ask{Times: 1, Envelope: envelope.Default(t.TempDir()), Series: &SeriesAsk{
			Start: keeper.Start{Scenario: test.scenario, Cluster: test.on},
			Fault: &scenarios.Step{Fault: "lost_disk", Target: test.target, DurationS: 5},
		}}
		job, text, err := series(ask)
		if err != nil {
			t.Errorf("%s on %+v: %v", test.scenario, test.on, err)
			continue
		}
		s, err := scenarios.Parse(job.Start.Scenario, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if asked := slices.Contains(s.Claims, "qos1-no-loss"); asked != test.asked || s.Cluster.Nodes != test.nodes {
			t.Errorf("%s on %+v: %d nodes, no loss is asked: %v, want %d, %v", test.scenario, test.on, s.Cluster.Nodes, asked, test.nodes, test.asked)
		}
	}
}
