package scenarios

import (
	"slices"

	"github.com/robustmq/rmq-mcp/cluster"
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

// OnNodes reports whether all faults of the schedule act on nodes, or on what is between
// nodes. It is false where there are none.
func (s *Scenario) OnNodes() bool {
	return len(s.Schedule) > 0 && len(s.OffNodes().Schedule) == 0
}

// On is the scenario as it can run on a cluster.
func (s *Scenario) On(c cluster.Config) *Scenario {
	if c.Untouchable() {
		return s.OffNodes()
	}
	return s
}

// OffNodes is the scenario with the faults alone that act on clients, or on what passes
// the tap.
func (s *Scenario) OffNodes() *Scenario {
	rest := *s
	rest.Schedule = slices.DeleteFunc(slices.Clone(s.Schedule), Step.onNode)
	return &rest
}

// Leaderless is the scenario for brokers that do not say who leads: faults of the leader
// or of a follower act on any node.
func (s *Scenario) Leaderless() *Scenario {
	of := *s
	of.Schedule = slices.Clone(s.Schedule)
	for i := range of.Schedule {
		if of.Schedule[i].led() {
			of.Schedule[i].Target = "any"
		}
	}
	return &of
}

// Led are the faults of the leader or of a follower, in words: kill of leader.
func (s *Scenario) Led() (words []string) {
	for _, step := range s.Schedule {
		if step.led() {
			words = append(words, step.Fault+" of "+step.Target)
		}
	}
	return words
}

// led reports whether a step's target is found by asking who leads.
func (step Step) led() bool { return step.Target == "leader" || step.Target == "follower" }

// onNode reports whether a step's fault acts on a node, or on what is between nodes.
func (step Step) onNode() bool {
	return slices.ContainsFunc(faults.Catalog(), func(k faults.Kind) bool {
		return k.Type == step.Fault && k.OnNode()
	})
}

// LeftOut are the faults that act on nodes, in words: kill of node-3.
func (s *Scenario) LeftOut() (words []string) {
	for _, step := range s.Schedule {
		if step.onNode() {
			words = append(words, step.Fault+" of "+step.Target)
		}
	}
	return words
}
