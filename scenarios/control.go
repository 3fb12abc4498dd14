package scenarios

import (
	"fmt"
	"slices"
	"strings"

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

// On is the scenario as it can run on a cluster: with the faults that can be had there.
func (s *Scenario) On(c cluster.Config) *Scenario {
	rest, _ := s.without(func(step Step) bool { return step.withheld(c) != "" })
	return rest
}

// LeftOut are the faults that cannot be had on a cluster, in words, and why: kill of node-3.
func (s *Scenario) LeftOut(c cluster.Config) (words []string, why string) {
	var reasons []string
	_, words = s.without(func(step Step) bool {
		reason := step.withheld(c)
		if reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
		return reason != ""
	})
	return words, strings.Join(reasons, "; ")
}

// Withheld reports whether the scenario has faults, and a cluster can have none of them.
func (s *Scenario) Withheld(c cluster.Config) bool {
	return len(s.Schedule) > 0 && len(s.On(c).Schedule) == 0
}

// Felt reports whether clients that are not of the run feel one of its faults.
func (s *Scenario) Felt() bool {
	return slices.ContainsFunc(s.Schedule, func(step Step) bool { k, ok := step.kind(); return ok && k.Felt() })
}

// OffNodes is the scenario with the faults alone that act on clients, or on what passes
// the tap. The others come with it, in words.
func (s *Scenario) OffNodes() (rest *Scenario, words []string) {
	return s.without(func(step Step) bool { k, ok := step.kind(); return ok && k.OnNode() })
}

// without is the scenario without some of its faults, and those in words.
func (s *Scenario) without(out func(Step) bool) (rest *Scenario, words []string) {
	of := *s
	of.Schedule = nil
	for _, step := range s.Schedule {
		if out(step) {
			words = append(words, step.Fault+" of "+step.Target)
		} else {
			of.Schedule = append(of.Schedule, step)
		}
	}
	return &of, words
}

// withheld says why a step's fault cannot be had on a cluster, "" where it can. On one of
// ours that is for the fault to say.
func (step Step) withheld(c cluster.Config) string {
	if !c.Foreign() {
		return ""
	}
	k, ok := step.kind()
	switch {
	case !ok || !k.OnNode():
		return ""
	case c.Untouchable():
		return "nothing may be done to external nodes; name their pids, containers or pods to have the faults"
	case k.Ends && c.Vanishing != "":
		return fmt.Sprintf("container %s is removed when it ends (--rm), and it could not be started again; run it without --rm to have the faults", c.Vanishing)
	}
	kind, _ := c.Theirs()
	return k.Withheld(step.Params, kind)
}

// kind is that of a step's fault.
func (step Step) kind() (faults.Kind, bool) {
	all := faults.Catalog()
	i := slices.IndexFunc(all, func(k faults.Kind) bool { return k.Type == step.Fault })
	if i < 0 {
		return faults.Kind{}, false
	}
	return all[i], true
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
