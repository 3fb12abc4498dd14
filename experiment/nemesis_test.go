package experiment

import (
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/scenarios"
)

// A node is not called down before the time is over that one of its flavor may take.
func TestHealBound(t *testing.T) {
	for _, test := range []struct {
		recovery float64
		restart  time.Duration
		least    time.Duration
	}{
		{0, 0, time.Minute},
		{0, 120 * time.Second, 121 * time.Second},
		{90, 120 * time.Second, 121 * time.Second},
		{300, 120 * time.Second, 300 * time.Second},
	} {
		if got := healBound(scenarios.Tier{RecoveryS: test.recovery}, test.restart); got < test.least {
			t.Errorf("recovery_s %g, a restart of %v: %v, want %v or more", test.recovery, test.restart, got, test.least)
		}
	}
}
