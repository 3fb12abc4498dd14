package tap

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A pair is a client and a node at the two ends of a tap.
type pair struct {
	t            *testing.T
	tap          *Tap
	client, node net.Conn
}

// newPair connects a client through the tap, greeted.
func newPair(t *testing.T, tap *Tap, at string, nodes <-chan net.Conn, id string) *pair {
	t.Helper()
	p := dial(t, tap, at, nodes, connectAs(id))
	p.node.Write(sample(Connack))
	p.gets(p.client, sample(Connack))
	return p
}

func dial(t *testing.T, tap *Tap, at string, nodes <-chan net.Conn, first []byte) *pair {
	t.Helper()
	client, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{t: t, tap: tap, client: client}
	client.Write(first)
	select {
	case p.node = <-nodes:
	case <-time.After(hosttest.Bound):
		t.Fatal("the tap did not connect to the node")
	}
	t.Cleanup(func() { client.Close(); p.node.Close() })
	p.gets(p.node, first)
	return p
}

// gets reads exactly these bytes.
func (p *pair) gets(from net.Conn, want []byte) {
	p.t.Helper()
	from.SetReadDeadline(time.Now().Add(hosttest.Bound))
	got := make([]byte, len(want))
	n, err := io.ReadFull(from, got)
	if err != nil || !bytes.Equal(got, want) {
		p.t.Fatalf("% x, %v; want % x", got[:n], err, want)
	}
}

// ends waits for the end of a connection.
func (p *pair) ends(conn net.Conn) {
	p.t.Helper()
	conn.SetReadDeadline(time.Now().Add(hosttest.Bound))
	if n, err := conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		p.t.Fatalf("%d bytes, %v; want the end", n, err)
	}
}

func connectAs(id string) []byte {
	body := append([]byte{0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, byte(len(id))}, id...)
	return append([]byte{0x10, byte(len(body))}, body...)
}

func publishOf(id uint16, topic, payload string) []byte {
	body := append([]byte{0, byte(len(topic))}, topic...)
	body = append(binary.BigEndian.AppendUint16(body, id), payload...)
	return append(binary.AppendUvarint([]byte{0x32}, uint64(len(body))), body...)
}

func ackOf(kind Type, id uint16) []byte {
	return binary.BigEndian.AppendUint16([]byte{byte(kind) << 4, 2}, id)
}

// newTap is a tap before one node whose connections come out of the channel.
func newTap(t *testing.T) (*Tap, string, <-chan net.Conn) {
	t.Helper()
	node, nodes := newNode(t)
	tap := New(Options{})
	return tap, listening(t, tap, node), nodes
}

func listening(t *testing.T, tap *Tap, upstream string) string {
	t.Helper()
	at, err := tap.Listen("node-1", "127.0.0.1:0", upstream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tap.Close() })
	return at
}

func newNode(t *testing.T) (string, <-chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nodes := make(chan net.Conn, 2000)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			nodes <- c
		}
	}()
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), nodes
}

func TestDropsEveryThird(t *testing.T) {
	tap, at, nodes := newTap(t)
	p := newPair(t, tap, at, nodes, "sub-1")
	tap.Set([]Rule{{Fault: "f1", Do: Drop, Packet: Puback, Direction: ToClient, Nth: 3, Clients: []string{"sub-*"}}})
	var all, left []byte
	for id := range uint16(9) {
		ack := ackOf(Puback, id+1)
		all = append(all, ack...)
		if (id+1)%3 != 0 {
			left = append(left, ack...)
		}
	}
	for _, b := range all { // one byte at a time: a packet is one wherever it is cut
		p.node.Write([]byte{b})
	}
	p.gets(p.client, left)
	await(t, func() bool { return tap.Count("f1").Chosen == 9 }) // the last one is dropped, and nobody gets it
	c := tap.Count("f1")
	if c.Chosen != 9 || c.Acted != 3 || !slices.Equal(c.Last, []string{"puback 3 of sub-1", "puback 6 of sub-1", "puback 9 of sub-1"}) {
		t.Errorf("%+v", c)
	}
	other := newPair(t, tap, at, nodes, "other")
	other.node.Write(all)
	other.gets(other.client, all)
	// MQTT repeats what was lost on a new connection only, so the loss ends it.
	tap.Set(nil)
	p.ends(p.client)
	p.ends(p.node)
	other.node.Write(sample(Pingresp))
	other.gets(other.client, sample(Pingresp))
}

func TestDelayKeepsOrderAndIsReleased(t *testing.T) {
	tap, at, nodes := newTap(t)
	p := newPair(t, tap, at, nodes, "c")
	tap.Set([]Rule{{Fault: "f1", Do: Delay, Packet: Publish, DelayMS: 100}})
	began := time.Now()
	var want []byte
	for id := range uint16(20) { // each 100 ms late, all of them too: one after the other it would be 2 s
		b := slices.Concat(publishOf(id+1, "t", "x"), sample(Pingreq))
		want = append(want, b...)
		p.client.Write(b)
	}
	p.gets(p.node, want)
	if took := time.Since(began); took < 100*time.Millisecond || took >= 2*time.Second {
		t.Errorf("took %s", took)
	}
	tap.Set([]Rule{{Fault: "f2", Do: Delay, Packet: Publish, DelayMS: 60_000}})
	p.client.Write(publishOf(21, "t", "held"))
	await(t, func() bool { return tap.Count("f2").Acted == 1 })
	tap.Set(nil)
	p.gets(p.node, publishOf(21, "t", "held"))
	p.client.Write(publishOf(22, "t", "x")) // and the line is out of the way
	p.gets(p.node, publishOf(22, "t", "x"))
}

func TestDuplicateIsAnsweredOnce(t *testing.T) {
	tap, at, nodes := newTap(t)
	p := newPair(t, tap, at, nodes, "c")
	tap.Set([]Rule{{Fault: "f1", Do: Duplicate, Packet: Publish}})
	once := publishOf(7, "t", strings.Repeat("x", 10_000))
	again := slices.Clone(once)
	again[0] |= 8
	p.client.Write(once)
	p.gets(p.node, slices.Concat(once, again))
	zero := []byte{0x30, 3, 0, 1, 't'}
	p.client.Write(zero) // QoS 0 has no DUP
	p.gets(p.node, zero)
	two := []byte{0x34, 5, 0, 1, 't', 0, 9} // what a client would do with a second one is the SDK's own
	p.node.Write(two)
	p.gets(p.client, two)
	p.node.Write(slices.Concat(ackOf(Puback, 7), ackOf(Puback, 7), ackOf(Puback, 8)))
	p.gets(p.client, slices.Concat(ackOf(Puback, 7), ackOf(Puback, 8)))
}

func TestCutAndTruncate(t *testing.T) {
	big := publishOf(7, "t", strings.Repeat("x", 100_000))
	for _, test := range []struct {
		do   Action
		want []byte
	}{{CutAfter, big}, {Truncate, big[:len(big)/2]}} {
		t.Run(string(test.do), func(t *testing.T) {
			tap, at, nodes := newTap(t)
			p := newPair(t, tap, at, nodes, "c")
			tap.Set([]Rule{{Fault: "f1", Do: test.do, Packet: Publish, Topic: "t/#"}})
			go p.client.Write(slices.Concat(publishOf(1, "u", "other"), big, sample(Pingreq)))
			p.gets(p.node, slices.Concat(publishOf(1, "u", "other"), test.want))
			p.ends(p.node)
			p.ends(p.client)
		})
	}
}

func TestMutate(t *testing.T) {
	valid := publishOf(7, "t", "x")
	change := func(at int, to byte) []byte {
		b := slices.Clone(valid)
		b[at] = to
		return b
	}
	for what, want := range map[Change][]byte{
		QoS3: change(0, 0x36), Wildcard: change(4, '#'), PacketIDZero: change(6, 0), TypeZero: change(0, 2),
		RemainingLength: {0x32, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		t.Run(string(what), func(t *testing.T) {
			tap, at, nodes := newTap(t)
			p := newPair(t, tap, at, nodes, "c")
			tap.Set([]Rule{{Fault: "f1", Do: Mutate, Change: what, Packet: Publish, Nth: 2}})
			p.client.Write(slices.Concat(publishOf(1, "t", "x"), valid, sample(Pingreq)))
			p.gets(p.node, slices.Concat(publishOf(1, "t", "x"), want))
			// A node that accepts it all the same must not be believed.
			id := uint16(7)
			if what == PacketIDZero {
				id = 0
			}
			p.node.Write(slices.Concat(ackOf(Puback, id), ackOf(Puback, 1)))
			p.gets(p.client, ackOf(Puback, 1))
			tap.Set(nil)
			p.ends(p.client)
		})
	}
}

// Faults on one packet compose, and heal in any order.
func TestOverlap(t *testing.T) {
	tap, at, nodes := newTap(t)
	p := newPair(t, tap, at, nodes, "c")
	late := Rule{Fault: "f1", Do: Delay, Packet: Publish, DelayMS: 50}
	twice := Rule{Fault: "f2", Do: Duplicate, Packet: Publish}
	lost := Rule{Fault: "f3", Do: Drop, Packet: Publish, Nth: 2}
	tap.Set([]Rule{late, twice, lost})
	one := publishOf(1, "t", "x")
	dup := slices.Clone(one)
	dup[0] |= 8
	began := time.Now()
	p.client.Write(slices.Concat(one, publishOf(2, "t", "x"), sample(Pingreq)))
	p.gets(p.node, slices.Concat(one, dup, sample(Pingreq)))
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("took %s", took)
	}
	tap.Set([]Rule{twice, lost})
	p.client.Write(one)
	p.gets(p.node, slices.Concat(one, dup))
	if c := tap.Count("f3"); c.Chosen != 3 || c.Acted != 1 {
		t.Errorf("a rule that stays keeps its count: %+v", c)
	}
	tap.Set([]Rule{twice})
	p.ends(p.client)
}

// Bytes that are not MQTT pass both ways unchanged, whatever the rules.
func TestPassesOtherBytes(t *testing.T) {
	for _, first := range []string{"\x16\x03\x01\x02\x00 hello", "GET /mqtt HTTP/1.1\r\n\r\n", "\x10\x02\x00\x00"} {
		tap, at, nodes := newTap(t)
		tap.Set([]Rule{{Fault: "f1", Do: Drop}})
		p := dial(t, tap, at, nodes, []byte(first))
		big := bytes.Repeat([]byte{0x40, 2, 0, 1, 0xff}, 50_000)
		go p.node.Write(big)
		p.gets(p.client, big)
		if c := tap.Count("f1"); c.Chosen != 0 {
			t.Errorf("%q: %+v", first, c)
		}
	}
}

// An end in order is passed on as one, a reset as a reset.
func TestPassesEndsOn(t *testing.T) {
	tap, at, nodes := newTap(t)
	p := newPair(t, tap, at, nodes, "c")
	p.client.(*net.TCPConn).CloseWrite()
	p.node.SetReadDeadline(time.Now().Add(hosttest.Bound))
	if _, err := p.node.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%v, want the end", err)
	}
	p.node.Write(sample(Pingresp)) // half closed is not closed
	p.gets(p.client, sample(Pingresp))
	q := newPair(t, tap, at, nodes, "d")
	q.client.(*net.TCPConn).SetLinger(0)
	q.client.Close()
	q.node.SetReadDeadline(time.Now().Add(hosttest.Bound))
	if _, err := q.node.Read(make([]byte, 1)); err == nil || err == io.EOF || isTimeout(err) {
		t.Errorf("%v, want a reset", err)
	}
}

func TestRefuseAndClose(t *testing.T) {
	tap, at, nodes := newTap(t)
	p, other := newPair(t, tap, at, nodes, "pub-1"), newPair(t, tap, at, nodes, "sub-1")
	tap.Set([]Rule{{Fault: "f1", Do: Refuse, Clients: []string{"pub-*"}}})
	p.ends(p.client)
	p.ends(p.node)
	back, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	back.Write(connectAs("pub-1"))
	p.ends(back)
	tap.Set(nil)
	newPair(t, tap, at, drained(nodes), "pub-1")
	other.node.Write(sample(Pingresp))
	other.gets(other.client, sample(Pingresp))

	tap.Set([]Rule{{Fault: "f2", Do: Close, PeriodMS: 20, Clients: []string{"sub-*"}}})
	other.ends(other.client)
	again := newPair(t, tap, at, nodes, "sub-1") // it is let in, and closed again
	again.ends(again.client)
	if c := tap.Count("f2"); c.Acted < 2 {
		t.Errorf("%+v", c)
	}
}

// TestSeenBehindALiar is that faults on connections find them at a node behind a
// planted defect too: the node knows them by the liar's address.
func TestSeenBehindALiar(t *testing.T) {
	node, nodes := newNode(t)
	plant, err := FindPlant("corrupt")
	if err != nil {
		t.Fatal(err)
	}
	liar := NewLiar(plant, Options{})
	t.Cleanup(func() { liar.Close() })
	behind, err := liar.Listen("127.0.0.1:0", node)
	if err != nil {
		t.Fatal(err)
	}
	tap := New(Options{Seen: liar.Seen})
	p := newPair(t, tap, listening(t, tap, behind), nodes, "sub-1")
	conns := tap.Connections(Rule{Do: Close})
	if len(conns) != 1 || conns[0].Peer != p.node.RemoteAddr().String() {
		t.Errorf("%+v; the node sees %s", conns, p.node.RemoteAddr())
	}
	p.client.Close()
	p.ends(p.node)
}

// drained takes out the connections of clients that were refused.
func drained(nodes <-chan net.Conn) <-chan net.Conn {
	for {
		select {
		case c := <-nodes:
			c.Close()
		case <-time.After(50 * time.Millisecond):
			return nodes
		}
	}
}

func TestHalfOpen(t *testing.T) {
	tap, at, nodes := newTap(t)
	p := newPair(t, tap, at, nodes, "c")
	tap.Set([]Rule{{Fault: "f1", Do: HalfOpen}})
	p.ends(p.client)
	p.node.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := p.node.Read(make([]byte, 1)); !isTimeout(err) {
		t.Errorf("the node's end: %v, want silence", err)
	}
	if _, err := p.node.Write(sample(Pingresp)); err != nil {
		t.Errorf("the node's end is not open: %v", err)
	}
	tap.Set(nil)
	p.ends(p.node)
}

// The node of a slow reader can no longer get rid of what it has to say.
func TestSlowReaderPushesBack(t *testing.T) {
	tap, at, nodes := newTap(t)
	p := newPair(t, tap, at, nodes, "c")
	slow := Rule{Fault: "f1", Do: Slow, BytesPerS: 1000}
	if n, err := tap.Shut(slow); n != 0 {
		t.Errorf("%d connections are shut before, %v", n, err)
	}
	tap.Set([]Rule{slow})
	p.node.(*net.TCPConn).SetWriteBuffer(16 << 10)
	p.client.SetReadDeadline(time.Time{})
	go io.Copy(io.Discard, p.client)
	p.node.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
	b := publishOf(1, "t", strings.Repeat("x", 4<<20))
	if n, err := p.node.Write(b); !isTimeout(err) {
		t.Fatalf("%d of %d bytes, %v; want to be kept waiting", n, len(b), err)
	}
	if c := tap.Count("f1"); c.Acted != 1 {
		t.Errorf("%+v", c)
	}
	if n, err := tap.Shut(slow); n != 1 && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%d connections are shut, %v", n, err)
	}
	tap.Set(nil)
	p.node.SetWriteDeadline(time.Now().Add(hosttest.Bound))
	if _, err := p.node.Write(b); err != nil {
		t.Errorf("healed: %v", err)
	}
}

// A probe sees what each action does, is not counted, and sees nothing of it
// without the rule.
func TestExchange(t *testing.T) {
	tap, _, _ := newTap(t)
	want := map[Action]string{Drop: NeverArrives, Delay: Arrives, Duplicate: Twice, CutAfter: ThenCut, Truncate: HalfThenCut, Mutate: Altered}
	for kind := Any; kind <= Auth; kind++ {
		for _, way := range []Direction{ToBroker, ToClient} {
			if only, ok := kind.onlyGoes(); ok && only != way {
				continue
			}
			for do, what := range want {
				if do == Duplicate && kind != Publish {
					continue
				}
				r := Rule{Fault: "f1", Do: do, Packet: kind, Direction: way, Clients: []string{"nobody"}, Nth: 5, DelayMS: 30, Change: TypeZero}
				name := fmt.Sprintf("%s %s %s", do, kind, way)
				exchanged(t, tap, name+" before", r, Arrives, 0)
				tap.Set([]Rule{r})
				exchanged(t, tap, name, r, what, r.delayOf(do))
				exchanged(t, tap, name+" of another fault", Rule{Fault: "f2", Packet: kind, Direction: way}, Arrives, 0)
				r.Clients, r.Nth = nil, 1
				tap.Set(nil)
				tap.Set([]Rule{r})
				exchanged(t, tap, name+" of no fault", Rule{Packet: kind, Direction: way}, Arrives, 0)
				if c := tap.Count("f1"); c.Chosen != 0 || c.Acted != 0 {
					t.Errorf("%s: %+v", name, c)
				}
				tap.Set(nil)
			}
		}
	}
}

func (r Rule) delayOf(do Action) time.Duration {
	if do == Delay {
		return r.delay()
	}
	return 0
}

func exchanged(t *testing.T, tap *Tap, name string, r Rule, want string, atLeast time.Duration) {
	t.Helper()
	got, err := tap.Exchange(t.Context(), r.Fault, r.Packet, r.Direction)
	if err != nil || got.What != want || got.Took < atLeast {
		t.Errorf("%s: %q after %s, %v; want %q", name, got.What, got.Took, err, want)
	}
}

func TestRuleCheck(t *testing.T) {
	for want, r := range map[string]Rule{
		"is no topic filter":    {Packet: Publish, Topic: "a/#/b"},
		"only publish has":      {Packet: Puback, Topic: "a"},
		"give one of them":      {Nth: 2, Percent: 5},
		"only publish may":      {Do: Duplicate, Packet: Puback},
		"no pingreq has that":   {Do: Mutate, Packet: Pingreq, Change: PacketIDZero},
		"only goes to_broker":   {Packet: Connect, Direction: ToClient},
		"client \"[\": syntax":  {Clients: []string{"["}},
		"only goes to_client":   {Packet: Suback, Direction: ToBroker},
		"no publish has that":   {Do: Mutate, Packet: Publish, Change: ReservedFlags},
		"stands for a whole le": {Packet: Publish, Topic: "a+"},
	} {
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
	if err := (Rule{Do: Drop, Packet: Publish, Topic: "a/+/#", Nth: 5, Clients: []string{"r*"}}).Check(); err != nil {
		t.Error(err)
	}
}

// A thousand clients at once, and not one goroutine or connection left after.
func TestThousand(t *testing.T) {
	tap, at, nodes := newTap(t)
	go func() {
		for c := range nodes {
			go func() {
				io.ReadFull(c, make([]byte, len(connectAs("c000"))))
				c.Write(sample(Connack))
				io.Copy(c, c)
			}()
		}
	}()
	tap.Set([]Rule{{Fault: "f1", Do: Delay, Packet: Publish, DelayMS: 20}})
	ctx, cancel := context.WithTimeout(t.Context(), hosttest.Bound)
	defer cancel()
	var wg sync.WaitGroup
	errs := make(chan error, 1000)
	for i := range 1000 {
		wg.Go(func() { errs <- echoed(ctx, at, fmt.Sprintf("c%03d", i)) })
	}
	wg.Wait()
	for range 1000 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if c := tap.Count("f1"); c.Acted < 5000 {
		t.Errorf("%+v", c)
	}
	await(t, func() bool { return len(tap.Connections(Rule{})) == 0 })
}

func echoed(ctx context.Context, at, id string) error {
	d := net.Dialer{}
	c, err := d.DialContext(ctx, "tcp", at)
	if err != nil {
		return err
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	c.SetDeadline(deadline)
	c.Write(connectAs(id))
	if err := expect(c, sample(Connack)); err != nil {
		return err
	}
	for n := range uint16(5) {
		b := publishOf(n+1, "t", id)
		c.Write(b)
		if err := expect(c, b); err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
	}
	return nil
}

func await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(hosttest.Bound); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}
