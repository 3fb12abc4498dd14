package tap

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Receive buffers of a connection that is read slowly, and after that.
const (
	narrowBuffer = 8 << 10
	wideBuffer   = 1 << 20
)

// A conn is one client's connection, and the one to the node that was made for
// it once the client had said something.
type conn struct {
	tap      *Tap
	node     string
	upstream string
	near     *net.TCPConn  // to the client
	gone     chan struct{} // closed at its end
	once     sync.Once
	lost     atomic.Bool // the client's end is gone, the node's stays
	raw      atomic.Bool // not MQTT
	owed     answers     // that are withheld
	witness  atomic.Pointer[Witness]
	level    byte // of MQTT, once there is a witness
	told     sync.Once

	// For a probe: the fault whose rule it is about, and the type and direction of
	// the one packet that is to be hit.
	probe   string
	aim     atomic.Int32
	heading Direction

	// id and mqtt describe the client, and are valid once named is closed.
	named chan struct{}
	id    string
	mqtt  bool

	mu  sync.Mutex
	far *net.TCPConn // to the node; nil before
}

func newConn(t *Tap, node, upstream string, client net.Conn) *conn {
	return &conn{
		tap: t, node: node, upstream: upstream, near: client.(*net.TCPConn),
		gone: make(chan struct{}), named: make(chan struct{}),
	}
}

// readers read both directions of a connection, if anybody wants to know.
func (c *conn) readers() (said, heard *packetReader) {
	blind := c.tap.opt.Observe == nil || c.probe != ""
	return &packetReader{c: c, way: ToBroker, blind: blind}, &packetReader{c: c, way: ToClient, blind: blind}
}

type dialer = func(ctx context.Context, address string) (net.Conn, error)

// run passes on what both ends say until one of them has ended.
func (c *conn) run(dial dialer) {
	if !c.tap.add(c) {
		c.near.Close()
		return
	}
	defer c.tap.remove(c)
	defer c.close()
	first := make([]byte, firstBuffer)
	n, err := c.near.Read(first)
	said, heard := c.readers()
	said.read(first[:n])
	if err != nil || !c.dial(dial) {
		c.abort()
		return
	}
	toBroker := newPump(c, ToBroker, c.near, c.far)
	toClient := newPump(c, ToClient, c.far, c.near)
	toBroker.buf, toBroker.end, toBroker.reader = first, n, said
	toClient.listen(heard)
	var both sync.WaitGroup
	both.Go(func() { c.over(toBroker.run()) })
	both.Go(func() { c.over(toClient.run()) })
	both.Wait()
	if c.lost.Load() {
		<-c.gone // until the rule goes
	}
}

// dial connects to the node; the client may go meanwhile, which is noticed
// after.
func (c *conn) dial(dial dialer) bool {
	ctx, cancel := context.WithTimeout(c.tap.ctx, dialBound)
	defer cancel()
	far, err := dial(ctx, c.upstream)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.far = far.(*net.TCPConn)
	select {
	case <-c.gone: // it was ended before there was anything to close
		c.far.Close()
		return false
	default:
		return true
	}
}

// over ends the connection after one of its pumps: an end in order was passed
// on already, anything else resets both sides.
func (c *conn) over(err error) {
	switch {
	case err == nil || c.lost.Load():
	case errors.Is(err, errCut):
		c.close()
	default:
		c.abort()
	}
}

// close ends both sides in order.
func (c *conn) close() { c.finish(-1) }

// abort resets both sides, as the death of a host on the way would.
func (c *conn) abort() { c.finish(0) }

func (c *conn) finish(linger int) {
	c.once.Do(func() {
		c.ends("")
		c.mu.Lock()
		defer c.mu.Unlock()
		close(c.gone)
		for _, side := range []*net.TCPConn{c.near, c.far} {
			if side != nil {
				side.SetLinger(linger)
				side.Close()
			}
		}
	})
}

// ends tells the witness, once, who ended the connection.
func (c *conn) ends(by Direction) {
	if w := c.witness.Load(); w != nil {
		c.told.Do(func() { (*w).End(by) })
	}
}

// lose resets the client's side and leaves the node's open. It is false where
// there is no node's side.
func (c *conn) lose() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.far == nil || !c.lost.CompareAndSwap(false, true) {
		return false
	}
	c.ends("")
	c.near.SetLinger(0)
	c.near.Close()
	c.far.SetReadDeadline(time.Now()) // whoever reads it stops; it stays open
	return true
}

// left reports whether the client's end is gone.
func (c *conn) left() bool {
	select {
	case <-c.gone:
		return true
	default:
		return c.lost.Load()
	}
}

// narrow makes the window that the node sees small, or large again. Not on
// loopback: a window below its segments of 64 KiB stalls the sender for good.
func (c *conn) narrow(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.far == nil || c.far.RemoteAddr().(*net.TCPAddr).IP.IsLoopback() {
		return
	}
	size := wideBuffer
	if on {
		size = narrowBuffer
	}
	c.far.SetReadBuffer(size)
}

// client is its client id, false before its CONNECT and where it is not MQTT.
func (c *conn) client() (string, bool) {
	select {
	case <-c.named:
		return c.id, c.mqtt
	default:
		return "", false
	}
}

// shut reports whether the node can send no more. It is false for a connection that has
// ended, or has no end to the node yet.
func (c *conn) shut() (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.far == nil {
		return false, nil
	}
	is, err := shut(c.far)
	if errors.Is(err, net.ErrClosed) {
		return false, nil
	}
	return is, err
}

// peer is the address that the node sees, "" where it sees none.
func (c *conn) peer() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.far == nil {
		return ""
	}
	return c.tap.opt.Seen(c.far.LocalAddr().String())
}

// admit reads who the client is, from the first packet, and reports whether it
// is let through.
func (c *conn) admit(b []byte) bool {
	c.id, c.mqtt = clientOf(b)
	if !c.mqtt {
		c.raw.Store(true)
	}
	close(c.named)
	for _, a := range *c.tap.rules.Load() {
		if c.mqtt && a.keepsOut(c) {
			return false
		}
	}
	return true
}
