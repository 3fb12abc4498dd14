package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"
)

// A step is one act of a client.
type step struct {
	client int
	act    string
	at     string // topic or filter
	qos    byte
	retain bool
	empty  bool // its payload
}

// Acts.
const (
	resumes      = "connects to its session"
	begins       = "connects with a clean start"
	leaves       = "disconnects"
	drops        = "closes its connection"
	subscribes   = "subscribes to"
	unsubscribes = "unsubscribes from"
	publishes    = "publishes to"
	offers       = "publishes, without PUBREL, to"
	repeats      = "publishes twice with one packet id, without PUBREL, to"
	completes    = "sends the PUBREL that it owes"
	holds        = "acknowledges nothing"
	holdsRelease = "acknowledges nothing but PUBLISH of QoS 2"
	answers      = "acknowledges all"
)

// acts are how often each act is drawn, relative to the others.
var acts = []struct {
	name  string
	share int
}{
	{resumes, 11}, {begins, 3}, {leaves, 4}, {drops, 6}, {subscribes, 16}, {unsubscribes, 6}, {publishes, 36},
	{offers, 4}, {repeats, 2}, {completes, 5}, {holds, 6}, {holdsRelease, 4}, {answers, 4},
}

func (s step) String() string {
	text := fmt.Sprintf("c%d %s", s.client+1, s.act)
	switch s.act {
	case subscribes, publishes:
		text += fmt.Sprintf(" %s at QoS %d", s.at, s.qos)
	case unsubscribes, offers, repeats:
		text += " " + s.at
	}
	if s.retain {
		text += " with RETAIN"
	}
	if s.empty {
		text += ", empty"
	}
	return text
}

// drawn is any step. Some of them no client may take now.
func drawn(dice *rand.Rand) (s step) {
	all := 0
	for _, a := range acts {
		all += a.share
	}
	n := dice.IntN(all)
	for _, a := range acts {
		if n -= a.share; n < 0 {
			s.act = a.name
			break
		}
	}
	any := func(of ...string) string { return of[dice.IntN(len(of))] }
	s.client = dice.IntN(3)
	switch s.act {
	case subscribes, unsubscribes:
		s.at, s.qos = any("a", "a/b", "a/+", "+/b", "#", "b"), byte(dice.IntN(3))
	case publishes:
		s.at, s.qos = any("a", "a/b", "a/b/c", "b"), byte(dice.IntN(3))
		s.retain = s.qos > 0 && dice.IntN(4) == 0
		s.empty = s.retain && dice.IntN(4) == 0
	case offers, repeats:
		s.at = any("a", "a/b", "b")
	}
	return s
}

// may reports whether a client may take a step now. Fewer messages wait for a client than the windows
// and queues of servers have room for.
func (k *walk) may(s step) bool {
	w := k.clients[s.client]
	online, holding := w.conn != nil, w.holds != ""
	switch s.act {
	case resumes: // MQTT 5 does not say whether a session is taken over if it ends with its connection
		return k.x.version != V5 || !online || w.lasting
	case leaves:
		return online
	case drops: // a session that ends with its connection ends when the server notices
		return online && w.lasting
	case subscribes:
		return online && !holding
	case unsubscribes: // a server may drop messages that it has not begun to send
		_, there := w.subs[s.at]
		return online && there && !holding
	case publishes, offers, repeats:
		full := slices.ContainsFunc(k.clients, func(w *walker) bool { return len(w.due) > 20 || w.holds != "" && len(w.due) > 4 })
		allowed := online && !full && len(w.open) < k.x.unanswered(3)
		switch s.act {
		case publishes: // PUBREL goes in the order of PUBREC
			return allowed && (s.qos < 2 || len(w.open) == 0)
		case repeats: // MQTT 5 allows that on a new connection alone
			return allowed && k.x.version != V5
		}
		return allowed
	case completes:
		return online && len(w.open) > 0
	case holds, holdsRelease: // with one subscription: of several, a message may come several times
		return online && !holding && w.lasting && len(w.subs) == 1
	case answers:
		return online && holding
	}
	return true
}

// take takes a step, and waits for the packets that must follow.
func (k *walk) take(s step) {
	k.x.Note("walk", "·", "%s", s)
	w := k.clients[s.client]
	switch s.act {
	case resumes, begins:
		k.connect(w, s.act == resumes)
	case leaves:
		w.conn.disconnect()
		k.away(w)
	case drops:
		w.conn.drop()
		k.away(w)
	case subscribes:
		k.subscribe(w, s.at, s.qos)
	case unsubscribes:
		w.conn.unsubscribe(k.x.topic(s.at))
		delete(w.subs, s.at)
	case publishes:
		k.publish(s)
	case offers, repeats:
		k.offer(s)
	case completes:
		k.complete(w)
	case holds, holdsRelease:
		w.holds, w.conn.manual = s.act, true
	case answers:
		w.answer()
	}
	k.settle()
}

// nextTakeOver is the pause before a refused client connects again: a nats-server refuses a second
// take-over of an id within a second.
const nextTakeOver = 1100 * time.Millisecond

func (k *walk) connect(w *walker, lasts bool) {
	if w.conn != nil && k.x.keepsFirst {
		w.conn.disconnect()
		k.away(w)
	}
	change := []func(*packets.Packet){named(k.x.token + w.name)}
	if lasts {
		change = append(change, lasting)
	}
	if w.conn != nil { // it acknowledges nothing any more: the server may not get that
		w.conn.manual, w.holds = true, holds
	}
	next, connack, err := k.x.tryConnect(w.name, k.x.to, change...)
	switch {
	case errors.Is(err, errLate):
		k.x.Undecided("%s: no CONNACK in %v", w.name, k.x.wait)
	case err != nil || connack.ReasonCode != 0:
		k.x.After(nextTakeOver)
		next, connack = k.x.connect(w.name, k.x.to, change...)
	default:
		next.welcome(connack)
	}
	if old := w.conn; old != nil {
		if _, closed := old.closedIn(k.x.wait); !closed {
			k.x.Violates("the connection of %s is open %v after another one took its client id over %s", w.name, k.x.wait, k.cite("MQTT-3.1.4-2", "MQTT-3.1.4-3"))
		}
		k.heard(w)
		k.away(w)
	}
	bare := len(w.subs)+len(w.due)+len(w.open) == 0 // decided by a check of its own
	switch present := lasts && w.stored; {
	case connack.SessionPresent && !lasts:
		k.violates("the CONNACK to the clean start of %s has Session Present %s", w.name, k.cite("MQTT-3.2.2-1", "MQTT-3.2.2-2"))
	case connack.SessionPresent && !present:
		k.violates("the CONNACK to %s has Session Present, and its last session has ended %s", w.name, k.cite("MQTT-3.2.2-3", "MQTT-3.2.2-3"))
	case !connack.SessionPresent && present && !bare:
		k.violates("the CONNACK to %s has no Session Present, and its session is stored %s", w.name, k.cite("MQTT-3.2.2-2", "MQTT-3.2.2-3"))
	}
	if !lasts || !w.stored || !connack.SessionPresent {
		w.forget()
	}
	w.back = w.stored
	// A server may give a session more time than the client asked for, and says so in CONNACK.
	w.conn, w.lasting, w.stored, w.holds = next, lasts || next.expiry != nil && *next.expiry > 0, true, ""
	next.nextID = w.nextID // its packet ids are like those of the server
	for len(w.open) > 0 {
		k.complete(w)
	}
}

func (k *walk) subscribe(w *walker, filter string, qos byte) {
	code := w.conn.trySubscribe([]packets.Subscription{{Filter: k.x.topic(filter), Qos: qos}}).ReasonCodes[0]
	switch {
	case code >= 0x80:
		k.x.Unsupported("the broker refused a subscription with %#02x", code)
	case code > qos:
		k.violates("%s asked for QoS %d, and was granted %d %s", w.name, qos, code, k.cite("MQTT-3.8.4-5", "MQTT-3.8.4-7"))
	}
	w.subs[filter] = append(w.subs[filter], code)
	w.joined = k.serial
	for topic, m := range k.retained {
		if Matches(filter, topic) {
			o := w.matching(m)
			o.retained, o.most, o.due = true, 1, min(code, m.qos) > 0
			w.owe(o)
		}
	}
}

func (k *walk) message(s step) *publication {
	k.serial++
	m := &publication{serial: k.serial, from: s.client, topic: s.at, qos: s.qos, payload: k.x.payload(fmt.Sprintf("m%d", k.serial))}
	if s.empty {
		m.payload = nil
	}
	return m
}

func (k *walk) publish(s step) {
	m := k.message(s)
	for _, w := range k.clients {
		if o := w.matching(m); o != nil {
			o.due = o.best > 0
			w.owe(o)
		}
	}
	c := k.clients[s.client].conn
	pk := c.publishing(k.x.topic(m.topic), "", m.qos, func(pk *packets.Packet) { pk.Payload, pk.FixedHeader.Retain = m.payload, s.retain })
	c.completeWith(pk, func(ack *packet) { k.accepted(ack, c) })
	switch {
	case s.retain && s.empty:
		delete(k.retained, m.topic)
	case s.retain:
		k.retained[m.topic] = m
	}
}

// away is the end of a connection.
func (k *walk) away(w *walker) {
	k.x.clients = slices.DeleteFunc(k.x.clients, func(c *client) bool { return c == w.conn })
	w.away()
}

// offer leaves a message of QoS 2 without PUBREL. A server may deliver it at once, or after PUBREL.
func (k *walk) offer(s step) {
	s.qos = 2
	m, w := k.message(s), k.clients[s.client]
	m.to = map[*walker]*owed{}
	for _, to := range k.clients {
		if o := to.matching(m); o != nil {
			m.to[to] = o
			to.owe(o)
		}
	}
	pk := w.conn.publishing(k.x.topic(m.topic), "", 2, func(pk *packets.Packet) { pk.Payload = m.payload })
	k.accepted(w.conn.await("PUBREC", answerTo(packets.Pubrec, pk.PacketID)), w.conn)
	if s.act == repeats {
		pk.FixedHeader.Dup = true
		w.conn.send(pk)
		w.conn.accepted(w.conn.await("PUBREC to a PUBLISH that was sent again", answerTo(packets.Pubrec, pk.PacketID)))
	}
	m.id = pk.PacketID
	w.open = append(w.open, m)
}

// accepted is that the broker takes a message. It may refuse one, but not because of its packet id: the
// client uses each id once.
func (k *walk) accepted(ack *packet, c *client) {
	if ack.ReasonCode == packets.ErrPacketIdentifierInUse.Code {
		k.x.Violates("%s: a message with packet id %d is refused with %#02x, and the client uses this id for nothing else [section 2.2.1]", c.name, ack.PacketID, ack.ReasonCode)
	}
	c.accepted(ack)
}

// complete releases the oldest message that a client left without PUBREL. Clients with a matching
// subscription at both times must have it.
func (k *walk) complete(w *walker) {
	m := w.open[0]
	w.open = w.open[1:]
	for _, to := range k.clients {
		now, before := to.matching(m), m.to[to]
		switch {
		case now == nil:
		case before == nil || !to.knows(before):
			to.owe(now)
		case before.came == 0:
			before.due = min(now.best, before.best) > 0
			before.qos, before.most = append(before.qos, now.qos...), max(before.most, now.most)
			if before.due {
				to.due = append(to.due, before)
			}
		}
	}
	w.conn.ack(packets.Pubrel, m.id)
	w.conn.await("PUBCOMP", answerTo(packets.Pubcomp, m.id))
}

// settle waits until each client has all packets that are due, and those before its PINGRESP. The broker
// then has all acknowledgements too.
func (k *walk) settle() {
	for {
		for _, w := range k.clients {
			if w.conn != nil {
				k.await(w)
			}
		}
		k.pingAll()
		if !slices.ContainsFunc(k.clients, func(w *walker) bool {
			return w.conn != nil && k.lacks(w) != nil
		}) {
			return
		}
	}
}

// others is how often all clients ping while one of them waits: keep alives are longer.
const others = 3 * time.Second

// await waits for all packets that are due to a client.
func (k *walk) await(w *walker) {
	wait := k.x.wait
	if w.back {
		wait *= 4 // as in all checks, for packets that are sent again
	}
	w.back = false
	if k.hasty {
		wait = min(wait, time.Second)
	}
	for deadline := time.Now().Add(wait); ; {
		k.heard(w)
		lack := k.lacks(w)
		if lack == nil {
			return
		}
		pk, err := w.conn.read(time.Now().Add(min(others, time.Until(deadline))))
		switch {
		case err == nil:
			k.got(w, pk)
		case !errors.Is(err, errLate):
			w.conn.hungUp(lack.what)
		case time.Now().After(deadline):
			k.violates("%s", w.conn.absent(lack.what, lack.match, wait))
			k.hasty = true
			w.giveUp(lack.of)
		default:
			k.pingAll()
		}
	}
}

// linger takes in packets that need not come, and are on their way.
func (k *walk) linger() {
	for _, w := range k.clients {
		if w.conn != nil {
			w.conn.linger()
			k.heard(w)
		}
	}
}

// pingAll pings with all clients, and takes in the packets before their PINGRESP.
func (k *walk) pingAll() {
	for _, w := range k.clients {
		if w.conn != nil {
			w.conn.ping()
			k.heard(w)
			w.nextID = w.conn.nextID
		}
	}
}

// heard takes in the packets that came while the client waited for another one.
func (k *walk) heard(w *walker) {
	held := w.conn.held
	w.conn.held = nil
	for _, pk := range held {
		k.got(w, pk)
	}
}

// cite is the statement of the version.
func (k *walk) cite(v3, v5 string) string {
	if k.x.version == V5 {
		v3 = v5
	}
	return "[" + v3 + "]"
}

// violates ends the walk, unless it tolerates this kind of violation.
func (k *walk) violates(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if !slices.Contains(k.tolerates, kind(why)) {
		k.x.Violates("%s", why)
	}
	k.x.Note("walk", "·", "seen before: %s", why)
}
