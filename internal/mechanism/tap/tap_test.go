package tap

import (
	"bytes"
	"context"
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
	if c.Chosen != 9 || c.Acted() != 3 || !slices.Equal(c.Last, []string{"puback 3 of sub-1", "puback 6 of sub-1", "puback 9 of sub-1"}) {
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
	await(t, func() bool { return tap.Count("f2").Acted() == 1 })
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
	if c := tap.Count("f3"); c.Chosen != 3 || c.Acted() != 1 {
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
	if c := tap.Count("f2"); c.Acted() < 2 {
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
	if c := tap.Count("f1"); c.Acted() != 1 {
		t.Errorf("%+v", c)
	}
	await(t, func() bool { // a window of almost a segment closes at the sender's next probe (RFC 9293, 3.8.6.1)
		n, err := tap.Shut(slow)
		return n == 1 || errors.Is(err, errors.ErrUnsupported)
	})
	tap.Set(nil)
	p.node.SetWriteDeadline(time.Now().Add(hosttest.Bound))
	if _, err := p.node.Write(b); err != nil {
		t.Errorf("healed: %v", err)
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
	if c := tap.Count("f1"); c.Acted() < 5000 {
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
