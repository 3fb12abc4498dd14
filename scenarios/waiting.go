package scenarios

import (
	"fmt"
	"math"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
)

// fits is the highest rate, of all publishers together, at which no more messages of
// QoS 1 and 2 wait for any subscriber than a limit, in a time.
func (w Workload) fits(limit, seconds float64) float64 {
	stored := 0.0
	for _, qos := range w.QoS {
		if qos > 0 {
			stored += 1 / float64(len(w.QoS))
		}
	}
	rate := math.Inf(1)
	if s := w.Subscribers; stored > 0 {
		if s.Offline+s.Paused > 0 {
			rate = min(rate, limit/seconds)
		}
		if s.Slow > 0 && w.SlowMS > 0 {
			rate = min(rate, limit/seconds+1000/float64(w.SlowMS))
		}
		if s.Visiting > 0 && w.VisitS > 0 {
			rate = min(rate, limit/w.VisitS)
		}
	}
	return rate / stored
}

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
	published := e.tier.SteadyS + e.tier.faultTime(e.scenario.Schedule) + e.tier.AfterS + slack
	most := e.scenario.Workload.fits(share*float64(limit), published)
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
