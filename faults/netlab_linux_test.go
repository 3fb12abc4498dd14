package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/mechanism/shaper"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/routertest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A netLab is nodes in namespaces of their own, the witness, the router between
// them, and an engine. The nodes answer at one port and do nothing else.
type netLab struct {
	*Engine
	*routertest.Star
	queues  *netqueue.Set
	shaper  *shaper.Shaper
	nodes   []*netNode
	witness *netNode
}

const labPort = "7007"

func newNetLab(t *testing.T, nodes int) *netLab {
	t.Helper()
	var names []string
	for i := range nodes {
		names = append(names, fmt.Sprintf("node-%d", i+1))
	}
	l := &netLab{Star: routertest.New(t, append(names, "witness")...)}
	for _, name := range names {
		l.nodes = append(l.nodes, l.start(t, name))
	}
	l.witness = l.start(t, "witness")
	var err error
	if l.shaper, err = shaper.New(router.ProbePort); err != nil {
		t.Fatal(err)
	}
	l.queues = netqueue.NewSet(router.ProbePort)
	clock := &rig{started: time.Now()}
	l.Engine = NewEngine(Options{
		Settle: time.Second, Recovery: 20 * time.Second, Poll: 20 * time.Millisecond,
		Journal: clock, Record: clock.record, Clock: clock, Decide: verdict.DecideLanding, Layer: l.layer,
	})
	return l
}

func (l *netLab) layer(name string) (Layer, error) {
	kind, of, _ := strings.Cut(name, "/")
	switch kind {
	case "net":
		return NewNetLayer(l.Router), nil
	case "route":
		return NewRouteLayer(l.Router, of), nil
	case "shape":
		return NewShapeLayer(l.Router, l.shaper), nil
	case "queue":
		return NewQueueLayer(l.queues, of)
	}
	return nil, fmt.Errorf("no layer %q", name)
}

// on is a target of the nodes with these numbers.
func (l *netLab) on(numbers ...int) Target {
	t := Target{Asked: "test", Site: Site{Net: l.Router, Queues: l.queues, Shaper: l.shaper}}
	for i, n := range l.nodes {
		if slices.Contains(numbers, i+1) {
			t.Nodes = append(t.Nodes, n)
			continue
		}
		t.Peers = append(t.Peers, n)
		t.Control = append(t.Control, n)
	}
	t.Control = append(t.Control, l.witness)
	return t
}

// A netNode answers TCP at its own address until the test ends.
type netNode struct{ name, at string }

func (l *netLab) start(t *testing.T, name string) *netNode {
	t.Helper()
	h := l.Host(t, name)
	n := &netNode{name, net.JoinHostPort(h.Address(), labPort)}
	err := netns.In(h.NetNS(), func() error {
		s, err := net.Listen("tcp4", n.at)
		if err != nil {
			return err
		}
		hosttest.ServeOn(t, s, func(c net.Conn) { io.Copy(c, c) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *netNode) Name() string                            { return n.name }
func (n *netNode) State(context.Context) (string, error)   { return Running, nil }
func (n *netNode) Set(context.Context, ProcessState) error { return errors.New("it is a test's") }

func (n *netNode) Probe(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp4", n.at)
	if err != nil {
		return 0, err
	}
	return time.Since(began), c.Close()
}

// A stream is UDP from one host to another, a packet each two milliseconds,
// numbered.
type stream struct {
	pair
	sent, arrived atomic.Int64 // the last one's number
}

// traffic sends from each of these hosts to every other, until the test ends.
func (l *netLab) traffic(t *testing.T, hosts ...string) []*stream {
	t.Helper()
	var all []*stream
	for i, from := range hosts {
		for j, to := range hosts {
			if i != j {
				all = append(all, l.stream(t, from, to, 20000+i*100+j))
			}
		}
	}
	return all
}

func (l *netLab) stream(t *testing.T, from, to string, port int) *stream {
	t.Helper()
	s := &stream{pair: pair{from, to}}
	at := net.JoinHostPort(l.Host(t, to).Address(), strconv.Itoa(port))
	var in net.PacketConn
	err := netns.In(l.Host(t, to).NetNS(), func() (err error) {
		in, err = net.ListenPacket("udp4", at)
		return err
	})
	var out net.Conn
	if err == nil {
		err = netns.In(l.Host(t, from).NetNS(), func() (err error) {
			out, err = net.Dial("udp4", at)
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop); in.Close(); out.Close() })
	go func() {
		for b := make([]byte, 64); ; {
			n, _, err := in.ReadFrom(b)
			if err != nil {
				return
			}
			number, _ := strconv.ParseInt(string(b[:n]), 10, 64)
			s.arrived.Store(number)
		}
	}()
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				out.Write(strconv.AppendInt(nil, s.sent.Add(1), 10)) // refused where a fault says so
			}
		}
	}()
	return s
}

// cut are the streams of which nothing arrives of all that is sent from now on.
func cut(streams []*stream) []string {
	const enough, bound, underway = 30, 10 * time.Second, 200 * time.Millisecond
	marks := make([]int64, len(streams))
	for i, s := range streams {
		marks[i] = s.sent.Load()
	}
	all := func(done func(s *stream, mark int64) bool, bound time.Duration) {
		for end := time.Now().Add(bound); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
			open := false
			for i, s := range streams {
				open = open || !done(s, marks[i])
			}
			if !open {
				return
			}
		}
	}
	arrived := func(s *stream, mark int64) bool { return s.arrived.Load() > mark }
	all(func(s *stream, mark int64) bool { return arrived(s, mark) || s.sent.Load() >= mark+enough }, bound)
	all(arrived, underway)
	out := []string{}
	for i, s := range streams {
		if !arrived(s, marks[i]) {
			out = append(out, s.from+">"+s.to)
		}
	}
	return out
}

// heldFor injects, looks at what arrives, heals and answers the landing.
func (l *netLab) heldFor(t *testing.T, typ string, params map[string]any, target Target, look func()) history.Landing {
	t.Helper()
	r, err := Parse(typ, params)
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Inject(t.Context(), r, target)
	if err != nil {
		t.Fatal(err)
	}
	look()
	if got, err = l.Heal(t.Context(), got.Fault); err != nil {
		t.Fatal(err)
	}
	if got.Healed != history.HealVerified {
		t.Errorf("healed %s %q", got.Healed, got.Reasons)
	}
	if rules := l.Rules(); len(rules) > 0 {
		t.Errorf("left in the router: %+v", rules)
	}
	return got
}

// setDown takes an interface of the calling thread's namespace down.
func setDown(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetDown(link)
}
