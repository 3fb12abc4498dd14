package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A nemesis injects and heals the faults of a run, of its schedule or by hand. The tool
// inject_fault comes to it through the keeper (tools/fault.go, calls.go), and it has the engine
// of package faults do the work (faults/engine_life.go).
type nemesis struct {
	*spec
	*record
	ground ground
	crowd  crowd
	engine *faults.Engine

	mu   sync.Mutex        // of news
	news map[string]string // last told of each fault
}

// A ground is the brokers that faults act on, with all around them.
type ground interface {
	nodes() []faults.Node
	// resolve returns the nodes of a role, by asking the brokers. The topic is one whose leader
	// is meant.
	resolve(ctx context.Context, role, topic string) ([]faults.Node, error)
	control() faults.Node // the witness, which no fault acts on
	site() faults.Site    // without the run's clients
	layer(name string) (faults.Layer, error)
	indexOf(node string) int16
	restartBound() time.Duration
}

// A crowd is the clients of a run, and their drivers.
type crowd interface {
	faults.Clients
	clientTarget(asked string) ([]faults.Client, error)
}

func newNemesis(s *spec, r *record, on ground, of crowd, decide Decide) *nemesis {
	n := &nemesis{spec: s, record: r, ground: on, crowd: of, news: map[string]string{}}
	n.engine = faults.NewEngine(faults.Options{
		Journal: n.journal, Record: n.rec.Record, Clock: n.clock,
		Layer: n.layer, Decide: decide, Nodes: on.indexOf,
		OnChange: n.landed, Recovery: healBound(n.tier, on.restartBound()),
	})
	return n
}

// healBound is how long a healed node is waited for: a moment longer than one of its flavor
// may take until it serves. If the wait is shorter, a node that is only slow is called down.
func healBound(tier scenarios.Tier, restart time.Duration) time.Duration {
	const moment = 5 * time.Second
	return max(time.Minute, seconds(tier.RecoveryS), restart+moment)
}

// disturb runs the schedule through, as many times as the tier asks. A stop reaches a fault
// that waits for its moment, which else could come after it.
func (n *nemesis) disturb(ctx context.Context) {
	if len(n.scenario.Schedule) == 0 {
		return
	}
	defer context.AfterFunc(ctx, func() { n.healAll(context.WithoutCancel(ctx)) })()
	for range n.tier.Rounds {
		n.enter(history.PhaseFault)
		var steps sync.WaitGroup
		for _, step := range n.scenario.Schedule {
			steps.Go(func() { // one that fails takes none of the others out
				if err := n.step(ctx, step); err != nil && ctx.Err() == nil {
					n.say(err.Error())
				}
			})
		}
		steps.Wait()
		if ctx.Err() != nil {
			return
		}
	}
}

// viaScenario is the caller of a fault of the schedule.
const viaScenario = "scenario"

// step injects one fault at its time and waits until it is healed.
func (n *nemesis) step(ctx context.Context, step scenarios.Step) error {
	if !hold(ctx, seconds(step.AtS)) {
		return nil
	}
	params := n.tier.Params(step)
	caller := keeper.Caller{Via: viaScenario, Tool: "inject_fault", Args: map[string]any{"type": step.Fault, "target": step.Target, "params": params}}
	st, err := n.inject(ctx, keeper.Inject{Type: step.Fault, Target: step.Target, Params: params, Caller: caller})
	if err != nil {
		return fmt.Errorf("inject %s on %s: %w", step.Fault, step.Target, err)
	}
	_, err = n.engine.Wait(ctx, st.ID)
	return err
}

// inject puts one fault in place. It returns once the fault is applied and
// first measured; healing is the engine's, at the end of its bounded time.
func (n *nemesis) inject(ctx context.Context, in keeper.Inject) (keeper.FaultStatus, error) {
	req, err := faults.Parse(in.Type, in.Params)
	if err != nil {
		return keeper.FaultStatus{}, err
	}
	if err := faults.CheckTarget(in.Type, in.Target); err != nil {
		return keeper.FaultStatus{}, err
	}
	req.Target, req.ByHand = in.Target, in.Caller.Via != viaScenario
	target, err := n.target(ctx, in.Target)
	if err != nil {
		if ctx.Err() == nil && in.Caller.Via == viaScenario { // an agent reads the error and asks again
			req.JournalCall = n.journalled(journal.KindCall, in.Caller, nil)
			n.journalled(journal.KindAnswer, in.Caller, n.status(n.engine.Miss(req, in.Target, err)))
		}
		return keeper.FaultStatus{}, err
	}
	req.Admit = n.admits(in.Envelope)
	req.JournalCall = n.journalled(journal.KindCall, in.Caller, nil)
	landing, err := n.engine.Inject(context.WithoutCancel(ctx), req, target)
	st := n.status(landing)
	n.journalled(journal.KindAnswer, in.Caller, st)
	return st, err
}

// heal heals one fault now and returns its final landing.
func (n *nemesis) heal(ctx context.Context, h keeper.Heal) (keeper.FaultStatus, error) {
	n.journalled(journal.KindCall, h.Caller, nil)
	landing, err := n.engine.Heal(ctx, h.Fault)
	st := n.status(landing)
	n.journalled(journal.KindAnswer, h.Caller, st)
	return st, err
}

// healAll heals every fault in place now. An error is noted. A broker that
// does not come back is no failure of the harness; its landing says so.
func (n *nemesis) healAll(ctx context.Context) {
	err := n.engine.HealAll(ctx)
	if err == nil {
		return
	}
	failed := func(l history.Landing) bool { return l.Healed == history.HealFailed }
	if !slices.ContainsFunc(n.engine.Landings(), failed) {
		n.say(fmt.Sprintf("heal: %v", err))
		return
	}
	n.harness("heal: %v", err)
}

func (n *nemesis) acted() bool { return len(n.engine.Landings()) > 0 }

func (n *nemesis) retire(ctx context.Context) error { return n.engine.Retire(ctx) }

// landed writes each change of an injection down, so that a keeper's death
// leaves what was proved until then, and tells people.
func (n *nemesis) landed(l history.Landing) {
	if err := n.writeLandings(n.engine.Landings); err != nil {
		n.harness("write the landings: %v", err)
	}
	n.mu.Lock()
	news := newsOf(l)
	old := n.news[l.Fault]
	n.news[l.Fault] = news
	n.mu.Unlock()
	if news != "" && news != old {
		n.say(fmt.Sprintf("%s %s on %s: %s", l.Fault, l.Type, cmp.Or(strings.Join(l.Nodes, ", "), l.Target), news))
	}
}

// newsOf is what people are told of an injection. Until it is healed its proofs
// may still come.
func newsOf(l history.Landing) string {
	switch {
	case l.Healed == history.HealVerified && l.Times.AppliedNS == 0:
		return strings.ReplaceAll(string(l.State), "_", " ") + ": " + strings.Join(l.Reasons, "; ")
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

// disturbed returns the faults in place on each node.
func (n *nemesis) disturbed() map[string][]string {
	out := map[string][]string{}
	for _, l := range n.engine.Active() {
		for _, node := range l.Nodes {
			out[node] = append(out[node], l.Fault)
		}
	}
	return out
}

func (n *nemesis) inPlace() []string {
	var out []string
	for _, l := range n.engine.Active() {
		st := n.status(l.Landing)
		out = append(out, fmt.Sprintf("%s %v, heals in %.0f s", st.Type, st.Nodes, st.HealsIn))
	}
	return out
}

func (n *nemesis) status(l history.Landing) keeper.FaultStatus {
	st := keeper.FaultStatus{
		ID: l.Fault, Type: l.Type, Target: l.Target, Nodes: l.Nodes,
		State: l.State, Healed: l.Heal(), Reasons: l.Reasons,
	}
	if l.Healed == history.HealPending && l.Times.AppliedNS > 0 {
		left := l.Times.AppliedNS + l.Times.DurationNS - n.clock.Now().Nanoseconds()
		st.HealsIn = max(0, float64(left)/1e9)
	}
	return st
}
