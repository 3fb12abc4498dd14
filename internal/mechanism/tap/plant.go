package tap

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/internal/plant"
)

// A Plant is a defect that a proxy of ours plants between the tap and a node. The
// proxy is on the broker's side of the place where packets are written down. A Plant
// shows that the judge finds such a defect and tells whose it is.
type Plant struct {
	Name  string
	What  string
	Shows Show
	Every int64 // it shows once in so many packets that it could show in

	Always  bool // it shows whenever it can: Every says nothing
	Endless bool // however often it showed; a run of its own ends in order only where this is not so

	do func(c *planted, p packet, b []byte, way Direction) error
}

// A Show is what a defect takes to show itself.
type Show string

// The values of Show, each with the conditions of its defects.
const (
	InLoad    Show = "load"      // messages that flow
	InResume  Show = "resume"    // sessions that are resumed
	InConnack Show = "connack"   // resumed sessions, of clients that leave at once for it
	InRelease Show = "release"   // sessions that are resumed between PUBREC and PUBREL
	InRetains Show = "registers" // retained messages that are written and read
	InEnds    Show = "ends"      // sessions whose time is over when their clients come back
	InWills   Show = "wills"     // clients that leave one, some of which are lost
	InShares  Show = "shares"    // shared subscriptions, one of whose members comes back
	InStalls  Show = "stalls"    // a client that does not acknowledge, beside others
	InWaits   Show = "waits"     // subscribers that are to get messages within a few seconds
)

// FindPlant answers the plant of a name. NAME/N is the same defect once in N.
func FindPlant(name string) (Plant, error) {
	p, every, err := plant.Find(name, Plants(), func(p Plant) string { return p.Name })
	p.Every = every
	return p, err
}

// String is the name with the rate, as FindPlant takes it.
func (p Plant) String() string { return plant.Name(p.Name, p.Every) }

// A Liar is the proxy.
type Liar struct {
	opt    Options
	plant  Plant
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	rate   *plant.Rate

	mu        sync.Mutex
	listeners []net.Listener
	open      map[string]string   // connections: the address that the node sees, by the client's
	met       map[string]bool     // ids of clients that have connected, or subscribed, by the plant
	losing    map[string]int      // how many writes to a topic are still to be lost
	retained  map[string][][]byte // payloads written to a topic with RETAIN, the last two
	loans     map[string][]loan   // by shared subscription

	owed map[*planted]map[uint16]time.Time // acknowledgements: since when, by packet id
}

// NewLiar makes a proxy without listeners.
func NewLiar(p Plant, opt Options) *Liar {
	l := &Liar{opt: New(opt).opt, plant: p, rate: rateOf(p), open: map[string]string{}, met: map[string]bool{}, losing: map[string]int{}, retained: map[string][][]byte{}, loans: map[string][]loan{}, owed: map[*planted]map[uint16]time.Time{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

func rateOf(p Plant) *plant.Rate {
	if p.Endless {
		return plant.Once(p.Every).Endless()
	}
	return plant.Once(p.Every)
}

// Listen is that of [Tap.Listen].
func (l *Liar) Listen(address, upstream string) (string, error) {
	listener, err := l.opt.Listen(address)
	if err != nil {
		return "", fmt.Errorf("plant %s: %w", l.plant.Name, err)
	}
	l.mu.Lock()
	l.listeners = append(l.listeners, listener)
	l.mu.Unlock()
	l.tasks.Go(func() {
		acceptAll(listener, func(client net.Conn) { l.tasks.Go(func() { l.serve(client, upstream) }) })
	})
	return listener.Addr().String(), nil
}

// Shown is how often the defect showed.
func (l *Liar) Shown() int64 { return l.rate.Shown() }

// Close ends all of it.
func (l *Liar) Close() error {
	l.cancel()
	l.mu.Lock()
	for _, listener := range l.listeners {
		listener.Close()
	}
	l.mu.Unlock()
	l.tasks.Wait()
	return nil
}

// Seen is [Options.Seen] of a tap before the liar.
func (l *Liar) Seen(address string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[address]
}

func (l *Liar) forget(c *planted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c.client.RemoteAddr().String())
	delete(l.owed, c)
}

func (l *Liar) serve(client net.Conn, upstream string) {
	defer client.Close()
	ctx, cancel := context.WithTimeout(l.ctx, dialBound)
	defer cancel()
	node, err := l.opt.Dial(ctx, upstream)
	if err != nil {
		return
	}
	defer node.Close()
	l.mu.Lock()
	l.open[client.RemoteAddr().String()] = node.LocalAddr().String()
	l.mu.Unlock()
	stop := context.AfterFunc(l.ctx, func() { client.Close(); node.Close() })
	defer stop()
	c := &planted{
		liar: l, client: client, node: node,
		ours: map[uint16]int{}, kept: map[uint16][]byte{}, taken: map[uint16]bool{}, given: map[uint16]bool{}, sent: map[uint16]bool{},
	}
	defer l.forget(c)
	var both sync.WaitGroup
	for _, way := range []Direction{ToBroker, ToClient} {
		both.Go(func() {
			c.pass(way)
			client.Close()
			node.Close()
		})
	}
	both.Wait()
}

// A planted is one connection through the liar. One packet is looked at, at a
// time, of both directions.
type planted struct {
	liar         *Liar
	client, node net.Conn

	mu    sync.Mutex
	level byte              // of the protocol, as in its CONNECT: 4 is MQTT 3.1.1, 5 is 5.0
	ours  map[uint16]int    // answers of the client to what we sent it, still to be swallowed
	taken map[uint16]bool   // exchanges of QoS 2 that the client began, and we answer
	given map[uint16]bool   // exchanges of QoS 2 that the node began, and we answer
	sent  map[uint16]bool   // exchanges that we began with the node
	kept  map[uint16][]byte // PUBLISHes of QoS 2 to the client, by packet id
	held  []byte            // packets that are sent behind others
	of    string            // its topic
	over  int               // others that are to pass it
	again []late            // packets that are sent once more, later
	came  bool              // its session was resumed
	share string            // the shared subscription that its client asked for
	stood bool              // its client was kept waiting once
}

// late is a packet that is sent after others.
type late struct {
	packet []byte
	after  int // packets of the workload
}

func (c *planted) pass(way Direction) {
	src := c.client
	if way == ToClient {
		src = c.node
	}
	r := bufio.NewReader(src)
	for {
		b, err := readPacket(r)
		if err != nil {
			return
		}
		p, _, err := scan(b)
		if err != nil {
			return
		}
		c.mu.Lock()
		if p.kind == Connect {
			c.level = levelOf(p, b)
		}
		if ours, wrong := c.exchange(p, way); ours {
			err = wrong
		} else {
			err = c.liar.plant.do(c, p, b, way)
		}
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// readPacket reads one whole packet.
func readPacket(r *bufio.Reader) ([]byte, error) {
	var head []byte
	for n := 2; ; n++ {
		var err error
		if head, err = r.Peek(n); err != nil {
			return nil, err
		}
		rest, size, err := length(head[1:])
		if err != nil {
			return nil, err
		}
		if size > 0 {
			b := make([]byte, 1+size+rest)
			_, err := io.ReadFull(r, b)
			return b, err
		}
	}
}

// on passes a packet on as it is.
func (c *planted) on(way Direction, packets ...[]byte) error {
	to := c.node
	if way == ToClient {
		to = c.client
	}
	_, err := to.Write(bytes.Join(packets, nil))
	return err
}

// hits reports whether the defect is to show in a packet in which it can.
func (c *planted) hits() bool { return c.liar.rate.Hits() }

// shows counts the defect, while it has not shown often enough.
func (c *planted) shows() bool { return c.liar.rate.Shows() }

// accept answers a PUBLISH in the place of whom it is sent to, who never has it.
func (c *planted) accept(p packet, way Direction) error {
	back := way.back()
	switch p.qos() {
	case 1:
		return c.on(back, answerTo(Puback, 0, p.id))
	case 2:
		if way == ToBroker {
			c.taken[p.id] = true
		} else {
			c.given[p.id] = true
		}
		return c.on(back, answerTo(Pubrec, 0, p.id))
	}
	return nil
}

// message reports whether a packet is a PUBLISH of the workload of a QoS, and no
// end marker: those are spared, so that a run ends in order.
func message(p packet, b []byte, qos byte) bool {
	payload := bytes.Index(b, []byte("RQ1|"))
	return p.kind == Publish && p.qos() == qos && payload >= 0 && bytes.Contains(p.topic, []byte("/load/")) && len(b) >= payload+56 && b[payload+55] == 'M'
}

func answerTo(kind Type, flags byte, id uint16) []byte {
	return binary.BigEndian.AppendUint16([]byte{byte(kind)<<4 | flags, 2}, id)
}

// exchange takes our part in an exchange of which the client or the node knows
// nothing.
func (c *planted) exchange(p packet, way Direction) (ours bool, err error) {
	switch {
	case way == ToBroker && p.kind == Pubrel && c.taken[p.id]:
		delete(c.taken, p.id)
		return true, c.on(ToClient, answerTo(Pubcomp, 0, p.id))
	case way == ToClient && p.kind == Pubrel && c.given[p.id]:
		delete(c.given, p.id)
		return true, c.on(ToBroker, answerTo(Pubcomp, 0, p.id))
	case way == ToClient && c.sent[p.id] && p.kind == Pubrec:
		return true, c.on(ToBroker, answerTo(Pubrel, 2, p.id))
	case way == ToClient && c.sent[p.id] && (p.kind == Puback || p.kind == Pubcomp):
		delete(c.sent, p.id)
		return true, nil
	case way != ToBroker || c.ours[p.id] == 0:
		return false, nil
	case p.kind == Pubrec:
		return true, c.on(ToClient, answerTo(Pubrel, 2, p.id))
	case p.kind == Puback || p.kind == Pubcomp:
		if c.ours[p.id]--; c.ours[p.id] == 0 {
			delete(c.ours, p.id)
		}
		return true, nil
	}
	return false, nil
}
