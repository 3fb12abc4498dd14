package main

import (
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// The keeper itself refuses what only it can know to be outside the envelope,
// and what is in place already; and a refused fault was never one.
func TestKeeperKeepsTheEnvelope(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	t.Parallel()
	limits := envelope.Default(t.TempDir())
	limits.AllowMajority, limits.MaxConcurrentFaults, limits.MaxTotalFaultS = false, 2, 250
	c := explored(t, keeper.Start{GraceS: 1, Envelope: &limits})
	steps := []struct {
		fault, target string
		seconds       float64
		want          string // "" where it is injected
	}{
		{"kill", "majority", 5, "2 of 3 nodes, a majority"},
		{"kill_all", "all", 5, "3 of 3 nodes, a majority"},
		{"kill_all", "node-1", 5, "kill_all ends every node"},
		{"upgrade", "node-1", 5, "allowed_binaries"},
		{"pause", "node-1", 301, "valid: a number from 0.1 to 300"},
		{"kill", "node-1", 100, ""},
		{"kill", "node-1", 90, "call heal_fault f2 first"},
		{"pause", "node-2", 5, "node-1, node-2 are 2 of 3 nodes"},
		{"pause", "node-1", 100, ""},
		{"stop", "node-1", 5, "3 faults at once are too many"},
	}
	var injected []string
	for _, step := range steps {
		params := map[string]any{"duration_s": step.seconds}
		if step.fault == "upgrade" {
			params["binary"] = "/bin/true"
		}
		f, err := c.Inject(t.Context(), keeper.Inject{Type: step.fault, Target: step.target, Params: params})
		if step.want == "" && err != nil || step.want != "" && (err == nil || !strings.Contains(err.Error(), step.want)) {
			t.Errorf("%s on %s: %s, %v, want %q", step.fault, step.target, f.State, err, step.want)
		}
		if err == nil {
			injected = append(injected, f.ID)
		}
	}
	for _, fault := range injected {
		if _, err := c.Heal(t.Context(), keeper.Heal{Fault: fault}); err != nil {
			t.Error(err)
		}
	}
	_, err := c.Inject(t.Context(), keeper.Inject{Type: "kill", Target: "node-3", Params: map[string]any{"duration_s": 250}})
	if err == nil || !strings.Contains(err.Error(), "max_total_fault_s: 250") {
		t.Errorf("more than all faults together may last: %v", err)
	}
	s, err := c.Stop(t.Context(), keeper.Caller{})
	if err != nil || len(s.Faults) != 3 {
		t.Errorf("%d faults, %v: %+v", len(s.Faults), err, s.Faults)
	}
}

// An agent's limits hold at an experiment that a person started, who has none.
func TestLimitsOfTheCallerHold(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	t.Parallel()
	c := explored(t, keeper.Start{GraceS: 1})
	strict := func(bend func(*envelope.Envelope)) *envelope.Envelope {
		limits := envelope.Default(t.TempDir())
		bend(&limits)
		return &limits
	}
	elsewhere := strict(func(e *envelope.Envelope) { e.AllowedFlavors = nil })
	for want, limits := range map[string]*envelope.Envelope{
		"2 of 3 nodes, a majority": strict(func(e *envelope.Envelope) { e.AllowMajority = false }),
		"6 s of faults in one":     strict(func(e *envelope.Envelope) { e.MaxTotalFaultS = 5 }),
		"3 nodes are too many":     strict(func(e *envelope.Envelope) { e.MaxNodes = 2 }),
		"allowed_flavors":          elsewhere,
	} {
		_, err := c.Inject(t.Context(), keeper.Inject{Type: "pause", Target: "majority", Params: map[string]any{"duration_s": 6}, Envelope: limits})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("inject: %v, want %q", err, want)
		}
	}
	if _, err := c.RunClient(t.Context(), keeper.RunClient{Scenario: "mqtt/qos-roundtrip", Envelope: elsewhere}); err == nil || !strings.Contains(err.Error(), "allowed_flavors") {
		t.Errorf("run_client: %v", err)
	}
	if _, err := c.Inject(t.Context(), keeper.Inject{Type: "pause", Target: "node-1", Params: map[string]any{"duration_s": 1}, Envelope: strict(func(*envelope.Envelope) {})}); err != nil {
		t.Errorf("within the limits: %v", err)
	}
	if _, err := c.Inject(t.Context(), keeper.Inject{Type: "pause", Target: "majority", Params: map[string]any{"duration_s": 1}}); err != nil {
		t.Errorf("of a person: %v", err)
	}
}
