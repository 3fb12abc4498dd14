package router

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A testRemote is nodes with an agent each. The router's namespace is the witness.
type testRemote struct {
	*Remote
	star *testStar

	mu      sync.Mutex
	agents  map[string]*agentProcess // the last of each node
	down    string                   // a node without a pod
	clients []string
	others  bool
	leads   map[string]string // hosts whose addresses lead to nodes
}

func newRemote(t *testing.T) *testRemote {
	t.Helper()
	r := &testRemote{star: newStar(t, 3), agents: map[string]*agentProcess{}}
	r.Remote = NewRemote(RemoteOptions{
		Nodes:   func() []string { return []string{"node-1", "node-2", "node-3"} },
		Clients: func() []string { return r.clients },
		Others:  func() bool { return r.others },
		Attach:  r.attach,
		Reach: func(node string) (netip.AddrPort, error) {
			a, err := r.star.Address(cmp.Or(r.leads[node], node))
			return netip.AddrPortFrom(a, ProbePort), err
		},
		Witness: "witness",
	})
	t.Cleanup(func() {
		if err := r.Remote.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// agentEnv has the address of a host in the process that is its agent.
const agentEnv = "RMQ_TEST_AGENT"

// TestAgent is the process of an agent.
func TestAgent(t *testing.T) {
	own, err := netip.ParseAddr(os.Getenv(agentEnv))
	if err != nil {
		return
	}
	if err := Serve(t.Context(), own, os.Stdin, os.Stdout); err != nil {
		t.Error(err)
	}
}

func (r *testRemote) attach(_ context.Context, node string) (io.ReadWriteCloser, netip.Addr, error) {
	r.mu.Lock()
	down := r.down == node
	r.mu.Unlock()
	if down {
		return nil, netip.Addr{}, errors.New("it has no pod")
	}
	h, err := r.star.net.Host(node)
	if err != nil {
		return nil, netip.Addr{}, err
	}
	own, err := netip.ParseAddr(h.Address())
	if err != nil {
		return nil, own, err
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestAgent$")
	cmd.Env = append(os.Environ(), agentEnv+"="+h.Address())
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, own, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, own, err
	}
	if err := h.Start(cmd); err != nil {
		return nil, own, err
	}
	p := &agentProcess{out, in, cmd}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agents[node] = p
	return p, own, nil
}

// An agentProcess ends when its input is closed.
type agentProcess struct {
	io.ReadCloser
	in  io.WriteCloser
	cmd *exec.Cmd
}

func (p *agentProcess) Write(b []byte) (int, error) { return p.in.Write(b) }

func (p *agentProcess) Close() error { return errors.Join(p.in.Close(), p.ReadCloser.Close()) }

// signal sends a signal to the agent of a node.
func (r *testRemote) signal(t *testing.T, node string, sig os.Signal) *exec.Cmd {
	t.Helper()
	r.mu.Lock()
	p := r.agents[node]
	r.mu.Unlock()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	return p.cmd
}

// until waits until something holds.
func (r *testRemote) until(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come about")
		}
	}
}

// arrives is how many of five probes arrive, and how many come back.
func (r *testRemote) arrives(t *testing.T, from, to string, arrived, received int) {
	t.Helper()
	wait := 500 * time.Millisecond // it ends as soon as all came back
	if arrived == 0 {
		wait = 50 * time.Millisecond
	}
	p, err := r.Ping(t.Context(), Ping{From: from, To: to, Wait: wait})
	if err != nil || p.Sent != 5 || p.Arrived != arrived || p.Received != received || len(p.There) != arrived {
		t.Errorf("%s to %s: %+v, %v; want %d to arrive and %d to come back", from, to, p, err, arrived, received)
	}
}

func TestRemote(t *testing.T) {
	if !hosttest.Inside(t) {
		return
	}
	r := newRemote(t)
	for _, a := range []Action{Drop, Reject, Lose} {
		if missing := r.Missing(a); missing != "" {
			t.Errorf("%s: %s", a, missing)
		}
	}
	r.arrives(t, "node-1", "node-2", 5, 5)
	r.arrives(t, "witness", "node-1", 5, 5)
	show := func(rules ...Rule) {
		t.Helper()
		if err := r.Render(t.Context(), rules); err != nil {
			t.Fatal(err)
		}
	}

	show(Rule{Fault: "f1", Do: Drop, Links: both("node-1", "node-2")})
	r.arrives(t, "node-1", "node-2", 0, 0)
	r.arrives(t, "node-2", "node-1", 0, 0)
	r.arrives(t, "node-1", "node-3", 5, 5)
	r.arrives(t, "witness", "node-1", 5, 5)
	if _, err := r.Dial(t.Context(), "node-1", "node-2", 0); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("connect over a cut: %v", err)
	}
	if _, err := r.Dial(t.Context(), "node-1", "node-3", 0); err != nil {
		t.Error(err)
	}
	h, err := r.Hits("f1")
	if err != nil || h.Probes.Packets < 10 || h.Hit.Packets != 0 {
		t.Errorf("hits %+v, %v; want probes alone", h, err)
	}

	r.signal(t, "node-2", syscall.SIGKILL).Wait() // as with its pod
	r.until(t, func() bool {                      // the next agent shows the rule
		p, err := r.Ping(t.Context(), Ping{From: "node-1", To: "node-2", Wait: 50 * time.Millisecond})
		return err == nil && p.Arrived == 0
	})
	r.arrives(t, "node-2", "node-1", 0, 0)

	show(Rule{Fault: "f2", Do: Reject, Links: []Link{{From: []string{"node-1"}, To: []string{"node-3"}}}})
	r.arrives(t, "node-1", "node-2", 5, 5)
	r.arrives(t, "node-3", "node-1", 5, 0)
	if _, err := r.Dial(t.Context(), "node-1", "node-3", 0); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("connect to a host that rejects: %v", err)
	}
	if !r.Disturbed("node-1", "node-3", "f1") || r.Disturbed("node-3", "node-1", "f1") || r.Disturbed("node-1", "node-3", "f2") {
		t.Error("other links are disturbed than the rule is about")
	}

	show()
	r.arrives(t, "node-3", "node-1", 5, 5)
}

// Rules about clients are about the hosts of clients that there are, and about those that come later.
func TestRemoteClients(t *testing.T) {
	if !hosttest.Inside(t) {
		return
	}
	r := newRemote(t)
	r.star.host(t, "client-1")
	r.star.host(t, "client-2")
	r.star.host(t, "service")
	if _, err := r.Client(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a client where there is none: %v", err)
	}
	r.clients = []string{"client-1"}
	if name, err := r.Client(); name != "client-1" || err != nil {
		t.Errorf("client %q, %v", name, err)
	}
	r.others = true
	if _, err := r.Client(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("clients elsewhere: %v", err)
	}
	r.others = false
	rule := Rule{Fault: "f1", Do: Drop, Links: both("node-1", Clients)}
	if err := r.Render(t.Context(), []Rule{rule}); err != nil {
		t.Fatal(err)
	}
	r.arrives(t, "client-1", "node-1", 0, 0)
	r.arrives(t, "node-1", "client-1", 0, 0)
	r.arrives(t, "client-1", "node-2", 5, 5)
	r.arrives(t, "node-1", "node-2", 5, 5)
	r.arrives(t, "witness", "node-1", 5, 5)
	if !r.Disturbed("client-1", "node-1", "f2") || r.Disturbed("client-1", "node-2", "f2") || r.Disturbed("node-2", "node-1", "f2") {
		t.Error("other links are disturbed than the rule is about")
	}
	r.clients = append(r.clients, "client-2")
	if err := r.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.arrives(t, "client-2", "node-1", 0, 0)
	r.arrives(t, "node-1", "client-2", 0, 0)
	r.clients = r.clients[:1]
	r.signal(t, "client-2", syscall.SIGKILL).Wait() // its pod is gone, and nothing waits for another
	r.until(t, func() bool { _, err := r.Address("client-2"); return err != nil })
	if _, err := r.Ping(t.Context(), Ping{From: "client-2", To: "node-1"}); !errors.Is(err, ErrAgent) {
		t.Errorf("a probe of a client that is gone: %v", err)
	}
	if got := r.Rules(); !slices.EqualFunc(got, []Rule{rule}, func(a, b Rule) bool { return a.Fault == b.Fault }) {
		t.Errorf("rules %+v", got)
	}
	if err := r.Render(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r.arrives(t, "client-1", "node-1", 5, 5)

	// The packets of a connection to a service have the service's address as their source.
	r.leads = map[string]string{"node-1": "service"}
	if err := r.Render(t.Context(), []Rule{{Fault: "f2", Do: Drop, Links: []Link{{From: []string{"node-1"}, To: []string{Clients}}}}}); err != nil {
		t.Fatal(err)
	}
	at, err := r.Address("client-1")
	if err != nil {
		t.Fatal(err)
	}
	dial := func(from string) error {
		return r.star.in(from, func() error {
			conn, err := net.DialTimeout("tcp4", netip.AddrPortFrom(at, ProbePort).String(), 200*time.Millisecond)
			if err == nil {
				conn.Close()
			}
			return err
		})
	}
	if dial("service") == nil || dial("node-1") == nil || dial("node-2") != nil {
		t.Errorf("from the service %v, from its node %v, from another %v", dial("service"), dial("node-1"), dial("node-2"))
	}
	own, err := r.Address("node-1")
	h, failed := r.Hits("f2")
	if err := errors.Join(err, failed); err != nil || h.Servers[own].Packets != h.Hit.Packets || h.Probes.Packets < 2 {
		t.Errorf("hits of %s: %+v, %v", own, h, err)
	}
}

// Each end of a link treats the packets that arrive there, and probes see it. An agent that is killed
// is followed by one that treats them too.
func TestRemoteTreats(t *testing.T) {
	if !hosttest.Inside(t) {
		return
	}
	r := newRemote(t)
	if missing := r.Missing(Queue); missing != "" {
		hosttest.Skip(t, missing)
	}
	const probes = 200
	ping := func(from, to string) Pings {
		p, err := r.Ping(t.Context(), Ping{From: from, To: to, Count: probes, Interval: 200 * time.Microsecond, Wait: 200 * time.Millisecond, Linger: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	fastest := func(p Pings) time.Duration {
		if len(p.There) == 0 {
			return 0
		}
		return slices.Min(p.There)
	}
	for _, test := range []struct {
		how  netqueue.Treatment
		both bool
		sees func(there, back Pings) bool // from node-1 to node-2, and from node-2 to node-1
	}{
		{netqueue.Treatment{Do: netqueue.Delay, Percent: 100, Delay: 50 * time.Millisecond}, false, func(there, back Pings) bool {
			return fastest(there) >= 45*time.Millisecond && fastest(there) < 70*time.Millisecond && fastest(back) < 20*time.Millisecond
		}},
		{netqueue.Treatment{Do: netqueue.Drop, Percent: 100}, true, func(there, back Pings) bool { return there.Arrived == 0 && back.Arrived == 0 }},
		{netqueue.Treatment{Do: netqueue.Duplicate, Percent: 100}, false, func(there, back Pings) bool { return there.Duplicated >= probes && there.Arrived == probes }},
		{netqueue.Treatment{Do: netqueue.Delay, Percent: 30, Delay: 5 * time.Millisecond, Seed: 1}, false, func(there, back Pings) bool { return there.Reordered > 20 && back.Reordered == 0 }},
		{netqueue.Treatment{Do: netqueue.Corrupt, Percent: 50, Silent: true, Seed: 1}, false, func(there, back Pings) bool { return there.Corrupted > 60 && there.Received < 140 }},
		{netqueue.Treatment{Do: netqueue.Corrupt, Percent: 50, Seed: 1}, false, func(there, back Pings) bool {
			wrong, err := r.ChecksumErrors("node-2")
			return err == nil && wrong > 60 && there.Arrived < 140
		}},
	} {
		ping("node-1", "node-2") // so that the clocks are known
		ping("node-2", "node-1")
		n, err := r.Queue()
		if err == nil {
			err = r.Treat(n, test.how)
		}
		links := []Link{{From: []string{"node-1"}, To: []string{"node-2"}}}
		if test.both {
			links = both("node-1", "node-2")
		}
		if err == nil {
			err = r.Render(t.Context(), []Rule{{Fault: "f1", Do: Queue, Queue: n, Links: links}})
		}
		if err != nil {
			t.Fatal(err)
		}
		there, back := ping("node-1", "node-2"), ping("node-2", "node-1")
		c, err := r.Counts(n)
		if !test.sees(there, back) || err != nil || !c.Treated || c.Probes < probes || c.Matched > 0 || c.Overflown > 0 {
			there.RTT, back.RTT = nil, nil
			t.Errorf("%+v: %+v there, %+v back; %+v, %v", test.how, there, back, c, err)
		}
		if other := ping("node-1", "node-3"); other.Received != probes || other.Duplicated+other.Reordered > 0 {
			t.Errorf("%+v: another link: %+v", test.how, other)
		}
		if test.both {
			r.signal(t, "node-2", syscall.SIGKILL).Wait()
			r.until(t, func() bool {
				p, err := r.Ping(t.Context(), Ping{From: "node-1", To: "node-2", Wait: 50 * time.Millisecond})
				c, counted := r.Counts(n)
				return err == nil && counted == nil && p.Arrived == 0 && c.Probes >= 5
			})
		}
		if err := errors.Join(r.Render(t.Context(), nil), r.Release(n)); err != nil {
			t.Fatal(err)
		}
		if c, err := r.Counts(n); err != nil || c.Treated {
			t.Errorf("%+v is not over: %+v, %v", test.how, c, err)
		}
		r.arrives(t, "node-1", "node-2", 5, 5)
	}
}

// An agent that hangs delays what it is asked, and nothing more: the others have shown their part.
func TestRemoteHangs(t *testing.T) {
	if !hosttest.Inside(t) {
		return
	}
	r := newRemote(t)
	r.bound = 2 * time.Second
	if err := r.Render(t.Context(), []Rule{{Fault: "f1", Do: Drop, Links: both("node-1", "node-2")}}); err != nil {
		t.Fatal(err)
	}
	hung := r.signal(t, "node-2", syscall.SIGSTOP)
	if err := r.Render(t.Context(), nil); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v; want %v", err, ErrNoAnswer)
	}
	hung.Process.Kill()
	hung.Wait()
	r.until(t, func() bool { return r.Render(t.Context(), nil) == nil })
	r.arrives(t, "node-1", "node-2", 5, 5)
	r.arrives(t, "node-2", "node-1", 5, 5)
}

// A fault of other nodes is healed while a node is down, and no fault begins then.
func TestRemoteWithoutANode(t *testing.T) {
	if !hosttest.Inside(t) {
		return
	}
	r := newRemote(t)
	if missing := r.Missing(Queue); missing != "" {
		hosttest.Skip(t, missing)
	}
	how := netqueue.Treatment{Do: netqueue.Drop, Percent: 100}
	rules := []Rule{{Fault: "f1", Do: Queue, Queue: 1, Links: both("node-1", "node-2")}}
	other := []Rule{{Fault: "f2", Do: Drop, Links: both("node-1", "node-3")}}
	if err := errors.Join(r.Treat(1, how), r.Render(t.Context(), slices.Concat(rules, other))); err != nil {
		t.Fatal(err)
	}
	r.arrives(t, "node-1", "node-2", 0, 0)
	r.mu.Lock()
	r.down = "node-3"
	r.mu.Unlock()
	r.signal(t, "node-3", syscall.SIGKILL).Wait()
	if err := errors.Join(r.Render(t.Context(), other), r.Release(1), r.Render(t.Context(), nil)); err != nil {
		t.Error(err)
	}
	r.arrives(t, "node-1", "node-2", 5, 5)
	r.arrives(t, "node-2", "node-1", 5, 5)
	if c, err := r.Counts(1); err != nil || c.Treated {
		t.Errorf("%+v, %v", c, err)
	}
	if err := r.Render(t.Context(), rules); err == nil || !strings.Contains(err.Error(), "network of node-3") || !strings.Contains(err.Error(), "it has no pod") {
		t.Errorf("rules without a node: %v", err)
	}
	r.arrives(t, "node-1", "node-2", 5, 5)
}

// Connections between two nodes are ended, and those of other links stay.
func TestRemoteResets(t *testing.T) {
	if !hosttest.Inside(t) {
		return
	}
	r := newRemote(t)
	connected := func(from, to string) (near, far net.Conn) {
		at, err := r.star.Address(to)
		if err != nil {
			t.Fatal(err)
		}
		var l net.Listener
		err = r.star.in(to, func() (err error) {
			l, err = net.Listen("tcp4", netip.AddrPortFrom(at, 0).String())
			return err
		})
		if err == nil {
			err = r.star.in(from, func() (err error) {
				near, err = net.Dial("tcp4", l.Addr().String())
				return err
			})
		}
		if err == nil {
			far, err = l.Accept()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close(); near.Close(); far.Close() })
		return near, far
	}
	near, far := connected("node-1", "node-2")
	other, _ := connected("node-1", "node-3")
	ends, err := r.Sockets(both("node-1", "node-2"))
	if err != nil || len(ends) != 2 || ends[0].Host != "node-1" || ends[1].Host != "node-2" || !ends[0].Same(ends[1]) {
		t.Fatalf("%+v, %v; want both ends of one connection", ends, err)
	}
	if done, err := r.Reset(ends); err != nil || len(done) != 1 || !done[0].Same(ends[0]) {
		t.Errorf("%+v, %v; want one connection", done, err)
	}
	for _, conn := range []net.Conn{near, far} {
		conn.SetReadDeadline(time.Now().Add(hosttest.Bound))
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.ECONNABORTED) {
			t.Errorf("%s: %v; want the end by a reset", conn.LocalAddr(), err)
		}
	}
	if left, err := r.Sockets([]Link{{From: []string{"node-1"}, To: []string{"node-2", "node-3"}}}); err != nil || len(left) != 1 || left[0].Local.String() != other.LocalAddr().String() {
		t.Errorf("%+v, %v; want the other connection", left, err)
	}
}

// The packets of the system that a rule hits are counted by the nodes at their ends.
func TestRemoteHits(t *testing.T) {
	if !hosttest.Inside(t) {
		return
	}
	r := newRemote(t)
	if err := r.Render(t.Context(), []Rule{{Fault: "f1", Do: Drop, Links: both("node-1", "node-2")}}); err != nil {
		t.Fatal(err)
	}
	err := r.star.in("node-1", func() error {
		for _, to := range []string{"node-2", "node-3"} {
			at, err := r.star.Address(to)
			if err != nil {
				return err
			}
			conn, err := net.Dial("udp4", netip.AddrPortFrom(at, 4000).String())
			if err != nil {
				return err
			}
			conn.Write([]byte("hello"))
			conn.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	one, err := r.Address("node-1")
	if err != nil {
		t.Fatal(err)
	}
	r.until(t, func() bool { // the one packet is counted, at both nodes
		h, err := r.Hits("f1")
		return err == nil && h.Hit.Packets == 1 && h.Servers[one].Packets == 1
	})
}
