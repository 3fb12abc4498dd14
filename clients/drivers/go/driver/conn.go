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

// A Conn is a connection to a broker. It sees the CONNACK pass and the
// connection end, and writes down both, whatever the SDK makes of them.
type Conn struct {
	net.Conn
	p      *Process
	call   *Call
	closed chan struct{} // closed with the connection, by whichever side

	mu      sync.Mutex
	connack []byte // what was read of it so far
	up      bool   // CONNACK said yes
	present bool   // and that the session is
	why     string // the broker's reason for ending it
	ended   bool
}

// Dial opens a connection to an endpoint. The call of a connect is in the
// history when it dials; its return is when the CONNACK is read.
func (p *Process) Dial(ctx context.Context, endpoint string) (*Conn, error) {
	call := p.connectCall(endpoint)
	dialer := net.Dialer{Timeout: connectWait}
	conn, err := dialer.DialContext(ctx, "tcp", endpoint)
	if err != nil {
		call.Return(Failed(err))
		return nil, err
	}
	c := &Conn{Conn: conn, p: p, call: call, closed: make(chan struct{})}
	time.AfterFunc(connectWait, func() {
		c.mu.Lock()
		late := !c.up
		c.mu.Unlock()
		if late {
			c.end(fmt.Errorf("no CONNACK within %s", connectWait))
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

// Close closes the connection from this side.
func (c *Conn) Close() error {
	c.end(nil)
	return nil
}

// look watches for the CONNACK, which is the first packet of any connection:
// 0x20, length, flags, reason code.
func (c *Conn) look(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.up || c.ended {
		return
	}
	c.connack = append(c.connack, b...)
	flags := 2 // offset, behind a length of one byte
	for flags-1 < len(c.connack) && c.connack[flags-1]&0x80 != 0 {
		flags++
	}
	if len(c.connack) < flags+2 {
		return
	}
	ack := Ack{Outcome: OK, Reason: int(c.connack[flags+1]), SessionPresent: c.connack[flags]&1 != 0}
	if ack.Reason != 0 {
		ack.Outcome, ack.Text = Fail, "the broker refused"
	}
	c.up, c.present = ack.Reason == 0, ack.SessionPresent
	c.call.Return(ack)
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
		c.p.point("disconnect", why)
	} else {
		c.call.Return(Ack{Outcome: Info, Text: why})
	}
	close(c.closed)
}
