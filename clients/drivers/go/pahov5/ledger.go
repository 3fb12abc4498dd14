package pahov5

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho/session"
	"github.com/eclipse/paho.golang/paho/session/state"

	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
)

// A ledger is the SDK's session state, in memory, and knows which call each
// packet identifier in flight is of. It sees PUBACK, PUBREC and PUBCOMP as
// they arrive, and when the state drops what it held.
type ledger struct {
	*state.State

	mu     sync.Mutex
	next   *expected
	calls  map[uint16]*driver.Call
	conn   *driver.Conn // the last one
	expiry uint32       // of the session
}

func newLedger() *ledger {
	return &ledger{State: state.NewInMemory(), calls: map[uint16]*driver.Call{}}
}

// use says which connection comes next.
func (l *ledger) use(conn *driver.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
}

// An expected publish is being handed to the SDK.
type expected struct {
	call  *driver.Call
	taken atomic.Bool // it is in the session
}

// expect says whose message is added next.
func (l *ledger) expect(call *driver.Call) *expected {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = &expected{call: call}
	return l.next
}

// AddToSession is called by Publish, before sending.
func (l *ledger) AddToSession(ctx context.Context, packet session.Packet, resp chan<- packets.ControlPacket) error {
	if err := l.State.AddToSession(ctx, packet, resp); err != nil {
		return err
	}
	if publish, ok := packet.(*packets.Publish); ok {
		l.mu.Lock()
		l.calls[publish.PacketID] = l.next.call
		l.next.taken.Store(true)
		l.mu.Unlock()
	}
	return nil
}

// PacketReceived is called with every packet that has an identifier.
func (l *ledger) PacketReceived(p *packets.ControlPacket, deliver chan<- *packets.Publish) error {
	switch ack := p.Content.(type) {
	case *packets.Puback:
		l.acked(ack.PacketID, ack.ReasonCode, driver.Fail)
	case *packets.Pubcomp: // that it knows no such packet says nothing of the message
		l.acked(ack.PacketID, ack.ReasonCode, driver.Info)
	case *packets.Pubrec:
		if ack.ReasonCode >= 0x80 {
			l.acked(ack.PacketID, ack.ReasonCode, driver.Fail)
		}
	}
	return l.State.PacketReceived(p, deliver)
}

// acked returns from the call that an acknowledgement is for; refused is the
// outcome of one that says no.
func (l *ledger) acked(id uint16, reason byte, refused string) {
	l.mu.Lock()
	call := l.calls[id]
	delete(l.calls, id)
	l.mu.Unlock()
	if call == nil {
		return
	}
	ack := driver.Ack{Outcome: driver.OK, Reason: int(reason), ID: int64(id)}
	if reason >= 0x80 {
		ack.Outcome, ack.Text = refused, "the broker refused"
	}
	call.Return(ack)
}

// ConAckReceived drops what was in flight where the broker has no session.
func (l *ledger) ConAckReceived(w io.Writer, connect *packets.Connect, connack *packets.Connack) error {
	if !connack.SessionPresent {
		l.abandon(errors.New("the broker has no session: the SDK dropped it"))
	}
	l.mu.Lock()
	l.expiry = *connect.Properties.SessionExpiryInterval
	if connack.Properties != nil && connack.Properties.SessionExpiryInterval != nil {
		l.expiry = *connack.Properties.SessionExpiryInterval
	}
	l.mu.Unlock()
	return l.State.ConAckReceived(w, connect, connack)
}

// ConnectionLost drops what was in flight where the session ends with its
// connection.
func (l *ledger) ConnectionLost(d *packets.Disconnect) error {
	l.mu.Lock()
	conn, over := l.conn, l.expiry == 0
	l.mu.Unlock()
	if d != nil && conn != nil {
		conn.Because(fmt.Sprintf("DISCONNECT from the broker, reason %#02x %s", d.ReasonCode, d.Reason()))
	}
	err := l.State.ConnectionLost(d)
	if over {
		l.abandon(errors.New("connection lost, and with it the session"))
	}
	return err
}

// abandon gives up what has not been acknowledged.
func (l *ledger) abandon(why error) {
	l.mu.Lock()
	calls := l.calls
	l.calls = map[uint16]*driver.Call{}
	l.mu.Unlock()
	for _, call := range calls {
		call.Return(driver.Unknown(why))
	}
}
