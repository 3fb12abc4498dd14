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

// missing returns how many messages the storage cannot have, because it holds fewer than the
// broker had of a topic, and how many topics it was asked about. Had counts the messages of
// a stream that the broker acknowledged or delivered. Others is how many more may be there in
// place of some: those of unknown outcome, and of QoS 0.
func (s *storage) missing(had func(stream int32) int64) (messages, others int64, topics int) {
	of := map[string]int64{}
	for i, row := range s.ledger.tables.Streams {
		if _, asked := s.has[row.Topic]; !asked {
			continue
		}
		st := &s.ledger.sends.streams[i]
		if row.QoS == 0 {
			others += st.calls
			continue
		}
		n := had(int32(i))
		of[row.Topic] += n
		delivered := n - st.acked.n // of those that were not acknowledged
		others += max(0, st.calls-st.outcomes[history.OK]-st.outcomes[history.Fail]-delivered)
	}
	for topic, has := range s.has {
		messages += max(0, of[topic]-has)
	}
	return messages, others, len(s.has)
}
