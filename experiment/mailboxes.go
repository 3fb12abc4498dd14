package experiment

import (
	"context"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

const listEvery = 2 * time.Second

// listMailboxes writes down, now and then, which of the run's mailboxes each
// node lists, where that is judged.
func (e *Experiment) listMailboxes(ctx context.Context) {
	if e.scenario == nil || !e.scenario.ListsMailboxes() {
		return
	}
	for hold(ctx, listEvery) {
		for i, n := range e.cluster.Nodes() {
			row := func(edge history.Edge, text string) history.Event {
				ev := harnessEvent(e.clock.Now(), history.KindFetch, text)
				ev.Edge, ev.Node = edge, int16(i)
				return ev
			}
			call := e.rec.Record(row(history.Call, history.FetchMailboxes))
			names, err := e.cluster.Mailboxes(ctx, n, mailboxesOf(e.header))
			for _, name := range names {
				e.rec.Record(row(history.Point, name))
			}
			ret := row(history.Return, "")
			ret.Call, ret.Outcome, ret.ID = call, history.OK, int64(len(names))
			if err != nil {
				ret.Outcome, ret.Text = history.Fail, err.Error()
			}
			e.rec.Record(ret)
		}
	}
}
