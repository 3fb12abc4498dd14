package conformance

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
)

var errLate = errors.New("nothing came in time")

// A client is one connection of a check. It sends packets as told and keeps the
// received ones until somebody asks for them. Its methods end the check if the
// broker does not do what they wait for.
type client struct {
	x    *exam
	name string // in the transcript
	id   string
	conn net.Conn

	in     chan received
	held   []*packet // received and not asked for yet
	lost   error     // why no more will come
	said   *packet   // the DISCONNECT that was received
	nextID uint16
	manual bool    // acknowledge nothing by itself
	asked  uint32  // expiry of the session, in seconds
	expiry *uint32 // of the session, in seconds, where the server chose another one than the client
}

type received struct {
	pk  *packet
	err error
}

// firstID is the number after which a client's packet ids begin. It is far from
// the first ids of servers, so that only one check deals with equal ids.
const firstID = 20000

// dial opens a connection; nothing is sent on it yet.
func (x *exam) dial(name, address string) *client {
	conn, err := (&net.Dialer{Timeout: x.wait}).DialContext(x.Ctx, "tcp", address)
	if err != nil {
		x.Undecided("connect to %s: %v", address, err)
	}
	c := &client{x: x, name: name, conn: conn, in: make(chan received, 4096), nextID: firstID}
	x.clients = append(x.clients, c)
	go c.receive()
	return c
}

// receive reads packets until the connection is closed.
func (c *client) receive() {
	defer close(c.in)
	r := bufio.NewReader(c.conn)
	for {
		pk, err := mqttpacket.Read(r, byte(c.x.version))
		if err != nil {
			c.x.Note(c.name, "←", "closed: %v", err)
			c.in <- received{err: err}
			return
		}
		c.x.Note(c.name, "←", "%s", describe(&pk.Packet, pk.Raw))
		select {
		case c.in <- received{pk: pk}:
		case <-c.x.Ctx.Done():
			return
		}
	}
}

// send sends a packet.
func (c *client) send(pk packets.Packet) {
	raw, err := encode(c.x.version, pk)
	if err != nil {
		c.x.Undecided("encode a packet: %v", err)
	}
	c.x.Note(c.name, "→", "%s", describe(&pk, raw))
	c.write(raw)
}

// raw sends bytes as they are.
func (c *client) raw(what string, b []byte) {
	c.x.Note(c.name, "→", "%s  [% x%s]", what, clip(b, 48), more(b, 48))
	c.write(b)
}

// write ignores that the broker closed the connection: reading shows it.
func (c *client) write(b []byte) {
	c.conn.SetWriteDeadline(time.Now().Add(c.x.wait))
	var late net.Error
	if _, err := c.conn.Write(b); errors.As(err, &late) && late.Timeout() {
		c.x.Undecided("%s: the broker does not take what is sent, for %v", c.name, c.x.wait)
	}
}

// drop closes the connection without a word.
func (c *client) drop() {
	c.x.Note(c.name, "→", "closes the connection")
	c.conn.Close()
}

// disconnect ends the connection in order, and returns when the broker closed
// it too.
func (c *client) disconnect() {
	c.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Disconnect}})
	if tcp, ok := c.conn.(*net.TCPConn); ok {
		tcp.CloseWrite()
	}
	for deadline := time.Now().Add(c.x.wait); ; {
		if _, err := c.read(deadline); err != nil {
			break
		}
	}
	c.conn.Close()
}

// read is the next packet as it came, or why there is none.
func (c *client) read(deadline time.Time) (*packet, error) {
	if c.lost != nil {
		return nil, c.lost
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case r, ok := <-c.in:
		if !ok {
			r.err = net.ErrClosed
		}
		if c.lost = r.err; c.lost != nil {
			switch {
			case errors.Is(c.lost, mqttpacket.ErrMalformed):
				c.x.Violates("%v", c.lost)
			case errors.Is(c.lost, mqttpacket.ErrTooLarge):
				c.x.Undecided("%v; examine the broker without other publishers of such messages", c.lost)
			}
			return nil, c.lost
		}
		c.acknowledge(r.pk)
		if r.pk.FixedHeader.Type == packets.Disconnect {
			c.said = r.pk
		}
		return r.pk, nil
	case <-timer.C:
		return nil, errLate
	case <-c.x.Ctx.Done():
		c.x.Undecided("the check was stopped: %v", c.x.Ctx.Err())
	}
	return nil, nil
}

// acknowledge answers what QoS asks for, unless the check does that.
func (c *client) acknowledge(pk *packet) {
	if c.manual {
		return
	}
	switch {
	case pk.FixedHeader.Type == packets.Publish && pk.FixedHeader.Qos == 1:
		c.ack(packets.Puback, pk.PacketID)
	case pk.FixedHeader.Type == packets.Publish && pk.FixedHeader.Qos == 2:
		c.ack(packets.Pubrec, pk.PacketID)
	case pk.FixedHeader.Type == packets.Pubrel:
		c.ack(packets.Pubcomp, pk.PacketID)
	}
}

func (c *client) ack(kind byte, id uint16) {
	c.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: kind}, PacketID: id})
}

// received answers a message of QoS 2 with PUBREC, and waits for its PUBREL.
func (c *client) received(m *packet) *packet {
	c.ack(packets.Pubrec, m.PacketID)
	return c.await("PUBREL", answerTo(packets.Pubrel, m.PacketID))
}

// find is the first packet that matches, among those held and those to come.
func (c *client) find(match func(*packet) bool, deadline time.Time) (*packet, error) {
	if i := slices.IndexFunc(c.held, match); i >= 0 {
		pk := c.held[i]
		c.held = slices.Delete(c.held, i, i+1)
		return pk, nil
	}
	for {
		pk, err := c.read(deadline)
		if err != nil {
			return nil, err
		}
		if match(pk) {
			return pk, nil
		}
		if c.x.ours(pk) {
			c.held = append(c.held, pk)
		}
	}
}

// await waits for a packet that the broker must send.
func (c *client) await(what string, match func(*packet) bool) *packet {
	pk, err := c.find(match, time.Now().Add(c.x.wait))
	if err == nil {
		return pk
	}
	if errors.Is(err, errLate) {
		c.missing(what, match)
	}
	c.hungUp(what)
	return nil
}

// missing ends a check whose packet did not come.
func (c *client) missing(what string, match func(*packet) bool) {
	c.x.Violates("%s", c.absent(what, match, c.x.wait))
}

// absent is the violation by a packet that did not come in time. The broker is at fault only if other
// clients get messages meanwhile, and the packet has not come by then: the check ends undecided otherwise.
// The violation tells if the broker answers PINGREQ.
func (c *client) absent(what string, match func(*packet) bool, wait time.Duration) string {
	answers := c.pong(time.Now().Add(c.x.wait)) == nil
	c.x.delivers()
	c.pong(time.Now().Add(c.x.wait)) // takes what came meanwhile
	if slices.ContainsFunc(c.held, match) {
		c.x.Undecided("%s: %s came only after %v: the broker or this machine is slow", c.name, what, wait)
	}
	if !answers {
		return fmt.Sprintf("%s: no %s in %v, nor an answer to PINGREQ, while other clients are served", c.name, what, wait)
	}
	return fmt.Sprintf("%s: no %s in %v, while PINGREQ is answered", c.name, what, wait)
}

// mayRefuse are the reasons for which a server may end a connection that did
// nothing wrong.
func mayRefuse(code byte) bool {
	return bytes.IndexByte([]byte{0x83, 0x87, 0x89, 0x8b, 0x95, 0x96, 0x97, 0x98, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2}, code) >= 0
}

// hungUp ends a check whose connection the broker closed instead of answering.
func (c *client) hungUp(what string) {
	if c.said != nil && mayRefuse(c.said.ReasonCode) {
		c.x.Unsupported("the broker ended the connection with %#02x", c.said.ReasonCode)
	}
	if c.said != nil {
		c.x.Violates("%s: the broker ended the connection with %#02x instead of sending %s", c.name, c.said.ReasonCode, what)
	}
	c.x.Violates("%s: the broker closed the connection instead of sending %s", c.name, what)
}

func ofType(kind byte) func(*packet) bool {
	return func(pk *packet) bool { return pk.FixedHeader.Type == kind }
}

func answerTo(kind byte, id uint16) func(*packet) bool {
	return func(pk *packet) bool { return pk.FixedHeader.Type == kind && pk.PacketID == id }
}

// pong makes one round trip.
func (c *client) pong(deadline time.Time) error {
	c.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Pingreq}})
	_, err := c.find(ofType(packets.Pingresp), deadline)
	return err
}

// ping makes a round trip that must succeed.
func (c *client) ping() {
	c.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Pingreq}})
	_, err := c.find(ofType(packets.Pingresp), time.Now().Add(c.x.wait))
	if errors.Is(err, errLate) {
		c.x.Undecided("%s: no PINGRESP in %v", c.name, c.x.wait)
	}
	if err != nil {
		c.hungUp("PINGRESP")
	}
}

// id answers a packet id that is not in use.
func (c *client) newID() uint16 {
	if c.nextID++; c.nextID == 0 {
		c.nextID = 1
	}
	return c.nextID
}

// message waits for the message of a label.
func (c *client) message(label string) *packet {
	return c.await(fmt.Sprintf("message %q", label), c.x.labelled(label))
}

// given waits for a message that a check needs before it can decide anything. Another check decides
// whether the message must come.
func (c *client) given(label string) {
	switch _, err := c.find(c.x.labelled(label), c.x.soon()); {
	case errors.Is(err, errLate):
		c.x.Undecided("%s: message %q did not come in %v, and the rest of this check needs it", c.name, label, c.x.wait)
	case err != nil:
		c.hungUp(fmt.Sprintf("message %q", label))
	}
}

// comes reports whether the message of a label comes in time, and leaves it where it is.
func (c *client) comes(label string) bool {
	pk, err := c.find(c.x.labelled(label), c.x.soon())
	if err == nil {
		c.held = append(c.held, pk)
	}
	return !errors.Is(err, errLate)
}

func (x *exam) labelled(label string) func(*packet) bool {
	return func(pk *packet) bool {
		return pk.FixedHeader.Type == packets.Publish && bytes.Equal(pk.Payload, x.payload(label))
	}
}

// rest are the messages of the check that are here and were not asked for, once
// everything is here that was sent by the publisher before.
func (c *client) rest(from *client) []*packet {
	c.x.flush(from, c)
	return c.take()
}

// linger takes in what is still on its way.
func (c *client) linger() {
	c.find(func(*packet) bool { return false }, time.Now().Add(c.x.grace))
}

// take are the messages of the check that are here and were not asked for.
func (c *client) take() []*packet {
	var all []*packet
	c.held = slices.DeleteFunc(c.held, func(pk *packet) bool {
		if pk.FixedHeader.Type == packets.Publish && !strings.HasPrefix(pk.TopicName, c.x.topic("mark/")) {
			all = append(all, pk)
		}
		return pk.FixedHeader.Type == packets.Publish
	})
	return all
}

// nothing is that no message is left.
func (c *client) nothing(from *client, why string) {
	if all := c.rest(from); len(all) > 0 {
		c.x.Violates("%s: %d unexpected PUBLISH, the first on %q with %q: %s", c.name, len(all), clipText(all[0].TopicName), clip(all[0].Payload, 60), why)
	}
}

// ends is that the broker ends the connection. The standard gives no time for
// that: a PINGREQ may be answered before.
func (c *client) ends(why string) {
	c.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Pingreq}})
	switch _, err := c.find(c.goodbye, c.x.soon()); {
	case err == nil:
		c.closes(why)
	case errors.Is(err, errLate):
		c.stays(why)
	}
}

// goodbye matches what comes before the end of a connection: in MQTT 5 a server
// may say DISCONNECT first.
func (c *client) goodbye(pk *packet) bool {
	return c.x.version == V5 && pk.FixedHeader.Type == packets.Disconnect
}

// closes is that the broker closes the connection too, after it said DISCONNECT.
func (c *client) closes(why string) {
	if _, closed := c.closedIn(c.x.wait); closed {
		return
	}
	c.x.connect("witness", c.x.to) // or the broker is stalled, and nothing is decided
	c.x.Violates("%s: the broker said DISCONNECT with %#02x, and the connection is open %v later, while another client is served: %s", c.name, c.said.ReasonCode, c.x.wait, why)
}

// stays accuses a broker that should have ended a connection by now, unless it
// ends it still.
func (c *client) stays(why string) {
	c.x.connect("witness", c.x.to) // or the broker is stalled, and nothing is decided
	c.held = slices.DeleteFunc(c.held, ofType(packets.Pingresp))
	switch err := c.pong(c.x.soon()); {
	case c.said != nil:
		c.closes(why)
	case err == nil:
		c.x.Violates("%s: the connection is open after %v and answers PINGREQ: %s", c.name, c.x.wait, why)
	case errors.Is(err, errLate):
		c.x.Violates("%s: the connection is open after %v and answers nothing, while another client is served: %s", c.name, 2*c.x.wait, why)
	}
}

// closedIn is that the broker closes the connection by itself.
func (c *client) closedIn(bound time.Duration) (time.Duration, bool) {
	began := time.Now()
	_, err := c.find(func(*packet) bool { return false }, began.Add(bound))
	return time.Since(began), !errors.Is(err, errLate)
}
