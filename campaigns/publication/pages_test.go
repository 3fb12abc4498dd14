package publication

import (
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
)

// A finding with the addresses of an external broker is not published.
func TestNamed(t *testing.T) {
	own := finding.Finding{Runs: []finding.RunLine{{Broker: "robustmq 0.4.11"}}}
	other := finding.Finding{Runs: own.Runs, Seen: []finding.Seen{{Setup: finding.Setup{Broker: "external broker 127.0.0.1:1883"}}}}
	if named(own) || !named(other) {
		t.Errorf("a broker of ours: %t, an external one: %t", named(own), named(other))
	}
}
