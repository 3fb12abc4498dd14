package router

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// echoPort is where the hosts of a test answer.
const echoPort = 7007

// echo answers what is sent to a host by TCP and UDP, until the test ends.
func (s *testStar) echo(t testing.TB, name string) {
	t.Helper()
	h := s.host(t, name)
	at := net.JoinHostPort(h.Address(), strconv.Itoa(echoPort))
	err := netns.In(h.NetNS(), func() error {
		l, err := net.Listen("tcp4", at)
		if err != nil {
			return err
		}
		u, err := net.ListenPacket("udp4", at)
		if err != nil {
			return err
		}
		t.Cleanup(func() { u.Close() })
		hosttest.ServeOn(t, l, func(c net.Conn) { io.Copy(c, c) })
		go func() {
			b := make([]byte, 2048)
			for {
				n, from, err := u.ReadFrom(b)
				if err != nil {
					return
				}
				u.WriteTo(b[:n], from)
			}
		}()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// connect makes a connection from one host to the echo of another.
func (s *testStar) connect(t testing.TB, network, from, to string) (net.Conn, error) {
	t.Helper()
	var conn net.Conn
	err := netns.In(s.host(t, from).NetNS(), func() (err error) {
		d := net.Dialer{Timeout: 300 * time.Millisecond}
		conn, err = d.DialContext(t.Context(), network+"4", net.JoinHostPort(s.host(t, to).Address(), strconv.Itoa(echoPort)))
		return err
	})
	if err == nil {
		t.Cleanup(func() { conn.Close() })
	}
	return conn, err
}

func (s *testStar) mustConnect(t testing.TB, network, from, to string) net.Conn {
	t.Helper()
	c, err := s.connect(t, network, from, to)
	if err != nil {
		t.Fatalf("%s from %s to %s: %v", network, from, to, err)
	}
	return c
}

// talks sends one message on a connection and waits for it to come back.
func talks(c net.Conn, patience time.Duration) error {
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 5))
	return err
}

func (s *testStar) render(t testing.TB, rules ...Rule) {
	t.Helper()
	if err := s.Render(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
}

func (s *testStar) hits(t testing.TB, fault string) Hits {
	t.Helper()
	h, err := s.Hits(fault)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The system's own traffic is hit, TCP and UDP, and counted.
func TestTraffic(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	s := newStar(t, 3)
	s.echo(t, "node-2")
	tcp, udp := s.mustConnect(t, "tcp", "node-1", "node-2"), s.mustConnect(t, "udp", "node-1", "node-2")
	other := s.mustConnect(t, "tcp", "node-3", "node-2")
	all := func(want bool) {
		t.Helper()
		patience := hosttest.Bound
		if !want {
			patience = 200 * time.Millisecond
		}
		for _, c := range []net.Conn{tcp, udp} {
			if err := talks(c, patience); (err == nil) != want {
				t.Errorf("%s between node-1 and node-2: %v, want passing %t", c.LocalAddr().Network(), err, want)
			}
		}
		if err := talks(other, hosttest.Bound); err != nil {
			t.Errorf("node-3 to node-2: %v", err)
		}
	}
	all(true)
	s.render(t, Rule{Fault: "f1", Do: Drop, Links: both("node-1", "node-2")})
	if h := s.hits(t, "f1"); h.Hit.Packets != 0 {
		t.Errorf("before any traffic: %+v", h)
	}
	all(false)
	if h := s.hits(t, "f1"); h.Hit.Packets < 2 || h.Hit != h.Matched || h.Probes.Packets != 0 {
		t.Errorf("after traffic: %+v", h)
	}
	met := s.hits(t, "f1")
	for host, want := range map[string]Count{"node-1": met.Hit, "node-2": met.Hit, "node-3": {}} {
		a, err := s.Address(host)
		if err != nil || met.Servers[a] != want {
			t.Errorf("hit of %s: %+v, %v; want %+v", host, met.Servers[a], err, want)
		}
	}
	s.render(t)
	if _, err := s.connect(t, "tcp", "node-1", "node-2"); err != nil {
		t.Errorf("after the heal: %v", err)
	}
}

// A reject is an error at once, and who asked is told which.
func TestReject(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	s := newStar(t, 2)
	s.echo(t, "node-2")
	udp := s.mustConnect(t, "udp", "node-1", "node-2")
	s.render(t, Rule{Fault: "f1", Do: Reject, Links: both("node-1", "node-2")})
	if _, err := s.connect(t, "tcp", "node-1", "node-2"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("tcp: %v, want refused", err)
	}
	if err := talks(udp, hosttest.Bound); !errors.Is(err, syscall.EHOSTUNREACH) {
		t.Errorf("udp: %v, want unreachable", err)
	}
	s.blocked(t, "node-1", "node-2")
}

// Rules of two faults on one link, taken out in either order.
func TestOverlap(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	s := newStar(t, 3)
	f1 := Rule{Fault: "f1", Do: Drop, Links: both("node-1", "node-2")}
	f2 := Rule{Fault: "f2", Do: Drop, Links: []Link{{From: []string{"node-1"}, To: []string{"node-2", "node-3"}}}}
	for _, last := range []Rule{f1, f2} {
		s.render(t, f1, f2)
		s.blocked(t, "node-1", "node-2")
		s.blocked(t, "node-1", "node-3")
		before := s.hits(t, "f1")
		s.render(t, last)
		s.blocked(t, "node-1", "node-2")
		if last.Fault == "f1" {
			s.passes(t, "node-1", "node-3")
			if h := s.hits(t, "f1"); h.Probes.Packets <= before.Probes.Packets || before.Probes.Packets == 0 {
				t.Errorf("probes of f1: %d, %d before it was rendered again", h.Probes.Packets, before.Probes.Packets)
			}
		}
		if got := s.Disturbed("node-1", "node-2", last.Fault); got {
			t.Error("a fault disturbs itself")
		}
		s.render(t)
		for _, to := range []string{"node-2", "node-3"} {
			s.passes(t, "node-1", to)
		}
	}
}

// Twelve faults are in place at once, as many as an ordinary user of most hosts can have: the kernel's answers to all of
// their rules are read.
func TestManyFaults(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	s := newStar(t, 3)
	var all []Rule
	for i := range 12 {
		all = append(all, Rule{Fault: "f" + strconv.Itoa(i+1), Do: Drop, Links: both("node-1", "node-3")})
	}
	s.render(t, all...)
	s.render(t, all[1:]...)
}

// Rules about clients are about those that come later too, and about neither
// nodes nor the witness.
func TestClients(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	s := newStar(t, 2)
	client, err := s.Client()
	if err != nil || client != probeHost {
		t.Fatalf("client %q, %v", client, err)
	}
	s.render(t, Rule{Fault: "f1", Do: Drop, Links: []Link{{From: []string{Clients}, To: []string{"node-1"}}, {From: []string{"node-1"}, To: []string{Clients}}}})
	s.host(t, "publishers-0")
	for _, c := range []string{probeHost, "publishers-0"} {
		s.blocked(t, c, "node-1")
		s.blocked(t, "node-1", c)
		s.passes(t, c, "node-2")
		if !s.Disturbed(c, "node-1", "") || s.Disturbed(c, "node-2", "") {
			t.Errorf("who is disturbed: %s", c)
		}
	}
	for _, to := range []string{"node-2", "witness"} {
		s.passes(t, "node-1", to)
	}
}

// Loss is by chance, its share is as asked, and each packet is counted.
func TestLose(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	s := newStar(t, 2)
	s.render(t, Rule{Fault: "f1", Do: Lose, Percent: 20, Links: []Link{{From: []string{"node-1"}, To: []string{"node-2"}}}})
	lost := 0
	hosttest.Decide(t, "percent lost", 18, 22, func() []float64 {
		const n = 1000
		p, err := s.Ping(t.Context(), Ping{From: "node-1", To: "node-2", Count: n, Interval: 20 * time.Microsecond, Wait: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		lost += p.Sent - p.Arrived
		return []float64{100 * float64(p.Sent-p.Arrived) / n}
	})
	if h := s.hits(t, "f1"); int(h.Probes.Packets) != lost {
		t.Errorf("%d packets dropped, %d did not arrive", h.Probes.Packets, lost)
	}
}

// Only packets of the ports are hit, and probes, which stand for them.
func TestPorts(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	s := newStar(t, 2)
	s.echo(t, "node-2")
	c := s.mustConnect(t, "tcp", "node-1", "node-2")
	s.render(t, Rule{Fault: "f1", Do: Drop, Ports: []uint16{echoPort + 1}, Links: both("node-1", "node-2")})
	if err := talks(c, hosttest.Bound); err != nil {
		t.Errorf("another port: %v", err)
	}
	s.blocked(t, "node-1", "node-2")
	if h := s.hits(t, "f1"); h.Hit.Packets != 0 {
		t.Errorf("hits %+v on a port that nobody uses", h)
	}
	s.render(t, Rule{Fault: "f1", Do: Drop, Ports: []uint16{echoPort}, Links: both("node-1", "node-2")})
	if err := talks(c, 200*time.Millisecond); err == nil {
		t.Error("its own port: nothing happened")
	}
}

// Where nobody listens to a queue, packets pass, and are counted.
func TestQueueBypass(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	s := newStar(t, 2)
	if missing := s.Missing(Queue); missing != "" {
		hosttest.Skip(t, missing)
	}
	q, err := s.Queue()
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Queue()
	if err != nil || second == q {
		t.Fatalf("queue %d twice, %v", q, err)
	}
	links := both("node-1", "node-2")
	s.render(t, Rule{Fault: "f1", Do: Queue, Queue: q, Links: links}, Rule{Fault: "f2", Do: Queue, Queue: second, Links: links})
	s.passes(t, "node-1", "node-2")
	for _, f := range []string{"f1", "f2"} {
		if h := s.hits(t, f); h.Probes.Packets != 10 {
			t.Errorf("%s: %+v, want 10 probes", f, h)
		}
	}
	t.Log(ruleset(t))
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	s := newStar(t, 2)
	ok := Rule{Fault: "f1", Do: Drop, Links: both("node-1", "node-2")}
	s.render(t, ok)
	for name, rule := range map[string]Rule{
		"no host":      {Fault: "f2", Do: Drop, Links: both("node-1", "node-9")},
		"no action":    {Fault: "f2", Do: "melt", Links: both("node-1", "node-2")},
		"no percent":   {Fault: "f2", Do: Lose, Links: both("node-1", "node-2")},
		"no fault":     {Do: Drop, Links: both("node-1", "node-2")},
		"no link":      {Fault: "f2", Do: Drop},
		"only itself":  {Fault: "f2", Do: Drop, Links: both("node-1", "node-1")},
		"bad for nft":  {Fault: string(make([]byte, 300)), Do: Drop, Links: both("node-1", "node-2")},
		"much percent": {Fault: "f2", Do: Lose, Percent: 101, Links: both("node-1", "node-2")},
	} {
		if err := s.Render(t.Context(), []Rule{ok, rule}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s.blocked(t, "node-1", "node-2")
	if len(s.Rules()) != 1 {
		t.Errorf("rules %+v, want those before", s.Rules())
	}
}

func TestSockets(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	s := newStar(t, 3)
	s.echo(t, "node-2")
	hit := []net.Conn{s.mustConnect(t, "tcp", "node-1", "node-2"), s.mustConnect(t, "tcp", "node-1", "node-2")}
	other := s.mustConnect(t, "tcp", "node-3", "node-2")
	for _, c := range append(hit, other) {
		if err := talks(c, hosttest.Bound); err != nil {
			t.Fatal(err)
		}
	}
	links := both("node-1", "node-2")
	sockets, err := s.Sockets(links)
	if err != nil || len(sockets) != 4 {
		t.Fatalf("%d ends, %v; want 4 of 2 connections: %v", len(sockets), err, sockets)
	}
	if n, err := s.Reset(sockets); len(n) != 2 || err != nil {
		t.Errorf("reset %v, %v; want 2", n, err)
	}
	for _, c := range hit {
		if err := talks(c, hosttest.Bound); !errors.Is(err, syscall.ECONNABORTED) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("connection that was reset: %v", err)
		}
	}
	if err := talks(other, hosttest.Bound); err != nil {
		t.Errorf("another connection: %v", err)
	}
	if left, err := s.Sockets(links); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
	// Sockets that are gone are not ended again, nor is the listener in their place.
	if n, err := s.Reset(sockets); len(n) != 0 || err != nil {
		t.Errorf("reset again: %v, %v", n, err)
	}
	s.mustConnect(t, "tcp", "node-1", "node-2")
}

func TestSocketSame(t *testing.T) {
	a, b := netip.MustParseAddrPort("198.18.1.2:5"), netip.MustParseAddrPort("198.18.2.2:6")
	if !(Socket{Local: a, Remote: b}).Same(Socket{Local: b, Remote: a}) || (Socket{Local: a, Remote: b}).Same(Socket{Local: a, Remote: a}) {
		t.Error("the two ends of a connection are not the same one")
	}
}
