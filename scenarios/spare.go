package scenarios

import (
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
)

// Spared is the scenario and a tier of it as they load a cluster, with the rate in messages
// a second, and in words how they were lowered, "" if they were not.
//
// They are lowered if more messages would wait than a broker keeps for a session. A broker
// that drops the excess does not fail, and the loss would keep the scenario from its
// question. A crowd of publishers is made smaller if their end markers, which come all at
// once, are more than that by themselves; then nobody is offline.
func (s *Scenario) Spared(c cluster.Config, t Tier) (less *Scenario, tier Tier, rate float64, lowered string) {
	const (
		share = 0.8 // of the limit
		burst = 0.4 // of the limit: end markers on top of what waits then
		slack = 10  // seconds: clients connect, faults are put in place and taken out, nodes are probed
	)
	rate = s.Rate(c.Flavor)
	limit := float64(cluster.QueueLimit(c))
	if limit <= 0 || s.Protocol == contract.MQ9 {
		return s, t, rate, ""
	}
	var changes []string
	if w := s.Workload; w.Subscribers.Offline > 0 && float64(w.Markers()) >= share*limit {
		s = s.smaller(int(burst * limit))
		changes = append(changes, fmt.Sprintf("from %d publishers in place of %d, to no offline subscriber", s.Workload.Publishers, w.Publishers))
	}
	published := t.PublishS(s.Schedule) + slack
	if most := max(1, s.Workload.RateWithin(share*limit, published)); rate > most {
		changes = append(changes, fmt.Sprintf("%.3g messages a second in place of %.3g", most, rate))
		t.Messages = int64(float64(t.Messages) * most / rate)
		rate = most
	}
	if len(changes) == 0 {
		return s, t, rate, ""
	}
	whose := "as this broker keeps %.0f for a session"
	if c.Lacks()[history.LacksLimits] != "" && c.QueueLimit == 0 {
		whose = "as many brokers keep %.0f for a session and no more"
	}
	return s, t, rate, strings.Join(append(changes, fmt.Sprintf(whose, limit)), ", ")
}

// smaller is the scenario with no offline subscribers, and with so many of its publishers
// that their end markers are no more than a number, but at least one.
func (s *Scenario) smaller(markers int) *Scenario {
	rest := *s
	w := &rest.Workload
	w.Subscribers.Offline = 0
	w.Publishers = max(1, min(w.Publishers, w.Publishers*markers/w.Markers()))
	return &rest
}
