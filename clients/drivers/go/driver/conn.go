package driver

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// connectWait bounds the dialing of an endpoint and, again, the CONNACK.
const connectWait = 5 * time.Second

// A Conn is a connection to a broker. It sees the broker's greeting pass, in
// MQTT the CONNACK, and the connection end, and writes down both, whatever the
// SDK makes of them.
type Conn struct {
	net.Conn
	p      *Process
	call   *Call
	will   []byte        // payload of the will that its CONNECT is to carry; nil for none
	closed chan struct{} // closed with the connection, by whichever side

	mu      sync.Mutex
	read    []byte // until the greeting is whole
	up      bool   // the greeting said yes
	present bool   // and that the session is
	why     string // the broker's reason for ending it
	ended   bool

	leaving sync.Mutex // held while DISCONNECT is written
	left    bool       // it was; seen of clients with a will
}

// Dial opens a connection to an endpoint, by the client's transport. The call of a connect is in the
// history when it dials; its return is when the CONNACK is read.
func (p *Process) Dial(ctx context.Context, endpoint string) (*Conn, error) {
	call, will := p.connectCall(endpoint)
	conn, err := p.reach(ctx, endpoint)
	if err != nil {
		call.Return(Failed(err))
		return nil, err
	}
	c := &Conn{Conn: conn, p: p, call: call, will: will, closed: make(chan struct{})}
	time.AfterFunc(connectWait, func() {
		c.mu.Lock()
		late := !c.up
		c.mu.Unlock()
		if late {
			c.end(fmt.Errorf("no answer to the connect within %s", connectWait))
		}
	})
	return c, nil
}

// Done is closed when the connection is.
func (c *Conn) Done() <-chan struct{} { return c.closed }

// SessionPresent is what the CONNACK said of the session.
func (c *Conn) SessionPresent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present
}

// Greeted is a context that ends with another one, until the broker has said yes:
// from then on the SDK has a connection, which it can end in order.
func (c *Conn) Greeted(ctx context.Context) (context.Context, context.CancelFunc) {
	greeted, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.up {
			cancel()
		}
	})
	return greeted, func() { stop(); cancel() }
}

// Will is the payload of the will that the connection's CONNECT is to carry, nil
// for none.
func (c *Conn) Will() []byte { return c.will }

// Because notes why the broker ends the connection, where it said so.
func (c *Conn) Because(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.why = why
}

func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.look(b[:n])
	}
	if err != nil {
		c.end(err)
	}
	return n, err
}

// disconnectPacket is the first byte of a DISCONNECT.
const disconnectPacket = 0xE0

// Write sees a client with a will say that it goes. It says nothing else that
// begins like that, however its SDK cuts packets: it publishes nothing.
func (c *Conn) Write(b []byte) (int, error) {
	if c.will == nil || len(b) == 0 || b[0] != disconnectPacket {
		return c.Conn.Write(b)
	}
	c.leaving.Lock() // the broker may be done with the connection before this is
	defer c.leaving.Unlock()
	n, err := c.Conn.Write(b)
	c.left = err == nil
	return n, err
}

// Close closes the connection from this side.
func (c *Conn) Close() error {
	c.end(nil)
	return nil
}

// look watches for the greeting.
func (c *Conn) look(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.up || c.ended {
		return
	}
	c.read = append(c.read, b...)
	greeting := c.p.sdk.Greeting
	if greeting == nil {
		greeting = connack
	}
	ack, whole := greeting(c.read)
	if !whole {
		return
	}
	c.up, c.present, c.read = ack.Outcome == OK, ack.SessionPresent, nil
	c.call.Return(ack)
}

// connackPacket is the first byte of a CONNACK.
const connackPacket = 0x20

// connack reads the first packet of any MQTT connection: 0x20, length, flags,
// reason code. Another one there is the broker's mistake [MQTT-3.2.0-1].
func connack(read []byte) (Ack, bool) {
	if len(read) > 0 && read[0] != connackPacket {
		return Ack{Outcome: Fail, Text: fmt.Sprintf("the broker sent a packet of type %d before CONNACK", read[0]>>4)}, true
	}
	flags := 2 // offset, behind a length of one byte
	for flags-1 < len(read) && read[flags-1]&0x80 != 0 {
		flags++
	}
	if len(read) < flags+2 {
		return Ack{}, false
	}
	ack := Ack{Outcome: OK, Reason: int(read[flags+1]), SessionPresent: read[flags]&1 != 0}
	if ack.Reason != 0 {
		ack.Outcome, ack.Text = Fail, "the broker refused"
	}
	return ack, true
}

// end writes down, once, that the connection is over. err is nil for this side
// closing it.
func (c *Conn) end(err error) {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	c.ended = true
	up, why := c.up, c.why
	c.mu.Unlock()
	c.Conn.Close()
	switch {
	case err == nil && why == "":
		why = "closed by the client"
	case err != nil && why == "":
		why = err.Error()
	}
	if up {
		c.leaving.Lock()
		left := c.left
		c.leaving.Unlock()
		c.p.gone(why, left)
	} else {
		c.call.Return(Ack{Outcome: Info, Text: why})
	}
	close(c.closed)
}
