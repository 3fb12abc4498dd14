package experiment

import (
	"fmt"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
)

// spare lowers the rate of a workload for which more messages would wait than a
// broker keeps for a session, and what the tier asks for with it: what a broker drops
// for that is no failure, and keeps the scenario from its question.
func (e *Experiment) spare() {
	const (
		share = 0.8 // of the limit
		slack = 10  // seconds: clients connect, faults are put in place and taken out, nodes are probed
	)
	flavor := e.start.Cluster.Flavor
	e.rate = e.scenario.Rate(flavor)
	limit := cluster.QueueLimit(e.start.Cluster)
	if limit == 0 || e.scenario.Protocol == contract.MQ9 {
		return
	}
	published := e.tier.PublishS(e.scenario.Schedule) + slack
	most := e.scenario.Workload.RateWithin(share*float64(limit), published)
	if e.rate <= most {
		return
	}
	whose := "this broker keeps %d for a session"
	if flavor == external {
		whose = "many brokers keep %d for a session and no more"
	}
	e.lowered = fmt.Sprintf("%.3g messages a second in place of %.3g, as "+whose, most, e.rate, limit)
	e.tier.Messages = int64(float64(e.tier.Messages) * most / e.rate)
	e.rate = most
}
