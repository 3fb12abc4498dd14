package scenarios

import (
	"fmt"

	"github.com/robustmq/rmq-mcp/cluster"
)

// Waits reports whether messages wait for some of the subscribers, because they are
// away, or do not read, or read slowly.
func (s Subscribers) Waits() bool { return s.Offline+s.Paused+s.Slow+s.Visiting > 0 }

// spare lowers the rate of a workload for which more messages would wait than a
// broker keeps for a session, and what the tier asks for with it: what a broker drops
// for that is no failure, and keeps the scenario from its question.
func (e *Experiment) spare() {
	const share = 0.8 // of the limit: drivers and faults are late now and then
	flavor := e.start.Cluster.Flavor
	e.rate = e.scenario.Rate(flavor)
	limit := cluster.QueueLimit(e.start.Cluster)
	if limit == 0 || !e.scenario.Workload.Subscribers.Waits() {
		return
	}
	published := e.tier.SteadyS + e.tier.faultTime(e.scenario.Schedule) + e.tier.AfterS
	most := share * float64(limit) / published
	if e.rate <= most {
		return
	}
	e.lowered = fmt.Sprintf("%.0f messages a second in place of %.0f, as this broker keeps %d for a session", most, e.rate, limit)
	if flavor == "external" {
		e.lowered = fmt.Sprintf("%.0f messages a second in place of %.0f, as many brokers keep %d for a session and no more", most, e.rate, limit)
	}
	e.tier.Messages = int64(float64(e.tier.Messages) * most / e.rate)
	e.rate = most
}
