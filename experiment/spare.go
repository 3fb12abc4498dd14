package experiment

import (
	"fmt"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
)

// spare lowers the rate of a workload, and the messages that the tier asks for, if more
// messages would wait than a broker keeps for a session. A broker that drops the excess
// does not fail, and the loss would keep the scenario from its question.
func (s *spec) spare() {
	const (
		share = 0.8 // of the limit
		slack = 10  // seconds: clients connect, faults are put in place and taken out, nodes are probed
	)
	flavor := s.start.Cluster.Flavor
	s.rate = s.scenario.Rate(flavor)
	limit := cluster.QueueLimit(s.start.Cluster)
	if limit == 0 || s.scenario.Protocol == contract.MQ9 {
		return
	}
	published := s.tier.PublishS(s.scenario.Schedule) + slack
	most := s.scenario.Workload.RateWithin(share*float64(limit), published)
	if s.rate <= most {
		return
	}
	whose := "this broker keeps %d for a session"
	if s.start.Cluster.Foreign() {
		whose = "many brokers keep %d for a session and no more"
	}
	s.lowered = fmt.Sprintf("%.3g messages a second in place of %.3g, as "+whose, most, s.rate, limit)
	s.tier.Messages = int64(float64(s.tier.Messages) * most / s.rate)
	s.rate = most
}
