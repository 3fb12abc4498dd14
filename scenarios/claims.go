package scenarios

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/checker"
)

// Conditions are those of a run.
type Conditions struct {
	SDK       clients.SDK
	Protocol  string // "" where several may run
	Transport string // "" is tcp
	Cluster   history.ClusterInfo
	Wire      bool    // packets are recorded
	ExpiryS   float64 // of the tier: how late an end may come
}

// circumstances are those of a run with a schedule, as claims ask for them.
func (c Conditions) circumstances(schedule []Step) checker.Circumstances {
	out := checker.Circumstances{
		Protocol: c.Protocol, Plain: c.Transport == "" || c.Transport == contract.TCP, Wire: c.Wire,
		Nodes: c.Cluster.Nodes, Promises: c.Cluster.Promises, Lacks: c.Cluster.Lacks, Reorders: cluster.FlavorNamed(c.Cluster.Flavor).Reorders,
		Cannot: c.SDK.Cannot, Dedupes: c.SDK.Dedupes, ExpiryS: c.ExpiryS,
	}
	out.Faults = planned(schedule)
	return out
}

// planned are the faults of a schedule, as claims ask for them.
func planned(schedule []Step) (list []history.PlannedFault) {
	for _, step := range schedule {
		list = append(list, history.PlannedFault{Type: step.Fault, Target: step.Target})
	}
	return list
}

// Promised returns the claims that rest on a vendor's promises.
func Promised(promises []string) []string { return checker.Promised(promises) }

// WireClaims returns the claims that packets alone can show; none where packets are not
// recorded.
func (c Conditions) WireClaims() []string {
	if !c.Wire {
		return nil
	}
	return checker.WireClaims(c.Protocol)
}

// Reaches returns the situations that a run counts, and how often the scenario asks for each.
// A nil scenario, and a run without some of its faults, ask for none.
func (c Conditions) Reaches(s *Scenario, without bool) map[string]int64 {
	counts := map[string]int64{}
	for _, name := range checker.Reachable(c.Protocol, c.Wire) {
		counts[name] = 0
	}
	if s != nil && !without {
		maps.Copy(counts, s.Reaches)
	}
	return counts
}

// Explored returns the claims of a cluster that is explored by hand, and those that are
// judged beside them. The workloads that run on it add theirs.
func (c Conditions) Explored() (claims, beside []string) {
	return c.circumstances(nil).Explored(), []string{checker.ClaimDeliveryProgress}
}

// ByHand returns those of the scenario's claims that can be judged of its workload
// alone, whatever faults are injected meanwhile.
func (s *Scenario) ByHand(c Conditions) []string { return c.circumstances(nil).ByHand(s.Claims) }

// Claimed returns those of the scenario's claims of which a run can show something.
func (s *Scenario) Claimed(c Conditions) []string { return c.circumstances(s.Schedule).Shown(s.Claims) }

// Hidden returns those of the scenario's claims of which a run can show nothing, each with
// the reason.
func (s *Scenario) Hidden(c Conditions) map[string]string {
	return c.circumstances(s.Schedule).Hidden(s.Claims)
}

// Beside returns the claims that a run is judged by beside those that the scenario asks,
// as far as there is something to judge, and the others, each with the reason.
func (s *Scenario) Beside(c Conditions) (claims []string, not map[string]string) {
	return c.circumstances(s.Schedule).Beside(s.Claims, s.NotClaimed)
}

// ListsMailboxes reports whether the claims need the nodes' own lists of mailboxes.
func (s *Scenario) ListsMailboxes() bool { return slices.Contains(s.Claims, checker.ClaimMailboxList) }
