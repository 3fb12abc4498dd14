package native

import (
	"bufio"
	"errors"
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
	inbox *inbox // from when it was accepted
	began time.Time
	heard atomic.Int64 // when anything came last, in nanoseconds since it began

	writing sync.Mutex
}

func newLink(s *session, conn *driver.Conn) *link { return &link{s: s, conn: conn, began: time.Now()} }

// Read reads from the connection. Part of a packet is a sign of life too.
func (l *link) Read(b []byte) (int, error) {
	n, err := l.conn.Read(b)
	if n > 0 {
		l.heard.Store(int64(time.Since(l.began)))
	}
	return n, err
}

// write sends a packet. A failed write ends the connection.
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
			if silent := time.Since(l.began) - time.Duration(l.heard.Load()); silent > every+every/2 {
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
			if errors.Is(err, mqttpacket.ErrMalformed) || errors.Is(err, mqttpacket.ErrTooLarge) {
				l.conn.Because(err.Error())
			}
			l.conn.Close()
			return
		}
		l.take(pk)
	}
}

func (l *link) take(pk *mqttpacket.Packet) {
	s, id := l.s, pk.PacketID
	s.mu.Lock()
	defer s.mu.Unlock()
	switch pk.FixedHeader.Type {
	case packets.Publish:
		l.publish(pk)
	case packets.Puback:
		if m := s.flight.find(id); m != nil && m.stream.QoS == 1 {
			s.acked(pk, driver.Fail)
		}
	case packets.Pubrec:
		l.pubrec(pk)
	case packets.Pubcomp: // that the broker knows no such message says nothing of it
		if m := s.flight.find(id); m != nil && m.released {
			s.acked(pk, driver.Info)
		}
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

// pubrec goes on with a message of QoS 2, and tells the broker of one that is not known.
func (l *link) pubrec(pk *mqttpacket.Packet) {
	s, release := l.s, answer(packets.Pubrel, pk.PacketID)
	switch m := s.flight.find(pk.PacketID); {
	case m != nil && m.stream.QoS != 2:
		return
	case m != nil && pk.ReasonCode >= 0x80:
		s.acked(pk, driver.Fail)
		return
	case m != nil:
		m.released = true
	case s.level == 5:
		release.ReasonCode = packets.ErrPacketIdentifierNotFound.Code
	}
	l.inbox.reply(release)
}

// publish takes a message. One of QoS 2 that the application has already gets its
// answer in its turn.
func (l *link) publish(pk *mqttpacket.Packet) {
	had := false
	if pk.FixedHeader.Qos == 2 {
		known := false
		if had, known = l.s.incoming[pk.PacketID]; known && !had {
			return // it waits for the application
		}
		l.s.incoming[pk.PacketID] = had
	}
	l.inbox.put(letter{pk, had})
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
