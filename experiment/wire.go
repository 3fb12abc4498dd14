package experiment

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// A wire writes down what passes the tap, as the clients' side of it has it.
// Clients that are none of the run's are not written down.
type wire struct {
	rec   *history.Recorder
	clock history.Clock
	run   string           // the eight characters in every payload
	node  map[string]int16 // by name

	mu       sync.Mutex
	sessions map[string]*wireSession // by client id
	topics   []string                // of the streams known so far
}

// A wireSession is the common state of a client's connections. It maps packet
// ids to messages, separately for those that the client sent and those that it
// was sent.
type wireSession struct {
	process int32

	mu    sync.Mutex
	conns int32
	ids   [2]messageIDs // sent by the client, by the broker
	begun int32         // the connection with which its session began
	at    int32         // the connection on which it was let in last
	up    bool          // that connection has not ended
}

// A wireConn is one connection of a client.
type wireConn struct {
	wire    *wire
	session *wireSession
	conn    int32
	node    int16
	payload [2]contract.Digest // of what the client sends, and is sent
	expiryS uint32             // of the session, by what was said so far
}

// Observe returns the function that a tap calls for each of its connections.
// Packets that pass the tap are recorded in rec if they belong to the clients
// of rec's tables and to messages that have run in their payload. nodes are
// those of the tables, in order.
func Observe(rec *history.Recorder, clock history.Clock, run string, nodes ...string) func(tap.Hello) tap.Witness {
	return newWire(rec, clock, run, nodes).connect
}

func newWire(rec *history.Recorder, clock history.Clock, run string, nodes []string) *wire {
	w := &wire{rec: rec, clock: clock, run: run, node: map[string]int16{}, sessions: map[string]*wireSession{}}
	for i, n := range nodes {
		w.node[n] = int16(i)
	}
	return w
}

// unreleased counts messages of QoS 2 that processes answered by PUBREC on an earlier connection of
// their session. The broker has neither released nor resent them. Clients that are away do not
// count.
func (w *wire) unreleased(processes []int32) (n int) {
	w.mu.Lock()
	sessions := slices.Collect(maps.Values(w.sessions))
	w.mu.Unlock()
	for _, s := range sessions {
		if slices.Contains(processes, s.process) {
			n += s.unreleased()
		}
	}
	return n
}

func (s *wireSession) unreleased() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.ids[1].taken {
		for _, t := range list {
			if s.up && !t.freed && s.begun <= t.conn && t.conn < s.at && !s.ids[1].sentAgain(t.message) {
				n++
			}
		}
	}
	return n
}

// sentAgain reports whether a message was sent once more on a later connection, with whatever
// packet id.
func (m *messageIDs) sentAgain(of message) bool {
	for _, page := range m.pages {
		if page != nil && slices.ContainsFunc(page[:], func(o message) bool { return o.stream == of.stream && o.seq == of.seq && o.conn > of.conn }) {
			return true
		}
	}
	return false
}

// connect writes down a CONNECT and follows its connection.
func (w *wire) connect(h tap.Hello) tap.Witness {
	s := w.session(h.Client)
	if s == nil {
		return nil
	}
	node, ok := w.node[h.Node]
	if !ok {
		node = history.None
	}
	s.mu.Lock()
	c := &wireConn{wire: w, session: s, conn: s.conns, node: node, expiryS: h.ExpiryS}
	s.conns++
	s.mu.Unlock()
	e := c.event(history.PacketConnect)
	if h.Clean {
		e.Reason = 1
	}
	e.Value = float64(h.ExpiryS)
	w.rec.Record(e)
	return c
}

// session returns that of a client of the run, or nil.
func (w *wire) session(client string) *wireSession {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.sessions[client]; s != nil {
		return s
	}
	for i, p := range w.rec.Tables().Processes {
		if p.ClientID == client {
			s := &wireSession{process: int32(i)}
			w.sessions[strings.Clone(client)] = s
			return s
		}
	}
	return nil
}

// topic returns that of a stream, where the run's tables have it. They only
// grow.
func (w *wire) topic(stream int32) (topic string, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if int(stream) >= len(w.topics) {
		for _, s := range w.rec.Tables().Streams[len(w.topics):] {
			w.topics = append(w.topics, s.Topic)
		}
	}
	if stream < 0 || int(stream) >= len(w.topics) {
		return "", false
	}
	return w.topics[stream], true
}

func (c *wireConn) event(text string) history.Event {
	return history.Event{
		Time: c.wire.clock.Now(), Kind: history.KindPacket, Edge: history.Point, Via: history.ViaTap, Text: text,
		Process: c.session.process, Conn: c.conn, Node: c.node,
		Call: history.None, Stream: history.None, Seq: history.None, ID: history.None,
	}
}

func (c *wireConn) Payload(way tap.Direction, at, size int, part []byte) {
	c.payload[sideOf(way)].Add(at, size, part)
}

func sideOf(way tap.Direction) int {
	if way == tap.ToClient {
		return 1
	}
	return 0
}

func (c *wireConn) Packet(p *tap.Packet) {
	side := sideOf(p.Way)
	e := c.event(p.Kind.String())
	e.QoS, e.Reason = p.QoS, p.Reason
	if p.ID != 0 {
		e.ID = int64(p.ID)
	}
	for _, f := range [...]struct {
		set  bool
		flag history.Flags
	}{{p.Dup, history.FlagDup}, {p.Retain, history.FlagRetain}, {p.Present, history.FlagSessionPresent}, {side == 1, history.FlagToClient}} {
		if f.set {
			e.Flags |= f.flag
		}
	}
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	switch p.Kind {
	case tap.Connack, tap.Disconnect: // how long the session is to outlast the connection
		if p.Kind == tap.Connack && p.Reason == 0 {
			s.greet(c.conn, p.Present)
		}
		if p.Expires {
			c.expiryS = p.ExpiryS
		}
		e.Value = float64(c.expiryS) + 1 // 0 in recordings of a tap that did not look
	case tap.Publish:
		c.identify(&e, &c.payload[side], p.Topic)
		if p.ID != 0 {
			s.ids[side].set(p.ID, message{stream: e.Stream, conn: c.conn, seq: e.Seq})
		}
	case tap.Puback, tap.Pubrec, tap.Pubcomp: // of what the other side sent
		m := s.ids[1-side].about(p, c.conn)
		e.Stream, e.Seq = m.stream, m.seq
	case tap.Pubrel:
		m := s.ids[side].about(p, c.conn)
		e.Stream, e.Seq = m.stream, m.seq
	}
	c.wire.rec.Record(e)
}

// greet takes a CONNACK that lets the client in.
func (s *wireSession) greet(conn int32, present bool) {
	if conn < s.at {
		return // its client has replaced that connection
	}
	s.at, s.up = conn, true
	if !present {
		s.begun = conn
	}
}

// Unread is written down as a packet that there is none of in MQTT, as End is.
func (c *wireConn) Unread(way tap.Direction) {
	e := c.event(history.PacketUnread)
	if way == tap.ToClient {
		e.Flags = history.FlagToClient
	}
	c.wire.rec.Record(e)
}

// End says whose end of the connection came first.
func (c *wireConn) End(by tap.Direction) {
	e := c.event(history.PacketClosed)
	c.session.mu.Lock()
	c.session.up = c.session.up && c.session.at != c.conn
	c.session.mu.Unlock()
	switch by {
	case tap.ToClient:
		e.Flags = history.FlagToClient
	case "":
		e.Reason = 1
	}
	c.wire.rec.Record(e)
}

// identify reads which message a PUBLISH carries, and whether it goes by its
// stream's topic.
func (c *wireConn) identify(e *history.Event, payload *contract.Digest, topic []byte) {
	defer payload.Reset()
	h, err := payload.Header()
	switch {
	case errors.Is(err, contract.ErrForeign):
		e.Flags |= history.FlagForeign
	case err != nil:
		e.Flags |= history.FlagCorrupt
	case h.Run != c.wire.run:
		e.Flags |= history.FlagForeign
	default:
		its, known := c.wire.topic(h.Stream)
		if !known {
			e.Flags |= history.FlagForeign
			return
		}
		e.Stream, e.Seq = h.Stream, h.Seq
		if len(topic) > 0 && contract.Renamed(topic, its) {
			e.Flags |= history.FlagRenamed
		}
		if h.End() {
			e.Flags |= history.FlagEnd
		}
	}
}

// A message is one of the run's, and the connection on which it was last spoken of;
// stream and seq are None of one that is not known.
type message struct {
	stream, conn int32
	seq          int64
	over         bool // PUBCOMP was sent
}

var unknownMessage = message{stream: history.None, seq: history.None}

// messageIDs are the messages that packet ids stand for, until they are used
// again.
type messageIDs struct {
	pages [256]*[256]message
	taken map[uint16][]takenMessage // by packet id, the oldest first; mostly one
}

// A takenMessage is one of QoS 2 that its receiver has: PUBREC was sent, and PUBCOMP is
// still to come.
type takenMessage struct {
	message
	freed bool // PUBREL was sent
}

// set is of a PUBLISH. One of a connection that its client has replaced comes late.
func (m *messageIDs) set(id uint16, to message) {
	page := m.pages[id>>8]
	if page == nil {
		page = new([256]message)
		for i := range page {
			page[i] = unknownMessage
		}
		m.pages[id>>8] = page
	}
	if page[id&255].conn <= to.conn {
		page[id&255] = to
	}
}

func (m *messageIDs) get(id uint16) message {
	if page := m.pages[id>>8]; page != nil {
		return page[id&255]
	}
	return unknownMessage
}

// about returns the message that an acknowledgement or a PUBREL on a connection is
// about. A sender that uses a packet id again before PUBCOMP has two messages under
// it for a while: of each kind the oldest one's comes first. One on a connection that
// its client has replaced comes late, and may be about any before the newest.
func (m *messageIDs) about(p *tap.Packet, conn int32) message {
	newest, taken := m.get(p.ID), m.taken[p.ID]
	switch {
	case p.Kind == tap.Pubrel && len(taken) > 0:
		at := max(0, slices.IndexFunc(taken, func(t takenMessage) bool { return !t.freed || t.conn < conn }))
		taken[at].freed, taken[at].conn = true, max(taken[at].conn, conn)
		return taken[at].message
	case p.Kind == tap.Pubcomp:
		if at := slices.IndexFunc(taken, func(t takenMessage) bool { return t.freed && t.conn == conn }); at >= 0 {
			return m.complete(p.ID, at)
		}
	}
	if newest.conn > conn {
		return unknownMessage
	}
	if p.Kind == tap.Pubrec && newest.stream >= 0 && !newest.over {
		m.take(p.ID, newest, conn, p.Reason < 0x80)
	}
	return newest
}

// take notes a PUBREC, and whether it accepts the message. The same message is taken
// once, and what was taken on an earlier connection is given up with its session.
func (m *messageIDs) take(id uint16, of message, conn int32, accepted bool) {
	if m.taken == nil {
		m.taken = map[uint16][]takenMessage{}
	}
	of.conn = conn
	freed := false
	list := slices.DeleteFunc(m.taken[id], func(t takenMessage) bool {
		same := t.stream == of.stream && t.seq == of.seq
		freed = freed || same && t.freed && t.conn == conn
		return t.conn < conn || same
	})
	if accepted {
		list = append(list, takenMessage{of, freed})
	}
	m.taken[id] = list[max(0, len(list)-maxTaken):]
}

// complete takes a message out whose exchange is over. The memory of its place stays for
// the next, so that a packet costs no allocation.
func (m *messageIDs) complete(id uint16, at int) message {
	of := m.taken[id][at].message
	m.taken[id] = slices.Delete(m.taken[id], at, at+1)
	if newest := &m.pages[id>>8][id&255]; newest.stream == of.stream && newest.seq == of.seq {
		newest.over = true
	}
	return of
}

// maxTaken bounds how many messages a packet id has at a time.
const maxTaken = 16
