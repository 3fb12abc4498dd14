package checker

// A Span is consecutive messages of one stream that one subscriber never got,
// all of them acknowledged.
type Span struct {
	Process, Stream int32
	First, Last     int64 // sequence numbers
	FromNS, ToNS    int64 // when the first and the last were published
}

// Len returns the number of messages in the span.
func (s Span) Len() int64 { return s.Last - s.First + 1 }

// maxSpans bounds how many are listed. The counts have the totals.
const maxSpans = 10_000

// spans lists what was lost, the first maxSpans of it, by subscriber, by
// stream and in order.
func (c *loss) spans(end *closing) []Span {
	var list []Span
	c.missing(end, func(p, s int32, seq int64) {
		at := c.ledger.sends.streams[s].messages.at(seq).called
		if n := len(list); n > 0 && list[n-1].takes(p, s, seq) {
			list[n-1].Last, list[n-1].ToNS = seq, at
		} else if n < maxSpans {
			list = append(list, Span{Process: p, Stream: s, First: seq, Last: seq, FromNS: at, ToNS: at})
		}
	})
	return list
}

// missing calls f for each message that was lost to a process. Messages that may still
// have been on their way are left out, as are those of sessions that may have been over,
// of a subscriber or of their producer.
// So are messages for which the broker had no room.
func (c *loss) missing(end *closing, f func(p, s int32, seq int64)) {
	rooms := newRooms(c.ledger)
	c.pairs(func(p, s int32, from int64) {
		if end.waiting[[2]int32{p, s}] != "" {
			return
		}
		st := &c.ledger.sends.streams[s]
		st.acked.each(st.since(from), c.got.got(p, s), func(seq int64) {
			if c.ledger.promised(s, seq, p) != lasting {
				return
			}
			if c.forgotten(p, s, seq) || !rooms.lacked(p, s, seq) {
				f(p, s, seq)
			}
		})
	})
}

func (s Span) takes(process, stream int32, seq int64) bool {
	return s.Process == process && s.Stream == stream && s.Last+1 == seq
}
