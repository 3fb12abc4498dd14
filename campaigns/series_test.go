package campaigns

import (
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
)

// Runs that differ in more than their seed are no series: a planted defect would make a
// broker's failure reproducible.
func TestAspects(t *testing.T) {
	made := func(change func(*history.Run)) []aspect {
		r := &history.Run{Scenario: "mqtt/will", ScenarioSHA: "0123456789", Tier: "smoke", Protocol: "mqtt3", SDK: "go/x@1"}
		r.Cluster = history.ClusterInfo{Flavor: "robustmq", Version: "0.4.11", BinarySHA: "abcdef0123", Nodes: 3, Profile: "tested", Runtime: "process"}
		change(r)
		return aspects(r)
	}
	first := made(func(*history.Run) {})
	for in, change := range map[string]func(*history.Run){
		"": func(r *history.Run) { r.Seed, r.Transport = 7, "tcp" },
		"scenario (mqtt/will; mqtt/will (control))": func(r *history.Run) { r.Control = true },
		"faults left out (none; kill of node-1)":    func(r *history.Run) { r.LeftOut = []string{"kill of node-1"} },
		"broker":                                    func(r *history.Run) { r.Cluster.Planted = "lose/100" },
		"build":                                     func(r *history.Run) { r.Cluster.BinarySHA = "9" },
		"transport (tcp; tls)":                      func(r *history.Run) { r.Transport = "tls" },
		"settings":                                  func(r *history.Run) { r.Cluster.Differs = map[string]string{"a": "1 → 2"} },
		"load":                                      func(r *history.Run) { r.Lowered = "10 messages a second in place of 20" },
	} {
		if got := differing(first, made(change)); !strings.HasPrefix(got, in) || strings.Contains(got, "), ") || (in == "") != (got == "") {
			t.Errorf("they differ in %q, want %q alone", got, in)
		}
	}
}
