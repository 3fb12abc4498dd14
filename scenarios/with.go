package scenarios

import (
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/judge/checker"
)

// leastAfterS is how long traffic goes on after the heal of a fault that a scenario was
// not made for.
const leastAfterS = 10

// With is the scenario's workload under one fault in place of its own, in the time of
// one tier, on the nodes that a cluster has. Its name says so. The claims that are about
// the faults it had are left out, as are those that the new one excuses: they are judged
// beside the others, as far as they apply.
func (s *Scenario) With(step Step, tier string, on cluster.Config) (*Scenario, error) {
	alone, err := s.Alone(tier, on.Flavor)
	if err != nil {
		return nil, err
	}
	alone.Name = s.Name + "-with-" + strings.ReplaceAll(step.Fault, "_", "-")
	alone.Kind = "fault"
	alone.Cluster.Nodes = on.Size(s.Cluster.Nodes)
	alone.Schedule = []Step{step}
	t := alone.Tiers[TierName("")]
	t.AfterS = max(t.AfterS, leastAfterS)
	alone.Tiers[TierName("")] = t
	under := checker.Circumstances{Nodes: alone.Cluster.Nodes, Faults: planned(alone.Schedule)}
	alone.Claims = slices.DeleteFunc(alone.Claims, func(claim string) bool {
		e, err := checker.Find(claim)
		return err == nil && (e.ByFault || under.Excuses(e))
	})
	return alone, nil
}
