package checker

import "github.com/robustmq/rmq-mcp/history"

// storage holds how many messages the broker's own storage has of a topic, if it says
// so. The harness asks about topics whose subscribers lacked something in the end.
type storage struct {
	ledger *ledger
	open   map[int64]string // topics that are being asked about, by the row of the call
	has    map[string]int64 // by topic; never fewer than there are
}

func newStorage(l *ledger) *storage {
	return &storage{ledger: l, open: map[int64]string{}, has: map[string]int64{}}
}

func (s *storage) add(b *history.Batch, control []int32) {
	for _, i := range control {
		i := int(i)
		switch {
		case b.Kind[i] != history.KindFetch || b.Process[i] != history.None || uint32(b.Stream[i]) >= uint32(len(s.ledger.tables.Streams)):
		case b.Edge[i] == history.Call && b.Text(i) == history.FetchStored:
			s.open[b.Index[i]] = s.ledger.topic(b.Stream[i])
		case b.Edge[i] == history.Return:
			if topic, ok := s.open[b.Call[i]]; ok && b.Outcome[i] == history.OK {
				s.has[topic] = max(s.has[topic], b.ID[i])
			}
			delete(s.open, b.Call[i])
		}
	}
}

// missing returns how many acknowledged messages of QoS 1 and 2 the storage cannot
// have, because it holds fewer, and how many topics it was asked about.
func (s *storage) missing() (messages int64, topics int) {
	acked := map[string]int64{}
	for i := range s.ledger.sends.streams {
		if row := s.ledger.tables.Streams[i]; row.QoS > 0 {
			acked[row.Topic] += s.ledger.sends.streams[i].acked.n
		}
	}
	for topic, has := range s.has {
		messages += max(0, acked[topic]-has)
	}
	return messages, len(s.has)
}
