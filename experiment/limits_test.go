package experiment

import (
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
)

// A scenario is refused before anything of it starts where a fault of its
// schedule, or its cluster, is outside the envelope.
func TestScenarioOutsideTheEnvelope(t *testing.T) {
	tests := map[string]struct {
		bend func(*envelope.Envelope)
		want string
	}{
		"its fault":      {func(e *envelope.Envelope) { e.AllowedFaults = []string{"pause"} }, "schedule step 1: fault \"kill\""},
		"its target":     {func(e *envelope.Envelope) { e.AllowedTargets = []string{"node-1"} }, "target \"leader\""},
		"its duration":   {func(e *envelope.Envelope) { e.MaxFaultDurationS = 5 }, "a kill of 12 s is too long"},
		"all its faults": {func(e *envelope.Envelope) { e.MaxTotalFaultS = 11 }, "12 s of faults in one experiment are too much"},
		"its nodes":      {func(e *envelope.Envelope) { e.MaxNodes = 2 }, "3 nodes are too many"},
		"its flavor":     {func(e *envelope.Envelope) { e.AllowedFlavors = nil }, "flavor \"reference\""},
	}
	for name, test := range tests {
		limits := envelope.Default("/state")
		test.bend(&limits)
		dir := t.TempDir()
		_, err := New("test", keeper.Env{Dir: dir, StateDir: dir}, keeper.Start{
			Scenario: "mqtt/broker-kill-9", Cluster: cluster.Config{}, Envelope: &limits,
		}, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "Nothing was changed") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// The total counts what was asked for: three faults of 20 s leave nothing of 60 s,
// however early they were healed.
func TestTotalFaultTime(t *testing.T) {
	s := int64(time.Second)
	for name, c := range map[string]struct {
		landing history.Landing
		want    time.Duration
	}{
		"healed early":     {history.Landing{Healed: history.HealVerified, Times: history.LandingTimes{AppliedNS: 5 * s, HealedNS: 6 * s, DurationNS: 20 * s}}, 20 * time.Second},
		"healed late":      {history.Landing{Healed: history.HealVerified, Times: history.LandingTimes{AppliedNS: 5 * s, HealedNS: 30 * s, DurationNS: 20 * s}}, 25 * time.Second},
		"in place":         {history.Landing{Healed: history.HealPending, Times: history.LandingTimes{AppliedNS: 5 * s, DurationNS: 20 * s}}, 20 * time.Second},
		"not applied yet":  {history.Landing{Healed: history.HealPending, Times: history.LandingTimes{DurationNS: 20 * s}}, 20 * time.Second},
		"never in place":   {history.Landing{Healed: history.HealVerified, Times: history.LandingTimes{DurationNS: 20 * s}}, 0},
		"it does not heal": {history.Landing{Healed: history.HealFailed, Times: history.LandingTimes{AppliedNS: 5 * s, DurationNS: 20 * s}}, 20 * time.Second},
	} {
		if got := counted(c.landing); got != c.want {
			t.Errorf("%s: %v of the total, want %v", name, got, c.want)
		}
	}
}

// A start that leaves something out gets a default, which the operator has to allow too.
func TestDefaultsAreWithinLimits(t *testing.T) {
	for _, test := range []struct {
		name  string
		limit func(*envelope.Envelope)
		want  string
	}{
		{"runtime", func(e *envelope.Envelope) { e.AllowedRuntimes = []string{"docker"} }, `runtime "process"`},
		{"nodes", func(e *envelope.Envelope) { e.MaxNodes = 1 }, "3 nodes are too many"},
		{"flavor", func(e *envelope.Envelope) { e.AllowedFlavors = []string{"robustmq"} }, `flavor "reference"`},
		{"all that there is", func(*envelope.Envelope) {}, ""},
	} {
		limits := envelope.Default(t.TempDir())
		test.limit(&limits)
		_, err := newSpec("test", keeper.Start{Envelope: &limits})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}
