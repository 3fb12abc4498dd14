package experiment

import (
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
)

// spare lowers the rate of a workload, and the messages that the tier asks for, if more
// messages would wait than a broker keeps for a session. A broker that drops the excess
// does not fail, and the loss would keep the scenario from its question. A crowd of
// publishers is made smaller if their end markers, which come all at once, are more than
// that by themselves; then nobody is offline.
func (s *spec) spare() {
	const (
		share = 0.8 // of the limit
		burst = 0.4 // of the limit: end markers on top of what waits then
		slack = 10  // seconds: clients connect, faults are put in place and taken out, nodes are probed
	)
	flavor := s.start.Cluster.Flavor
	s.rate = s.scenario.Rate(flavor)
	limit := float64(cluster.QueueLimit(s.start.Cluster))
	if limit == 0 || s.scenario.Protocol == contract.MQ9 {
		return
	}
	var changes []string
	if w := s.scenario.Workload; w.Subscribers.Offline > 0 && float64(w.Markers()) >= share*limit {
		s.scenario = s.scenario.Smaller(int(burst * limit))
		changes = append(changes, fmt.Sprintf("from %d publishers in place of %d, to no offline subscriber", s.scenario.Workload.Publishers, w.Publishers))
	}
	published := s.tier.PublishS(s.scenario.Schedule) + slack
	if most := max(1, s.scenario.Workload.RateWithin(share*limit, published)); s.rate > most {
		changes = append(changes, fmt.Sprintf("%.3g messages a second in place of %.3g", most, s.rate))
		s.tier.Messages = int64(float64(s.tier.Messages) * most / s.rate)
		s.rate = most
	}
	whose := "as this broker keeps %.0f for a session"
	if s.start.Cluster.Foreign() {
		whose = "as many brokers keep %.0f for a session and no more"
	}
	if len(changes) > 0 {
		s.lowered = strings.Join(append(changes, fmt.Sprintf(whose, limit)), ", ")
	}
}
