package conformance

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mochi-mqtt/server/v2/packets"
)

// A walker is a client of a walk, and the state of its session.
type walker struct {
	name    string
	conn    *client // nil while it is away
	lasting bool    // its session outlives this connection
	holds   string  // the act by which it acknowledges less than it should; "" for all
	nextID  uint16
	back    bool // it has just come back to its session

	stored bool               // there is a session
	subs   map[string][]byte  // granted QoS by filter, the present one last
	sent   map[string][]*owed // messages of this session, by their content
	due    []*owed            // those that must still come, or are under way
	open   []*publication     // messages of QoS 2 that it published and has not released
	latest map[string]int     // serial of the latest message, by topic, publisher and QoS
	joined int                // serial of the latest message when it last subscribed
}

func newWalker(name string) *walker {
	w := &walker{name: name}
	w.forget()
	return w
}

// forget is the end of its session.
func (w *walker) forget() {
	w.stored, w.due, w.open = false, nil, nil
	w.subs, w.sent, w.latest = map[string][]byte{}, map[string][]*owed{}, map[string]int{}
}

// A publication is a message.
type publication struct {
	serial  int
	from    int // client
	topic   string
	payload []byte // nil if it is to remove what is retained
	qos     byte
	id      uint16            // if it waits for PUBREL
	to      map[*walker]*owed // likewise: to whom it may be delivered already
}

func (m *publication) String() string { return fmt.Sprintf("message m%d on %s", m.serial, m.topic) }

// An owed is a message on its way to a client, of which a copy may come for each matching subscription.
type owed struct {
	m        *publication
	retained bool   // it is sent because of a new subscription
	qos      []byte // with which a copy may come
	best     byte   // the highest that is granted now
	most     int    // copies
	due      bool   // at least one copy must come
	came     int
	flagged  bool // a copy came with the other RETAIN flag
	state    flight
	id       uint16 // of the copy that is under way
	at       byte   // QoS of that copy
}

// A flight is how far the exchange of a message is.
type flight int

const (
	idle       flight = iota // nothing came yet, or the exchange is complete
	unanswered               // PUBLISH came
	recorded                 // PUBREC was sent
	released                 // PUBREL came, and is not answered
	resent                   // unanswered on an earlier connection: PUBLISH must come again
	rereleased               // released on an earlier connection: PUBREL must come again
)

// content tells messages apart.
func content(topic string, payload []byte, retained bool) string {
	return fmt.Sprintf("%s %q %t", topic, payload, retained)
}

// matching is a message for a client with a matching subscription, or nil.
func (w *walker) matching(m *publication) *owed {
	o := &owed{m: m}
	for filter, granted := range w.subs {
		if Matches(filter, m.topic) {
			o.match(granted)
		}
	}
	if o.most == 0 {
		return nil
	}
	return o
}

// match counts a matching subscription. Checks of their own decide whether a copy has the highest QoS,
// and the one that was granted last.
func (o *owed) match(granted []byte) {
	for _, qos := range granted {
		o.qos = append(o.qos, min(qos, o.m.qos))
	}
	o.best = max(o.best, o.qos[len(o.qos)-1])
	o.most++
}

// owe notes a message on its way.
func (w *walker) owe(o *owed) {
	key := content(o.m.topic, o.m.payload, o.retained)
	w.sent[key] = append(w.sent[key], o)
	if o.due {
		w.due = append(w.due, o)
	}
}

// knows reports whether a message belongs to its present session.
func (w *walker) knows(o *owed) bool {
	return slices.Contains(w.sent[content(o.m.topic, o.m.payload, o.retained)], o)
}

// away is the end of its connection. Messages under way must be sent again to its session.
func (w *walker) away() {
	w.conn, w.holds = nil, ""
	if !w.lasting {
		w.forget()
	}
	for _, o := range w.due {
		switch o.state {
		case unanswered:
			o.state = resent
		case released:
			o.state = rereleased
		}
	}
}

func (o *owed) done() bool { return o.came > 0 && o.state == idle }

// answer sends the acknowledgements that it held back, in the order of their messages.
func (w *walker) answer() {
	w.holds, w.conn.manual = "", false
	for _, o := range w.due {
		switch {
		case o.state == unanswered && o.at == 1:
			w.conn.ack(packets.Puback, o.id)
			o.state = idle
		case o.state == unanswered:
			w.conn.ack(packets.Pubrec, o.id)
			o.state = recorded
		case o.state == released:
			w.conn.ack(packets.Pubcomp, o.id)
			o.state = idle
		}
	}
}

// A lack is a packet that is due to a client.
type lack struct {
	of    *owed
	what  string
	match func(*packet) bool
}

// lacks is the next packet that is due to a client, or nil. Without acknowledgements a server need not send
// more than one message.
func (k *walk) lacks(w *walker) *lack {
	w.due = slices.DeleteFunc(w.due, (*owed).done)
	waits := w.holds != "" && slices.ContainsFunc(w.due, func(o *owed) bool { return o.state == unanswered || o.state == released })
	for _, o := range w.due {
		switch {
		case o.state == recorded:
			return &lack{o, fmt.Sprintf("PUBREL of %s %s", o.m, k.cite("MQTT-4.3.3-1", "MQTT-4.3.3-4")), answerTo(packets.Pubrel, o.id)}
		case o.state == rereleased:
			return &lack{o, fmt.Sprintf("PUBREL of %s again [MQTT-4.4.0-1]", o.m), answerTo(packets.Pubrel, o.id)}
		case o.state == resent:
			return &lack{o, fmt.Sprintf("%s with packet id %d again [MQTT-4.4.0-1]", o.m, o.id), answerTo(packets.Publish, o.id)}
		case o.state == idle && !waits:
			cited := "[MQTT-4.5.0-1]"
			if o.retained {
				cited = k.cite("MQTT-3.3.1-6", "MQTT-3.3.1-9")
			}
			if o.flagged {
				cited = "with its RETAIN flag " + cited
			}
			return &lack{o, o.m.String() + " " + cited, func(pk *packet) bool {
				return pk.FixedHeader.Type == packets.Publish && pk.FixedHeader.Retain == o.retained && k.is(pk, o.m)
			}}
		}
	}
	return nil
}

// giveUp expects no more packets of a message.
func (w *walker) giveUp(o *owed) {
	o.state, o.due = idle, false
	w.due = slices.DeleteFunc(w.due, func(d *owed) bool { return d == o })
}

// is reports whether a packet has the topic and the payload of a message.
func (k *walk) is(pk *packet, m *publication) bool {
	return pk.TopicName == k.x.topic(m.topic) && bytes.Equal(pk.Payload, m.payload)
}

// got takes in a packet of the broker.
func (k *walk) got(w *walker, pk *packet) {
	switch pk.FixedHeader.Type {
	case packets.Pubrel:
		for _, o := range w.due {
			if o.id == pk.PacketID && (o.state == recorded || o.state == rereleased) {
				if o.state = idle; w.holds != "" {
					o.state = released
				}
			}
		}
	case packets.Publish:
		k.came(w, pk)
	}
}

// came compares a message with the model.
func (k *walk) came(w *walker, pk *packet) {
	head := pk.FixedHeader
	topic, ours := strings.CutPrefix(pk.TopicName, k.x.token+"/")
	if !ours || topic == "witness" {
		return
	}
	for _, o := range w.due { // sent again
		switch again := o.id == pk.PacketID && head.Qos > 0; {
		case again && o.state == resent:
			k.resend(w, o, pk)
			return
		case again && head.Dup && k.is(pk, o.m) && (o.state == unanswered || o.state == recorded): // a check of its own decides whether it may, on one connection
			if o.state == recorded && w.holds != "" {
				w.conn.ack(packets.Pubrec, o.id)
			}
			return
		}
	}
	list := w.sent[content(topic, pk.Payload, head.Retain)]
	o := expected(list, head.Qos)
	if o == nil {
		if o = k.surprise(w, pk, topic, list); o == nil {
			return
		}
	}
	if !slices.Contains(o.qos, head.Qos) {
		k.violates("%s came to %s with QoS %d, and must come with %v %s", o.m, w.name, head.Qos, o.qos, k.cite("MQTT-3.8.4-6", "MQTT-3.8.4-8"))
	}
	o.came++
	k.inOrder(w, o, pk)
	if w.holds == "" && head.Qos < 2 || head.Qos == 0 {
		return
	}
	o.id, o.at, o.state = pk.PacketID, head.Qos, unanswered
	if w.conn != nil && head.Qos == 2 && w.holds != holds {
		if o.state = recorded; w.holds != "" {
			w.conn.ack(packets.Pubrec, o.id)
		}
	}
	w.due = append(slices.DeleteFunc(w.due, func(d *owed) bool { return d == o }), o) // in the order of arrival
}

// expected finds the message of a copy, or nil. Empty messages have the same content: the best fit is
// taken.
func expected(list []*owed, qos byte) *owed {
	for _, fits := range []func(*owed) bool{
		func(o *owed) bool { return o.due && o.came == 0 && slices.Contains(o.qos, qos) },
		func(o *owed) bool { return o.came < o.most && slices.Contains(o.qos, qos) },
		func(o *owed) bool { return o.came < o.most },
	} {
		if i := slices.IndexFunc(list, fits); i >= 0 {
			return list[i]
		}
	}
	return nil
}

// resend compares a message on a new connection with the same message on the old one.
func (k *walk) resend(w *walker, o *owed, pk *packet) {
	switch {
	case !k.is(pk, o.m) || pk.FixedHeader.Qos != o.at:
		k.violates("packet id %d stood for %s with QoS %d, which %s has not acknowledged, and is sent again with another message or QoS [MQTT-4.4.0-1]", o.id, o.m, o.at, w.name)
	case !pk.FixedHeader.Dup:
		k.violates("%s is sent to %s again without DUP %s", o.m, w.name, k.cite("MQTT-3.3.1-1", "MQTT-3.3.1-1"))
	}
	o.state = idle
	if pk.FixedHeader.Qos == 2 {
		o.state = recorded
	}
	if w.holds != "" {
		o.state = unanswered
	}
}

// inOrder compares the order of messages of one publisher, topic and QoS, if they come once and are not
// empty.
func (k *walk) inOrder(w *walker, o *owed, pk *packet) {
	if o.retained || o.m.payload == nil || o.most > 1 || o.m.to != nil || pk.FixedHeader.Dup {
		return
	}
	key := fmt.Sprint(o.m.topic, o.m.from, o.m.qos, pk.FixedHeader.Qos)
	if w.latest[key] > o.m.serial {
		k.violates("%s came to %s behind message m%d of the same publisher and topic %s", o.m, w.name, w.latest[key], k.cite("MQTT-4.6.0-6", "MQTT-4.6.0-5"))
	}
	w.latest[key] = o.m.serial
}

// surprise explains a message that the model does not expect. A message of QoS 1 may come again with DUP.
// A server may route a message after its acknowledgement, and so send it to a newer subscription. Surprise
// returns the message that came with a wrong RETAIN flag, or nil.
func (k *walk) surprise(w *walker, pk *packet, topic string, list []*owed) *owed {
	head := pk.FixedHeader
	other := w.sent[content(topic, pk.Payload, !head.Retain)]
	came, most := 1, 0
	for _, o := range list {
		came, most = came+o.came, most+o.most
	}
	switch {
	case len(list) > 0 && head.Qos == 1 && head.Dup:
	case len(list) > 0 && head.Retain:
		k.violates("%s came to %s as a retained message %d times, for %d subscriptions %s", list[0].m, w.name, came, most, k.cite("MQTT-3.3.1-6", "MQTT-3.3.1-9"))
	case len(list) > 0 && head.Qos == 2:
		k.violates("%s came to %s %d times, by QoS 2 and %d matching subscriptions [section 4.3.3]", list[0].m, w.name, came, most)
	case len(list) > 0:
		k.violates("%s came to %s %d times, and %d of its subscriptions match %s", list[0].m, w.name, came, most, k.cite("MQTT-3.3.5-1", "MQTT-3.3.4-2"))
	case len(other) > 0 && head.Retain && other[0].m.serial == w.joined+1:
		other[0].flagged = true
	case len(other) > 0 && head.Retain:
		k.violates("%s came to %s with RETAIN, and its subscription was there before %s", other[0].m, w.name, k.cite("MQTT-3.3.1-9", "MQTT-3.3.1-12"))
		return expected(other, head.Qos)
	case len(other) > 0 && other[0].m.serial == w.joined:
		other[0].flagged = true
	case len(other) > 0:
		k.violates("%s came to %s because of its new subscription, without RETAIN %s", other[0].m, w.name, k.cite("MQTT-3.3.1-8", "section 3.8.3.1"))
		return expected(other, head.Qos)
	case head.Retain:
		k.violates("%q on %s came to %s as a retained message, and is not retained, or the client has no such subscription %s", clip(pk.Payload, 40), topic, w.name, k.cite("MQTT-3.3.1-5", "MQTT-3.3.1-5"))
	case slices.ContainsFunc(slices.Collect(maps.Keys(w.subs)), func(filter string) bool { return Matches(filter, topic) }):
	default:
		k.violates("%q on %s came to %s, and no subscription of its session matches %s", clip(pk.Payload, 40), topic, w.name, k.cite("MQTT-3.3.2-3", "MQTT-3.3.2-3"))
	}
	return nil
}
