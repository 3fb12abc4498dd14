package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
)

// checkLimits refuses what the operator's envelope does not allow of what was
// asked for, with all that the scenario added to it: its cluster, and every
// fault of its schedule.
func (e *Experiment) checkLimits() error {
	limits := e.start.Envelope
	if limits == nil {
		return nil
	}
	c := e.start.Cluster
	if c.Version != "" {
		c.Binary = "" // downloaded and checked by us; who asks for both is refused before
	}
	if err := limits.Cluster(c); err != nil {
		return err
	}
	if e.scenario == nil {
		return nil
	}
	return e.scenario.Within(*limits, e.tier)
}

// Within refuses a schedule with a fault that an envelope does not allow, as a
// tier has it, or with more of them than it allows together.
func (s *Scenario) Within(limits envelope.Envelope, t Tier) error {
	total := time.Duration(0)
	for i, step := range s.Schedule {
		ask := envelope.Fault{
			Type: step.Fault, Targets: sides(step.Target),
			Duration: seconds(t.duration(step)), Params: step.Params,
		}
		if req, err := faults.Parse(step.Fault, step.Params); err == nil && step.Params["duration_s"] != nil {
			ask.Duration = req.Duration
		}
		if err := limits.Fault(ask); err != nil {
			return fmt.Errorf("scenario %s, schedule step %d: %w", s.Name, i+1, err)
		}
		total += ask.Duration
		if err := limits.Together(total); err != nil {
			return fmt.Errorf("scenario %s, up to schedule step %d: %w", s.Name, i+1, err)
		}
	}
	return nil
}

// admit refuses a fault outside the envelope, once it is known which nodes it
// would act on.
func (e *Experiment) admit(r faults.Request, target faults.Target, all []history.Landing) error {
	limits := e.start.Envelope
	if limits == nil {
		return nil
	}
	err := limits.Fault(envelope.Fault{Type: r.Type, Targets: sides(target.Asked), Duration: r.Duration, Params: r.Params})
	if err != nil {
		return err
	}
	load := envelope.Load{Concurrent: 1, Total: r.Duration, Nodes: len(e.cluster.Nodes())}
	for _, n := range target.Nodes {
		load.Under = append(load.Under, n.Name())
	}
	for _, l := range all {
		load.Total += counted(l)
		if l.Healed != history.HealVerified {
			load.Concurrent++
			load.Under = append(load.Under, l.Nodes...)
		}
	}
	slices.Sort(load.Under)
	load.Under = slices.Compact(load.Under)
	return limits.Load(load)
}

// counted is how much of the envelope's total a fault takes: what was asked for, or
// how long it was in place where that is longer. One healed early gives nothing
// back: what the next one may do does not depend on how quick somebody was.
func counted(l history.Landing) time.Duration {
	if l.Healed == history.HealVerified && l.Times.AppliedNS == 0 {
		return 0 // it was never in place
	}
	return time.Duration(max(l.Times.DurationNS, l.Times.HealedNS-l.Times.AppliedNS))
}

// sides are a target, or the two of a link.
func sides(target string) []string {
	if near, far, _, link := faults.SplitLink(target); link {
		return []string{near, far}
	}
	return []string{target}
}
