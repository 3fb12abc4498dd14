// Package native is a client of rmq-mcp's own, MQTT 3.1.1 and 5, for scenarios that
// ask about the broker: it does what the specification asks of a client, and nothing
// else. A library's defects are then not in the way; those are for the same scenario
// with that library.
package native

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/pahov5"
	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
)

// Name of the client, and its version.
const (
	Name    = "rmq-mcp"
	Version = "1"
)

// wait bounds how long a SUBACK may take, leaveBound what is still to be written when
// the session is closed.
const (
	wait       = 5 * time.Second
	leaveBound = time.Second
)

// Main is the driver.
func Main(stdin io.Reader, stdout io.Writer) error {
	return driver.Main(driver.SDK{
		Name: Name, Version: Version, Protocols: []string{contract.MQTT3, contract.MQTT5}, Dedupes: true,
		Transports: []string{contract.TLS, contract.WS, contract.WSS}, Open: open, WebSocket: pahov5.WebSocket,
	}, stdin, stdout)
}

// A session is one MQTT session: what is in flight outlives its connections, in
// memory.
type session struct {
	p     *driver.Process
	level byte // of the protocol, as it is in CONNECT

	mu      sync.Mutex
	changed chan struct{} // closed when anything below changes that somebody waits for
	link    *link         // nil while there is none, or it is not resumed yet
	closed  bool
	cancel  context.CancelFunc
	stopped chan struct{}

	flight   outbox
	receive  int                   // how many messages may be in flight, of the broker
	granted  map[uint16]chan reply // of SUBSCRIBEs under way
	incoming map[uint16]bool       // QoS 2 messages without PUBREL yet: whether the application has them
}

// A reply is what came of a SUBSCRIBE.
type reply struct{ code byte }

func open(p *driver.Process) driver.Session {
	s := &session{
		p: p, level: 4, changed: make(chan struct{}), closed: true, receive: math.MaxUint16,
		granted: map[uint16]chan reply{}, incoming: map[uint16]bool{},
	}
	if p.Client().Protocol == contract.MQTT5 {
		s.level = 5
	}
	return s
}

func (s *session) Connect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	s.cancel, s.stopped, s.closed = cancel, stopped, false
	go func() {
		defer close(stopped)
		s.p.StayConnected(ctx, s.serve)
	}()
}

func (s *session) Disconnect() {
	s.mu.Lock()
	cancel, stopped := s.cancel, s.stopped
	s.closed = true
	s.wake()
	s.mu.Unlock()
	if cancel == nil {
		return
	}
	cancel()
	<-stopped
}

// wake lets whoever waits look again. The lock is held.
func (s *session) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// serve connects to an endpoint and returns when the connection has ended. It is
// false where there was none.
func (s *session) serve(ctx context.Context, endpoint string) bool {
	conn, err := s.p.Dial(ctx, endpoint)
	if err != nil {
		return false
	}
	greeted, cancel := conn.Greeted(ctx)
	defer cancel()
	stop := context.AfterFunc(greeted, func() { conn.Close() })
	l := newLink(s, conn)
	in := bufio.NewReader(l)
	ack, err := s.greet(l, in)
	if !stop() || err != nil {
		conn.Close()
		return false
	}
	l.inbox = newInbox(l)
	l.keepAlive(s.keepAlive(ack))
	leave := context.AfterFunc(ctx, func() { // the broker may read nothing any more
		select {
		case <-time.After(leaveBound):
			conn.Close()
		case <-conn.Done():
		}
	})
	defer leave()
	over := make(chan struct{})
	go func() {
		defer close(over)
		l.read(in)
	}()
	s.resume(l, ack)
	s.p.Connected(conn)
	select {
	case <-conn.Done():
	case <-ctx.Done():
		l.write(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Disconnect}})
		conn.Close()
	}
	<-over
	l.inbox.close()
	s.lost()
	return true
}

// greet sends CONNECT, and returns the CONNACK that lets it in.
func (s *session) greet(l *link, in *bufio.Reader) (*mqttpacket.Packet, error) {
	c := s.p.Client()
	pk := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Connect}, Connect: packets.ConnectParams{
		ProtocolName: []byte("MQTT"), ClientIdentifier: c.ClientID, Clean: c.Clean, Keepalive: uint16(c.KeepAliveS),
		Username: []byte(c.Username), UsernameFlag: c.Username != "", Password: []byte(c.Password), PasswordFlag: c.Password != "",
	}}
	if w := c.Will; w != nil {
		pk.Connect.WillFlag, pk.Connect.WillTopic, pk.Connect.WillQos, pk.Connect.WillPayload = true, w.Topic, w.QoS, l.conn.Will()
	}
	if s.level == 5 {
		pk.Properties.SessionExpiryInterval, pk.Properties.SessionExpiryIntervalFlag = uint32(c.ExpiryS), true
		pk.Properties.ReceiveMaximum = uint16(c.ReceiveMax)
	}
	l.write(pk)
	ack, err := mqttpacket.Read(in, s.level)
	if err != nil {
		return nil, err
	}
	if ack.FixedHeader.Type != packets.Connack || ack.ReasonCode != 0 {
		return nil, fmt.Errorf("no CONNACK that lets it in: % x", ack.Raw)
	}
	return ack, nil
}

// keepAlive is the client's own, or the broker's where that says one.
func (s *session) keepAlive(ack *mqttpacket.Packet) time.Duration {
	if ack.Properties.ServerKeepAliveFlag {
		return time.Duration(ack.Properties.ServerKeepAlive) * time.Second
	}
	return time.Duration(s.p.Client().KeepAliveS) * time.Second
}

// resume goes on with the session where the broker has it, sending again in order
// what is in flight (MQTT 4.4), and gives that up where it has not. Nothing new is
// sent before that is.
func (s *session) resume(l *link, ack *mqttpacket.Packet) {
	for _, pk := range s.unfinished(ack) {
		l.write(pk)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link = l
	s.wake()
}

// unfinished is what is to be sent again. No lock is held while it is: what comes
// meanwhile is to be read.
func (s *session) unfinished(ack *mqttpacket.Packet) (again []packets.Packet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive = math.MaxUint16
	if n := ack.Properties.ReceiveMaximum; n > 0 {
		s.receive = int(n)
	}
	if !ack.SessionPresent {
		clear(s.incoming)
		s.flight.abandon(errors.New("the broker has no session"))
	}
	for _, m := range s.flight.list {
		if m.released {
			again = append(again, answer(packets.Pubrel, m.id))
		} else {
			again = append(again, m.packet(true))
		}
	}
	return again
}

// lost ends the connection's part of the session, and all of it where it is to end
// with its connection.
func (s *session) lost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link = nil
	for id, subscribe := range s.granted {
		close(subscribe)
		delete(s.granted, id)
	}
	for id, had := range s.incoming {
		if !had { // it waited for the application, and is sent again
			delete(s.incoming, id)
		}
	}
	c := s.p.Client()
	if s.level == 4 && c.Clean || s.level == 5 && c.ExpiryS == 0 {
		clear(s.incoming)
		s.flight.abandon(errors.New("connection lost, and with it the session"))
	}
	s.wake()
}

// ready waits until there is a connection and something else holds, and returns with
// the lock held; nil when the session was closed, without the lock.
func (s *session) ready(holds func() bool) *link {
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return nil
		}
		if s.link != nil && holds() {
			return s.link
		}
		changed := s.changed
		s.mu.Unlock()
		<-changed
	}
}

func (s *session) Subscribe(f contract.Filter) driver.Ack {
	l := s.ready(func() bool { return true })
	if l == nil {
		return driver.Failed(errClosed)
	}
	id := s.id()
	granted := make(chan reply, 1)
	s.granted[id] = granted
	s.mu.Unlock()
	l.write(packets.Packet{
		FixedHeader: packets.FixedHeader{Type: packets.Subscribe}, PacketID: id,
		Filters: packets.Subscriptions{{Filter: f.Filter, Qos: f.QoS}},
	})
	select {
	case r, came := <-granted:
		switch {
		case !came:
			return driver.Unknown(errors.New("connection lost before SUBACK"))
		case r.code >= 0x80:
			return driver.Ack{Outcome: driver.Fail, Reason: int(r.code), Text: "the broker refused"}
		}
		return driver.Ack{Outcome: driver.OK, Reason: int(r.code)}
	case <-time.After(wait):
		s.mu.Lock()
		delete(s.granted, id)
		s.mu.Unlock()
		return driver.Unknown(fmt.Errorf("no SUBACK within %s", wait))
	}
}

func (s *session) Publish(call *driver.Call, stream contract.Stream, payload []byte) {
	l := s.ready(func() bool { return stream.QoS == 0 || len(s.flight.list) < s.receive })
	if l == nil {
		call.Told(errClosed)
		call.Return(driver.Failed(errClosed))
		return
	}
	m := &outgoing{call: call, stream: stream, payload: payload}
	if stream.QoS > 0 {
		m.id = s.id()
		s.flight.add(m)
	}
	s.mu.Unlock()
	err := l.write(m.packet(false))
	if stream.QoS > 0 {
		return // where it was not sent, it is on the next connection
	}
	if err != nil {
		call.Return(driver.Unknown(err))
		call.Told(err)
		return
	}
	call.Return(driver.Ack{Outcome: driver.OK})
	call.Told(nil)
}

// id is a packet identifier that is not in use. The lock is held.
func (s *session) id() uint16 {
	for {
		id := s.flight.next()
		if s.granted[id] == nil {
			return id
		}
	}
}

var errClosed = errors.New("never sent: the session was closed")
