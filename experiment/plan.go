package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/scenarios"
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
	transport string
	ca        string // file of the certificate to trust; "" without TLS
	dedupes   bool
	cannot    []string
	endpoints []string
	user      string
	password  string
	rate      float64
	expiryS   int               // of the sessions of expiring subscribers
	mailboxS  int               // mq9: how long the mailboxes live that clients make; 0 is for good
	loads     []contract.Filter // by which subscribers get what publishers publish
}

type tables interface {
	Process(history.Process) int32
	Stream(history.Stream) int32
}

// A plan is one workload, ready for its drivers.
type plan struct {
	publishers  contract.Spec
	subscribers contract.Spec
	wills       []contract.Spec    // each of one client
	groups      map[string][]int32 // processes by group
	streams     []int32
	guaranteed  []int32   // those of QoS 1 and 2
	shared      [][]int32 // the members of each shared subscription

	matched map[int32][]int32 // of whose filters match some topics only: those of QoS 1 and 2
}

// owed are the streams of which a listener is to have every acknowledged message.
func (p *plan) owed(listener []int32) []int32 {
	if some, ok := p.matched[listener[0]]; ok {
		return some
	}
	return p.guaranteed
}

// listeners returns the listeners that are to have every message. A listener is
// one process that subscribes for itself alone, or all members of a shared
// subscription together. A process whose session expires has nothing to get.
func (p *plan) listeners() [][]int32 {
	all := slices.Clone(p.shared)
	for _, c := range p.subscribers.Clients {
		if len(c.Subscribe) > 0 && !slices.Contains(p.groups[history.GroupShared], c.Process) && !slices.Contains(p.groups[history.GroupExpiring], c.Process) {
			all = append(all, []int32{c.Process})
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
	willQoS     = 1

	// Runs of the library last eight hours at most. mq9 has no request that removes a mailbox.
	foreignMailboxS = 24 * 3600
)

func (p *planner) plan(w scenarios.Workload) *plan {
	out := &plan{groups: map[string][]int32{}, matched: map[int32][]int32{}}
	p.expiryS = w.SessionExpiryS
	out.publishers, out.subscribers = p.spec(), p.spec()
	for i := range w.Publishers {
		out.publishers.Clients = append(out.publishers.Clients, p.publisher(out, w, i))
	}
	qos := slices.Max(w.QoS)
	if w.Wills > 0 {
		qos = max(qos, willQoS)
	}
	p.loads = p.filters("load/#", qos, streamsOf(out.publishers.Clients))
	// Mailboxes that do not last are looked at first. A subscriber that comes
	// back in the end reads them before it has all that is owed.
	p.loads = append(p.brief(out, w), p.loads...)
	for _, g := range []struct {
		name  string
		count int
		delay int
	}{
		{history.GroupOnline, w.Subscribers.Online, 0},
		{history.GroupOffline, w.Subscribers.Offline, 0},
		{history.GroupExpiring, w.Subscribers.Expiring, 0},
		{history.GroupVisiting, w.Subscribers.Visiting, 0},
		{history.GroupPaused, w.Subscribers.Paused, 0},
		{history.GroupSlow, w.Subscribers.Slow, w.SlowMS},
	} {
		for i := range g.count {
			c := p.subscriber(out, w, g.name, i)
			c.DelayMS = g.delay
			if g.name == history.GroupPaused {
				c.KeepAliveS = pausedKeepAliveS
			}
			out.subscribers.Clients = append(out.subscribers.Clients, c)
		}
	}
	for i := range w.Subscribers.Duplex {
		out.subscribers.Clients = append(out.subscribers.Clients, p.duplex(out, w, i))
	}
	for i := range w.Wills {
		out.wills = append(out.wills, p.willSpec(out, w, i))
	}
	for i := range w.Subscribers.Overlapping {
		out.subscribers.Clients = append(out.subscribers.Clients, p.overlapping(out, w, i))
	}
	for i, patterns := range w.Subscribers.Filtered {
		out.subscribers.Clients = append(out.subscribers.Clients, p.filtered(out, w, i, patterns))
	}
	for i := range w.Subscribers.Shared.Groups {
		p.share(out, w.Subscribers.Shared.Members, i)
	}
	for i := range w.Subscribers.Readers {
		out.subscribers.Clients = append(out.subscribers.Clients, p.reader(out, w, i))
	}
	return out
}

func (p *planner) spec() contract.Spec {
	return contract.Spec{Contract: contract.Version, Run: p.run, AckWaitMS: ackWaitMS}
}

func (p *planner) publisher(out *plan, w scenarios.Workload, i int) contract.Client {
	c := p.client(out, history.GroupPublisher, i, nil)
	c.Start = "waiting"
	c.Publish = p.publish(out, w, c.Process, i)
	return c
}

// publish is the work of client i of all that publish.
func (p *planner) publish(out *plan, w scenarios.Workload, producer int32, i int) *contract.Publish {
	all := float64(w.Producers())
	work := &contract.Publish{
		RatePerS:     p.rate / all,
		PayloadBytes: w.PayloadBytes,
		MaxInflight:  w.MaxInflight,
	}
	if w.Spread {
		work.FirstMS = int(math.Round(1000 / work.RatePerS * float64(i) / all))
	}
	if w.Registers > 0 {
		work.MaxInflight = 1 // a register's writer is sequential
	}
	for _, qos := range w.QoS {
		for n := range w.Registers {
			work.Streams = append(work.Streams, p.register(out, producer, qos, p.topic(registerTopic(n))))
		}
		for n := range w.Streams {
			topic := fmt.Sprintf("load/q%d/p%d-%d", qos, i+1, n+1)
			if w.Mailboxes > 0 {
				topic = fmt.Sprintf("load/%d", (i*w.Streams+n)%w.Mailboxes+1)
			}
			for _, priority := range orNone(w.Priorities) {
				work.Streams = append(work.Streams, p.stream(out, history.Stream{Producer: producer, Topic: topic, QoS: qos, Priority: priority}))
			}
		}
		for _, topic := range w.Topics {
			work.Streams = append(work.Streams, p.stream(out, history.Stream{Producer: producer, Topic: "load/" + topic, QoS: qos}))
		}
	}
	return work
}

// orNone is a list with one empty element where it has none.
func orNone(list []string) []string {
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

// brief adds the publishers of what does not last, and answers the mailboxes.
func (p *planner) brief(out *plan, w scenarios.Workload) (mailboxes []contract.Filter) {
	for i := range w.Brief.Mailboxes {
		c := p.client(out, history.GroupPublisher, w.Publishers+i, nil)
		c.Start = "waiting"
		s := p.stream(out, history.Stream{
			Producer: c.Process, Topic: fmt.Sprintf("brief/%d", i+1), QoS: 1,
			TTLS: w.Brief.MessageTTLS, MailboxTTLS: w.Brief.MailboxTTLS,
		})
		c.Publish = &contract.Publish{
			Streams: []contract.Stream{s}, RatePerS: w.Brief.RatePerS, PayloadBytes: w.PayloadBytes, MaxInflight: w.MaxInflight,
		}
		out.publishers.Clients = append(out.publishers.Clients, c)
		mailboxes = append(mailboxes, contract.Filter{Filter: s.Topic, QoS: 1, TTLS: cmp.Or(w.Brief.MailboxTTLS, p.mailboxS)})
	}
	return mailboxes
}

// willSpec is the driver of a client with a will. It hears what is published, at
// QoS 0: whether it lives can be told, and nothing is owed to it when it does not.
func (p *planner) willSpec(out *plan, w scenarios.Workload, i int) contract.Spec {
	filters := slices.Clone(p.loads)
	for i := range filters {
		filters[i].QoS = 0
	}
	c := p.client(out, history.GroupWill, i, filters)
	c.Start = "connected"
	will := history.Stream{Producer: c.Process, Topic: p.topic(fmt.Sprintf("load/will/%d", i+1)), QoS: willQoS, Will: true}
	c.Will = &contract.Will{Stream: p.rec.Stream(will), Topic: will.Topic, QoS: will.QoS, PayloadBytes: w.PayloadBytes}
	spec := p.spec()
	spec.Clients = []contract.Client{c}
	return spec
}

func streamsOf(clients []contract.Client) (all []contract.Stream) {
	for _, c := range clients {
		if c.Publish != nil {
			all = append(all, c.Publish.Streams...)
		}
	}
	return all
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
		ClientID:    fmt.Sprintf("r%s%c%c%dx%d", p.run, group[0], group[1], p.number, i+1),
		Endpoints:   rotate(p.endpoints, firstNode[group]+i),
		Protocol:    p.protocol,
		Transport:   p.transport,
		CA:          p.ca,
		Username:    p.user,
		Password:    p.password,
		KeepAliveS:  keepAliveS,
		ReconnectMS: reconnectMS,
		Subscribe:   filters,
	}
	if p.protocol == contract.MQTT5 {
		c.ExpiryS = sessionExpiryS
		switch {
		case group == history.GroupExpiring:
			c.ExpiryS = p.expiryS
		case keepsNothing(group, i):
			c.ExpiryS = 0
		}
	}
	row := history.Process{
		Name: name, ClientID: c.ClientID, Group: group, SDK: p.sdk, Protocol: p.protocol,
		Clean: keepsNothing(group, i), ExpiryS: c.ExpiryS, Run: p.number,
		Dedupes: p.dedupes, Cannot: p.cannot,
	}
	for _, f := range filters {
		row.Filters = append(row.Filters, history.Filter{Filter: f.Filter, QoS: f.QoS})
	}
	c.Clean = row.Clean
	c.Process = p.rec.Process(row)
	out.groups[group] = append(out.groups[group], c.Process)
	return c
}

// spread is the number of the rule by which clients begin at nodes; run.json has it. The
// clients of a group begin at one node after the other.
const spread = 1

// firstNode is the node of a group's first client, 0 where it is not here. So no node is
// without clients where groups are small, and no client moves when another group grows.
var firstNode = map[string]int{
	history.GroupOffline: 2, history.GroupPaused: 1, history.GroupSlow: 1,
	history.GroupShared: 1, history.GroupOverlapping: 1, history.GroupFiltered: 1,
}

// keepsNothing reports whether a client of a group asks for no session. Every
// other client with a will asks for none.
func keepsNothing(group string, i int) bool {
	return group == history.GroupProbe || group == history.GroupReader || group == history.GroupWill && i%2 == 0
}

func (p *planner) stream(out *plan, s history.Stream) contract.Stream {
	s.Topic = p.topic(s.Topic)
	n := p.rec.Stream(s)
	out.streams = append(out.streams, n)
	if lasts := s.TTLS == 0 && s.MailboxTTLS == 0; s.QoS > 0 && lasts {
		out.guaranteed = append(out.guaranteed, n)
	}
	return contract.Stream{Stream: n, Topic: s.Topic, QoS: s.QoS, Priority: s.Priority, TTLS: s.TTLS, Unmarked: s.MailboxTTLS > 0}
}

// topic keeps runs, and the run_client calls of one run, out of each other's way.
func (p *planner) topic(rest string) string {
	topic := fmt.Sprintf("rmq/%s/%d/%s", p.run, p.number, rest)
	if p.protocol == contract.MQ9 { // a mailbox: lower case letters, digits and dots
		return strings.NewReplacer("/", ".", "-", ".").Replace(topic)
	}
	return topic
}

// mailboxesOf is what the addresses of a run's mailboxes have in them.
func mailboxesOf(run string) string { return "rmq." + run + "." }

func rotate(list []string, by int) []string {
	if len(list) == 0 {
		return list
	}
	by %= len(list)
	return append(slices.Clone(list[by:]), list[:by]...)
}
