package scenarios

import (
	"context"
	"errors"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/history"
)

// readLogsBound is how long a run reads what its broker has stored.
const readLogsBound = time.Minute

// readLogs writes down what the broker's own storage has of the topics of which
// somebody lacks a message: one that was acknowledged and is not there was never
// stored, one that is there was not delivered. Brokers that show no log are not asked.
func (s *session) readLogs(ctx context.Context) {
	if s.protocol == contract.MQ9 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readLogsBound)
	defer cancel()
	for _, stream := range s.missed() {
		for i, n := range s.e.cluster.Nodes() {
			err := s.readLog(ctx, i, n, stream)
			if errors.Is(err, cluster.ErrUnsupported) {
				return
			}
			if err != nil {
				s.e.say(err.Error())
			}
		}
	}
}

// missed are streams of which a listener lacks something, one of each topic. A
// register's values replace each other, and none of them is lost.
func (s *session) missed() (streams []int32) {
	l := s.e.live
	l.mu.Lock()
	defer l.mu.Unlock()
	topics, of := map[string]bool{}, s.e.rec.Tables().Streams
	for _, listener := range s.plan.listeners() {
		for _, stream := range s.plan.owed(listener) {
			if topic := of[stream].Topic; !of[stream].Register && !topics[topic] && !l.stream(stream).acked.within(s.had(listener, stream)...) {
				topics[topic] = true
				streams = append(streams, stream)
			}
		}
	}
	return streams
}

// readLog reads the log of a stream's topic as one node shows it.
func (s *session) readLog(ctx context.Context, node int, n *cluster.Node, stream int32) error {
	e := s.e
	row := func(edge history.Edge, stream int32, text string) history.Event {
		ev := harnessEvent(e.clock.Now(), history.KindFetch, text)
		ev.Edge, ev.Node, ev.Stream = edge, int16(node), stream
		return ev
	}
	streams := e.rec.Tables().Streams
	call, found := e.rec.Record(row(history.Call, stream, history.FetchLog)), int64(0)
	err := e.cluster.ReadLog(ctx, n, streams[stream].Topic, func(m cluster.Stored) {
		h, err := contract.ParseHeader(m.Payload)
		if err != nil || h.Run != e.header || int(h.Stream) >= len(streams) {
			return // of another run, or damaged
		}
		ev := row(history.Point, h.Stream, "")
		ev.Seq, ev.ID = h.Seq, m.Offset
		e.rec.Record(ev)
		found++
	})
	ret := row(history.Return, stream, "")
	ret.Call, ret.Outcome, ret.ID = call, history.OK, found
	if err != nil {
		ret.Outcome, ret.Text = history.Fail, err.Error()
	}
	e.rec.Record(ret)
	return err
}
