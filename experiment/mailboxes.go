package experiment

import (
	"context"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

const listEvery = 2 * time.Second

// listMailboxes writes down, now and then, which of the run's mailboxes each
// node lists, where that is judged.
func (s *stage) listMailboxes(ctx context.Context) {
	if s.scenario == nil || !s.scenario.ListsMailboxes() {
		return
	}
	for hold(ctx, listEvery) {
		for i, n := range s.cluster.Nodes() {
			row := func(edge history.Edge, text string) history.Event {
				ev := harnessEvent(s.clock.Now(), history.KindFetch, text)
				ev.Edge, ev.Node = edge, int16(i)
				return ev
			}
			call := s.rec.Record(row(history.Call, history.FetchMailboxes))
			names, err := s.cluster.Mailboxes(ctx, n, mailboxesOf(s.header))
			for _, name := range names {
				s.rec.Record(row(history.Point, name))
			}
			ret := row(history.Return, "")
			ret.Call, ret.Outcome, ret.ID = call, history.OK, int64(len(names))
			if err != nil {
				ret.Outcome, ret.Text = history.Fail, err.Error()
			}
			s.rec.Record(ret)
		}
	}
}
