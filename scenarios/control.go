package scenarios

import (
	"slices"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/judge/checker"
)

// Control is the scenario without its faults, and the tier without them: the same
// workload for the same time. It is what a failure under faults is compared with,
// and what to run first on any broker.
func (s *Scenario) Control(t Tier) (*Scenario, Tier) {
	control := *s
	control.Schedule = nil
	control.Claims = slices.DeleteFunc(slices.Clone(s.Claims), func(claim string) bool { // those are judged beside them
		e, err := checker.Find(claim)
		return err == nil && e.ByFault
	})
	t.SteadyS += t.faultTime(s.Schedule)
	t.Rounds = 1
	return &control, t
}

// OnNodes reports whether a fault of the schedule acts on a node, or on what is
// between nodes, and not on clients or on what passes the tap.
func (s *Scenario) OnNodes() bool {
	return slices.ContainsFunc(s.Schedule, func(step Step) bool {
		return slices.ContainsFunc(faults.Catalog(), func(k faults.Kind) bool {
			return k.Type == step.Fault && !slices.Contains([]string{"client", "protocol", "hostile"}, k.Family)
		})
	})
}
