package checker

import "github.com/robustmq/rmq-mcp/internal/history"

// stored is what the broker's own log has of the topics whose subscribers lacked
// something in the end, where it shows its log.
type stored struct {
	tables *history.Tables
	asked  map[string]bool  // topics, and whether every node that was asked showed their whole log
	open   map[int64]string // topics that are being read, by the row of the call
	has    []bitmap         // by stream
}

func newStored(tables *history.Tables) *stored {
	return &stored{tables: tables, asked: map[string]bool{}, open: map[int64]string{}, has: make([]bitmap, len(tables.Streams))}
}

func (s *stored) add(b *history.Batch, control []int32) {
	for _, i := range control {
		i := int(i)
		if b.Kind[i] != history.KindFetch || b.Process[i] != history.None || uint32(b.Stream[i]) >= uint32(len(s.has)) {
			continue
		}
		switch b.Edge[i] {
		case history.Call:
			s.open[b.Index[i]] = s.tables.Streams[b.Stream[i]].Topic
		case history.Point:
			s.has[b.Stream[i]].add(b.Seq[i])
		case history.Return:
			if topic, ok := s.open[b.Call[i]]; ok {
				whole, before := s.asked[topic]
				s.asked[topic] = b.Outcome[i] == history.OK && (whole || !before)
			}
			delete(s.open, b.Call[i])
		}
	}
}

// of says whether the log has a message, and whether it was read.
func (s *stored) of(stream int32, seq int64) (has, read bool) {
	return s.has[stream].has(seq), s.asked[s.tables.Streams[stream].Topic]
}

// words are what follows the text of a message that never came.
func (s *stored) words(stream int32, seq int64) string {
	switch has, read := s.of(stream, seq); {
	case !read:
		return ""
	case has:
		return "; the broker's own log has it: it was stored, and not delivered"
	default:
		return "; the broker's own log does not have it: it was acknowledged, and is not stored"
	}
}
