package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
)

// pour publishes on one connection as fast as the broker acknowledges, with no
// more messages on their way than the rule's window, until the connection ends.
// Nobody subscribes to their topic.
func (a *act) pour(conn net.Conn, n int) {
	defer conn.Close()
	defer context.AfterFunc(a.ctx, func() { conn.SetDeadline(time.Now()) })()
	r := bufio.NewReader(conn)
	conn.SetDeadline(time.Now().Add(keepalive))
	if _, err := conn.Write(Connect(a.rule.Seed, n, a.login)); err != nil {
		return
	}
	if pk, err := mqttpacket.Read(r, 4); err != nil || pk.FixedHeader.Type != packets.Connack || pk.ReasonCode != 0 {
		return
	}
	conn.SetDeadline(time.Time{})
	if a.ctx.Err() != nil { // the deadline of its end may have been the one that was lifted
		return
	}
	window, ended := make(chan struct{}, a.rule.Window), make(chan struct{})
	go func() {
		defer close(ended)
		defer conn.Close()
		a.answered(r, window)
	}()
	a.fill(conn, n, window, ended)
	conn.Close()
	<-ended
}

// fill sends messages for as long as there is room in the window.
func (a *act) fill(conn net.Conn, n int, window chan<- struct{}, ended <-chan struct{}) {
	b := message(a.rule.Seed, n, a.rule.PayloadBytes)
	id := b[len(b)-a.rule.PayloadBytes-2:]
	for i := 0; ; i++ {
		select {
		case <-ended:
			return
		case window <- struct{}{}:
		}
		binary.BigEndian.PutUint16(id, uint16(1+i%0xffff))
		if _, err := conn.Write(b); err != nil {
			return
		}
		a.count(func(t *Tally) { t.Published++ })
	}
}

// answered reads acknowledgements, each of which makes room in the window.
func (a *act) answered(r *bufio.Reader, window <-chan struct{}) {
	for {
		pk, err := mqttpacket.Read(r, 4)
		if err != nil {
			return
		}
		if pk.FixedHeader.Type != packets.Puback {
			continue
		}
		select {
		case <-window:
			a.count(func(t *Tally) { t.Acked++ })
		default: // it acknowledges what nobody sent
		}
	}
}

func (a *act) count(add func(*Tally)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	add(&a.tally)
}

// message is a PUBLISH of QoS 1 of the n-th client of a flood, whose packet id
// is the two bytes before its payload.
func message(seed uint64, n, size int) []byte {
	s := &speaker{name: floodName(seed, n), level: 4}
	pk := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: 1}, PacketID: 1}
	pk.TopicName, pk.Payload = s.name+"/poured", bytes.Repeat([]byte("x"), size)
	return s.encode(pk)
}
