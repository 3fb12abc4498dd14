package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// Client faults act on the drivers and on their connections.
func clientKinds() []Kind {
	return []Kind{
		disconnectAll(),
		reconnectStorm(),
		slowReader(),
		halfOpen(),
		pauseClient(),
		killClient(),
	}
}

// Clients are the drivers of an experiment, as far as client faults need them.
type Clients interface {
	// Driver answers the driver process of that name.
	Driver(name string) (Driver, error)
	// Connected counts those of the clients with these ids that say, by their
	// SDK, that they are connected.
	Connected(ids []string) int
	// Ended counts, by id, the connections of those clients that have ended, as
	// they say by their SDK.
	Ended(ids []string) map[string]int
}

// A Driver is a process that runs clients.
type Driver interface {
	Name() string
	// State is the process's: running, frozen, or how it exited.
	State() (string, error)
	// Set brings it into a state: Running, Frozen or Killed. One that was killed
	// stays so.
	Set(ctx context.Context, want ProcessState) error
	// Connections counts those that it has established.
	Connections() (int, error)
	// Lines counts what it has reported.
	Lines() int64
}

// socketed is a node whose kernel tells the connections of its clients: by
// their address, the bytes that the client has not taken yet.
type socketed interface {
	Sockets(ctx context.Context) (map[string]int64, error)
}

// sockets are the connections that the node's kernel shows; the error is ErrUnsupported
// where nobody here can look into it, as of a broker on another host.
func sockets(ctx context.Context, n Node) (map[string]int64, error) {
	kernel, ok := n.(socketed)
	if !ok {
		return nil, fmt.Errorf("%w: the connections of a node cannot be read here", ErrUnsupported)
	}
	return kernel.Sockets(ctx)
}

// A crowd are the connections that a fault is about, as they were when it was
// planned.
type crowd struct {
	nodes   map[string]Node
	conns   []tap.Connection
	open    func() []tap.Connection // those that the tap holds now
	halves  func() []tap.Connection // those of which it holds the end to the node alone
	shut    func() (int64, error)   // how many of them take no more from the node
	over    *endings
	clients Clients
}

// endings are the connections that a node's kernel shows no more, and the tap does not
// hold. One with the same addresses is then another one: of many clients that come back
// some have an address that was another's.
type endings struct {
	mu  sync.Mutex
	has map[tap.Connection]bool
}

func (t Target) crowd(r tap.Rule) crowd {
	open := func() []tap.Connection { return t.Site.Tap.Connections(r) }
	c := crowd{nodes: map[string]Node{}, conns: open(), open: open, clients: t.Site.Clients,
		halves: func() []tap.Connection { return t.Site.Tap.Halves(r) }, shut: func() (int64, error) { return t.Site.Tap.Shut(r) },
		over: &endings{has: map[tap.Connection]bool{}}}
	for _, n := range slices.Concat(t.Nodes, t.Peers) {
		c.nodes[n.Name()] = n
	}
	return c
}

func (c crowd) ids() (out []string) {
	for _, conn := range c.conns {
		out = append(out, conn.Client)
	}
	return out
}

// look asks the kernel of every node which of the connections are established there, and how
// many bytes wait in each for the client to take them.
func (c crowd) look(ctx context.Context) (waits map[tap.Connection]int64, err error) {
	by := map[string]map[string]int64{}
	waits = map[tap.Connection]int64{}
	c.over.mu.Lock()
	defer c.over.mu.Unlock()
	held := map[tap.Connection]bool{}
	for _, conn := range c.open() {
		held[conn] = true
	}
	for _, conn := range c.conns {
		if by[conn.Node] == nil {
			if by[conn.Node], err = sockets(ctx, c.nodes[conn.Node]); err != nil {
				return nil, err
			}
		}
		waiting, there := by[conn.Node][conn.Peer]
		c.over.has[conn] = c.over.has[conn] || !there && !held[conn]
		if there && !c.over.has[conn] {
			waits[conn] = waiting
		}
	}
	return waits, nil
}

// held are the connections with an end to the node in the tap. The bytes in them are not known.
func (c crowd) held(context.Context) (waits map[tap.Connection]int64, err error) {
	waits = map[tap.Connection]int64{}
	now := map[tap.Connection]bool{}
	for _, conn := range slices.Concat(c.open(), c.halves()) {
		now[conn] = true
	}
	for _, conn := range c.conns {
		if now[conn] {
			waits[conn] = 0
		}
	}
	return waits, nil
}

// hidden reports whether the kernel of some node cannot be asked: it runs elsewhere. Each
// node is asked once, as it may have a thousand of the connections.
func (c crowd) hidden() bool {
	asked := map[string]bool{}
	for _, conn := range c.conns {
		if asked[conn.Node] {
			continue
		}
		asked[conn.Node] = true
		if _, err := sockets(context.Background(), c.nodes[conn.Node]); errors.Is(err, ErrUnsupported) {
			return true
		}
	}
	return false
}

// ended is the effect of closing connections: the nodes' kernels show none of them any
// more. Clients say it if a node runs elsewhere.
func (c crowd) ended() Proof {
	if c.clients != nil && c.hidden() {
		return c.saidEnded()
	}
	return Proof{
		Name: fmt.Sprintf("the %d connections, as the nodes' kernels show them", len(c.conns)),
		Role: history.RoleEffect, Want: history.WantState, Expect: allEnded,
		Read: func(ctx context.Context) history.Sample {
			waits, err := c.look(ctx)
			s := sampleOf(err)
			switch total, open := len(c.conns), len(waits); {
			case total == 0:
				s.State = "there are none"
			case open == 0:
				s.State = allEnded
			case open == total:
				s.State = "established"
			default:
				s.State = fmt.Sprintf("%d of %d ended", total-open, total)
			}
			return s
		},
	}
}

// saidEnded is that each client has lost the connection that it had.
func (c crowd) saidEnded() Proof {
	ids := c.ids()
	before := c.clients.Ended(ids)
	return Proof{
		Name: fmt.Sprintf("the connections of %d clients, as they say themselves", len(before)),
		Role: history.RoleEffect, Want: history.WantState, Expect: allEnded,
		Read: func(context.Context) history.Sample {
			ended := 0
			for id, n := range c.clients.Ended(ids) {
				if n > before[id] {
					ended++
				}
			}
			s := history.Sample{OK: true, State: fmt.Sprintf("%d of %d ended", ended, len(before))}
			switch {
			case len(before) == 0:
				s.State = "there are none"
			case ended == 0:
				s.State = "established"
			case ended == len(before):
				s.State = allEnded
			}
			return s
		},
	}
}

const allEnded = "ended"

func sampleOf(err error) history.Sample {
	if err != nil {
		return failed(err)
	}
	return history.Sample{OK: true}
}

// connectionFault is what the faults on connections have in common.
func (t Target) connectionFault(r tap.Rule, effects ...func(crowd) Proof) (*Injection, error) {
	in, err := t.tapped(&r)
	if err != nil {
		return nil, err
	}
	in.Proofs = t.acted("connections that the tap acted on", "connections", in.id)
	crowd := t.crowd(r)
	for _, effect := range effects {
		in.Proofs = append(in.Proofs, effect(crowd))
	}
	in.Proofs = append(in.Proofs, t.bystanders(r)...)
	return in, nil
}

// connectionKind is what the kinds of faults on connections have in common.
func connectionKind(typ, summary string, params []Param, make func(Params) (Fault, error)) Kind {
	return Kind{
		Type: typ, Arms: "tap", Summary: summary, Params: params,
		Targets: tapTargets(), Example: Example{Target: history.TargetClients, Params: map[string]any{"duration_s": 4.0}},
		New: make, Available: tapAvailable,
	}
}
