package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
)

func (e *Experiment) newEngine() *faults.Engine {
	return faults.NewEngine(faults.Options{
		Journal: e.journal, Record: e.rec.Record, Clock: e.clock,
		Layer: e.layer, Decide: e.decide, Nodes: e.nodeIndex,
		OnChange: e.landed, Admit: e.admit, Recovery: max(time.Minute, seconds(e.tier.RecoveryS)),
	})
}

// Inject puts one fault in place. It returns once the fault is applied and
// first measured; healing is the engine's, at the end of its bounded time.
func (e *Experiment) Inject(ctx context.Context, in keeper.Inject) (keeper.FaultStatus, error) {
	if !e.ready.Load() {
		return keeper.FaultStatus{}, fmt.Errorf("inject %s: the cluster has not started yet; call cluster_status", in.Type)
	}
	req, err := faults.Parse(in.Type, in.Params)
	if err != nil {
		return keeper.FaultStatus{}, err
	}
	if err := faults.CheckTarget(in.Type, in.Target); err != nil {
		return keeper.FaultStatus{}, err
	}
	target, err := e.target(ctx, in.Target)
	if err != nil {
		return keeper.FaultStatus{}, err
	}
	req.Target = in.Target
	req.JournalCall = e.journalled(journal.KindCall, in.Caller, nil)
	landing, err := e.engine.Inject(context.WithoutCancel(ctx), req, target)
	st := e.faultStatus(landing)
	e.journalled(journal.KindAnswer, in.Caller, st)
	return st, err
}

// Heal heals one fault now and answers its final landing.
func (e *Experiment) Heal(ctx context.Context, h keeper.Heal) (keeper.FaultStatus, error) {
	if !e.ready.Load() {
		return keeper.FaultStatus{}, fmt.Errorf("heal %s: the cluster has not started yet; call cluster_status", h.Fault)
	}
	e.journalled(journal.KindCall, h.Caller, nil)
	landing, err := e.engine.Heal(ctx, h.Fault)
	st := e.faultStatus(landing)
	e.journalled(journal.KindAnswer, h.Caller, st)
	return st, err
}

// topic is one of the workload's, for asking who leads its data.
func (e *Experiment) topic() string {
	streams := e.rec.Tables().Streams
	if len(streams) == 0 {
		return ""
	}
	return streams[0].Topic
}

// disturbed answers the faults in place on each node.
func (e *Experiment) disturbed() map[string][]string {
	out := map[string][]string{}
	if !e.ready.Load() {
		return out
	}
	for _, l := range e.engine.Active() {
		for _, n := range l.Nodes {
			out[n] = append(out[n], l.Fault)
		}
	}
	return out
}

func (e *Experiment) faultStatus(l history.Landing) keeper.FaultStatus {
	st := keeper.FaultStatus{
		ID: l.Fault, Type: l.Type, Target: l.Target, Nodes: l.Nodes,
		State: l.State, Healed: l.Healed, Reasons: l.Reasons,
	}
	if l.Healed == history.HealPending && l.Times.AppliedNS > 0 {
		left := l.Times.AppliedNS + l.Times.DurationNS - e.clock.Now().Nanoseconds()
		st.HealsIn = max(0, float64(left)/1e9)
	}
	return st
}

// landed writes each change of an injection down, so that a keeper's death
// leaves what was proved until then, and tells people.
func (e *Experiment) landed(l history.Landing) {
	if err := e.writeLandings(); err != nil {
		e.harness("write the landings: %v", err)
	}
	e.mu.Lock()
	news := newsOf(l)
	old := e.news[l.Fault]
	e.news[l.Fault] = news
	e.mu.Unlock()
	if news != "" && news != old {
		e.say(fmt.Sprintf("%s %s on %s: %s", l.Fault, l.Type, cmp.Or(strings.Join(l.Nodes, ", "), l.Target), news))
	}
}

// newsOf is what people are told of an injection. Until it is healed its proofs
// may still come.
func newsOf(l history.Landing) string {
	switch {
	case l.Healed == history.HealVerified:
		return "healed"
	case l.Healed == history.HealDown:
		return "taken out, but it does not come back: " + strings.Join(l.Reasons, "; ")
	case l.Healed == history.HealFailed:
		return "not healed: " + strings.Join(l.Reasons, "; ")
	case l.State == "" || l.State == history.Landed || l.State == history.Unsupported || l.Times.AppliedNS == 0:
		return string(l.State)
	}
	return "in place, not proved yet"
}

func (e *Experiment) writeLandings() error {
	e.landings.Lock()
	defer e.landings.Unlock()
	var all []history.Landing
	if e.ready.Load() {
		all = e.engine.Landings()
	}
	return history.WriteLandings(e.evidence(), all)
}

func (e *Experiment) node(name string) (*cluster.Node, error) {
	for _, n := range e.cluster.Nodes() {
		if n.Name() == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no node %q; there are %s", name, strings.Join(names(e.cluster.Nodes()), ", "))
}

func (e *Experiment) nodeIndex(name string) int16 {
	for i, n := range e.cluster.Nodes() {
		if n.Name() == name {
			return int16(i)
		}
	}
	return history.None
}

// nodeOf answers the node behind an endpoint that a client used.
func (e *Experiment) nodeOf(endpoint string) int16 {
	if i, ok := e.tapped[endpoint]; ok {
		return i
	}
	for i, n := range e.cluster.Nodes() {
		if slices.Contains(n.Listeners(), endpoint) {
			return int16(i)
		}
	}
	return history.None
}

func names(nodes []*cluster.Node) []string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, n.Name())
	}
	return out
}

// heal is HealAll where nobody waits for an error: it is noted. A broker that
// does not come back is no failure of the harness; its landing says so.
func (e *Experiment) heal(ctx context.Context) {
	err := e.HealAll(ctx)
	if err == nil {
		return
	}
	failed := func(l history.Landing) bool { return l.Healed == history.HealFailed }
	if !slices.ContainsFunc(e.engine.Landings(), failed) {
		e.say(fmt.Sprintf("heal: %v", err))
		return
	}
	e.harness("heal: %v", err)
}

// HealAll heals every fault in place now.
func (e *Experiment) HealAll(ctx context.Context) error {
	if !e.ready.Load() {
		return nil
	}
	return e.engine.HealAll(ctx)
}
