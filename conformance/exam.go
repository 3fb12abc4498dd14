package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"
)

// An exam is a trial of one check of MQTT.
type exam struct {
	Trial
	setup

	clients  []*client
	sessions []string // client ids whose sessions outlive their connections
	retained []string // topics
	marks    int
	witness  bool // delivers is under way
}

// A setup is what an exam begins with.
type setup struct {
	version        Version
	from, to       string // addresses: of the publishers' node, and of the subscribers'
	user, password string
	wait           time.Duration // how long a packet is waited for
	grace          time.Duration // what may still be on its way when a marker is here
	offers         packets.Properties
	token          string // in every topic and payload of the check
	dice           *rand.Rand
	steps          int  // of random walks; 0: the default
	keepsFirst     bool // likewise: the broker leaves a connection open whose client id is taken over
}

// apart reports whether the two ends are on different nodes.
func (x *exam) apart() bool { return x.from != x.to }

func (x *exam) topic(name string) string { return x.token + "/" + name }

func (x *exam) payload(label string) []byte { return []byte(x.token + " " + label) }

// ours reports whether a packet belongs to the check: a filter such as # also
// matches messages of other publishers. No filter of a check may match a topic
// that begins with $.
func (x *exam) ours(pk *packet) bool {
	return pk.FixedHeader.Type != packets.Publish || strings.HasPrefix(pk.TopicName, "$") || strings.Contains(pk.TopicName, x.token) || bytes.Contains(pk.Payload, []byte(x.token))
}

// connection is a CONNECT with a client id of the check's own.
func (x *exam) connection(id string, change ...func(*packets.Packet)) packets.Packet {
	pk := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Connect}, ProtocolVersion: byte(x.version)}
	pk.Connect = packets.ConnectParams{ProtocolName: []byte("MQTT"), ClientIdentifier: id, Clean: true, Keepalive: 60}
	if x.user != "" {
		pk.Connect.UsernameFlag, pk.Connect.Username = true, []byte(x.user)
		pk.Connect.PasswordFlag, pk.Connect.Password = true, []byte(x.password)
	}
	for _, f := range change {
		f(&pk)
	}
	return pk
}

// longEnough is for how many seconds a session must last that a check comes back
// to.
const longEnough = 60

// connect connects a client that must be accepted, and answers its CONNACK too.
func (x *exam) connect(name, address string, change ...func(*packets.Packet)) (*client, *packet) {
	c, connack, err := x.tryConnect(name, address, change...)
	if err != nil { // a server may refuse one without a word, for reasons of its own
		x.Undecided("%s: no CONNACK: %v", name, err)
	}
	c.welcome(connack)
	return c, connack
}

// welcome is that the broker lets a client in, for as long a session as it wants.
func (c *client) welcome(connack *packet) {
	x := c.x
	if connack.FixedHeader.Type != packets.Connack {
		x.Violates("the first packet of the broker is no CONNACK but %s", packets.PacketNames[connack.FixedHeader.Type])
	}
	if connack.ReasonCode != 0 {
		x.Unsupported("the broker refused the connection with %#02x", connack.ReasonCode)
	}
	if p := connack.Properties; p.SessionExpiryIntervalFlag && p.SessionExpiryInterval != c.asked {
		c.expiry = &p.SessionExpiryInterval
		x.lasts(c.id)
		if *c.expiry < min(c.asked, longEnough) {
			c.ownExpiry()
		}
	}
}

// tryConnect answers what comes to a CONNECT, or why nothing does.
func (x *exam) tryConnect(name, address string, change ...func(*packets.Packet)) (*client, *packet, error) {
	c := x.dial(name, address)
	pk := x.connection(x.token+name, change...)
	c.id, c.asked = pk.Connect.ClientIdentifier, pk.Properties.SessionExpiryInterval
	if !pk.Connect.Clean || c.asked > 0 {
		x.lasts(c.id)
	}
	c.send(pk)
	connack, err := c.find(func(*packet) bool { return true }, x.soon())
	return c, connack, err
}

// lasts notes a session that outlives its connection.
func (x *exam) lasts(id string) {
	if !slices.Contains(x.sessions, id) {
		x.sessions = append(x.sessions, id)
	}
}

// ownExpiry is that the session expires as the client asked: a server may choose
// another time, and says so in CONNACK.
func (c *client) ownExpiry() {
	if c.expiry != nil {
		c.x.Unsupported("the broker sets the session expiry interval itself, to %d s", *c.expiry)
	}
}

// sub connects a client where the subscribers are, pub where the publishers are.
func (x *exam) sub(change ...func(*packets.Packet)) *client {
	c, _ := x.connect(fmt.Sprintf("sub%d", len(x.clients)), x.to, change...)
	return c
}

func (x *exam) pub(change ...func(*packets.Packet)) *client {
	c, _ := x.connect(fmt.Sprintf("pub%d", len(x.clients)), x.from, change...)
	return c
}

// Changes of a CONNECT.

func named(id string) func(*packets.Packet) {
	return func(pk *packets.Packet) { pk.Connect.ClientIdentifier = id }
}

// lasting asks for a session that outlives the connection, and takes up one that
// is there.
func lasting(pk *packets.Packet) {
	pk.Connect.Clean = false
	if pk.ProtocolVersion == byte(V5) {
		pk.Properties.SessionExpiryInterval, pk.Properties.SessionExpiryIntervalFlag = 300, true
	}
}

func expiry(seconds uint32) func(*packets.Packet) {
	return with(func(p *packets.Properties) { p.SessionExpiryInterval, p.SessionExpiryIntervalFlag = seconds, true })
}

func keepAlive(seconds uint16) func(*packets.Packet) {
	return func(pk *packets.Packet) { pk.Connect.Keepalive = seconds }
}

func will(topic string, payload []byte, qos byte, retain bool) func(*packets.Packet) {
	return func(pk *packets.Packet) {
		w := &pk.Connect
		w.WillFlag, w.WillTopic, w.WillPayload, w.WillQos, w.WillRetain = true, topic, payload, qos, retain
	}
}

// flush returns when what one client published is where the other one is: a
// marker that was sent after it came.
func (x *exam) flush(from, to *client) {
	x.marks++
	topic, label := x.topic(fmt.Sprintf("mark/%d", x.marks)), fmt.Sprintf("mark %d", x.marks)
	suback := to.trySubscribe([]packets.Subscription{{Filter: topic}})
	if suback.ReasonCodes[0] >= 0x80 {
		x.Undecided("the broker refuses the subscription of a marker with %#02x", suback.ReasonCodes[0])
	}
	for deadline := time.Now().Add(x.wait); ; {
		from.publishing(topic, label, 0)
		from.ping()
		_, err := to.find(x.labelled(label), time.Now().Add(200*time.Millisecond))
		if err == nil {
			break
		}
		if !errors.Is(err, errLate) {
			to.hungUp("a marker")
		}
		if time.Now().After(deadline) {
			x.Undecided("no marker came from %s to %s in %v", from.name, to.name, x.wait)
		}
	}
	to.unsubscribe(topic)
	to.linger()
}

// spread returns when a subscription made on one node is known where the
// publishers are: the standard knows one server, which has no such time.
func (x *exam) spread(c *client) {
	if !x.apart() {
		return
	}
	helper, _ := x.connect(fmt.Sprintf("mark%d", len(x.clients)), x.from)
	x.flush(helper, c)
	helper.disconnect()
}

// delivers is that a plain message comes to a plain subscriber, both new. A
// broker that delivers nothing to anybody violates much, but what a check looks
// for among the missing says nothing of its own statement.
func (x *exam) delivers() {
	if x.witness {
		return // it is the witness that waits
	}
	x.witness = true
	defer func() { x.witness = false }()
	sub, _ := x.connect(fmt.Sprintf("witness%d", len(x.clients)), x.to)
	pub, _ := x.connect(fmt.Sprintf("witness%d", len(x.clients)), x.from)
	topic := x.topic("witness")
	sub.trySubscribe([]packets.Subscription{{Filter: topic}})
	for deadline := x.soon(); ; {
		pub.publishing(topic, "witness", 0)
		if _, err := sub.find(x.labelled("witness"), time.Now().Add(time.Second)); err == nil {
			return
		}
		if time.Now().After(deadline) {
			x.Undecided("a plain message does not come to a new subscriber either, in %v: the broker delivers to no client", x.wait)
		}
	}
}

// eventually tries until it succeeds: once where both ends are on one node, else
// as long as something may take to be known on the other one.
func (x *exam) eventually(try func() bool) bool {
	deadline := time.Now().Add(x.wait)
	for !try() {
		if !x.apart() || time.Now().After(deadline) {
			return false
		}
		select {
		case <-x.Ctx.Done():
			x.Undecided("the check was stopped: %v", x.Ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return true
}

// soon is until when a packet is waited for.
func (x *exam) soon() time.Time { return time.Now().Add(x.wait) }

// clean takes back what the check left on the broker: sessions and retained
// messages. Where that fails the verdict stands.
func (x *exam) clean() {
	for _, c := range x.clients {
		c.conn.SetWriteDeadline(time.Now().Add(time.Second))
		c.conn.Write([]byte{packets.Disconnect << 4, 0}) // so that no will is published, and no client waited for
		c.conn.Close()
	}
	if len(x.sessions)+len(x.retained) == 0 {
		return
	}
	for i, id := range append(x.sessions, x.token+"cleaner") {
		conn, err := net.DialTimeout("tcp", x.to, time.Second)
		if err != nil {
			return
		}
		conn.SetDeadline(time.Now().Add(5 * time.Second))
		raw, _ := encode(x.version, x.connection(id))
		if i == len(x.sessions) {
			for n, topic := range x.retained {
				pk, err := encode(x.version, packets.Packet{
					FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: 1, Retain: true}, PacketID: uint16(n + 1), TopicName: topic,
				})
				if err == nil {
					raw = append(raw, pk...)
				}
			}
		}
		conn.Write(append(raw, packets.Disconnect<<4, 0))
		conn.(*net.TCPConn).CloseWrite() // some brokers do not close the connection after DISCONNECT
		buf := make([]byte, 4096)
		for {
			if _, err := conn.Read(buf); err != nil {
				break
			}
		}
		conn.Close()
	}
}
