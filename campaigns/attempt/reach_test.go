package attempt

import (
	"net"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A job may have a scenario that the library has not. Its broker is reached by that
// scenario's protocol.
func TestReachOfAJob(t *testing.T) {
	s, err := scenarios.Load("mq9/workers")
	if err != nil {
		t.Fatal(err)
	}
	start := keeper.Start{Scenario: "workers-with-kill", Cluster: cluster.Config{Flavor: "reference"}}
	if err := Reach(t.Context(), start, s.Text); err != nil {
		t.Errorf("a broker that is still to be started: %v", err)
	}
	info := hosttest.Serve(t, func(c net.Conn) {
		defer c.Close()
		c.Write([]byte("INFO {}\r\nPONG\r\n"))
		c.Read(make([]byte, 1024))
	})
	start.Cluster = cluster.Config{Flavor: "external", Endpoints: []string{info}}
	if err := Reach(t.Context(), start, s.Text); err != nil {
		t.Errorf("a NATS listener: %v", err)
	}
}
