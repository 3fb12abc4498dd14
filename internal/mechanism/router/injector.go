package router

import (
	"context"
	"net/netip"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
)

// An Injector is a chaos tool for links between hosts of other machines.
type Injector interface {
	// Lacks says why it cannot do something, "" if it can. How is of [Queue].
	Lacks(do Action, how netqueue.Treatment) string
	// Render has it do exactly this. It may take effect some time later.
	Render(context.Context, []Disturbance) error
}

// A Disturbance is for an [Injector], and about the packets from some hosts to others.
type Disturbance struct {
	Fault     string
	From, To  []string
	Addresses []netip.Addr // that lead to To, besides its own
	Do        Action
	How       netqueue.Treatment // of [Queue]
}

// disturbances are rules about named hosts as an [Injector] takes them.
func disturbances(rules []Rule, queues map[uint16]netqueue.Treatment, leads map[string]netip.Addr) (all []Disturbance) {
	for _, rule := range rules {
		how, treated := queues[rule.Queue]
		if rule.Do == Queue && !treated {
			continue
		}
		for _, l := range rule.Links {
			d := Disturbance{Fault: rule.Fault, From: l.From, To: l.To, Do: rule.Do, How: how}
			for _, to := range l.To {
				if lead, ok := leads[to]; ok {
					d.Addresses = append(d.Addresses, lead)
				}
			}
			all = append(all, d)
		}
	}
	return all
}
