package scenarios

import (
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/history"
)

// Groups of processes, as recorded in the tables.
const (
	groupPublisher = "publisher"
	groupOnline    = "online"
	groupOffline   = "offline"
	groupPaused    = "paused"
	groupSlow      = "slow"
	groupReader    = "reader"
	groupProbe     = "probe"
)

// A planner turns a workload into specifications for drivers. It writes the
// names of what it plans into the run's tables, which comes before their
// first use.
type planner struct {
	rec       tables
	run       string // eight characters
	number    int    // which run_client
	sdk       string
	protocol  string
	dedupes   bool
	cannot    []string
	endpoints []string
	user      string
	password  string
	rate      float64
}

type tables interface {
	Process(history.Process) int32
	Stream(history.Stream) int32
}

// A plan is one workload, ready for its two drivers.
type plan struct {
	publishers  contract.Spec
	subscribers contract.Spec
	groups      map[string][]int32 // processes by group
	streams     []int32
	guaranteed  []int32 // those of QoS 1 and 2
}

// listeners are the processes that subscribe and stay.
func (p *plan) listeners() []int32 {
	var all []int32
	for _, c := range p.subscribers.Clients {
		if len(c.Subscribe) > 0 {
			all = append(all, c.Process)
		}
	}
	return all
}

const (
	sessionExpiryS = 3600
	keepAliveS     = 10

	// Some SDKs send no pings while their application does not read.
	pausedKeepAliveS = 300

	reconnectMS = 250
	ackWaitMS   = 20_000
	readEveryMS = 100
	readWaitMS  = 2000
)

func (p *planner) plan(w Workload) *plan {
	out := &plan{groups: map[string][]int32{}}
	out.publishers, out.subscribers = p.spec(), p.spec()
	for i := range w.Publishers {
		out.publishers.Clients = append(out.publishers.Clients, p.publisher(out, w, i))
	}
	for _, g := range []struct {
		name  string
		count int
		delay int
	}{
		{groupOnline, w.Subscribers.Online, 0},
		{groupOffline, w.Subscribers.Offline, 0},
		{groupPaused, w.Subscribers.Paused, 0},
		{groupSlow, w.Subscribers.Slow, w.SlowMS},
	} {
		for i := range g.count {
			c := p.subscriber(out, w, g.name, i)
			c.DelayMS = g.delay
			if g.name == groupPaused {
				c.KeepAliveS = pausedKeepAliveS
			}
			out.subscribers.Clients = append(out.subscribers.Clients, c)
		}
	}
	for i := range w.Subscribers.Readers {
		out.subscribers.Clients = append(out.subscribers.Clients, p.reader(out, w, i))
	}
	return out
}

func (p *planner) spec() contract.Spec {
	return contract.Spec{Contract: contract.Version, Run: p.run, AckWaitMS: ackWaitMS}
}

func (p *planner) publisher(out *plan, w Workload, i int) contract.Client {
	c := p.client(out, groupPublisher, i, nil)
	c.Start = "waiting"
	c.Publish = &contract.Publish{
		RatePerS:     p.rate / float64(w.Publishers),
		PayloadBytes: w.PayloadBytes,
		MaxInflight:  w.MaxInflight,
	}
	if w.Registers > 0 {
		c.Publish.MaxInflight = 1 // a register's writer is sequential
	}
	for _, qos := range w.QoS {
		for n := range w.Registers {
			c.Publish.Streams = append(c.Publish.Streams, p.register(out, c.Process, qos, p.topic(registerTopic(n))))
		}
		for n := range w.Streams {
			c.Publish.Streams = append(c.Publish.Streams, p.stream(out, c.Process, qos, fmt.Sprintf("load/q%d/p%d-%d", qos, i+1, n+1)))
		}
	}
	return c
}

func (p *planner) subscriber(out *plan, w Workload, group string, i int) contract.Client {
	filter := contract.Filter{Filter: p.topic("load/#"), QoS: slices.Max(w.QoS)}
	c := p.client(out, group, i, []contract.Filter{filter})
	c.Start = "connected"
	return c
}

// probe is a client that speaks to one node alone, publishes through it and
// hears what was published through every other.
func (p *planner) probe(out *plan, node int) contract.Client {
	c := p.client(out, groupProbe, node, []contract.Filter{{Filter: p.topic("probe/#"), QoS: 1}})
	c.Endpoints = p.endpoints[node : node+1]
	c.Clean, c.ExpiryS = true, 0
	c.Start = "connected"
	c.Publish = &contract.Publish{
		Streams:      []contract.Stream{p.stream(out, c.Process, 1, fmt.Sprintf("probe/%d", node+1))},
		RatePerS:     10,
		PayloadBytes: 128,
		MaxInflight:  1000, // a message that is never answered does not end the probing
	}
	return c
}

// reader is a client that reads every register again and again.
func (p *planner) reader(out *plan, w Workload, i int) contract.Client {
	c := p.client(out, groupReader, i, nil)
	c.Clean, c.ExpiryS = true, 0
	c.Start = "connected"
	c.ReadRegisters = &contract.ReadRegisters{EveryMS: readEveryMS, WaitMS: readWaitMS}
	for n := range w.Registers {
		c.ReadRegisters.Topics = append(c.ReadRegisters.Topics, p.topic(registerTopic(n)))
	}
	return c
}

func registerTopic(n int) string { return fmt.Sprintf("register/%d", n+1) }

func (p *planner) register(out *plan, producer int32, qos uint8, topic string) contract.Stream {
	n := p.rec.Stream(history.Stream{Producer: producer, Topic: topic, QoS: qos, Retain: true, Register: true})
	out.streams = append(out.streams, n)
	return contract.Stream{Stream: n, Topic: topic, QoS: qos, Retain: true}
}

func (p *planner) client(out *plan, group string, i int, filters []contract.Filter) contract.Client {
	name := fmt.Sprintf("%s-%d", group, i+1)
	c := contract.Client{
		ClientID:    fmt.Sprintf("r%s%c%c%d%d", p.run, group[0], group[1], p.number, i+1),
		Endpoints:   rotate(p.endpoints, i),
		Protocol:    p.protocol,
		Username:    p.user,
		Password:    p.password,
		KeepAliveS:  keepAliveS,
		ReconnectMS: reconnectMS,
		Subscribe:   filters,
	}
	if p.protocol == "mqtt5" {
		c.ExpiryS = sessionExpiryS
	}
	row := history.Process{
		Name: name, ClientID: c.ClientID, Group: group, SDK: p.sdk, Protocol: p.protocol,
		Clean: group == groupProbe || group == groupReader, ExpiryS: c.ExpiryS, Run: p.number,
		Dedupes: p.dedupes, Cannot: p.cannot,
	}
	for _, f := range filters {
		row.Filters = append(row.Filters, history.Filter{Filter: f.Filter, QoS: f.QoS})
	}
	c.Process = p.rec.Process(row)
	out.groups[group] = append(out.groups[group], c.Process)
	return c
}

func (p *planner) stream(out *plan, producer int32, qos uint8, topic string) contract.Stream {
	topic = p.topic(topic)
	n := p.rec.Stream(history.Stream{Producer: producer, Topic: topic, QoS: qos})
	out.streams = append(out.streams, n)
	if qos > 0 {
		out.guaranteed = append(out.guaranteed, n)
	}
	return contract.Stream{Stream: n, Topic: topic, QoS: qos}
}

// topic keeps runs, and the run_client calls of one run, out of each other's way.
func (p *planner) topic(rest string) string {
	return fmt.Sprintf("rmq/%s/%d/%s", p.run, p.number, rest)
}

func rotate(list []string, by int) []string {
	if len(list) == 0 {
		return list
	}
	by %= len(list)
	return append(slices.Clone(list[by:]), list[:by]...)
}
