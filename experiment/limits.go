package experiment

import (
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
)

// checkLimits refuses a start beyond the operator's envelope. The start counts with
// everything that the scenario added to it: its cluster, and every fault of its
// schedule.
func (s *spec) checkLimits() error {
	if err := allows(s.start.Envelope, s.start.Cluster); err != nil || s.start.Envelope == nil || s.scenario == nil {
		return err
	}
	return s.scenario.Within(*s.start.Envelope, s.tier)
}

// allows refuses a cluster beyond an operator's envelope; nil allows all. It holds for a
// cluster as it was asked for, and for the same one with all defaults: leaving something
// out permits nothing.
func allows(limits *envelope.Envelope, c cluster.Config) error {
	if limits == nil {
		return nil
	}
	if c.Version != "" {
		c.Binary = "" // downloaded and checked by us; who asks for both is refused before
	}
	return limits.Cluster(c)
}

// suits is an error if the cluster, with its defaults, is outside the limits of a caller.
// That may be another one than started it.
func (s *spec) suits(caller *envelope.Envelope) error {
	c := s.start.Cluster
	c.Binary, c.Image = s.binary, s.image // those that nobody asked for are the operator's
	return allows(caller, c)
}

// admits refuses a fault outside the envelope of a caller, or of the one that started the
// experiment, once it is known which nodes it would act on.
func (n *nemesis) admits(caller *envelope.Envelope) func(faults.Request, faults.Target, []history.Landing) error {
	return func(r faults.Request, target faults.Target, all []history.Landing) error {
		if err := n.suits(caller); err != nil {
			return err
		}
		for _, limits := range []*envelope.Envelope{n.start.Envelope, caller} {
			if limits == nil {
				continue
			}
			if err := n.within(*limits, r, target, all); err != nil {
				return err
			}
		}
		return nil
	}
}

func (n *nemesis) within(limits envelope.Envelope, r faults.Request, target faults.Target, all []history.Landing) error {
	err := limits.Fault(envelope.Fault{Type: r.Type, Targets: faults.Sides(target.Asked), Duration: r.Duration, Params: r.Params})
	if err != nil {
		return err
	}
	load := envelope.Load{Concurrent: 1, Total: r.Duration, Nodes: len(n.ground.nodes())}
	for _, node := range target.Nodes {
		load.Under = append(load.Under, node.Name())
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
