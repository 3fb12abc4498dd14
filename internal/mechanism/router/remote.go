package router

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/rpc"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/offset"
)

// RemoteOptions say between whom a [Remote] is.
type RemoteOptions struct {
	Nodes   func() []string // their names
	Clients func() []string // names of the hosts of clients, those of now
	Others  func() bool     // there are clients elsewhere, about which no rule can be
	// Attach starts [Serve] in the network namespace of a host. It returns the agent's streams
	// and the host's address for other hosts. Closing the streams ends reads and writes.
	Attach func(ctx context.Context, host string) (io.ReadWriteCloser, netip.Addr, error)
	// Reach returns the probe port of a node for this machine, at the address by which peers know
	// the node.
	Reach func(node string) (netip.AddrPort, error)
	// Witness is the host of the probes from this machine. No rule is about it.
	Witness string
	// Injector does what rules and queues ask for, in place of the agents; nil for the agents.
	Injector Injector
}

// A Remote shows rules between hosts of other machines, nodes and clients, treats the packets that they
// queue, and probes the links between them. Each host has an agent in its network namespace, attached
// on demand. Its rules are gone with it, so the next agent of a node shows them again. With an
// [Injector] agents probe alone. Neither routes nor cables can be acted on.
type Remote struct {
	opt   RemoteOptions
	bound time.Duration // see agentBound

	mu     sync.Mutex
	agents map[string]*attached
	own    map[string]netip.Addr // of each host, as its last agent had it
	rules  []Rule
	queues map[uint16]netqueue.Treatment
	queue  uint16                        // the last number
	burst  uint64                        // the last session
	clocks map[[2]string]offset.Estimate // of links
	closed bool
}

// An attached is the agent of a host.
type attached struct {
	*rpc.Client
	own netip.Addr
}

// ErrRemote is that a network of other machines cannot do something.
var ErrRemote = fmt.Errorf("%w between nodes of other machines", errors.ErrUnsupported)

// ErrAgent is that a host could not be asked. It tells nothing of the network.
var ErrAgent = errors.New("the agent of a host is away")

// ErrNoAnswer is that an agent hangs.
var ErrNoAnswer = fmt.Errorf("%w: it does not answer", ErrAgent)

var errClosed = errors.New("the network of the nodes is closed")

// NewRemote attaches nothing yet.
func NewRemote(opt RemoteOptions) *Remote {
	return &Remote{
		opt: opt, bound: agentBound, agents: map[string]*attached{}, own: map[string]netip.Addr{},
		queues: map[uint16]netqueue.Treatment{}, clocks: map[[2]string]offset.Estimate{},
	}
}

// Close ends the agents, and with them their rules.
func (r *Remote) Close() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.rules = true, nil
	clear(r.queues)
	for _, a := range r.agents {
		err = errors.Join(err, a.Close())
	}
	clear(r.agents)
	return err
}

// Unroute is unsupported.
func (*Remote) Unroute(context.Context, string, []string) error { return ErrRemote }

// Route is unsupported.
func (*Remote) Route(string, string) (string, error) { return "", ErrRemote }

// NoRoute is unsupported.
func (*Remote) NoRoute(string) (uint64, error) { return 0, ErrRemote }

// Ends is unsupported.
func (*Remote) Ends([]Link) ([]End, error) { return nil, ErrRemote }
