package native

import (
	"bufio"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
)

// A link is one connection of a session.
type link struct {
	s     *session
	conn  *driver.Conn
	inbox *inbox
	heard atomic.Int64 // when anything came last, in nanoseconds

	writing sync.Mutex
}

func newLink(s *session, conn *driver.Conn) *link {
	l := &link{s: s, conn: conn}
	l.inbox = newInbox(l)
	return l
}

// write sends a packet. What cannot be sent ends the connection.
func (l *link) write(pk packets.Packet) error {
	b, err := mqttpacket.Encode(l.s.level, pk)
	if err != nil {
		return fmt.Errorf("encode a packet: %w", err)
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if _, err := l.conn.Write(b); err != nil {
		l.conn.Close()
		return err
	}
	return nil
}

// keepAlive sends a PINGREQ every half of the keep alive, and ends a connection on
// which nothing comes for one and a half, as the broker does.
func (l *link) keepAlive(every time.Duration) {
	l.heard.Store(time.Now().UnixNano())
	if every <= 0 {
		return
	}
	var pinging atomic.Bool
	go func() {
		tick := time.NewTicker(every / 2)
		defer tick.Stop()
		for {
			select {
			case <-l.conn.Done():
				return
			case <-tick.C:
			}
			if silent := time.Since(time.Unix(0, l.heard.Load())); silent > every+every/2 {
				l.conn.Because(fmt.Sprintf("the broker said nothing for %s", silent.Round(time.Second)))
				l.conn.Close()
				return
			}
			if pinging.CompareAndSwap(false, true) { // a write may hang for as long as the broker reads nothing
				go func() {
					defer pinging.Store(false)
					l.write(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Pingreq}})
				}()
			}
		}
	}()
}

// read takes what comes until the connection ends.
func (l *link) read(in *bufio.Reader) {
	for {
		pk, err := mqttpacket.Read(in, l.s.level)
		if err != nil {
			l.conn.Close()
			return
		}
		l.heard.Store(time.Now().UnixNano())
		l.take(pk)
	}
}

func (l *link) take(pk *mqttpacket.Packet) {
	s, id := l.s, pk.PacketID
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := pk.ReasonCode >= 0x80
	switch pk.FixedHeader.Type {
	case packets.Publish:
		l.publish(pk)
	case packets.Puback:
		s.acked(pk, driver.Fail)
	case packets.Pubrec:
		m := s.flight.find(id)
		if refused {
			s.acked(pk, driver.Fail)
			return
		}
		release := answer(packets.Pubrel, id)
		if m != nil {
			m.released = true
		} else if s.level == 5 {
			release.ReasonCode = packets.ErrPacketIdentifierNotFound.Code
		}
		l.inbox.reply(release)
	case packets.Pubcomp: // that the broker knows no such message says nothing of it
		s.acked(pk, driver.Info)
	case packets.Pubrel:
		complete := answer(packets.Pubcomp, id)
		if _, known := s.incoming[id]; !known && s.level == 5 {
			complete.ReasonCode = packets.ErrPacketIdentifierNotFound.Code
		}
		delete(s.incoming, id)
		l.inbox.reply(complete)
	case packets.Suback:
		if granted := s.granted[id]; granted != nil && len(pk.ReasonCodes) > 0 {
			granted <- reply{pk.ReasonCodes[0]}
			delete(s.granted, id)
		}
	case packets.Disconnect:
		l.conn.Because(fmt.Sprintf("DISCONNECT from the broker, reason %#02x %s", pk.ReasonCode, pk.Properties.ReasonString))
	}
}

// publish takes a message. One of QoS 2 that came before is not the application's
// again.
func (l *link) publish(pk *mqttpacket.Packet) {
	s, id := l.s, pk.PacketID
	if pk.FixedHeader.Qos == 2 {
		had, known := s.incoming[id]
		if known && had {
			l.inbox.reply(answer(packets.Pubrec, id))
		}
		if known {
			return
		}
		s.incoming[id] = false
	}
	l.inbox.put(pk)
}

// acked ends the call that an acknowledgement is for. The lock is held.
func (s *session) acked(pk *mqttpacket.Packet, refused string) {
	ack, told := driver.Ack{Outcome: driver.OK, Reason: int(pk.ReasonCode)}, error(nil)
	if pk.ReasonCode >= 0x80 {
		ack.Outcome, ack.Text = refused, "the broker refused"
		told = fmt.Errorf("reason code %#02x", pk.ReasonCode)
	}
	s.flight.done(pk.PacketID, ack, told)
	s.wake()
}
