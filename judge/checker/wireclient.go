package checker

import (
	"cmp"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// A wireClient is one client's connections.
type wireClient struct {
	protocol string
	conn     int32
	session  int32         // number of it: one more whenever the broker had none, or the client ended it
	asked    int64         // row of the last CONNECT; None for none
	begun    int64         // its time
	clean    bool          // which asked for a new session
	lasting  [2]int64      // rows of the first two CONNECTs for a session that outlives the connection; 0 for none
	calls    []connectCall // connects that it began
	ended    []int32       // connections with a CONNECT that ends the session before, or its own with the connection
	greeted  []greeting
	refused  refusal // the last
	granted  []grant
	unread   bool   // it, or what it was sent, could not be read any more
	damaged  damage // what it was sent
	shown    []shownRetained
}

// A damage is rows of PUBLISHes: with a damaged payload, and with one that is not
// of the run.
type damage struct{ spoiled, stranger []int64 }

func (d *damage) note(p *packet) {
	switch {
	case p.flags.Has(history.FlagCorrupt):
		d.spoiled = append(d.spoiled, p.row)
	case p.flags.Has(history.FlagForeign):
		d.stranger = append(d.stranger, p.row)
	}
}

// A shownRetained is a retained message that a client was sent; stream and seq
// are None where its payload does not say.
type shownRetained struct {
	row    int64
	stream int32
	seq    int64
}

// maxShown is the number of them kept for one client.
const maxShown = 1 << 16

// A greeting is a CONNACK that let the client in.
type greeting struct {
	asked, row int64
	clean      bool
	present    bool
	expiryS    float64 // after which the session is to end; negative where the recording does not say
	conn       int32
	begun, at  int64 // times: of CONNECT, of CONNACK
	left       int64 // row of the client's DISCONNECT; None for none
	alive      int64 // time of the last packet to the client
	closed     int64 // time of the connection's end; 0 for none
}

// A connectCall is a connect that a client began: its row and its time. A line of a driver is
// recorded when it is read, so the row may be behind the packets of the connection.
type connectCall struct{ row, at int64 }

// A refusal is a CONNACK that did not let the client in; its reason is 0 for none.
type refusal struct {
	asked, row int64
	reason     uint8
}

// full names the reason of a broker that has no room for the client, "" for other refusals
// (MQTT 3.1.1 section 3.2.2.3; MQTT 5.0 section 3.2.2.2).
func (r refusal) full(protocol string) string {
	if protocol != contract.MQTT5 {
		return map[uint8]string{3: "server unavailable"}[r.reason]
	}
	return map[uint8]string{0x88: "server unavailable", 0x89: "server busy", 0x97: "quota exceeded", 0x9F: "connection rate exceeded"}[r.reason]
}

// A grant is a SUBACK, or an UNSUBSCRIBE.
type grant struct {
	row int64
	qos uint8 // or 0x80 and above: refused
}

// unsubscribed is the QoS of a subscription that its client has ended.
const unsubscribed = 0xFF

func (c *wireClient) control(p *packet, value float64) {
	switch {
	case p.kind == connectPacket:
		c.conn, c.asked, c.begun, c.clean = p.conn, p.row, p.time, p.reason != 0
		if c.clean || c.protocol == contract.MQTT5 && value == 0 {
			c.ended = append(c.ended, p.conn)
		}
		switch lasts := !c.clean && c.protocol != contract.MQTT5 || c.protocol == contract.MQTT5 && value != 0; {
		case lasts && c.lasting[0] == 0:
			c.lasting[0] = p.row
		case lasts && c.lasting[1] == 0:
			c.lasting[1] = p.row
		}
	case p.accepted() && p.conn == c.conn:
		present := p.flags.Has(history.FlagSessionPresent)
		if !present || c.clean {
			c.session++
		}
		c.greeted = append(c.greeted, greeting{c.asked, p.row, c.clean, present, value - 1, p.conn, c.begun, p.time, history.None, p.time, 0})
	case p.kind == connackPacket && !p.accepted():
		c.refused = refusal{c.asked, p.row, p.reason}
	case p.kind == subackPacket:
		c.granted = append(c.granted, grant{p.row, p.reason})
	case p.kind == unsubscribePacket:
		c.granted = append(c.granted, grant{p.row, unsubscribed})
	case p.kind == disconnectPacket && !p.toClient:
		c.leave(p, value)
	case p.kind == closedPacket:
		if g := c.greetedOn(p.conn); g != nil && g.closed == 0 {
			g.closed = p.time
		}
	case p.kind == unreadPacket:
		c.unread = true
	}
}

// leave notes a DISCONNECT, which may be written down when the client is back.
func (c *wireClient) leave(p *packet, value float64) {
	if g := c.greetedOn(p.conn); g != nil {
		g.left, g.expiryS = p.row, value-1
	}
}

// greetedOn returns the CONNACK of a connection, nil for none.
func (c *wireClient) greetedOn(conn int32) *greeting {
	for i := range slices.Backward(c.greeted) {
		if c.greeted[i].conn == conn {
			return &c.greeted[i]
		}
	}
	return nil
}

// greetedIn returns the CONNACK of a connect. Between the two rows it prefers the last
// one without a session, because a client that gave up an attempt may have got the
// session with the next. Else it is the last one, nil for none. If from is the row of a
// connect that began, a CONNACK after its time counts too.
func (c *wireClient) greetedIn(from, to int64) (g *greeting) {
	since := int64(never)
	if i, found := slices.BinarySearchFunc(c.calls, from, func(c connectCall, row int64) int { return cmp.Compare(c.row, row) }); found {
		since = c.calls[i].at
	}
	for i := range c.greeted {
		if at := &c.greeted[i]; (at.row > from || at.at > since) && at.row < to && (g == nil || g.present || !at.present) {
			g = at
		}
	}
	return g
}

// grantedBefore is the last SUBACK before a row.
func (c *wireClient) grantedBefore(row int64) *grant {
	i, _ := slices.BinarySearchFunc(c.granted, row, func(g grant, row int64) int { return cmp.Compare(g.row, row) })
	if i == 0 {
		return nil
	}
	return &c.granted[i-1]
}

// grantOf is the last SUBACK before a row that granted a QoS, nil for none.
func (c *wireClient) grantOf(qos uint8, row int64) (last *grant) {
	for i := range c.granted {
		if g := &c.granted[i]; g.row < row && g.qos == qos {
			last = g
		}
	}
	return last
}

// subscribed says whether a client's session had a subscription at a row, and
// if not, how the client itself gave it up; "" where it did not.
func (c *wireClient) subscribed(row int64) (yes bool, gaveUp string) {
	since := int64(-1)
	for _, g := range c.greeted {
		if g.row >= row {
			break
		}
		if !g.present {
			since, gaveUp = g.row, ""
			if g.clean {
				gaveUp = "had asked for a clean session and not subscribed again"
			}
		}
	}
	g := c.grantedBefore(row)
	if g == nil || g.row < since {
		return false, gaveUp
	}
	if g.qos == unsubscribed {
		return false, "had unsubscribed"
	}
	return g.qos < 0x80, ""
}

// wentOn reports whether the client came back to the session in which it was last sent
// a message. The broker must send unacknowledged messages again there (MQTT 3.1.1
// section 4.4 [MQTT-4.4.0-1]).
func (c *wireClient) wentOn(f *flow) bool {
	n := len(c.greeted)
	return f.conn < c.conn && f.session == uint16(c.session) && f.state != done && n > 0 && c.greeted[n-1].asked == c.asked
}

// unansweredIn says why nobody is to blame for a message that was sent to the client and not
// acknowledged: it may have ended with its connection, and the broker with it.
func (c *wireClient) unansweredIn(f *flow) string {
	switch {
	case f.state == done && f.acked < 0:
		return "the client refused it"
	case f.acked >= 0:
		return "it was acknowledged in another session than it was sent in"
	case f.conn == c.conn && f.session == uint16(c.session):
		return "it or its PUBREL was sent on the client's last connection, and not acknowledged there"
	case c.wentOn(f):
		return unanswered
	}
	return "it was sent and not acknowledged, and the client was not in that session at the end"
}

// forgotten returns the CONNACK by which the broker had lost the session in which it last
// sent a message, nil for none: it had no session when the client asked for it again, and
// neither a connection nor an attempt of the client until then had ended it.
func (c *wireClient) forgotten(f *flow) *greeting {
	at := slices.IndexFunc(c.greeted, func(g greeting) bool { return g.conn == f.conn })
	for ; at >= 0 && at+1 < len(c.greeted); at++ {
		g, next := &c.greeted[at], &c.greeted[at+1]
		switch {
		case next.conn == g.conn: // a second CONNACK
		case slices.ContainsFunc(c.ended, func(conn int32) bool { return g.conn < conn && conn <= next.conn }), !g.lastsUntil(next, c.protocol):
			return nil
		case !next.present:
			return next
		}
	}
	return nil
}

// lastsUntil reports whether a session was to last until the client's next connection
// (MQTT 3.1.1 section 3.1.2.4, MQTT 5.0 section 3.1.2.11.2). It is false where the
// recording does not say. The broker may have counted from the first moment of the
// connection on: nobody knows when it ended there.
func (g *greeting) lastsUntil(next *greeting, protocol string) bool {
	switch {
	case protocol != contract.MQTT5:
		return !g.clean
	case g.expiryS >= noExpiry:
		return true
	}
	return float64(next.at-g.begun) < g.expiryS*1e9
}

// cleanAfter reports whether a client asked for a clean session after a row.
func (c *wireClient) cleanAfter(row int64) bool {
	return slices.ContainsFunc(c.greeted, func(g greeting) bool { return g.row > row && g.clean })
}
