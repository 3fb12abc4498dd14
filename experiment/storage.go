package experiment

import (
	"context"
	"errors"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
)

// storageBound is for how long a run asks what its broker has stored.
const storageBound = time.Minute

// askStorage writes down how many messages the broker's own storage has of each topic
// of which somebody lacks one: fewer than were acknowledged were not all stored. A
// flavor that does not say is asked once.
func (s *session) askStorage(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storageBound)
	defer cancel()
	for _, stream := range s.missed() {
		if ctx.Err() != nil {
			return
		}
		for i := range s.load.system.width() { // each asks the leader: the first that can is enough
			err := s.stored(ctx, i, stream)
			if errors.Is(err, cluster.ErrUnsupported) {
				return
			}
			if err == nil {
				break
			}
			s.load.say(err.Error())
		}
	}
}

// missed are streams of which a listener lacks something, one of each topic. A
// register's values replace each other, and none of them is lost.
func (s *session) missed() (streams []int32) {
	l := s.load.live
	l.mu.Lock()
	defer l.mu.Unlock()
	topics, of := map[string]bool{}, s.load.rec.Tables().Streams
	for _, listener := range s.plan.listeners() {
		for _, stream := range s.plan.owed(listener) {
			if topic := of[stream].Topic; !of[stream].Register && !topics[topic] && l.stream(stream).acked.missing(s.had(listener, stream)...) > 0 {
				topics[topic] = true
				streams = append(streams, stream)
			}
		}
	}
	return streams
}

// stored asks one node about the topic of a stream.
func (s *session) stored(ctx context.Context, node int, stream int32) error {
	l := s.load
	began := l.clock.Now()
	count, err := l.system.stored(ctx, node, l.rec.Tables().Streams[stream].Topic)
	if errors.Is(err, cluster.ErrUnsupported) {
		return err
	}
	ev := harnessEvent(began, history.KindFetch, history.FetchStored)
	ev.Edge, ev.Node, ev.Stream = history.Call, int16(node), stream
	ev.Call, ev.Time = l.rec.Record(ev), l.clock.Now()
	ev.Edge, ev.Outcome, ev.ID, ev.Text = history.Return, history.OK, count, ""
	if err != nil {
		ev.Outcome, ev.ID, ev.Text = history.Fail, history.None, err.Error()
	}
	l.rec.Record(ev)
	return err
}
