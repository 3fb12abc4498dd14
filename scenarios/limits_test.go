package scenarios

import (
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/keeper"
)

// A scenario is refused before anything of it starts where a fault of its
// schedule, or its cluster, is outside the envelope.
func TestScenarioOutsideTheEnvelope(t *testing.T) {
	tests := map[string]struct {
		bend func(*envelope.Envelope)
		want string
	}{
		"its fault":    {func(e *envelope.Envelope) { e.AllowedFaults = []string{"pause"} }, "schedule step 1: fault \"kill\""},
		"its target":   {func(e *envelope.Envelope) { e.AllowedTargets = []string{"node-1"} }, "target \"leader\""},
		"its duration": {func(e *envelope.Envelope) { e.MaxFaultDurationS = 5 }, "a kill of 12 s is too long"},
		"its nodes":    {func(e *envelope.Envelope) { e.MaxNodes = 2 }, "3 nodes are too many"},
		"its flavor":   {func(e *envelope.Envelope) { e.AllowedFlavors = nil }, "flavor \"reference\""},
	}
	for name, test := range tests {
		limits := envelope.Default("/state")
		test.bend(&limits)
		dir := t.TempDir()
		_, err := New("test", keeper.Env{Dir: dir, StateDir: dir}, keeper.Start{
			Scenario: "mqtt/broker-kill-9", Cluster: cluster.Config{}, Envelope: &limits,
		})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "Nothing was changed") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
