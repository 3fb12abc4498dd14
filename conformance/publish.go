package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"
)

// publishing is the flow of each QoS, to the server and from it.
func publishing() []entry {
	return []entry{
		{"publish/qos0", "MQTT-4.3.1-1", "MQTT-4.3.1-1", must, "a QoS 0 message goes on with QoS 0 and without DUP", qos0},
		{"publish/puback", "MQTT-4.3.2-2", "MQTT-4.3.2-4", must, "a QoS 1 PUBLISH is answered with PUBACK of its packet id", puback},
		{"publish/qos1-id-again", "MQTT-4.3.2-2", "MQTT-4.3.2-5", must, "after PUBACK the same packet id is a new message, whatever its DUP", qos1Again},
		{"publish/pubrec", "MQTT-4.3.3-2", "MQTT-4.3.3-8", must, "a QoS 2 PUBLISH is answered with PUBREC of its packet id", pubrec},
		{"publish/pubcomp", "MQTT-4.3.3-2", "MQTT-4.3.3-11", must, "PUBREL is answered with PUBCOMP of its packet id", pubcomp},
		{"publish/pubrel-again", "MQTT-4.3.3-2", "MQTT-4.3.3-11", must, "PUBREL is answered also where the packet id is not known any more", pubrelAgain},
		{"publish/qos2-once", "MQTT-4.3.3-2", "MQTT-4.3.3-10", must, "a QoS 2 PUBLISH that is sent again before PUBREL is acknowledged again and delivered once", qos2Repeated(1)},
		{"publish/qos2-thrice", "MQTT-4.3.3-2", "", must, "a QoS 2 PUBLISH that is sent again twice before PUBREL is acknowledged each time and delivered once", qos2Repeated(2)},
		{"publish/qos2-thrice", "", "MQTT-4.3.3-10", should, "a QoS 2 PUBLISH that is sent again twice before PUBREL is acknowledged each time and delivered once", qos2Repeated(2)},
		{"publish/qos2-id-again", "MQTT-4.3.3-2", "MQTT-4.3.3-12", must, "after PUBCOMP the same packet id is a new message", qos2Again},
		{"publish/server-qos1", "MQTT-4.3.2-1", "MQTT-4.3.2-2", must, "the server sends a QoS 1 message with a packet id and without DUP", serverQoS1},
		{"publish/server-qos2", "MQTT-4.3.3-1", "MQTT-4.3.3-4", must, "the server answers PUBREC with PUBREL of the same packet id", serverQoS2},
		{"publish/server-ids", "MQTT-2.3.1-4", "MQTT-2.2.1-4", must, "messages that are not acknowledged have packet ids that differ and are not 0", serverIDs},
		{"publish/id-spaces", "§2.3.1", "§2.2.1", must, "packet ids of the client and of the server are apart: both may use the same one", idSpaces},
		{"publish/dup-is-not-passed-on", "MQTT-3.3.1-3", "MQTT-3.3.1-3", must, "DUP of what a client sends says nothing to who receives it", dupNotPassed},
		{"publish/answered-by-qos", "MQTT-3.3.4-1", "MQTT-3.3.4-1", must, "the answer to a PUBLISH is the one of its QoS", answeredByQoS},
		{"publish/in-order", "MQTT-4.6.0-6", "MQTT-4.6.0-6", must, "messages of one topic, QoS and client come in order", inOrder},
		{"publish/many-open", "MQTT-4.3.2-2", "", must, "a message is delivered if it is acknowledged, however many exchanges of QoS 2 its client has open", manyOpen},
		{"publish/payload", "§3.3.3", "§3.3.3", must, "a payload is passed on as it is: empty, and of any bytes", payloads},
		{"publish/known-codes", "", "MQTT-3.4.2-1", must, "the codes of PUBACK, PUBREC and PUBCOMP are those of the standard", publishCodes},
	}
}

func qos0(x *exam) {
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 0)
	pub.publish(x.topic("t"), "m", 0)
	if m := sub.message("m"); m.FixedHeader.Qos != 0 || m.FixedHeader.Dup {
		x.Violates("it came with QoS %d and DUP %t", m.FixedHeader.Qos, m.FixedHeader.Dup)
	}
}

func puback(x *exam) {
	pub := x.pub()
	pk := publisher(x.topic("t"), 1, 4711, x.payload("m"))
	pub.send(pk)
	if ack := pub.await("PUBACK", ofType(packets.Puback)); ack.PacketID != 4711 {
		x.Violates("the PUBACK to packet id 4711 has %d", ack.PacketID)
	}
}

// manyOpen opens one exchange of QoS 2 after the other, which MQTT 3.1.1 does not limit, and publishes a
// message of QoS 1 beside each. A server that does not want more may close the connection.
func manyOpen(x *exam) {
	const most = 64
	x.needsQoS(2)
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	for i := range most {
		open := pub.publishing(x.topic("u"), fmt.Sprint("open", i), 2)
		beside := pub.publishing(x.topic("t"), fmt.Sprint("m", i), 1)
		for _, answer := range []func(*packet) bool{answerTo(packets.Pubrec, open.PacketID), answerTo(packets.Puback, beside.PacketID)} {
			if _, err := pub.find(answer, time.Now().Add(x.wait)); errors.Is(err, errLate) {
				pub.missing("answer to a message", answer)
			} else if err != nil {
				return
			}
		}
		sub.message(fmt.Sprint("m", i))
	}
}

func qos1Again(x *exam) {
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	for i := range 2 {
		pk := publisher(x.topic("t"), 1, 9, x.payload(fmt.Sprint("m", i)))
		pk.FixedHeader.Dup = i > 0
		pub.send(pk)
		pub.complete(pk)
	}
	sub.message("m0")
	sub.message("m1")
}

func pubrec(x *exam) {
	x.needsQoS(2)
	pub := x.pub()
	pub.send(publisher(x.topic("t"), 2, 4711, x.payload("m")))
	if ack := pub.await("PUBREC", ofType(packets.Pubrec)); ack.PacketID != 4711 {
		x.Violates("the PUBREC to packet id 4711 has %d", ack.PacketID)
	}
}

func pubcomp(x *exam) {
	x.needsQoS(2)
	pub := x.pub()
	pub.send(publisher(x.topic("t"), 2, 4711, x.payload("m")))
	pub.accepted(pub.await("PUBREC", ofType(packets.Pubrec)))
	pub.ack(packets.Pubrel, 4711)
	if ack := pub.await("PUBCOMP", ofType(packets.Pubcomp)); ack.PacketID != 4711 {
		x.Violates("the PUBCOMP to packet id 4711 has %d", ack.PacketID)
	}
}

func pubrelAgain(x *exam) {
	x.needsQoS(2)
	pub := x.pub()
	pub.publish(x.topic("t"), "m", 2)
	pub.ack(packets.Pubrel, pub.nextID)
	pub.await("PUBCOMP to a PUBREL that was sent again", answerTo(packets.Pubcomp, pub.nextID))
}

// qos2Repeated sends a PUBLISH again before PUBREL, some times.
func qos2Repeated(times int) func(*exam) {
	return func(x *exam) {
		x.needsQoS(2)
		sub, pub := x.sub(), x.pub()
		sub.subscribe(x.topic("t"), 2)
		pk := pub.publishing(x.topic("t"), "m", 2)
		for range times {
			pub.accepted(pub.await("PUBREC", answerTo(packets.Pubrec, pk.PacketID)))
			pk.FixedHeader.Dup = true
			pub.send(pk)
		}
		pub.complete(pk)
		sub.message("m")
		sub.nothing(pub, "the PUBLISH was sent again with one packet id, before PUBREL")
	}
}

func qos2Again(x *exam) {
	x.needsQoS(2)
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 2)
	for i := range 2 {
		pk := publisher(x.topic("t"), 2, 9, x.payload(fmt.Sprint("m", i)))
		pub.send(pk)
		pub.complete(pk)
	}
	sub.message("m0")
	sub.message("m1")
}

func serverQoS1(x *exam) {
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	pub.publish(x.topic("t"), "m", 1)
	if m := sub.message("m"); m.FixedHeader.Qos != 1 || m.FixedHeader.Dup || m.PacketID == 0 {
		x.Violates("it came with QoS %d, DUP %t and packet id %d", m.FixedHeader.Qos, m.FixedHeader.Dup, m.PacketID)
	}
}

func serverQoS2(x *exam) {
	x.needsQoS(2)
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 2)
	sub.manual = true
	pub.publish(x.topic("t"), "m", 2)
	m := sub.message("m")
	if m.FixedHeader.Qos != 2 {
		x.Violates("it came with QoS %d", m.FixedHeader.Qos)
	}
	if code := sub.received(m).ReasonCode; code != 0 && code != packets.ErrPacketIdentifierNotFound.Code {
		x.Violates("PUBREL has the code %#02x", code)
	}
	sub.ack(packets.Pubcomp, m.PacketID)
	sub.nothing(pub, "the message was released and completed")
}

func serverIDs(x *exam) {
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	sub.manual = true
	for i := range 10 {
		pub.publish(x.topic("t"), fmt.Sprint("m", i), 1)
	}
	seen := map[uint16]string{}
	for _, m := range sub.rest(pub) { // as many as the server sends unacknowledged
		if m.PacketID == 0 {
			x.Violates("a message has packet id 0")
		}
		if before, ok := seen[m.PacketID]; ok && before != string(m.Payload) {
			x.Violates("packet id %d is used for two messages that are not acknowledged", m.PacketID)
		}
		seen[m.PacketID] = string(m.Payload)
	}
}

func idSpaces(x *exam) {
	x.needsQoS(2)
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 2)
	sub.manual = true
	pub.publish(x.topic("t"), "theirs", 2)
	id := sub.message("theirs").PacketID // and it is not acknowledged
	sub.nextID = id - 1
	if code := sub.trySubscribe(filters(x.topic("u"))).ReasonCodes[0]; code >= 0x80 {
		x.Violates("SUBSCRIBE with packet id %d is refused with %#02x, while the server uses that id for a message of its own", id, code)
	}
	sub.send(publisher(x.topic("v"), 2, id, x.payload("own")))
	if code := sub.await("PUBREC", answerTo(packets.Pubrec, id)).ReasonCode; code >= 0x80 {
		x.Violates("PUBLISH with packet id %d is refused with %#02x, while the server uses that id for a message of its own", id, code)
	}
	sub.ack(packets.Pubrel, id)
	sub.await("PUBCOMP", answerTo(packets.Pubcomp, id))
	sub.ack(packets.Pubrec, id)
	sub.await("PUBREL", answerTo(packets.Pubrel, id))
}

func dupNotPassed(x *exam) {
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	pub.publish(x.topic("t"), "m", 1, func(pk *packets.Packet) { pk.FixedHeader.Dup = true })
	if sub.message("m").FixedHeader.Dup {
		x.Violates("the message came with DUP, though it was not sent before")
	}
}

func answeredByQoS(x *exam) {
	pub := x.pub()
	for qos := range byte(3) {
		if !x.offersQoS(qos) {
			continue
		}
		pub.publish(x.topic("t"), "m", qos)
	}
	pub.ping()
	for _, pk := range pub.held {
		x.Violates("beside the answers that QoS 0, 1 and 2 ask for, %s came", packets.PacketNames[pk.FixedHeader.Type])
	}
}

// ordered is how many messages of each QoS the order is looked at of: fewer
// than servers keep for a client at once.
const ordered = 60

func inOrder(x *exam) {
	sub, pub := x.sub(), x.pub()
	sub.subscribeAny([]packets.Subscription{{Filter: x.topic("t"), Qos: 2}})
	for qos := range byte(3) {
		if !x.offersQoS(qos) {
			continue
		}
		var sent []packets.Packet
		for i := range ordered {
			sent = append(sent, pub.publishing(x.topic("t"), orderLabel(qos, i), qos))
			if len(sent) == x.unanswered(10) || i == ordered-1 {
				for _, pk := range sent {
					pub.complete(pk)
				}
				sent = nil
				sub.ping() // takes and acknowledges what is there
			}
		}
		last := -1
		if qos == 0 { // of which some may be lost
			for _, m := range sub.rest(pub) {
				last = x.later(m, last)
			}
			if last < 0 {
				x.Undecided("no message of QoS 0 came, of %d", ordered)
			}
		}
		for qos > 0 && last < ordered-1 {
			last = x.later(sub.await("messages in order", func(pk *packet) bool { return bytes.HasPrefix(pk.Payload, x.payload(fmt.Sprintf("order %d ", qos))) }), last)
		}
	}
}

// later is that a message is not older than the last one, and returns its number.
func (x *exam) later(m *packet, last int) int {
	qos, i := x.ordered(m)
	if m.FixedHeader.Dup {
		return last // what is sent again may come late
	}
	if i < last {
		x.Violates("message %d of QoS %d came after message %d", i, qos, last)
	}
	return i
}

// ordered returns with which QoS a message of [orderLabel] was published, whatever it came
// with, and its number.
func (x *exam) ordered(m *packet) (qos byte, i int) {
	if _, err := fmt.Sscanf(string(m.Payload), x.token+" order %d %d", &qos, &i); err != nil {
		x.Undecided("a payload is %q: %v", clip(m.Payload, 60), err)
	}
	return qos, i
}

func orderLabel(qos byte, i int) string { return fmt.Sprintf("order %d %d", qos, i) }

func payloads(x *exam) {
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("#"), 1)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for i, payload := range [][]byte{{}, {0}, every} {
		topic := x.topic(fmt.Sprint("p", i))
		pub.publish(topic, "", 1, func(pk *packets.Packet) { pk.Payload = payload })
		m := sub.await(fmt.Sprintf("message of %d bytes", len(payload)), func(pk *packet) bool { return pk.TopicName == topic })
		if string(m.Payload) != string(payload) {
			x.Violates("a payload of %d bytes came as %d bytes: % x", len(payload), len(m.Payload), clip(m.Payload, 32))
		}
	}
}

func publishCodes(x *exam) {
	pub := x.pub()
	known := map[byte]bool{0: true, 0x10: true, 0x80: true, 0x83: true, 0x87: true, 0x90: true, 0x91: true, 0x97: true, 0x99: true}
	check := func(pk *packet) {
		if !known[pk.ReasonCode] {
			x.Violates("%s has the code %#02x", packets.PacketNames[pk.FixedHeader.Type], pk.ReasonCode)
		}
	}
	pub.publishing(x.topic("nobody"), "m", 1)
	check(pub.await("PUBACK", ofType(packets.Puback)))
	if !x.offersQoS(2) {
		return
	}
	pk := pub.publishing(x.topic("nobody"), "m", 2)
	rec := pub.await("PUBREC", ofType(packets.Pubrec))
	check(rec)
	pub.accepted(rec)
	pub.ack(packets.Pubrel, pk.PacketID)
	known = map[byte]bool{0: true, 0x92: true}
	check(pub.await("PUBCOMP", ofType(packets.Pubcomp)))
	pub.ack(packets.Pubrel, 999)
	check(pub.await("PUBCOMP", ofType(packets.Pubcomp)))
}
