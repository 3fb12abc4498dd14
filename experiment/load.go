package experiment

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
)

// A load is the clients of a run: sessions of workloads, each with its drivers, and
// what is seen of them as they go.
type load struct {
	*spec
	*record
	stage     *stage
	live      *live
	halted    <-chan struct{}
	landings  func() []history.Landing // of all faults so far
	exploring sync.WaitGroup           // run_client calls that begin, run or drain

	mu       sync.Mutex // of what follows
	closed   bool       // no workload by hand begins any more
	sessions []*session
	drivers  []*running
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
	user, password := l.stage.cluster.Credentials()
	mailboxS := 0
	if l.start.Cluster.Foreign() {
		mailboxS = foreignMailboxS
	}
	return &planner{
		rec: l.rec, run: l.header, number: s.number, sdk: s.sdk.String(), protocol: s.protocol,
		transport: s.transport, ca: l.stage.cluster.CA(),
		dedupes: s.sdk.Dedupes, cannot: s.sdk.Cannot,
		endpoints: l.stage.reach(s.protocol, s.transport), user: user, password: password, rate: s.rate, mailboxS: mailboxS,
	}
}
