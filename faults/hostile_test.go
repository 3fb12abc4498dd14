package faults

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/hostile"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// Hostile clients land on a broker that reacts to them. They do not land on a
// broker that reads everything and never answers, or on a node whose kernel
// shows no connection of theirs.
func TestHostileFaults(t *testing.T) {
	t.Parallel()
	patient := hosttest.Serve(t, func(c net.Conn) {
		io.Copy(io.Discard, c)
		<-t.Context().Done() // to close it would be an answer
	})
	for _, k := range hostileKinds() {
		for _, want := range []history.LandingState{history.Landed, history.NotLanded} {
			t.Run(k.Type+" is "+string(want), func(t *testing.T) {
				t.Parallel()
				l := newTapLab(t)
				at := l.broker.address
				if want == history.NotLanded {
					at = patient
				}
				crowd := hostile.NewCrowd(func(ctx context.Context, _ string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, "tcp", at)
				}, hostile.Login{})
				target := l.clients()
				target.Clients, target.Nodes, target.Peers = nil, target.Peers, nil
				target.Site.Hostile = crowd
				l.layer = NewHostileLayer(target.Nodes[0], crowd)
				l.lands(k.Type, map[string]any{"duration_s": 1.0}, target, want)
				if crowd.Busy("f1") {
					t.Error("healed, and its clients are still there")
				}
			})
		}
	}
}

// Malformed packets have not landed when this host lacks the files for every other conversation.
func TestMalformedThatIsNotSaid(t *testing.T) {
	t.Parallel()
	l := newTapLab(t)
	var dials atomic.Int64
	crowd := hostile.NewCrowd(func(ctx context.Context, _ string) (net.Conn, error) {
		if dials.Add(1)%2 == 0 {
			return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}
		}
		return new(net.Dialer).DialContext(ctx, "tcp", l.broker.address)
	}, hostile.Login{})
	target := l.clients()
	target.Clients, target.Nodes, target.Peers = nil, target.Peers, nil
	target.Site.Hostile = crowd
	l.layer = NewHostileLayer(target.Nodes[0], crowd)
	l.lands("malformed", map[string]any{"duration_s": 1.0}, target, history.NotLanded)
	if n := crowd.Tally(target.Nodes[0].Name(), "f1"); len(n.Suspects) > 0 {
		t.Errorf("the node was never gone, and is said to be after %v", n.Suspects)
	}
}

// A node that ends of a flood has had it, also if somebody else runs it and nobody can say
// that it ended.
func TestFloodThatEndsItsNode(t *testing.T) {
	l := newTapLab(t)
	crowd := hostile.NewCrowd(func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.broker.address)
	}, hostile.Login{})
	t.Cleanup(crowd.Close)
	target := l.clients()
	target.Clients, target.Nodes, target.Site.Hostile = nil, target.Peers, crowd
	in, err := ConnectionFlood{hostile.Rule{Do: hostile.Flood, Connections: 5, Handshake: hostile.NoHandshake}}.Plan(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	in.Entries[0].Fault = "f1"
	if err := NewHostileLayer(target.Nodes[0], crowd).Render(t.Context(), in.Entries); err != nil {
		t.Fatal(err)
	}
	effect := in.Proofs[1]
	l.await(func() bool { return effect.Read(t.Context()).Value == 5 })
	node := target.Nodes[0].(*tapNode)
	node.state = "exited: signal 9 (killed)"
	if s := effect.Read(t.Context()); !s.OK || s.Value != 5 {
		t.Errorf("%+v, want 5", s)
	}
	target.Nodes = []Node{somebodyElses{node}}
	in, err = ConnectionFlood{hostile.Rule{Do: hostile.Flood, Connections: 5, Handshake: hostile.NoHandshake}}.Plan(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	in.Entries[0].Fault = "f1"
	theirs := in.Proofs[1]
	l.await(func() bool { return theirs.Read(t.Context()).Value == 5 })
	crowd.Close()
	if s := theirs.Read(t.Context()); !s.OK || s.Value != 5 {
		t.Errorf("somebody else's: %+v, want 5", s)
	}
	if _, err := (ConnectionFlood{hostile.Rule{Connections: 1 << 30}}).Plan(t.Context(), target); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("%v", err)
	}
}

// A broker that somebody else runs gets no clients that leave something behind.
func TestHostileToSomebodyElses(t *testing.T) {
	target := newTapLab(t).clients()
	target.Clients, target.Site.Hostile = nil, hostile.NewCrowd(nil, hostile.Login{})
	target.Nodes = []Node{&fakeNode{name: "node-1", foreign: true}}
	for _, k := range hostileKinds() {
		req, err := Parse(k.Type, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = req.Fault.Plan(t.Context(), target)
		if refused := errors.Is(err, ErrUnsupported) && strings.Contains(err.Error(), "must name the process"); refused != k.Leaves || err != nil && !refused {
			t.Errorf("%s: %v", k.Type, err)
		}
	}
}

// A flood of an external broker lands by what its own clients see, and does
// not where nobody lets them in. Its kernel is not asked: another one may be read.
func TestFloodOfSomebodyElses(t *testing.T) {
	t.Parallel()
	for _, want := range []history.LandingState{history.Landed, history.NotLanded} {
		for name, node := range map[string]func(Node) Node{
			"not named": func(n Node) Node { return somebodyElses{n} },
			"named":     func(n Node) Node { return elsewhereNamed{n} },
		} {
			t.Run(name+" is "+string(want), func(t *testing.T) {
				t.Parallel()
				l := newTapLab(t)
				crowd := hostile.NewCrowd(func(ctx context.Context, _ string) (net.Conn, error) {
					if want == history.NotLanded {
						return nil, syscall.ECONNREFUSED
					}
					return new(net.Dialer).DialContext(ctx, "tcp", l.broker.address)
				}, hostile.Login{})
				target := l.clients()
				target.Clients, target.Nodes, target.Peers = nil, []Node{node(target.Peers[0])}, nil
				target.Site.Hostile = crowd
				l.layer = NewHostileLayer(target.Nodes[0], crowd)
				l.lands("connection_flood", map[string]any{"duration_s": 1.0}, target, want)
			})
		}
	}
}

// A somebodyElses is a node of which nothing is known but its address.
type somebodyElses struct{ Node }

func (n somebodyElses) State(context.Context) (string, error) { return "", ErrUnsupported }

// An elsewhereNamed is a node of a process that the operator named. The connections that are
// seen here are not its own.
type elsewhereNamed struct{ Node }

func (elsewhereNamed) Foreign() map[string]any { return map[string]any{"container": "theirs"} }

func (elsewhereNamed) Sockets(context.Context) (map[string]int64, error) { return nil, nil }
