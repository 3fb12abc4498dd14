package main

import (
	"net"
	"slices"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/scenarios"
	"github.com/robustmq/rmq-mcp/tools"
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
		ask := tools.JobAsk{Times: 1, Envelope: envelope.Default(t.TempDir()), Series: &tools.SeriesAsk{
			Start: keeper.Start{Scenario: test.scenario, Cluster: test.on},
			Fault: &scenarios.Step{Fault: "lost_disk", Target: test.target, DurationS: 5},
		}}
		job, text, err := seriesJob(ask)
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

// A job may have a scenario that the library has not. Its broker is reached by that
// scenario's protocol.
func TestReachOfAJob(t *testing.T) {
	s, err := scenarios.Load("mq9/workers")
	if err != nil {
		t.Fatal(err)
	}
	start := keeper.Start{Scenario: "workers-with-kill", Cluster: cluster.Config{Flavor: "reference"}}
	if err := reach(t.Context(), start, s.Text); err != nil {
		t.Errorf("a broker that is still to be started: %v", err)
	}
	info := hosttest.Serve(t, func(c net.Conn) {
		defer c.Close()
		c.Write([]byte("INFO {}\r\nPONG\r\n"))
		c.Read(make([]byte, 1024))
	})
	start.Cluster = cluster.Config{Flavor: "external", Endpoints: []string{info}}
	if err := reach(t.Context(), start, s.Text); err != nil {
		t.Errorf("a NATS listener: %v", err)
	}
}
