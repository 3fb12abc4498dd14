package tap

import (
	"bytes"
	"io"
	"testing"

	packets5 "github.com/eclipse/paho.golang/packets"
	packets3 "github.com/eclipse/paho.mqtt.golang/packets"
)

// Every type, written by another's library, is framed and read as that
// library does.
func TestScanAgreesWithPaho(t *testing.T) {
	publish := packets3.NewControlPacket(packets3.Publish).(*packets3.PublishPacket)
	publish.TopicName, publish.Qos, publish.MessageID, publish.Payload = "a/b", 1, 258, bytes.Repeat([]byte("x"), 20_000)
	quick := packets3.NewControlPacket(packets3.Publish).(*packets3.PublishPacket)
	quick.TopicName = "a"
	connect := packets3.NewControlPacket(packets3.Connect).(*packets3.ConnectPacket)
	connect.ProtocolName, connect.ProtocolVersion, connect.ClientIdentifier = "MQTT", 4, "me"
	subscribe := packets3.NewControlPacket(packets3.Subscribe).(*packets3.SubscribePacket)
	subscribe.MessageID, subscribe.Topics, subscribe.Qoss = 9, []string{"t"}, []byte{1}
	puback := packets3.NewControlPacket(packets3.Puback).(*packets3.PubackPacket)
	puback.MessageID = 65535

	tests := []struct {
		name  string
		write func(io.Writer) error
		kind  Type
		id    uint16
		topic string
		qos   byte
	}{
		{"publish", publish.Write, Publish, 258, "a/b", 1},
		{"publish of QoS 0", quick.Write, Publish, 0, "a", 0},
		{"connect", connect.Write, Connect, 0, "", 0},
		{"subscribe", subscribe.Write, Subscribe, 9, "", 1},
		{"puback", puback.Write, Puback, 65535, "", 0},
		{"pingreq", packets3.NewControlPacket(packets3.Pingreq).Write, Pingreq, 0, "", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := test.write(&b); err != nil {
				t.Fatal(err)
			}
			p, need, err := scan(b.Bytes())
			if err != nil || p.kind != test.kind || p.id != test.id || string(p.topic) != test.topic || p.qos() != test.qos || p.size != b.Len() || need > b.Len() {
				t.Errorf("%+v, need %d, %v; want %+v", p, need, err, test)
			}
		})
	}
}

func TestClientOf(t *testing.T) {
	five := &packets5.Connect{ProtocolName: "MQTT", ProtocolVersion: 5, ClientID: "five", Properties: &packets5.Properties{User: []packets5.User{{Key: "k", Value: "v"}}}}
	var b bytes.Buffer
	if _, err := five.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	for want, text := range map[string][]byte{"five": b.Bytes(), "probe": sample(Connect)} {
		if id, ok := clientOf(text); id != want || !ok {
			t.Errorf("client %q %t, want %q", id, ok, want)
		}
		for n := range text { // cut off anywhere it is none
			if id, ok := clientOf(text[:n]); ok {
				t.Errorf("%d of %d bytes of %q read as client %q", n, len(text), want, id)
			}
		}
	}
	for _, text := range []string{"\x16\x03\x01\x02\x00\x01", "GET / HTTP/1.1\r\n", "\x10\x02\x00\x00"} {
		if id, ok := clientOf([]byte(text)); ok {
			t.Errorf("%q read as client %q", text, id)
		}
	}
}

// The scanner frames as paho.golang does, wherever the bytes are cut, and never
// reads past them.
func FuzzScan(f *testing.F) {
	for kind := Connect; kind <= Auth; kind++ {
		f.Add(sample(kind), 3)
	}
	f.Add([]byte{0x30, 0xff, 0xff, 0xff, 0x7f}, 4)
	f.Add([]byte{0x32, 0x03, 0x00, 0x05, 0x61}, 1)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		whole, need, err := scan(b)
		if err != nil || need > len(b) {
			return
		}
		if whole.size < whole.head || whole.head < 2 || need > whole.size {
			t.Fatalf("%+v, need %d", whole, need)
		}
		if len(whole.topic) > whole.size {
			t.Fatalf("topic of %d bytes in a packet of %d", len(whole.topic), whole.size)
		}
		// With fewer bytes it is the same packet, or asks for more.
		n := min(max(cut, 0), len(b))
		if part, need, err := scan(b[:n]); err != nil || need <= n && (part.kind != whole.kind || part.size != whole.size || part.id != whole.id) {
			t.Fatalf("%d of %d bytes: %+v, %v, want %+v", n, len(b), part, err, whole)
		}
		if whole.size > len(b) {
			return
		}
		theirs, err := packets5.ReadPacket(bytes.NewReader(b[:whole.size]))
		if err == nil && int(theirs.FixedHeader.Type) != int(whole.kind) {
			t.Fatalf("type %d, paho says %d", whole.kind, theirs.FixedHeader.Type)
		}
		if p, ok := contentOf(theirs, err).(*packets5.Publish); ok && (p.Topic != string(whole.topic) || p.QoS > 0 && p.PacketID != whole.id) {
			t.Fatalf("%q %d, paho says %q %d", whole.topic, whole.id, p.Topic, p.PacketID)
		}
		clientOf(b)
	})
}

func contentOf(p *packets5.ControlPacket, err error) any {
	if err != nil {
		return nil
	}
	return p.Content
}

func TestTopicMatches(t *testing.T) {
	for _, test := range []struct {
		filter, topic string
		want          bool
	}{
		{"a/b", "a/b", true}, {"a/b", "a", false}, {"a", "a/b", false}, {"a/+", "a/b", true}, {"a/+", "a", false},
		{"a/+/c", "a/b/c", true}, {"a/#", "a/b/c", true}, {"a/#", "a", true}, {"#", "a/b", true}, {"+", "a", true},
		{"+", "a/b", false}, {"+/+", "/a", true}, {"a/#", "b", false}, {"a/", "a/", true}, {"a/", "a", false},
	} {
		if got := topicMatches(test.filter, test.topic); got != test.want {
			t.Errorf("%s matches %s: %t", test.filter, test.topic, got)
		}
	}
}

// The same seed decides the same for the n-th packet, about as often as asked.
func TestPercent(t *testing.T) {
	a, b := Rule{Percent: 10, Seed: 1}, Rule{Percent: 10, Seed: 2}
	hits, differ := 0, 0
	for n := int64(1); n <= 100_000; n++ {
		if a.strikes(n) {
			hits++
		}
		if a.strikes(n) != b.strikes(n) {
			differ++
		}
	}
	if hits < 9700 || hits > 10300 || differ < 1000 {
		t.Errorf("%d of 100,000 hit, %d decided otherwise by another seed", hits, differ)
	}
}
