package matrices

import (
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/cluster"
)

// A fault in a broker that several runs share is no fault that its other runs know of.
func TestJobsOfAMatrix(t *testing.T) {
	for name, test := range map[string]struct {
		flavor, scenario string
		pids             []int
		asked            int
		want             int // 0: as many as the machine has room for, -1: refused
	}{
		"ours":                            {"reference", "mqtt/broker-kill-9", nil, 0, 0},
		"ours, three asked for":           {"reference", "mqtt/broker-kill-9", nil, 3, 3},
		"somebody else's":                 {"external", "mqtt/broker-kill-9", nil, 0, 1},
		"somebody else's, three":          {"external", "mqtt/broker-kill-9", nil, 3, 3},
		"a flood at somebody else's":      {"external", "mqtt/connection-flood", nil, 3, -1},
		"somebody else's process":         {"external", "mqtt/malformed-packets", []int{7}, 0, 1},
		"somebody else's process, three":  {"external", "mqtt/malformed-packets", []int{7}, 3, -1},
		"somebody else's process, as one": {"external", "mqtt/malformed-packets", []int{7}, 1, 1},
		"no faults, three":                {"external", "mqtt/qos-roundtrip", []int{7}, 3, 3},
	} {
		config := cluster.Config{PIDs: test.pids}
		if test.flavor == "external" {
			config.Endpoints = []string{"127.0.0.1:1883"}
		}
		p := campaigns.Plan{Config: config, Entries: []campaigns.Entry{{Scenario: test.scenario, Flavor: test.flavor}}}
		jobs, err := Jobs(t.Context(), p, test.asked)
		if refused := err != nil; refused != (test.want < 0) || !refused && test.want > 0 && jobs != test.want || !refused && jobs < 1 {
			t.Errorf("%s: %d, %v", name, jobs, err)
		}
	}
}

// Endpoints say what the nodes are, and a broker that lets nobody in is noticed before the
// first run.
func TestMatrixOfEndpoints(t *testing.T) {
	order := campaigns.Order{SDKs: []string{"default"}, Config: cluster.Config{Endpoints: []string{"127.0.0.1:1"}}}
	_, err := planOf(t.Context(), attempt.Runner{Dir: t.TempDir()}, []string{"mqtt/qos-roundtrip"}, order)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), "set flavor external") {
		t.Errorf("it says %v", err)
	}
}

func TestCommandOfAMatrix(t *testing.T) {
	got := commandOf([]string{"mqtt/*", "mqtt/will"}, campaigns.Order{Flavors: []string{"external"}, Repeat: 1, Config: cluster.Config{
		Endpoints: []string{"h:1883"}, PIDs: []int{7, 8}, Containers: []string{"a", "b"}, Username: "somebody", CA: "/home/x/ca.pem", Plant: "lose/200",
		Settings: map[string]any{"b": true, "a": "it's two"},
	}})
	const want = `rmq-mcp matrix 'mqtt/*' mqtt/will --flavor external --plant lose/200 --pid 7,8 --container a,b --endpoint h:1883 --set 'a=it'\''s two' --set b=true`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
