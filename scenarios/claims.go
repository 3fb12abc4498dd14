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

// Conditions are those of a run, by which claims it can be judged by.
type Conditions struct {
	SDK       clients.SDK
	Protocol  string // "" where several may run
	Transport string // "" is tcp
	Flavor    string
	Nodes     int
	Promises  []string          // of the broker's vendor, by claim
	Lacks     map[string]string // what cannot be had of the cluster, as in [history.ClusterInfo]
	Wire      bool              // packets are recorded
	ExpiryS   float64           // of the tier: how late an end may come

	scenario *Scenario
}

// Promised returns the claims that rest on a vendor's promises.
func Promised(promises []string) []string { return checker.Promised(promises) }

// shown are those of the claims of which a run can show something: by what its cluster
// lacks, since only connections at the plain listener are looked at, and since not every
// SDK shows DUP.
func (c Conditions) shown(claims []string) []string {
	lacks := func(what string) bool { return c.Lacks[what] != "" }
	plain := c.Transport == "" || c.Transport == contract.TCP
	return slices.DeleteFunc(slices.Clone(claims), func(claim string) bool {
		return claim == "no-panic" && lacks(history.LacksLogs) ||
			claim == "no-exit" && lacks(history.LacksProcesses) ||
			(claim == "no-leak" || claim == "steady-resources") && (lacks(history.LacksResources) || !plain) ||
			claim == "qos1-dup-flag" && slices.Contains(c.SDK.Cannot, contract.CannotDup)
	})
}

// WireClaims returns the claims that packets alone can show; none where packets are not
// recorded.
func (c Conditions) WireClaims() []string {
	if !c.Wire {
		return nil
	}
	return checker.WireClaims(c.Protocol)
}

// Explored returns the claims of a cluster that is explored by hand, and those that are
// judged beside them. The workloads that run on it add theirs.
func (c Conditions) Explored() (claims, beside []string) {
	return c.shown([]string{"clients-connect", "no-unexpected", "no-corruption", "no-panic", "no-exit"}), []string{"delivery-progress"}
}

// ByHand returns those of the scenario's claims that can be judged of its workload
// alone, whatever faults are injected meanwhile: order across those few promise.
func (s *Scenario) ByHand(c Conditions) []string {
	return slices.DeleteFunc(c.shown(s.Claims), func(claim string) bool {
		e, err := checker.Find(claim)
		return err != nil || e.Bounded || !slices.Contains(e.Protocols, c.Protocol) ||
			claim == "order-per-stream" && !slices.Contains(c.Promises, claim)
	})
}

// Claimed returns those of the scenario's claims of which a run can show something.
func (s *Scenario) Claimed(c Conditions) []string { return c.shown(s.Claims) }

// ListsMailboxes reports whether the claims need what nodes list of their mailboxes.
func (s *Scenario) ListsMailboxes() bool { return slices.Contains(s.Claims, checker.ClaimMailboxList) }

func (c Conditions) faulted(types ...string) bool {
	return slices.ContainsFunc(c.scenario.Schedule, func(s Step) bool { return slices.Contains(types, s.Fault) })
}

// notJudged are the conditions under which a claim is not judged unless the
// scenario asks for it. Claims that a fault spoils come in addition.
var notJudged = [...]struct {
	claims []string
	why    string
	holds  func(c Conditions) bool
}{
	{[]string{"qos2-exactly-once"}, "the client library passes every copy on, and packets are not recorded",
		func(c Conditions) bool {
			return !c.Wire && (!c.SDK.Dedupes || slices.Contains(c.SDK.Cannot, contract.CannotExactlyOnce))
		}},
	{[]string{"qos1-dup-flag"}, "packets are not recorded, and a message under another packet id needs no DUP",
		func(c Conditions) bool { return !c.Wire }},
	{[]string{"order-per-stream"}, "the broker redelivers out of order, by its own documentation",
		func(c Conditions) bool { return cluster.FlavorNamed(c.Flavor).Reorders }},
	{[]string{"order-per-stream"}, "few vendors promise order across faults, and this one does not",
		func(c Conditions) bool {
			return len(c.scenario.Schedule) > 0 && !slices.Contains(c.Promises, "order-per-stream")
		}},
	{[]string{"session-kept", "session-fresh"}, "the client library does not show whether there was a session",
		func(c Conditions) bool { return slices.Contains(c.SDK.Cannot, contract.CannotSessionPresent) }},
	{[]string{"session-expiry", "mq9-message-ttl", "mq9-mailbox-ttl"}, "the scenario does not say how late an end may come (expiry_s)",
		func(c Conditions) bool { return c.ExpiryS <= 0 }},
	{[]string{"qos1-no-loss", "qos2-no-loss", "shared-no-loss", "mq9-no-loss", "session-kept", "retained-register", "will-once"}, "the fault takes the one copy of the data",
		func(c Conditions) bool { return c.Nodes < 3 && c.faulted("lost_disk", "bit_rot", "replace_node") }},
}

// Beside returns the claims that judge a run beside those of the scenario, as
// far as there is something to judge. It also returns the claims that are not
// judged here, each with the reason. Claims that take a scenario's own bounds
// are judged only if the scenario asks for them.
func (s *Scenario) Beside(c Conditions) (claims []string, not map[string]string) {
	c.scenario = s
	not = map[string]string{}
	for _, step := range s.Schedule {
		maps.Copy(not, checker.Spoiled(step.Fault))
	}
	for _, n := range notJudged {
		for _, claim := range n.claims {
			if n.holds(c) {
				not[claim] = n.why
			}
		}
	}
	maps.Copy(not, s.NotClaimed)
	maps.DeleteFunc(not, func(claim, _ string) bool { return slices.Contains(s.Claims, claim) })
	for _, e := range checker.All {
		name := e.Claim.Name
		if _, excluded := not[name]; !excluded && !e.Bounded && !e.Claim.Wire && slices.Contains(e.Protocols, c.Protocol) && !slices.Contains(s.Claims, name) {
			claims = append(claims, name)
		}
	}
	return c.shown(claims), not
}
