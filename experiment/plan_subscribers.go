package experiment

import (
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/scenarios"
)

func (p *planner) subscriber(out *plan, w scenarios.Workload, group string, i int) contract.Client {
	c := p.client(out, group, i, p.loads)
	c.Start = "connected"
	return c
}

// duplex is a subscriber that also publishes, on the same connection.
func (p *planner) duplex(out *plan, w scenarios.Workload, i int) contract.Client {
	c := p.client(out, history.GroupDuplex, i, p.loads)
	c.Start = "waiting"
	c.Publish = p.publish(out, w, c.Process, w.Publishers+i)
	return c
}

// overlapping is a subscriber each of whose filters matches the topics of all
// publishers, load/qQ/pP-N.
func (p *planner) overlapping(out *plan, w scenarios.Workload, i int) contract.Client {
	var filters []contract.Filter
	for _, pattern := range []string{"load/#", "load/+/+", "load/+/#"} {
		filters = append(filters, contract.Filter{Filter: p.topic(pattern), QoS: slices.Max(w.QoS)})
	}
	c := p.client(out, history.GroupOverlapping, i, filters)
	c.Start = "connected"
	return c
}

// filtered is a subscriber with filters of its own.
func (p *planner) filtered(out *plan, w scenarios.Workload, i int, patterns []string) contract.Client {
	var filters []contract.Filter
	for _, pattern := range patterns {
		filters = append(filters, contract.Filter{Filter: p.topic("load/" + pattern), QoS: slices.Max(w.QoS)})
	}
	c := p.client(out, history.GroupFiltered, i, filters)
	c.Start = "connected"
	out.matched[c.Process] = []int32{}
	for _, s := range streamsOf(slices.Concat(out.publishers.Clients, out.subscribers.Clients)) {
		matches := slices.ContainsFunc(filters, func(f contract.Filter) bool { return history.Matches(f.Filter, s.Topic) })
		if matches && slices.Contains(out.guaranteed, s.Stream) {
			out.matched[c.Process] = append(out.matched[c.Process], s.Stream)
		}
	}
	return c
}

// share adds the members of one shared subscription; of mq9, the workers of one group.
func (p *planner) share(out *plan, members, group int) {
	filters := slices.Clone(p.loads)
	for i := range filters {
		filters[i].Filter = fmt.Sprintf("$share/g%d/%s", group+1, filters[i].Filter)
	}
	var all []int32
	for i := range members {
		c := p.client(out, history.GroupShared, group*members+i, filters)
		c.Start = "connected"
		out.subscribers.Clients = append(out.subscribers.Clients, c)
		all = append(all, c.Process)
	}
	out.shared = append(out.shared, all)
}

// probe is a client that speaks to one node alone, publishes through it and
// hears what was published through every other.
func (p *planner) probe(out *plan, node int) contract.Client {
	var all []contract.Stream
	for i := range p.endpoints {
		all = append(all, contract.Stream{Topic: p.topic(probeTopic(i))})
	}
	c := p.client(out, history.GroupProbe, node, p.filters("probe/#", 1, all))
	c.Endpoints = p.endpoints[node : node+1]
	c.Start = "connected"
	c.Publish = &contract.Publish{
		Streams:      []contract.Stream{p.stream(out, history.Stream{Producer: c.Process, Topic: probeTopic(node), QoS: 1})},
		RatePerS:     10,
		PayloadBytes: 128,
		MaxInflight:  1000, // a message that is never answered does not end the probing
	}
	return c
}

// reader is a client that reads every register again and again.
func (p *planner) reader(out *plan, w scenarios.Workload, i int) contract.Client {
	c := p.client(out, history.GroupReader, i, nil)
	c.Start = "connected"
	c.ReadRegisters = &contract.ReadRegisters{EveryMS: readEveryMS, WaitMS: readWaitMS}
	for n := range w.Registers {
		c.ReadRegisters.Topics = append(c.ReadRegisters.Topics, p.topic(registerTopic(n)))
	}
	return c
}

func probeTopic(node int) string { return fmt.Sprintf("probe/%d", node+1) }

// filters are the subscriptions to what a pattern matches. Mailboxes of mq9 know
// no patterns: there is one for each topic.
func (p *planner) filters(pattern string, qos uint8, streams []contract.Stream) (all []contract.Filter) {
	if p.protocol != contract.MQ9 {
		return []contract.Filter{{Filter: p.topic(pattern), QoS: qos}}
	}
	for _, s := range streams {
		if f := (contract.Filter{Filter: s.Topic, QoS: qos, TTLS: p.mailboxS}); !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	return all
}
