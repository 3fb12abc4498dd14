package scenarios

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/checker"
)

// A condition is one under which claims say nothing of the broker, whatever a
// scenario asks.
type condition struct {
	claims []string
	why    string
	holds  func(c conditions) bool
}

// conditions are those of a run.
type conditions struct {
	scenario *Scenario
	sdk      clients.SDK
	flavor   string
}

func (c conditions) faulted(types ...string) bool {
	return slices.ContainsFunc(c.scenario.Schedule, func(s Step) bool { return slices.Contains(types, s.Fault) })
}

// notJudged are the conditions in which nobody is to be judged by a claim that the
// scenario does not ask itself.
var notJudged = [...]condition{
	{[]string{"no-panic", "no-exit"}, "a process that gets no memory or no thread may end",
		func(c conditions) bool { return c.faulted("memory", "pids") }},
	{[]string{"no-corruption"}, "the fault changes what is stored",
		func(c conditions) bool { return c.faulted("bit_rot") }},
	{[]string{"qos2-exactly-once"}, "the client library passes every copy on",
		func(c conditions) bool {
			return !c.sdk.Dedupes || slices.Contains(c.sdk.Cannot, contract.CannotExactlyOnce)
		}},
	{[]string{"qos0-at-most-once", "qos1-dup-flag", "order-per-stream"}, "packet_duplicate makes one message two to the broker",
		func(c conditions) bool { return c.faulted("packet_duplicate") }},
	{[]string{"order-per-stream"}, "who never got a packet gets it out of order",
		func(c conditions) bool { return c.faulted("packet_drop") }},
	{[]string{"order-per-stream"}, "the embedded broker redelivers out of order, by its own documentation",
		func(c conditions) bool { return c.flavor == "reference" }},
	{[]string{"session-kept", "session-fresh"}, "the client library does not show whether there was a session",
		func(c conditions) bool { return slices.Contains(c.sdk.Cannot, contract.CannotSessionPresent) }},
}

// Beside are the claims that a run is judged by beside those that the scenario asks,
// as far as there is something to judge, and those that nobody is judged by here,
// each with why. Claims that take a scenario's own bounds are only ever asked.
func (s *Scenario) Beside(sdk clients.SDK, protocol, flavor string) (claims []string, not map[string]string) {
	not = map[string]string{}
	for _, n := range notJudged {
		for _, claim := range n.claims {
			if n.holds(conditions{s, sdk, flavor}) && !slices.Contains(s.Claims, claim) {
				not[claim] = n.why
			}
		}
	}
	maps.Copy(not, s.NotClaimed)
	for _, e := range checker.All {
		name := e.Claim.Name
		if _, excluded := not[name]; !excluded && !e.Bounded && !e.Claim.Wire && slices.Contains(e.Protocols, protocol) && !slices.Contains(s.Claims, name) {
			claims = append(claims, name)
		}
	}
	return claims, not
}
