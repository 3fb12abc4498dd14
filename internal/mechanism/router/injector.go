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
	// Render has it do exactly this.
	Render(context.Context, []Disturbance) error
}

// A Disturbance is for an [Injector]: what to do to the packets on one link of a rule.
type Disturbance struct {
	Fault string
	From  map[string][]netip.Addr // senders, and the addresses of their receivers
	Do    Action
	How   netqueue.Treatment // of [Queue]
}

// disturbances are rules about named hosts as an [Injector] takes them.
func (r *Remote) disturbances(rules []Rule, queues map[uint16]netqueue.Treatment, leads map[string]netip.Addr) (all []Disturbance) {
	for _, rule := range rules {
		how, treated := queues[rule.Queue]
		if rule.Do == Queue && !treated {
			continue
		}
		for _, l := range rule.Links {
			d := Disturbance{Fault: rule.Fault, From: map[string][]netip.Addr{}, Do: rule.Do, How: how}
			for _, from := range l.From {
				for _, to := range l.To {
					if to == from {
						continue
					}
					d.From[from] = append(d.From[from], r.own[to])
					if lead, ok := leads[to]; ok && lead != r.own[to] {
						d.From[from] = append(d.From[from], lead)
					}
				}
			}
			all = append(all, d)
		}
	}
	return all
}
