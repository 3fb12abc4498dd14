package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
)

func TestQuery(t *testing.T) {
	no, yes := false, true
	everything, err := Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		query     Query
		has, lack []string
		all       func(*Scenario) bool
	}{
		{"everything", Query{}, everything, nil, nil},
		{"a claim, without a fault, before a broker of somebody else", Query{Claim: "qos2-exactly-once", Flavor: "external", Faults: &no},
			[]string{"mqtt/qos-roundtrip"}, []string{"mqtt/broker-kill-9", "mqtt/qos2-acks-lost"},
			func(s *Scenario) bool { return slices.Contains(s.Workload.QoS, 2) && len(s.Schedule) == 0 }},
		{"a claim that few ask", Query{Claim: "will-once"}, []string{"mqtt/will"}, []string{"mqtt/qos-roundtrip"}, nil},
		{"faults that need nothing of a node", Query{Flavor: "external", Faults: &yes},
			[]string{"mqtt/ack-lost"}, []string{"mqtt/broker-kill-9", "mq9/mailbox-roundtrip"}, func(s *Scenario) bool { rest, _ := s.OffNodes(); return len(rest.Schedule) > 0 }},
		{"a broker of one node", Query{Flavor: "mosquitto"}, []string{"mqtt/session-expiry"}, []string{"mqtt/crash-in-turn"}, func(s *Scenario) bool { return s.Protocol != contract.MQ9 }},
		{"a broker without MQTT 5", Query{Flavor: "reference", Protocol: contract.MQTT5}, nil, everything, nil},
		{"the end of sessions needs MQTT 5", Query{Protocol: contract.MQTT3}, []string{"mqtt/will"}, []string{"mqtt/session-expiry"}, nil},
		{"shared subscriptions", Query{Flavor: "reference"}, []string{"mqtt/will"}, []string{"mqtt/shared-subscription", "mqtt/session-expiry"}, nil},
		{"mq9", Query{Protocol: contract.MQ9}, []string{"mq9/priority-order"}, []string{"mqtt/will"}, func(s *Scenario) bool { return s.Protocol == contract.MQ9 }},
	} {
		found, err := c.query.Find()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var names []string
		for _, s := range found {
			names = append(names, s.Name)
			if c.all != nil && !c.all(s) {
				t.Errorf("%s: %s is not what was asked for", c.name, s.Name)
			}
		}
		for _, name := range c.has {
			if !slices.Contains(names, name) {
				t.Errorf("%s: %s is not found", c.name, name)
			}
		}
		for _, name := range c.lack {
			if slices.Contains(names, name) {
				t.Errorf("%s: %s is found", c.name, name)
			}
		}
	}
}

func TestQueryOfNothing(t *testing.T) {
	for says, q := range map[string]Query{
		`no claim "qos3"; the claims are qos1-no-loss`:                                         {Claim: "qos3"},
		`no protocol "mqtt4"; there are mqtt3, mqtt5, mq9`:                                     {Protocol: "mqtt4"},
		`no flavor "kafka"; there are ` + strings.Join(cluster.FlavorNames(cluster.Any), ", "): {Flavor: "kafka"},
	} {
		if _, err := q.Find(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
