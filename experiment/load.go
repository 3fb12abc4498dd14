package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A load is the clients of a run: sessions of workloads, each with its drivers, and
// what is seen of them as they go.
type load struct {
	*spec
	*record
	system    system
	live      *live
	halted    <-chan struct{}
	landings  func() []history.Landing // of all faults so far
	exploring sync.WaitGroup           // run_client calls that begin, run or drain

	mu       sync.Mutex // of what follows
	closed   bool       // no workload by hand begins any more
	sessions []*session
	drivers  []*running
}

// A system is the brokers as clients know them.
type system interface {
	reach(protocol, transport string) []string // the endpoint of each node; "" for none
	credentials() (user, password string)
	ca() string // file of the certificate to trust; "" without TLS
	conditions(sdk clients.SDK, protocol string) scenarios.Conditions
	// drive starts a driver on a host of its own.
	drive(ctx context.Context, name string, cmd clients.Program, spec contract.Spec) (driver, error)
	// greet connects to a node as a client does, and returns the node's answer.
	greet(ctx context.Context, protocol, transport, address string) (said string, err error)
	lost() bool // what follows says nothing of the broker
	// unreleased counts the messages of QoS 2 that processes answered by PUBREC, and that the
	// broker has not released; 0 if no packets are recorded.
	unreleased(processes []int32) int
	// stored asks a node how many messages of a topic are stored. [cluster.ErrUnsupported]: no
	// node of this flavor says.
	stored(ctx context.Context, node int, topic string) (int64, error)
	width() int // nodes
}

// A side is the drivers of all publishers, or of all subscribers, of a workload.
type side interface {
	Do(contract.Command) error
	Done() <-chan struct{}
	Err() error // valid when it is done
	Close() error
	Shot() bool // a fault killed it
}

// A driver is a process of clients. Faults act on it as well.
type driver interface {
	side
	State() (string, error)
	Set(ctx context.Context, want string) error
	Connections() (int, error)
	Lines() int64
}

func (l *load) add(s *session) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.load, s.number, s.state = l, len(l.sessions), stateRunning
	l.sessions = append(l.sessions, s)
	if l.scenario == nil {
		l.rec.Workload(history.Workload{Scenario: s.name, SDK: s.sdk.String(), Protocol: s.protocol, Claims: s.claims, ExpiryS: s.expiryS})
	}
	return s
}

// waits says for what drains wait, "" if none does.
func (l *load) waits() string {
	l.mu.Lock()
	sessions := slices.Clone(l.sessions)
	l.mu.Unlock()
	var list []string
	for _, s := range sessions {
		if text := s.waits(); text != "" {
			list = append(list, text)
		}
	}
	return strings.Join(list, "; ")
}

func (l *load) running() []*session {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*session
	for _, s := range l.sessions {
		if s.state == stateRunning {
			out = append(out, s)
		}
	}
	return out
}

// byHand runs a workload by hand in the background, unless the load is closed.
func (l *load) byHand(work func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fmt.Errorf("run_client: %s is being stopped; start another cluster by cluster_start", l.env.ID)
	}
	l.exploring.Go(work)
	return nil
}

// close lets no workload by hand begin any more, and returns when the last one has
// stopped or drained.
func (l *load) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.exploring.Wait()
}

// status of every session, for people and agents.
func (l *load) status(counts keeper.Counts) []keeper.ClientStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []keeper.ClientStatus{}
	for _, s := range l.sessions {
		out = append(out, s.status(counts))
	}
	return out
}

func (l *load) planner(s *session) *planner {
	user, password := l.system.credentials()
	mailboxS := 0
	if l.start.Cluster.Foreign() {
		mailboxS = foreignMailboxS
	}
	return &planner{
		rec: l.rec, run: l.header, number: s.number, sdk: s.sdk.String(), protocol: s.protocol,
		transport: s.transport, ca: l.system.ca(),
		dedupes: s.sdk.Dedupes, cannot: s.sdk.Cannot,
		endpoints: l.system.reach(s.protocol, s.transport), user: user, password: password, rate: s.rate, mailboxS: mailboxS,
	}
}
