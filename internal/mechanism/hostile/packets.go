package hostile

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"
)

// keepalive is that of the clients of a flood.
const keepalive = 30 * time.Second

// Connect is the CONNECT of the n-th client of a flood: a clean session, MQTT
// 3.1.1.
func Connect(seed uint64, n int, login Login) []byte {
	s := &speaker{login: login, name: floodName(seed, n), level: 4}
	pk := s.named()
	pk.Connect.Clean, pk.Connect.Keepalive = true, uint16(keepalive.Seconds())
	return s.encode(pk)
}

// floodName is the client id of the n-th client of a flood.
func floodName(seed uint64, n int) string { return fmt.Sprintf("flood-%x-%d", seed, n) }

// named is a CONNECT with the client's name and login.
func (s *speaker) named() packets.Packet {
	pk := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Connect}}
	pk.Connect = packets.ConnectParams{
		ProtocolName: []byte("MQTT"), ClientIdentifier: s.name,
		UsernameFlag: s.login.User != "", Username: []byte(s.login.User),
		PasswordFlag: s.login.User != "", Password: []byte(s.login.Password),
	}
	return pk
}

// connect is a CONNECT that a broker should accept.
func (s *speaker) connect() packets.Packet {
	pk := s.named()
	pk.Connect.Clean, pk.Connect.Keepalive = s.IntN(3) > 0, uint16(s.IntN(3)*30)
	if s.IntN(3) == 0 {
		pk.Connect.WillFlag, pk.Connect.WillTopic = true, s.topic()
		pk.Connect.WillPayload, pk.Connect.WillQos, pk.Connect.WillRetain = []byte("will"), byte(s.IntN(3)), s.IntN(4) == 0
	}
	if s.level == 5 && s.IntN(2) == 0 {
		pk.Properties = s.connectProperties()
	}
	return pk
}

func (s *speaker) connectProperties() packets.Properties {
	return packets.Properties{
		SessionExpiryIntervalFlag: true, SessionExpiryInterval: uint32(s.IntN(60)),
		ReceiveMaximum: uint16(1 + s.IntN(100)), TopicAliasMaximum: uint16(s.IntN(10)),
		RequestProblemInfoFlag: true, RequestProblemInfo: 1,
		User: []packets.UserProperty{{Key: "k", Val: "v"}},
	}
}

// topic is one of its own.
func (s *speaker) topic() string { return fmt.Sprintf("%s/%d", s.name, s.IntN(3)) }

// id is a packet id; few, so that they meet again.
func (s *speaker) id() uint16 { return uint16(1 + s.IntN(4)) }

// allowed is a packet that a client may send on a connection that was accepted.
func (s *speaker) allowed() packets.Packet {
	pk := packets.Packet{PacketID: s.id()}
	kinds := []byte{
		packets.Publish, packets.Publish, packets.Publish, packets.Subscribe, packets.Subscribe, packets.Unsubscribe,
		packets.Puback, packets.Pubrec, packets.Pubrel, packets.Pubcomp, packets.Pingreq, packets.Disconnect, packets.Auth,
	}
	pk.FixedHeader.Type = kinds[s.IntN(len(kinds)-int(5-s.level))] // AUTH is of MQTT 5
	switch pk.FixedHeader.Type {
	case packets.Publish:
		pk.TopicName, pk.Payload = s.topic(), bytes.Repeat([]byte("x"), s.IntN(64))
		pk.FixedHeader.Qos, pk.FixedHeader.Retain, pk.FixedHeader.Dup = byte(s.IntN(3)), s.IntN(8) == 0, s.IntN(4) == 0
		if pk.FixedHeader.Qos == 0 {
			pk.PacketID, pk.FixedHeader.Dup = 0, false
		}
		if s.level == 5 && s.IntN(2) == 0 {
			pk.Properties = packets.Properties{
				PayloadFormatFlag: true, PayloadFormat: 1, MessageExpiryInterval: uint32(1 + s.IntN(60)), ContentType: "text/plain",
				ResponseTopic: s.topic(), CorrelationData: []byte("c"), User: []packets.UserProperty{{Key: "k", Val: "v"}},
			}
		}
	case packets.Subscribe, packets.Unsubscribe:
		for range 1 + s.IntN(3) {
			pk.Filters = append(pk.Filters, packets.Subscription{Filter: s.topic(), Qos: byte(s.IntN(3))})
		}
		if s.level == 5 && pk.FixedHeader.Type == packets.Subscribe && s.IntN(2) == 0 {
			pk.Properties.SubscriptionIdentifier = []int{1 + s.IntN(9)}
		}
	case packets.Auth:
		pk.ReasonCode, pk.Properties.AuthenticationMethod = 0x18, "SCRAM-SHA-256"
	}
	return pk
}

// big is a conversation with one field that is as large, as many or as deep as
// the protocol lets it be.
func (s *speaker) big() [][]byte {
	connect, pk := s.connect(), s.allowed()
	long, deep := strings.Repeat("x", 65535), strings.Repeat("/", 65535)
	many := func(n int) (list []packets.Subscription) {
		for i := range n {
			list = append(list, packets.Subscription{Filter: fmt.Sprintf("%s/%d", s.name, i)})
		}
		return list
	}
	publish := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: 1}, PacketID: 1, TopicName: s.topic()}
	subscribe := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe}, PacketID: 1}
	switch s.IntN(9) {
	case 0:
		connect.Connect.ClientIdentifier = long
	case 1:
		connect.Connect.WillFlag, connect.Connect.WillTopic, connect.Connect.WillPayload = true, s.topic(), []byte(long)
	case 2:
		connect.Connect.UsernameFlag, connect.Connect.Username = true, []byte(long)
		connect.Connect.PasswordFlag, connect.Connect.Password = true, []byte(long)
	case 3:
		publish.TopicName = []string{long, deep}[s.IntN(2)]
		pk = publish
	case 4:
		publish.Payload = bytes.Repeat([]byte("x"), 1<<(16+s.IntN(6)))
		pk = publish
	case 5:
		subscribe.Filters = many(1 + s.IntN(5000))
		pk = subscribe
	case 6:
		subscribe.Filters = []packets.Subscription{{Filter: []string{long, deep, strings.Repeat("+/", 32767)}[s.IntN(3)]}}
		pk = subscribe
	case 7:
		s.level = 5
		for range 1 + s.IntN(2000) {
			publish.Properties.User = append(publish.Properties.User, packets.UserProperty{Key: "k", Val: "v"})
		}
		pk = publish
	default:
		s.level = 5
		publish.Properties = packets.Properties{ResponseTopic: s.topic(), ContentType: long, CorrelationData: []byte(long)}
		pk = publish
	}
	return [][]byte{s.encode(connect), s.encode(pk)}
}

// Topics and filters that are wrong, or seldom right.
var oddNames = []string{
	"", "/", "//", "#", "+", "#/a", "a#", "a/#/b", "+a", "a/+b", "$SYS/a", "$SYS/#", "$share", "$share/", "$share//a", "$share/g",
	"$share/g/", "$share/+/a", "$share/#/a", "$queue/a", "$delayed/1/a", "$delayed/-1/a", "$delayed/99999999999999999999/a", "$delayed//",
	"a\x00b", "\xff\xfe", "\xed\xa0\x80", "\xc0\xaf", "\U0001F600", "..", "../../etc/passwd", "%s%n", "'; DROP TABLE a; --", "${a}",
}

// edges is a conversation with numbers and names at the edge of what is valid,
// or beyond.
func (s *speaker) edges() [][]byte {
	connect := s.connect()
	numbers := []uint32{0, 1, 127, 128, 65535, 1<<31 - 1, 1 << 31, 1<<32 - 1}
	number := func() uint32 { return numbers[s.IntN(len(numbers))] }
	name := func() string { return oddNames[s.IntN(len(oddNames))] }
	pk := packets.Packet{PacketID: uint16(number())}
	switch s.IntN(6) {
	case 0:
		connect.Connect.Keepalive = uint16(number())
		connect.Connect.ClientIdentifier = name()
		pk.FixedHeader.Type = packets.Pingreq
	case 1:
		connect.Connect.WillFlag, connect.Connect.WillTopic = true, name()
		connect.Connect.WillQos = byte(s.IntN(4))
		pk.FixedHeader.Type = packets.Pingreq
	case 2:
		s.level = 5
		connect.Properties = packets.Properties{
			SessionExpiryIntervalFlag: true, SessionExpiryInterval: number(), ReceiveMaximum: uint16(number()),
			MaximumPacketSize: number(), TopicAliasMaximum: uint16(number()),
			RequestResponseInfo: byte(s.IntN(3)), RequestProblemInfoFlag: true, RequestProblemInfo: byte(s.IntN(3)),
			AuthenticationMethod: name(), AuthenticationData: []byte(name()),
		}
		pk.FixedHeader.Type = packets.Pingreq
	case 3:
		pk.FixedHeader.Type, pk.FixedHeader.Qos = packets.Publish, byte(s.IntN(4))
		pk.TopicName, pk.Payload = name(), []byte(name())
		if s.level == 5 {
			pk.Properties = packets.Properties{
				PayloadFormatFlag: true, PayloadFormat: byte(s.IntN(3)), MessageExpiryInterval: number(),
				TopicAliasFlag: true, TopicAlias: uint16(number()), ResponseTopic: name(), ContentType: name(),
			}
		}
	default:
		pk.FixedHeader.Type = []byte{packets.Subscribe, packets.Unsubscribe}[s.IntN(2)]
		for range s.IntN(3) {
			pk.Filters = append(pk.Filters, packets.Subscription{Filter: name(), Qos: byte(s.IntN(4)), RetainHandling: byte(s.IntN(4)), NoLocal: s.IntN(2) == 0})
		}
		if s.level == 5 && s.IntN(2) == 0 {
			pk.Properties.SubscriptionIdentifier = []int{[]int{0, 1, 268435455}[s.IntN(3)]}
		}
	}
	return [][]byte{s.encode(connect), s.encode(pk)}
}
