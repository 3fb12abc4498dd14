package checker

import (
	"github.com/robustmq/rmq-mcp/history"
)

// A wire is what the packets show, as recorded on the clients' side of the tap: how
// each message was sent to the broker, and by the broker to each subscriber. Packets
// that did not reach that side are not in it, nor are changes by a fault of ours beyond
// it.
type wire struct {
	on      bool
	route   *route
	clients []wireClient
	offered []flows // by stream: what its producer sent
	handed  []flows // by pair of process and stream: what the broker sent
	damaged damage  // what clients sent
	mutes   []bool  // by process; nil until it is asked for
}

func newWire(ctx Context, r *route) *wire {
	w := &wire{on: ctx.Run.Wire, route: r}
	if w.on {
		for _, p := range ctx.Tables.Processes {
			w.clients = append(w.clients, wireClient{protocol: p.Protocol, asked: history.None})
		}
		w.offered = make([]flows, len(ctx.Tables.Streams))
		w.handed = make([]flows, len(r.pairs))
	}
	return w
}

func (w *wire) add(b *history.Batch, packets []packet) {
	if !w.on {
		return
	}
	for i := range packets {
		p := &packets[i]
		if uint32(p.process) >= uint32(len(w.clients)) {
			continue
		}
		c := &w.clients[p.process]
		if n := len(c.greeted); p.toClient && n > 0 && c.greeted[n-1].conn == p.conn && p.kind != closedPacket {
			c.greeted[n-1].alive = p.time
		}
		switch p.kind {
		case publishPacket:
			w.publish(c, p)
		case pubackPacket, pubrecPacket, pubcompPacket:
			if f := w.flow(p, !p.toClient); f != nil {
				f.answer(p, uint16(c.session))
			}
		case pubrelPacket:
			if f := w.flow(p, p.toClient); f != nil && f.n > 0 {
				f.release(p)
			}
		default:
			c.control(p, b.Value[p.i])
		}
	}
}

// flow returns the flow of the message that a packet is about. byBroker says whether
// the broker is the sender of the message.
func (w *wire) flow(p *packet, byBroker bool) *flow {
	if byBroker {
		if i := w.route.at(p.process, p.stream); i >= 0 {
			return w.handed[i].reach(p.seq)
		}
		return nil
	}
	if uint32(p.stream) < uint32(len(w.offered)) {
		return w.offered[p.stream].reach(p.seq)
	}
	return nil
}

// share marks a message that had its packet id together with another one. The wire does
// not tell their acknowledgements apart.
func (w *wire) share(process int32, side int, stream int32, seq int64) {
	if f := w.flow(&packet{process: process, stream: stream, seq: seq}, side == 1); f != nil {
		f.shared = true
	}
}

// shared reports whether one of the two ways of a message was shared.
func (w *wire) shared(process, stream int32, seq int64) bool {
	from, to := w.from(stream, seq), w.to(process, stream, seq)
	return from != nil && from.shared || to != nil && to.shared
}

func (w *wire) publish(c *wireClient, p *packet) {
	if p.toClient {
		c.damaged.note(p)
		if p.flags.Has(history.FlagRetain) && len(c.shown) < maxShown {
			c.shown = append(c.shown, shownRetained{p.row, p.stream, p.seq})
		}
	} else {
		w.damaged.note(p)
	}
	switch f := w.flow(p, p.toClient); {
	case f == nil:
	case f.n > 0 && p.conn < c.conn: // written down late: what was sent again was sent after it
		f.n = more(f.n)
	default:
		f.publish(p, uint16(c.session))
	}
}

// heard reports whether a client's packets were recorded at all: those of a
// client that does not speak MQTT over TCP through the tap are not. Nothing is
// concluded from a part of them.
func (w *wire) heard(process int32) bool {
	return w.on && uint32(process) < uint32(len(w.clients)) && len(w.clients[process].greeted) > 0 && !w.clients[process].unread
}

// from returns the flow of a message on its way to the broker, nil for none.
func (w *wire) from(stream int32, seq int64) *flow {
	if !w.on || uint32(stream) >= uint32(len(w.offered)) {
		return nil
	}
	return w.offered[stream].seen(seq)
}

// took reports whether a broker accepted a message by PUBREC.
func (w *wire) took(stream int32, seq int64) bool {
	f := w.from(stream, seq)
	return f != nil && f.taken >= 0
}

// acceptedOn reports whether a broker first accepted the message of a packet by PUBREC on
// the packet's connection.
func (w *wire) acceptedOn(p *packet) bool {
	g := w.clients[p.process].greetedOn(p.conn)
	return g != nil && w.took(p.stream, p.seq) && int64(w.from(p.stream, p.seq).taken) > g.row
}

// to returns the flow of a message on its way to a subscriber, nil for none.
func (w *wire) to(process, stream int32, seq int64) *flow {
	if !w.on {
		return nil
	}
	if i := w.route.at(process, stream); i >= 0 {
		return w.handed[i].seen(seq)
	}
	return nil
}

// called notes a connect that a client began.
func (w *wire) called(process int32, row, at int64) {
	if w.on {
		c := &w.clients[process]
		c.calls = append(c.calls, connectCall{row, at})
	}
}

// greetedIn returns the CONNACK of a connect, nil where it was not recorded.
func (w *wire) greetedIn(process int32, from, to int64) *greeting {
	if !w.on {
		return nil
	}
	return w.clients[process].greetedIn(from, to)
}

// mute reports whether a client left a message of its last connection unanswered: the
// broker may then wait for the answer, and send no more. It is asked for at the end.
func (w *wire) mute(process int32) bool {
	if w.mutes == nil {
		w.mutes = make([]bool, len(w.clients))
		for i := range w.handed {
			p := i / w.route.streams
			w.handed[i].each(func(_ int64, f *flow) {
				w.mutes[p] = w.mutes[p] || f.conn == w.clients[p].conn && !f.answered()
			})
		}
	}
	return w.mutes[process]
}

// anew returns how many messages of QoS 1 the broker sent to a client again as messages
// of their own, without a reason: each was published once, fits exactly one filter of
// the client, and the connection was never lost.
func (w *wire) anew() (n int64) {
	for i := range w.handed {
		p, pair := i/w.route.streams, w.route.pairs[i]
		if pair.sent != 1 || pair.filters != 1 || pair.shared > 0 || len(w.clients[p].greeted) != 1 {
			continue
		}
		w.handed[i].each(func(seq int64, f *flow) {
			from := w.from(int32(i%w.route.streams), seq)
			if f.qos == 1 && f.begun > 1 && f.bare > 0 && !f.retained && from != nil && from.n == 1 {
				n++
			}
		})
	}
	return n
}
