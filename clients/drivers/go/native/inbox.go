package native

import (
	"sync"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
)

// An inbox is what a connection brought and nobody has taken yet: messages for the
// application, and what is to be answered to the broker. Each kind is in order by
// itself: an answer does not wait for an application that reads nothing.
type inbox struct {
	l       *link
	mu      sync.Mutex
	more    *sync.Cond
	letters []letter
	answers []packets.Packet
	closed  bool
	stopped sync.WaitGroup
}

// A letter is a message that came.
type letter struct {
	message *mqttpacket.Packet
	had     bool // the application has it: it is only to be answered
}

func newInbox(l *link) *inbox {
	b := &inbox{l: l}
	b.more = sync.NewCond(&b.mu)
	b.stopped.Go(b.deliver)
	b.stopped.Go(b.answer)
	return b
}

// put has a message wait for the application.
func (b *inbox) put(l letter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.letters = append(b.letters, l)
	b.more.Broadcast()
}

// reply has a packet sent in its turn: the reading of what comes never waits for that.
func (b *inbox) reply(pk packets.Packet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, pk)
	b.more.Broadcast()
}

// take takes the first of a list when there is one; false when the inbox is closed.
func take[T any](b *inbox, list *[]T) (first T, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(*list) == 0 && !b.closed {
		b.more.Wait()
	}
	if len(*list) == 0 {
		return first, false
	}
	first = (*list)[0]
	*list = (*list)[1:]
	return first, true
}

// answer sends what is to be answered.
func (b *inbox) answer() {
	for {
		pk, ok := take(b, &b.answers)
		if !ok {
			return
		}
		b.l.write(pk)
	}
}

// deliver hands messages to the application, and acknowledges each when it has it.
func (b *inbox) deliver() {
	l, s := b.l, b.l.s
	for {
		letter, ok := take(b, &b.letters)
		if !ok {
			return
		}
		pk := letter.message
		qos := pk.FixedHeader.Qos
		// A message that waited longer than its connection lasted was not acknowledged,
		// so the broker sends it again. At QoS 0 this is the only copy.
		if !s.p.Hold(l.conn) && qos > 0 {
			continue
		}
		if !letter.had {
			s.p.Deliver(&driver.Message{
				Payload: pk.Payload, Topic: pk.TopicName, QoS: qos, Dup: pk.FixedHeader.Dup, Retain: pk.FixedHeader.Retain, ID: int64(pk.PacketID),
			}, l.conn)
		}
		switch qos {
		case 1:
			l.write(answer(packets.Puback, pk.PacketID))
		case 2:
			if !letter.had {
				s.has(pk.PacketID)
			}
			l.write(answer(packets.Pubrec, pk.PacketID))
		}
	}
}

// has notes that the application has a message of QoS 2.
func (s *session) has(id uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incoming[id] = true
}

// close lets the last message out and returns when it is.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.more.Broadcast()
	b.mu.Unlock()
	b.stopped.Wait()
}
