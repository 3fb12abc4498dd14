package checker

import "github.com/robustmq/rmq-mcp/history"

// A Span is consecutive messages of one stream that one subscriber, or no member of a
// group, ever got, all of them acknowledged.
type Span struct {
	Process     int32  // the subscriber, or the group's first member
	Share       string `json:",omitempty"` // the group's filter, $share/NAME/FILTER; "" for a subscriber
	Stream      int32
	First, Last int64 // sequence numbers
	FromNS      int64 // when the first was published
	ToNS        int64 // when the last was published
}

// Len returns the number of messages in the span.
func (s Span) Len() int64 { return s.Last - s.First + 1 }

// maxSpans bounds how many are listed. The counts have the totals.
const maxSpans = 10_000

// spans lists what was lost, the first maxSpans of it, by subscribers and then by groups,
// by stream and in order.
func (c *losses) spans(end *closing) []Span {
	l := c.subscribers.ledger
	var list []Span
	c.each(end, func(m miss) {
		s := Span{Process: m.members[0], Stream: m.stream, First: m.seq, Last: m.seq}
		s.FromNS = l.calledAt(m.stream, m.seq)
		s.ToNS = s.FromNS
		if m.group != history.None {
			s.Share = l.route.groups[m.group].filter
		}
		if n := len(list); n > 0 && list[n-1].extendedBy(s) {
			list[n-1].Last, list[n-1].ToNS = s.Last, s.ToNS
		} else if n < maxSpans {
			list = append(list, s)
		}
	})
	return list
}

// extendedBy reports whether another span is the next message of the same stream, for the
// same subscriber or group.
func (s Span) extendedBy(next Span) bool {
	return s.Process == next.Process && s.Share == next.Share && s.Stream == next.Stream && s.Last+1 == next.First
}
