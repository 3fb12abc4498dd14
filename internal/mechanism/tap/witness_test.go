package tap

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	packets5 "github.com/eclipse/paho.golang/packets"
	packets3 "github.com/eclipse/paho.mqtt.golang/packets"
	"github.com/google/go-cmp/cmp"
)

// A diary is a witness that keeps a line for each packet.
type diary struct {
	mu      sync.Mutex
	payload []byte
	lines   []string
}

func (d *diary) Payload(_ Direction, at, size int, part []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at != len(d.payload) || at+len(part) > size {
		d.lines = append(d.lines, fmt.Sprintf("payload from %d, want %d", at, len(d.payload)))
	}
	d.payload = append(d.payload, part...)
}

func (d *diary) Packet(p *Packet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	line := fmt.Sprintf("%s %d", p.Kind, p.ID)
	for _, f := range []struct {
		set  bool
		text string
	}{
		{p.Way == ToClient, " to client"}, {p.Dup, " dup"}, {p.Retain, " retain"}, {p.Present, " present"},
		{p.QoS > 0, fmt.Sprint(" q", p.QoS)}, {p.Reason > 0, fmt.Sprint(" reason ", p.Reason)}, {len(d.payload) > 0, " " + string(d.payload)},
	} {
		if f.set {
			line += f.text
		}
	}
	d.lines, d.payload = append(d.lines, line), nil
}

func (d *diary) End(by Direction) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, strings.TrimSpace("end "+string(by)))
}

func (d *diary) Unread(way Direction) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, "unread "+string(way))
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// The bytes of both libraries are heard the same, in whatever parts they come.
func TestEarHearsWhatLibrariesWrite(t *testing.T) {
	said := map[byte][]byte{4: mqtt3Stream(t), 5: mqtt5Stream(t)}
	want := map[byte][]string{
		4: {"publish 7 dup q1 a payload", "publish 0", "puback 9", "pubrec 10", "pubrel 11", "pubcomp 12", "subscribe 13 q2", "unsubscribe 14", "disconnect 0"},
		5: {"publish 7 retain q2 a payload", "publish 0 aliased", "puback 9 reason 16", "pubrec 10", "pubrel 11 reason 146", "subscribe 13 q1", "disconnect 0 reason 4"},
	}
	for level, stream := range said {
		for _, step := range []int{1, 2, 3, 7, 64, len(stream)} {
			d, hello := &diary{}, Hello{}
			c := &conn{tap: New(Options{Observe: func(h Hello) Witness { hello = h; return d }}), node: "node-1"}
			e := &packetReader{c: c, way: ToBroker}
			for part := range slices.Chunk(stream, step) {
				e.read(part)
			}
			if got := d.read(); !slices.Equal(got, want[level]) {
				t.Errorf("level %d in parts of %d:\n%q, want\n%q", level, step, got, want[level])
			}
			expiry := uint32(0)
			if level == 5 {
				expiry = 3600
			}
			if hello != (Hello{Node: "node-1", Client: "me", Level: level, Clean: level == 4, ExpiryS: expiry}) {
				t.Errorf("%+v", hello)
			}
		}
	}
}

// An unreadable packet is told once, when something goes on behind it.
func TestEarTellsWhatItCannotRead(t *testing.T) {
	d := &diary{}
	c := &conn{tap: New(Options{Observe: func(Hello) Witness { return d }}), node: "node-1"}
	said, heard := &packetReader{c: c, way: ToBroker}, &packetReader{c: c, way: ToClient}
	said.read(mqtt3Stream(t))
	before := len(d.read())
	heard.read([]byte{0x20, 2, 0, 0})
	heard.read([]byte{0, 0})
	if got := d.read()[before:]; !slices.Equal(got, []string{"connack 0 to client"}) {
		t.Errorf("%q", got)
	}
	heard.read([]byte{0x40, 2, 0, 1})
	heard.read([]byte{0x40, 2, 0, 2})
	if got := d.read()[before:]; !slices.Equal(got, []string{"connack 0 to client", "unread to_client"}) {
		t.Errorf("%q", got)
	}
}

// A CONNACK of MQTT 5 may say itself when the session ends, among other things.
func TestEarHearsWhenASessionEnds(t *testing.T) {
	for name, test := range map[string]struct {
		properties []byte
		want       Packet
	}{
		"nothing":      {nil, Packet{Present: true}},
		"other things": {[]byte{0x21, 0, 20, 0x24, 1, 0x12, 0, 2, 'i', 'd', 0x13, 0, 60}, Packet{Present: true}},
		"an end":       {[]byte{0x22, 0, 10, 0x26, 0, 1, 'a', 0, 1, 'b', 0x11, 0, 0, 1, 44}, Packet{Present: true, Expires: true, ExpiryS: 300}},
	} {
		for _, step := range []int{1, 100} {
			d := &listener{}
			c := &conn{tap: New(Options{Observe: func(Hello) Witness { return d }}), node: "node-1"}
			(&packetReader{c: c, way: ToBroker}).read(mqtt5Stream(t))
			heard := &packetReader{c: c, way: ToClient}
			body := append([]byte{1, 0, byte(len(test.properties))}, test.properties...)
			for part := range slices.Chunk(append([]byte{0x20, byte(len(body))}, body...), step) {
				heard.read(part)
			}
			test.want.Way, test.want.Kind = ToClient, Connack
			heard.read([]byte{0xE0, 7, 0, 5, 0x11, 0, 0, 0, 9})
			if last := d.last; !last.Expires || last.ExpiryS != 9 {
				t.Errorf("DISCONNECT: %+v", last)
			}
			if len(d.greetings) != 1 || !cmp.Equal(d.greetings[0], test.want) {
				t.Errorf("%s, in parts of %d: %+v", name, step, d.greetings)
			}
		}
	}
}

// A listener keeps CONNACKs, and the last packet.
type listener struct {
	diary
	greetings []Packet
	last      Packet
}

func (l *listener) Packet(p *Packet) {
	l.last = *p
	if p.Kind == Connack {
		l.greetings = append(l.greetings, *p)
	}
}

// A packet for a client whose end is gone reaches nobody, and is not told.
func TestNothingReachesAClientThatIsGone(t *testing.T) {
	d := &diary{}
	c := &conn{tap: New(Options{Observe: func(Hello) Witness { return d }}), node: "node-1", gone: make(chan struct{})}
	said, heard := &packetReader{c: c, way: ToBroker}, &packetReader{c: c, way: ToClient}
	said.read(mqtt3Stream(t))
	before := len(d.read())
	var client bytes.Buffer
	out := watched{&client, heard}
	if _, err := out.Write([]byte{0x20, 2, 0, 0}); err != nil {
		t.Fatal(err)
	}
	close(c.gone)
	if _, err := out.Write([]byte{0x40, 2, 0, 1}); err == nil || client.Len() != 4 {
		t.Errorf("%v, %d bytes were passed on", err, client.Len())
	}
	if got := d.read()[before:]; !slices.Equal(got, []string{"connack 0 to client"}) {
		t.Errorf("%q", got)
	}
}

func mqtt3Stream(t *testing.T) []byte {
	connect := packets3.NewControlPacket(packets3.Connect).(*packets3.ConnectPacket)
	connect.ProtocolName, connect.ProtocolVersion, connect.ClientIdentifier, connect.CleanSession = "MQTT", 4, "me", true
	publish := packets3.NewControlPacket(packets3.Publish).(*packets3.PublishPacket)
	publish.TopicName, publish.Qos, publish.MessageID, publish.Dup, publish.Payload = "a/b", 1, 7, true, []byte("a payload")
	empty := packets3.NewControlPacket(packets3.Publish).(*packets3.PublishPacket)
	empty.TopicName = "a"
	puback := packets3.NewControlPacket(packets3.Puback).(*packets3.PubackPacket)
	puback.MessageID = 9
	pubrec := packets3.NewControlPacket(packets3.Pubrec).(*packets3.PubrecPacket)
	pubrec.MessageID = 10
	pubrel := packets3.NewControlPacket(packets3.Pubrel).(*packets3.PubrelPacket)
	pubrel.MessageID = 11
	pubcomp := packets3.NewControlPacket(packets3.Pubcomp).(*packets3.PubcompPacket)
	pubcomp.MessageID = 12
	subscribe := packets3.NewControlPacket(packets3.Subscribe).(*packets3.SubscribePacket)
	subscribe.MessageID, subscribe.Topics, subscribe.Qoss = 13, []string{"t"}, []byte{2}
	unsubscribe := packets3.NewControlPacket(packets3.Unsubscribe).(*packets3.UnsubscribePacket)
	unsubscribe.MessageID, unsubscribe.Topics = 14, []string{"t"}
	var b bytes.Buffer
	for _, p := range []packets3.ControlPacket{connect, publish, empty, packets3.NewControlPacket(packets3.Pingreq), puback, pubrec, pubrel, pubcomp, subscribe, unsubscribe, packets3.NewControlPacket(packets3.Disconnect)} {
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func mqtt5Stream(t *testing.T) []byte {
	var b bytes.Buffer
	write := func(kind byte, fill func(content any)) {
		p := packets5.NewControlPacket(kind)
		fill(p.Content)
		if _, err := p.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
	}
	expiry, maximum, alias := uint32(3600), uint16(20), uint16(3)
	user := []packets5.User{{Key: "k", Value: strings.Repeat("v", 300)}}
	write(packets5.CONNECT, func(c any) {
		p := c.(*packets5.Connect)
		p.ClientID, p.ProtocolName, p.ProtocolVersion = "me", "MQTT", 5
		p.Properties = &packets5.Properties{ReceiveMaximum: &maximum, SessionExpiryInterval: &expiry, User: user}
	})
	write(packets5.PUBLISH, func(c any) {
		p := c.(*packets5.Publish)
		p.Topic, p.QoS, p.PacketID, p.Retain, p.Payload = "a/b", 2, 7, true, []byte("a payload")
		p.Properties = &packets5.Properties{TopicAlias: &alias, User: user}
	})
	write(packets5.PUBLISH, func(c any) {
		p := c.(*packets5.Publish)
		p.Payload, p.Properties = []byte("aliased"), &packets5.Properties{TopicAlias: &alias}
	})
	write(packets5.PUBACK, func(c any) { p := c.(*packets5.Puback); p.PacketID, p.ReasonCode = 9, 16 })
	write(packets5.PUBREC, func(c any) { p := c.(*packets5.Pubrec); p.PacketID = 10 })
	write(packets5.PUBREL, func(c any) { p := c.(*packets5.Pubrel); p.PacketID, p.ReasonCode = 11, 146 })
	write(packets5.SUBSCRIBE, func(c any) {
		p := c.(*packets5.Subscribe)
		p.PacketID, p.Subscriptions = 13, []packets5.SubOptions{{Topic: "t", QoS: 1, NoLocal: true}}
		p.Properties = &packets5.Properties{User: user}
	})
	write(packets5.DISCONNECT, func(c any) { c.(*packets5.Disconnect).ReasonCode = 4 })
	return b.Bytes()
}

// The witness is told every packet that the client sent, even if a rule drops it. It
// is told the packets that reached the client after the rules, and who ended the
// connection.
func TestWitnessIsAtTheClientsSide(t *testing.T) {
	tap, at, nodes := newTap(t)
	d := &diary{}
	tap.opt.Observe = func(Hello) Witness { return d }
	p := newPair(t, tap, at, nodes, "c")
	tap.Set([]Rule{{Fault: "f1", Do: Drop, Packet: Puback, Direction: ToClient, Nth: 2}, {Fault: "f2", Do: Drop, Packet: Publish, Direction: ToBroker, Nth: 3}})
	for id := range uint16(3) {
		p.client.Write(publishOf(id+1, "t", "x"))
	}
	p.gets(p.node, slices.Concat(publishOf(1, "t", "x"), publishOf(2, "t", "x")))
	await(t, func() bool { return tap.Count("f2").Acted() == 1 }) // the other direction passes on by itself
	p.node.Write(slices.Concat(ackOf(Puback, 1), ackOf(Puback, 2)))
	p.gets(p.client, ackOf(Puback, 1))
	await(t, func() bool { return tap.Count("f1").Chosen == 2 })
	p.node.Close()
	p.ends(p.client)
	await(t, func() bool { return len(d.read()) == 6 })
	want := []string{"connack 0 to client", "publish 1 q1 x", "publish 2 q1 x", "publish 3 q1 x", "puback 1 to client", "end to_client"}
	if got := d.read(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A packet that is cut in the middle was not sent, and one that no byte of can
// be read says nothing of those after it.
func TestEarIsNeverSure(t *testing.T) {
	for _, tail := range [][]byte{publishOf(2, "t", "cut")[:6], {0x00, 0x00, 0x40, 2, 0, 3}, {0x40, 0xff, 0xff, 0xff, 0xff, 0x7f}} {
		d := &diary{}
		c := &conn{tap: New(Options{Observe: func(Hello) Witness { return d }})}
		e := &packetReader{c: c, way: ToBroker}
		e.read(slices.Concat(connectAs("c"), publishOf(1, "t", "x"), tail))
		if got := d.read(); len(got) == 0 || got[0] != "publish 1 q1 x" || len(got) > 2 {
			t.Errorf("after % x: %q", tail, got)
		}
	}
}
