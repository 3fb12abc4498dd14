package experiment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
)

const (
	metricsEvery = time.Second
	tickEvery    = 200 * time.Millisecond
	starvedAfter = time.Second // a tick this late means that the host, not the broker, stood still
)

// observe measures while the experiment goes on: the nodes' metrics, and the
// host's own lateness, which explains what no broker did.
func (e *Experiment) observe(ctx context.Context) {
	go e.watchHost(ctx)
	for hold(ctx, metricsEvery) {
		for i, n := range e.cluster.Nodes() {
			metrics, err := n.Metrics(ctx)
			if err != nil {
				continue // a node that is down has none, and its state says so
			}
			at := e.clock.Now()
			for _, name := range slices.Sorted(maps.Keys(metrics)) {
				ev := harnessEvent(at, history.KindObserve, name)
				ev.Node, ev.Value = int16(i), metrics[name]
				e.rec.Record(ev)
			}
		}
	}
}

func (e *Experiment) watchHost(ctx context.Context) {
	last := e.clock.Now()
	for hold(ctx, tickEvery) {
		now := e.clock.Now()
		if late := now - last - tickEvery; late > starvedAfter {
			ev := harnessEvent(now, history.KindObserve, history.ObserveStarved)
			ev.Value = late.Seconds()
			e.rec.Record(ev)
			e.say(fmt.Sprintf("the host stood still for %.1f s", late.Seconds()))
		}
		last = now
		e.tell(keeper.Progress{})
	}
}

// say tells people one thing worth a line.
func (e *Experiment) say(text string) {
	e.env.Log.Info(text)
	e.tell(keeper.Progress{Text: text})
}

// tell sends a line, or a tick, to everybody who watches. A watcher that does
// not keep up misses ticks.
func (e *Experiment) tell(p keeper.Progress) {
	now := e.clock.Now()
	p.At, p.Counts, p.Faults = now.Seconds(), e.live.snapshot(now), e.inPlace()
	e.mu.Lock()
	defer e.mu.Unlock()
	p.Phase = e.phase
	if expected := e.expected(); expected > 0 {
		p.Share = min(1, now.Seconds()/expected)
	}
	for ch := range e.watchers {
		select {
		case ch <- p:
		default:
		}
	}
}

func (e *Experiment) inPlace() []string {
	if !e.ready.Load() {
		return nil
	}
	var out []string
	for _, l := range e.engine.Active() {
		st := e.faultStatus(l.Landing)
		out = append(out, fmt.Sprintf("%s %v, heals in %.0f s", st.Type, st.Nodes, st.HealsIn))
	}
	return out
}

// Progress subscribes to what people watch.
func (e *Experiment) Progress() (<-chan keeper.Progress, func()) {
	ch := make(chan keeper.Progress, 64)
	e.mu.Lock()
	e.watchers[ch] = true
	e.mu.Unlock()
	return ch, func() {
		e.mu.Lock()
		delete(e.watchers, ch)
		e.mu.Unlock()
	}
}

func (e *Experiment) expected() float64 {
	if e.scenario == nil {
		return 0
	}
	return e.scenario.ExpectedS(e.tier)
}
