package reports

import (
	"testing"

	"github.com/robustmq/rmq-mcp/history"
)

// The command that repeats a run on a stranger's broker names its address, and nothing
// that a shell would take for more.
func TestReproduceExternal(t *testing.T) {
	run := &history.Run{Scenario: "mqtt/will", SDK: "go/rmq-mcp@1", Protocol: "mqtt3", Seed: 7, Tier: "smoke", Cluster: history.ClusterInfo{
		Flavor: "external", Nodes: 2, Config: map[string]any{"endpoints": []any{"[::1]:1883", "x; reboot"}},
	}}
	want := "rmq-mcp run mqtt/will --endpoint [::1]:1883 --sdk go/rmq-mcp@1 --protocol mqtt3 --seed 7 --tier smoke"
	if got := reproduce(run); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
