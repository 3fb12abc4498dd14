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

// observe measures the nodes while the experiment goes on.
func (s *stage) observe(ctx context.Context) {
	for hold(ctx, metricsEvery) {
		for i, n := range s.cluster.Nodes() {
			metrics, err := n.Metrics(ctx)
			if err != nil {
				continue // a node that is down has none, and its state says so
			}
			at := s.clock.Now()
			for _, name := range slices.Sorted(maps.Keys(metrics)) {
				ev := harnessEvent(at, history.KindObserve, name)
				ev.Node, ev.Value = int16(i), metrics[name]
				s.rec.Record(ev)
			}
		}
	}
}

// watchHost records how late the harness itself was, which explains what no broker did:
// the host kept it from running, or the disk took nothing more of the record.
func (r *record) watchHost(ctx context.Context) {
	last, asleep := r.clock.Now(), history.Suspended()
	for hold(ctx, tickEvery) {
		r.rec.Await()
		now, slept := r.clock.Now(), history.Suspended()
		if late := now - last - tickEvery + slept - asleep; late > starvedAfter {
			ev := harnessEvent(now, history.KindObserve, history.ObserveStarved)
			ev.Value = late.Seconds()
			r.rec.Record(ev)
			r.say(fmt.Sprintf("the host stood still for %.1f s", late.Seconds()))
		}
		last, asleep = now, slept
		r.tell(keeper.Progress{})
	}
}
