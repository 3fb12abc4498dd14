// Package tap is an MQTT-aware proxy between clients and nodes. It passes on
// bytes as they come and reads along where control packets begin and end, of
// MQTT 3.1 to 5.0; what is not MQTT (TLS, WebSocket) passes as bytes. Rules
// act on chosen packets and connections, and count what they did.
package tap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// dialBound is for a connection to a node.
const dialBound = 10 * time.Second

// A Tap is the proxy of one experiment: a listener for each node, and all
// connections through them.
type Tap struct {
	opt    Options
	ctx    context.Context
	cancel context.CancelFunc
	rules  atomic.Pointer[[]*active]
	tasks  sync.WaitGroup

	setting   sync.Mutex // one change of rules at a time
	mu        sync.Mutex
	listeners []net.Listener
	conns     map[*conn]bool
}

// Options say where a tap is. Nil fields are the network of this process.
type Options struct {
	Listen func(address string) (net.Listener, error)
	Dial   func(ctx context.Context, address string) (net.Conn, error)

	// Observe answers who is told of a connection, once its CONNECT was read;
	// nil for nobody.
	Observe func(Hello) Witness

	// Seen answers the address that the nodes see of a connection which the tap
	// made from another, where a proxy stands between; nil where none does.
	Seen func(address string) string
}

// New makes a tap without listeners and rules.
func New(opt Options) *Tap {
	if opt.Listen == nil {
		opt.Listen = func(address string) (net.Listener, error) { return net.Listen("tcp", address) }
	}
	if opt.Dial == nil {
		opt.Dial = dialHere
	}
	if opt.Seen == nil {
		opt.Seen = func(address string) string { return address }
	}
	t := &Tap{opt: opt, conns: map[*conn]bool{}}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.rules.Store(&[]*active{})
	return t
}

func dialHere(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// Listen begins to accept clients at an address, for the node that listens at
// upstream, and answers the address it really has.
func (t *Tap) Listen(node, address, upstream string) (string, error) {
	l, err := t.opt.Listen(address)
	if err != nil {
		return "", fmt.Errorf("tap %s: %w", node, err)
	}
	t.mu.Lock()
	t.listeners = append(t.listeners, l)
	t.mu.Unlock()
	t.tasks.Go(func() {
		acceptAll(l, func(client net.Conn) { t.tasks.Go(func() { newConn(t, node, upstream, client).run(t.opt.Dial) }) })
	})
	return l.Addr().String(), nil
}

// acceptAll serves clients until the listener is closed.
func acceptAll(l net.Listener, serve func(net.Conn)) {
	for {
		client, err := l.Accept()
		switch {
		case err == nil:
			serve(client)
		case errors.Is(err, net.ErrClosed):
			return
		default: // no descriptors left, or a client that was gone at once
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// Close ends all connections and listeners, and returns when they are gone.
func (t *Tap) Close() error {
	t.Set(nil)
	t.cancel()
	t.mu.Lock()
	for _, l := range t.listeners {
		l.Close()
	}
	open := slices.Collect(maps.Keys(t.conns))
	t.mu.Unlock()
	for _, c := range open {
		c.abort()
	}
	t.tasks.Wait()
	return nil
}

// add is false once the tap is closed.
func (t *Tap) add(c *conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx.Err() == nil {
		t.conns[c] = true
	}
	return t.conns[c]
}

func (t *Tap) remove(c *conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, c)
}

// covered are the connections of clients that a rule is about, those whose
// CONNECT was seen.
func (t *Tap) covered(r *Rule) (out []*conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.conns {
		if id, ok := c.client(); ok && c.probe == "" && r.covers(c.node, id) {
			out = append(out, c)
		}
	}
	return out
}

// A Connection is a client's, through the tap to a node.
type Connection struct {
	Client string // its client id
	Node   string
	Peer   string // the address that the node sees
}

// Connections are those that a rule is about, with both ends open.
func (t *Tap) Connections(r Rule) []Connection { return t.connections(r, false) }

// Halves are those that a rule is about, of which the client's end is gone and the one
// to the node is kept.
func (t *Tap) Halves(r Rule) []Connection { return t.connections(r, true) }

// Shut counts the connections that a rule is about whose node can send no more, because
// the tap does not read.
func (t *Tap) Shut(r Rule) (n int64, err error) {
	for _, c := range t.covered(&r) {
		is, err := c.shut()
		if err != nil {
			return n, err
		}
		if is {
			n++
		}
	}
	return n, nil
}

func (t *Tap) connections(r Rule, lost bool) (out []Connection) {
	for _, c := range t.covered(&r) {
		if peer := c.peer(); peer != "" && c.lost.Load() == lost {
			id, _ := c.client()
			out = append(out, Connection{Client: id, Node: c.node, Peer: peer})
		}
	}
	return out
}

// Set shows exactly these rules. Rules that stay keep their counts. Packets held back
// by rules that go are forwarded at once. Set does not wait for packets.
func (t *Tap) Set(rules []Rule) {
	t.setting.Lock()
	defer t.setting.Unlock()
	old := *t.rules.Load()
	var now, fresh []*active
	for _, r := range rules {
		i := slices.IndexFunc(old, func(a *active) bool { return a.Fault == r.Fault })
		if i >= 0 {
			now = append(now, old[i])
			continue
		}
		a := newActive(r)
		now, fresh = append(now, a), append(fresh, a)
	}
	t.rules.Store(&now)
	for _, a := range fresh {
		a.begin(t)
	}
	for _, a := range old {
		if !slices.Contains(now, a) {
			a.end(t)
		}
	}
}

// A Count is what a fault's rule did to what clients and nodes sent. Probes
// are not in it.
type Count struct {
	Chosen int64            // packets that it is about
	At     map[string]int64 // packets, or connections, that it acted on, by the node of the connection
	Last   []string         // of those, the last few: puback 17 of a client
}

// Acted is the packets, or connections, that it acted on at all nodes.
func (c Count) Acted() (n int64) {
	for _, at := range c.At {
		n += at
	}
	return n
}

// Count answers a fault's count, zero where it has no rule.
func (t *Tap) Count(fault string) Count {
	if a := t.find(fault); a != nil {
		return a.count()
	}
	return Count{}
}

// Has reports whether a fault has a rule.
func (t *Tap) Has(fault string) bool { return t.find(fault) != nil }

func (t *Tap) find(fault string) *active {
	for _, a := range *t.rules.Load() {
		if a.Fault == fault {
			return a
		}
	}
	return nil
}
