package checker

import "github.com/robustmq/rmq-mcp/history"

// A packet is a row of the wire, with what every fold over packets asks of it.
type packet struct {
	i        int // row of the batch
	kind     packetKind
	toClient bool
	process  int32
	conn     int32
	stream   int32 // None where it is not known which message it is about
	seq      int64
	id       int64 // None for none
	flags    history.Flags
	qos      uint8
	reason   uint8
	row      int64
	time     int64
}

// packetKind is a type of packet that some fold looks at.
type packetKind uint8

const (
	otherPacket packetKind = iota
	connectPacket
	connackPacket
	publishPacket
	pubackPacket
	pubrecPacket
	pubrelPacket
	pubcompPacket
	subscribePacket
	subackPacket
	unsubscribePacket
	disconnectPacket
	closedPacket // none of MQTT's: the connection has ended
	unreadPacket // likewise: what follows on the connection cannot be read
	packetKinds
)

func packetKindOf(name string) packetKind {
	switch name {
	case history.PacketConnect:
		return connectPacket
	case history.PacketConnack:
		return connackPacket
	case history.PacketPublish:
		return publishPacket
	case history.PacketPuback:
		return pubackPacket
	case history.PacketPubrec:
		return pubrecPacket
	case history.PacketPubrel:
		return pubrelPacket
	case history.PacketPubcomp:
		return pubcompPacket
	case history.PacketSubscribe:
		return subscribePacket
	case history.PacketSuback:
		return subackPacket
	case history.PacketUnsubscribe:
		return unsubscribePacket
	case history.PacketDisconnect:
		return disconnectPacket
	case history.PacketClosed:
		return closedPacket
	case history.PacketUnread:
		return unreadPacket
	}
	return otherPacket
}

// read fills a packet in from a row of a batch: all of it.
func (p *packet) read(b *history.Batch, i int) {
	p.i, p.kind, p.process, p.conn = i, packetKindOf(b.Text(i)), b.Process[i], b.Conn[i]
	p.stream, p.seq, p.id, p.flags, p.qos, p.reason = b.Stream[i], b.Seq[i], b.ID[i], b.Flags[i], b.QoS[i], b.Reason[i]
	p.toClient, p.row, p.time = p.flags.Has(history.FlagToClient), b.Index[i], b.Time[i]
}

// accepted reports whether a CONNACK lets the client in.
func (p *packet) accepted() bool { return p.kind == connackPacket && p.reason == 0 }

// refused is a reason code of failure.
func (p *packet) refused() bool { return p.reason >= 0x80 }

func (k packetKind) String() string {
	return [...]string{"packet", "CONNECT", "CONNACK", "PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBSCRIBE", "SUBACK", "UNSUBSCRIBE", "DISCONNECT", "end", "what cannot be read"}[k]
}
