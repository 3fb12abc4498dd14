package experiment

import (
	"context"
	"strings"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
)

// Status is all that is known about the experiment now.
func (e *Experiment) Status(ctx context.Context) keeper.Status {
	counts, ready := e.live.snapshot(e.clock.Now()), e.ready.Load()
	e.mu.Lock()
	st := keeper.Status{
		ID: e.env.ID, Dir: e.env.Dir, Phase: e.phase, Live: e.phase != history.PhaseDone,
		Elapsed: e.clock.Now().Seconds(), Expected: e.expected(), Started: e.began,
		Counts: counts, Error: strings.Join(e.notes, "; "),
		Nodes: []keeper.NodeStatus{}, Faults: []keeper.FaultStatus{}, Clients: []keeper.ClientStatus{},
	}
	if e.scenario != nil {
		st.Scenario = e.scenario.Name
	}
	if e.summary != nil {
		st.Root, st.Verdict = e.summary.Root, &e.summary.Verdict
	}
	if ready {
		info := e.info
		st.Cluster = &info
	}
	for _, s := range e.sessions {
		st.Clients = append(st.Clients, s.status(counts))
	}
	down := e.phase == history.PhaseJudge || e.phase == history.PhaseDone
	e.mu.Unlock()
	if ready {
		for _, l := range e.engine.Landings() {
			st.Faults = append(st.Faults, e.faultStatus(l))
		}
	}
	if ready && !down {
		st.Nodes = e.nodes(ctx)
	}
	return st
}

func (e *Experiment) nodes(ctx context.Context) []keeper.NodeStatus {
	disturbed, views := e.disturbed(), e.cluster.Views(ctx)
	out := []keeper.NodeStatus{}
	for _, n := range e.cluster.Nodes() {
		state, err := n.State(ctx)
		if err != nil {
			state = err.Error()
		}
		out = append(out, keeper.NodeStatus{
			Name: n.Name(), State: state, MQTT: n.MQTT(), Version: n.Version(),
			Roles: notNil(views[n.Name()]), Faults: notNil(disturbed[n.Name()]),
		})
	}
	return out
}

// Journal writes an answered call into the run's journal.
func (e *Experiment) Journal(_ context.Context, caller keeper.Caller, answer any) error {
	_, err := e.journal.Append(journal.KindAnswer, callRecord{caller, answer})
	return err
}

// A callRecord is one call in the journal, and its answer once there is one.
type callRecord struct {
	keeper.Caller
	Answer any `json:"answer,omitempty"`
}

// journalled writes one entry and answers its number. A journal that cannot
// be written is the harness's failure, and is said.
func (e *Experiment) journalled(kind string, caller keeper.Caller, answer any) int {
	n, err := e.journal.Append(kind, callRecord{caller, answer})
	if err != nil {
		e.harness("write the journal: %v", err)
	}
	return n
}

func (e *Experiment) add(s *session) *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.e, s.number, s.state = e, len(e.sessions), "running"
	e.sessions = append(e.sessions, s)
	if e.scenario == nil {
		e.rec.Workload(history.Workload{Scenario: s.name, SDK: s.sdk.String(), Protocol: s.protocol, Claims: s.claims, ExpiryS: s.expiryS})
	}
	return s
}

func (e *Experiment) running() []*session {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []*session
	for _, s := range e.sessions {
		if s.state == "running" {
			out = append(out, s)
		}
	}
	return out
}

func (e *Experiment) planner(s *session) *planner {
	user, password := e.cluster.Credentials()
	return &planner{
		rec: e.rec, run: e.header, number: s.number, sdk: s.sdk.String(), protocol: s.protocol,
		transport: s.transport, ca: e.cluster.CA(),
		dedupes: s.sdk.Dedupes, cannot: s.sdk.Cannot,
		endpoints: e.reach(s.protocol, s.transport), user: user, password: password, rate: s.rate,
	}
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

var _ keeper.Experiment = (*Experiment)(nil)
