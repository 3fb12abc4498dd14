package checker

import (
	"io"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// A story is a small history, told event by event; each takes a millisecond.
type story struct {
	run      history.Run
	tables   history.Tables
	landings []history.Landing
	events   []history.Event
	past     int64 // events that are told and not kept
	now      time.Duration
	step     time.Duration // between two events
	torn     bool
	hung     []int32              // processes whose driver does not end
	wires    map[int32]*wireStory // by process; packets are told where run.Wire is set
}

// Processes and streams of every story.
const (
	pub     int32 = iota // publishes
	sub                  // subscribes to work/#, with a persistent session
	other                // likewise
	fleet                // subscribes to work/#, with a clean session
	probe1               // speaks to node-1
	probe2               // speaks to node-2
	away                 // subscribes to elsewhere/#
	numProc = iota
)

const (
	q0 int32 = iota
	q1
	q2
	q1b // another topic
	reg
	probed // what probe1 publishes
	probed2
)

func newStory() *story {
	persistent := func(name string) history.Process {
		return history.Process{Name: name, Protocol: "mqtt3", Dedupes: true, Filters: []history.Filter{{Filter: "work/#", QoS: 2}}}
	}
	clean := func(name, group, filter string) history.Process {
		return history.Process{Name: name, Protocol: "mqtt3", Group: group, Clean: true, Dedupes: true, Filters: []history.Filter{{Filter: filter, QoS: 2}}}
	}
	s := &story{step: time.Millisecond, tables: history.Tables{
		Nodes: []history.Node{{Name: "node-1"}, {Name: "node-2"}},
		Processes: []history.Process{
			{Name: "pub-1", Group: "publisher", Protocol: "mqtt3"},
			persistent("sub-1"), persistent("sub-2"), clean("fleet-1", "online", "work/#"),
			clean("probe-1", "probe", "probe/#"), clean("probe-2", "probe", "probe/#"), clean("away-1", "online", "elsewhere/#"),
		},
		Streams: []history.Stream{
			{Topic: "work/0", QoS: 0}, {Topic: "work/1", QoS: 1}, {Topic: "work/2", QoS: 2}, {Topic: "work/1b", QoS: 1},
			{Topic: "reg/1", QoS: 1, Retain: true, Register: true},
			{Topic: "probe/1", QoS: 1, Producer: probe1}, {Topic: "probe/2", QoS: 1, Producer: probe2},
		},
	}}
	s.run.Budget.RecoveryS, s.run.Budget.ProgressS = 10, 5
	s.run.Cluster.Flavor = "reference"
	return s
}

func (s *story) add(e history.Event) int64 {
	s.now += s.step
	e.Index, e.Time = s.rows(), s.now
	s.events = append(s.events, e)
	return e.Index
}

// rows are the events told so far.
func (s *story) rows() int64 { return s.past + int64(len(s.events)) }

func blank(kind history.Kind, process int32) history.Event {
	return history.Event{Kind: kind, Process: process, Call: history.None, Node: history.None, Stream: history.None, Seq: history.None, ID: history.None}
}

func (s *story) wait(d time.Duration) *story { s.now += d; return s }

func (s *story) call(e history.Event) int64 { e.Edge = history.Call; return s.add(e) }

func (s *story) ret(e history.Event, call int64, o history.Outcome) {
	e.Edge, e.Call, e.Outcome = history.Return, call, o
	s.add(e)
}

func (s *story) connect(p int32, present bool) *story {
	e := blank(history.KindConnect, p)
	if p == probe1 || p == probe2 {
		e.Node = int16(p - probe1)
	}
	c := s.call(e)
	s.wireConnect(p, present)
	if present {
		e.Flags = history.FlagSessionPresent
	}
	s.ret(e, c, history.OK)
	return s
}

// shutOut has a client try to connect to node-1 and fail, every half second for a time.
func (s *story) shutOut(p int32, d time.Duration, why string) *story {
	for end := s.now + d; s.now < end; s.wait(time.Second / 2) {
		e := blank(history.KindConnect, p)
		e.Node = 0
		c := s.call(e)
		s.packet(p, "connect", 0)
		e.Text = why
		s.ret(e, c, history.Fail)
	}
	return s
}

// letIn has the harness try to connect to a node.
func (s *story) letIn(node int16, said string, o history.Outcome) *story {
	e := blank(history.KindConnect, history.None)
	e.Node = node
	c := s.call(e)
	e.Text = said
	s.ret(e, c, o)
	return s
}

// holds has the harness ask how many messages the broker has stored of a stream's topic.
func (s *story) holds(stream int32, o history.Outcome, count int64) *story {
	e := blank(history.KindFetch, history.None)
	e.Node, e.Stream, e.Text = 0, stream, history.FetchStored
	c := s.call(e)
	e.Text, e.ID = "", count
	s.ret(e, c, o)
	return s
}

func (s *story) disconnect(p int32) *story {
	s.packet(p, "disconnect", 0, s.expires(p)).packet(p, "closed", 0)
	s.add(blank(history.KindDisconnect, p))
	return s
}

func (s *story) subscribe(p int32) *story {
	e := blank(history.KindSubscribe, p)
	e.Text = s.tables.Processes[p].Filters[0].Filter
	c := s.call(e)
	s.packet(p, "subscribe", 1).toClient(p, "suback", 1, func(e *history.Event) { e.Reason = s.tables.Processes[p].Filters[0].QoS })
	e.Text, e.Reason = "", s.tables.Processes[p].Filters[0].QoS
	s.ret(e, c, history.OK)
	return s
}

// join connects and subscribes.
func (s *story) join(list ...int32) *story {
	for _, p := range list {
		s.connect(p, false).subscribe(p)
	}
	return s
}

func (s *story) publishing(st int32, seq int64) history.Event {
	e := blank(history.KindPublish, s.tables.Streams[st].Producer)
	e.Stream, e.Seq, e.QoS = st, seq, s.tables.Streams[st].QoS
	return e
}

// declined is a publish that the broker refused for a reason.
func (s *story) declined(st int32, seq int64, reason uint8) *story {
	s.publish(st, seq, history.Fail)
	s.events[len(s.events)-1].Reason = reason
	return s
}

func (s *story) publish(st int32, seq int64, o history.Outcome) *story {
	e := s.publishing(st, seq)
	c := s.call(e)
	s.wirePublish(st, seq, o == history.OK)
	s.ret(e, c, o)
	return s
}

// during publishes a number, which is acknowledged after what happens meanwhile.
func (s *story) during(st int32, seq int64, meanwhile func()) *story {
	e := s.publishing(st, seq)
	c := s.call(e)
	meanwhile()
	s.ret(e, c, history.OK)
	return s
}

// late publishes a number, which is acknowledged a time later.
func (s *story) late(st int32, seq int64, d time.Duration) *story {
	return s.during(st, seq, func() { s.wait(d) })
}

// unanswered publishes a number, and nothing comes of it.
func (s *story) unanswered(st int32, seq int64) *story {
	s.call(s.publishing(st, seq))
	return s
}

// resent publishes a number on one connection, and sees it acknowledged on the
// next, after what happens meanwhile.
func (s *story) resent(st int32, seq int64, meanwhile func()) *story {
	e := s.publishing(st, seq)
	c := s.call(e)
	meanwhile()
	e.Conn = 1
	s.ret(e, c, history.OK)
	return s
}

// under publishes numbers, all on connection 1 and called before any of them is
// acknowledged.
func (s *story) under(st int32, from, to int64) *story {
	calls := map[int64]int64{}
	for seq := from; seq <= to; seq++ {
		e := s.publishing(st, seq)
		e.Conn = 1
		calls[seq] = s.call(e)
	}
	for seq := from; seq <= to; seq++ {
		e := s.publishing(st, seq)
		e.Conn = 1
		s.ret(e, calls[seq], history.OK)
	}
	return s
}

// granted makes the SUBACKs of a process grant another QoS.
func (s *story) granted(p int32, qos uint8) {
	for i, e := range s.events {
		if e.Kind == history.KindSubscribe && e.Edge == history.Return && e.Process == p {
			s.events[i].Reason = qos
		}
	}
}

// regrant has a process subscribe, and be granted a QoS.
func (s *story) regrant(p int32, qos uint8) *story {
	s.subscribe(p)
	s.events[len(s.events)-1].Reason = qos
	return s
}

// lowered delivers a number with a QoS of its own.
func (s *story) lowered(p, st int32, seq int64, qos uint8) *story {
	s.deliver(p, st, seq)
	s.events[len(s.events)-1].QoS = qos
	return s
}

// acked publishes numbers from one to another, all acknowledged.
func (s *story) acked(st int32, from, to int64) *story {
	for seq := from; seq <= to; seq++ {
		s.publish(st, seq, history.OK)
	}
	return s
}

// quickly delivers each message before the next is published.
func (s *story) quickly(p, st int32, from, to int64) *story {
	for seq := from; seq <= to; seq++ {
		s.publish(st, seq, history.OK).deliver(p, st, seq)
	}
	return s
}

// marker publishes the stream's end marker.
func (s *story) marker(st int32, seq int64, o history.Outcome) *story {
	e := s.publishing(st, seq)
	e.Flags = history.FlagEnd
	c := s.call(e)
	s.wirePublish(st, seq, o == history.OK)
	s.ret(e, c, o)
	return s
}

func (s *story) deliver(p, st int32, seq int64, flags ...history.Flags) *story {
	e := blank(history.KindDeliver, p)
	e.Stream, e.Seq = st, seq
	if st >= 0 {
		e.QoS = s.tables.Streams[st].QoS
	}
	for _, f := range flags {
		e.Flags |= f
	}
	if p == probe1 || p == probe2 {
		e.Node = int16(p - probe1)
	}
	id := s.wireSend(p, st, seq, e.Flags)
	s.add(e)
	s.wireTake(p, st, seq, id)
	return s
}

func (s *story) delivered(p, st int32, from, to int64) *story {
	for seq := from; seq <= to; seq++ {
		s.deliver(p, st, seq)
	}
	return s
}

// again has the last n rows be of a second connection.
func (s *story) again(n int) *story {
	for i := range s.events[len(s.events)-n:] {
		s.events[len(s.events)-n+i].Conn = 1
	}
	return s
}

// mailboxes makes publishers and subscribers ones of mq9.
func (s *story) mailboxes() *story {
	for i := range s.tables.Processes {
		s.tables.Processes[i].Protocol = "mq9"
	}
	return s
}

// stored delivers a number with the id that the broker stored it under.
func (s *story) stored(p, st int32, seq, id int64) *story {
	s.deliver(p, st, seq)
	s.events[len(s.events)-1].ID = id
	return s
}

func (s *story) phase(name string) *story {
	e := blank(history.KindPhase, history.None)
	e.Text = name
	s.add(e)
	return s
}

// fault puts f1 in place for a time, from now on.
func (s *story) fault(d time.Duration) *story {
	s.landings = append(s.landings, history.Landing{Fault: "f1", Times: history.LandingTimes{
		AppliedNS: int64(s.now), HealedNS: int64(s.now + d)}})
	return s
}

// struck says of which type the last fault is, and whom it hits.
func (s *story) struck(typ, target string, nodes ...string) *story {
	l := &s.landings[len(s.landings)-1]
	l.Type, l.Target, l.Nodes = typ, target, nodes
	return s
}

// down is f1, after which a node did not come back.
func (s *story) down(node string) *story {
	s.landings = append(s.landings, history.Landing{
		Fault: "f1", Type: "power_loss", Target: "leader", Healed: history.HealDown, Down: map[string]string{node: "exited: status 1"},
	})
	return s
}

func (s *story) heal() *story {
	e := blank(history.KindHeal, history.None)
	s.ret(e, s.call(e), history.OK)
	return s
}

// healing is a row of the heal of f1, which was on these nodes.
func (s *story) healing(nodes ...string) history.Event {
	s.landings = append(s.landings, history.Landing{Fault: "f1", Nodes: nodes})
	e := blank(history.KindHeal, history.None)
	e.Text = "f1"
	return e
}

func (s *story) fetch(st int32, seq int64) *story {
	e := blank(history.KindFetch, fleet)
	e.Text = s.tables.Streams[st].Topic
	c := s.call(e)
	e.Text = ""
	if seq >= 0 {
		e.Stream, e.Seq = st, seq
	}
	s.ret(e, c, history.OK)
	return s
}

func (s *story) observe(name string, p int32, node int16, value float64) *story {
	e := blank(history.KindObserve, p)
	e.Text, e.Node, e.Value = name, node, value
	s.add(e)
	return s
}

// finish ends every driver in order.
func (s *story) finish() *story {
	s.wait(30 * time.Second)
	for n := range int16(len(s.tables.Nodes)) {
		if !slices.ContainsFunc(s.events, func(e history.Event) bool { return e.Text == history.ObserveDeserted && e.Node == n }) {
			s.observe(history.ObserveDeserted, history.None, n, 0)
		}
	}
	spoke := map[int32]bool{}
	for _, e := range s.events {
		if e.Kind == history.KindConnect && e.Process != history.None {
			spoke[e.Process] = true
		}
	}
	for p := range int32(numProc) {
		if spoke[p] && !slices.Contains(s.hung, p) {
			s.disconnect(p).ended(p)
		}
	}
	return s
}

// ended ends the driver of a process.
func (s *story) ended(p int32) *story {
	e := blank(history.KindEnd, p)
	e.Value = 7
	s.observe(history.ObserveDriverLines, p, history.None, 7).add(e)
	return s
}

func (s *story) context() Context {
	return Context{Run: &s.run, Tables: &s.tables, Landings: s.landings}
}

// memory is a history in memory, in batches of a size. Like a reader of a file
// it answers one and the same batch, filled again.
type memory struct {
	batches []*history.Batch
	batch   history.Batch
	at      int
	torn    bool
}

func (s *story) source(size int) *memory {
	m := &memory{torn: s.torn}
	for from := 0; from < len(s.events); from += size {
		m.batches = append(m.batches, batchOf(s.events[from:min(from+size, len(s.events))]))
	}
	return m
}

func (m *memory) Next() (*history.Batch, error) {
	if m.at == len(m.batches) {
		return nil, io.EOF
	}
	m.batch = *m.batches[m.at]
	m.at++
	return &m.batch, nil
}

func (m *memory) Ended() bool { return !m.torn }
