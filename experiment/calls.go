package experiment

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
)

// The keeper serves these calls, and Logs, Metrics and Progress.
var _ keeper.Experiment = (*Experiment)(nil)

// started returns the nemesis once the cluster has started.
func (e *Experiment) started() (*nemesis, error) {
	if n := e.nemesis.Load(); n != nil {
		return n, nil
	}
	return nil, errors.New("the cluster has not started yet; call cluster_status")
}

// Stop heals, ends the work and judges what happened until now. It returns
// when all is sealed.
func (e *Experiment) Stop(ctx context.Context, caller keeper.Caller) (keeper.Status, error) {
	e.journalled(journal.KindStop, caller, nil)
	e.halt()
	select {
	case <-e.over:
	case <-ctx.Done():
	}
	return e.Status(ctx), nil
}

// Inject puts one fault in place. It returns once the fault is applied and
// first measured; healing is the engine's, at the end of its bounded time.
func (e *Experiment) Inject(ctx context.Context, in keeper.Inject) (keeper.FaultStatus, error) {
	n, err := e.started()
	if err != nil {
		return keeper.FaultStatus{}, fmt.Errorf("inject %s: %w", in.Type, err)
	}
	return n.inject(ctx, in)
}

// Heal heals one fault now and returns its final landing.
func (e *Experiment) Heal(ctx context.Context, h keeper.Heal) (keeper.FaultStatus, error) {
	n, err := e.started()
	if err != nil {
		return keeper.FaultStatus{}, fmt.Errorf("heal %s: %w", h.Fault, err)
	}
	return n.heal(ctx, h)
}

// HealAll heals every fault in place now, for a reason.
func (e *Experiment) HealAll(ctx context.Context, why error) error {
	n := e.nemesis.Load()
	if n == nil {
		return nil
	}
	return n.engine.HealAllFor(ctx, why)
}

// RunClient runs a scenario's workload with one SDK on the cluster as it is,
// for as long as asked for, then drains it. It returns at once; the
// status says how far it is.
func (e *Experiment) RunClient(_ context.Context, in keeper.RunClient) (keeper.ClientStatus, error) {
	e.journalled(journal.KindCall, in.Caller, nil)
	if e.scenario != nil {
		return keeper.ClientStatus{}, fmt.Errorf("run_client: %s runs scenario %s, which brings its own clients; start a cluster by cluster_start to explore by hand", e.env.ID, e.scenario.Name)
	}
	if _, err := e.started(); err != nil {
		return keeper.ClientStatus{}, fmt.Errorf("run_client: %w", err)
	}
	if err := e.suits(in.Envelope); err != nil {
		return keeper.ClientStatus{}, fmt.Errorf("run_client: %w", err)
	}
	return e.load.runClient(in)
}

// Forward dials a node's port from inside the experiment.
func (e *Experiment) Forward(ctx context.Context, node string, port int) (net.Conn, error) {
	if e.nemesis.Load() == nil {
		return nil, fmt.Errorf("forward %s: the cluster has not started yet", node)
	}
	n, err := e.stage.node(node)
	if err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", net.JoinHostPort(n.Address(), fmt.Sprint(port)))
}

// Journal writes an answered call into the run's journal.
func (e *Experiment) Journal(_ context.Context, caller keeper.Caller, answer any) error {
	_, err := e.journal.Append(journal.KindAnswer, callRecord{caller, answer})
	return err
}

// Status is all that is known about the experiment now.
func (e *Experiment) Status(ctx context.Context) keeper.Status {
	counts, n := e.load.live.snapshot(e.clock.Now()), e.nemesis.Load()
	clients := e.load.status(counts)
	e.mu.Lock()
	st := keeper.Status{
		ID: e.env.ID, Dir: e.env.Dir, Phase: e.phase, Live: e.phase != history.PhaseDone,
		Elapsed: e.clock.Now().Seconds(), Expected: e.expected(), Started: e.began,
		Counts: counts, Error: strings.Join(e.notes, "; "),
		Nodes: []keeper.NodeStatus{}, Faults: []keeper.FaultStatus{}, Clients: clients,
	}
	e.mu.Unlock()
	if e.scenario != nil {
		st.Scenario = e.scenario.Name
	}
	if summary := e.summary.Load(); summary != nil {
		st.Root, st.Verdict = summary.Root, &summary.Verdict
	}
	if n == nil {
		return st
	}
	info := e.stage.info
	st.Cluster = &info
	for _, l := range n.engine.Landings() {
		st.Faults = append(st.Faults, n.status(l))
	}
	if st.Phase != history.PhaseJudge && st.Phase != history.PhaseDone {
		st.Nodes = e.nodes(ctx, n)
	}
	return st
}

func (e *Experiment) nodes(ctx context.Context, n *nemesis) []keeper.NodeStatus {
	disturbed, views := n.disturbed(), e.stage.cluster.Views(ctx)
	out := []keeper.NodeStatus{}
	for _, node := range e.stage.cluster.Nodes() {
		state, err := node.State(ctx)
		if err != nil {
			state = err.Error()
		}
		name := node.Name()
		out = append(out, keeper.NodeStatus{
			Name: name, State: state, MQTT: node.MQTT(), Version: node.Version(),
			Roles: notNil(views[name]), Faults: notNil(disturbed[name]),
		})
	}
	return out
}

// complete adds to what people are told the counts, the faults in place, and how far the
// run is.
func (e *Experiment) complete(p *keeper.Progress) {
	p.Counts = e.load.live.snapshot(time.Duration(p.At * float64(time.Second)))
	if n := e.nemesis.Load(); n != nil {
		p.Faults = n.inPlace()
	}
	p.Waits = e.load.waits()
	if expected := e.expected(); expected > 0 {
		p.Share = min(1, p.At/expected)
	}
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
