package checker

import (
	"github.com/robustmq/rmq-mcp/history"
)

// A route says, for each process and stream, through which of the process's
// filters the stream's messages reach it.
type route struct {
	streams int
	pairs   []pair
	probes  []bool  // processes that are probes
	groups  []group // of shared subscriptions
}

type pair struct {
	filters  int8  // of its own that match
	shared   int8  // of a shared subscription that match
	qos      uint8 // the highest granted to one of its own; where it has none, of a shared subscription
	sent     uint8 // QoS of the stream
	register bool  // whether the stream is of a register
	group    int32 // of its one shared subscription, where no other filter of the process matches; else None
}

func newRoute(t *history.Tables) *route {
	r := &route{streams: len(t.Streams), pairs: make([]pair, len(t.Processes)*len(t.Streams)), probes: make([]bool, len(t.Processes))}
	for i := range r.pairs {
		st := t.Streams[i%r.streams]
		r.pairs[i].sent, r.pairs[i].register, r.pairs[i].group = st.QoS, st.Register, history.None
	}
	for p, row := range t.Processes {
		r.probes[p] = row.Group == history.GroupProbe
		for _, f := range row.Filters {
			group := r.join(int32(p), f)
			for s, st := range t.Streams {
				if history.Matches(f.Filter, st.Topic) {
					r.pairs[p*r.streams+s].take(f, group)
				}
			}
		}
	}
	return r
}

func (q *pair) take(f history.Filter, group int32) {
	q.group = history.None
	if q.filters+q.shared == 0 {
		q.group = group
	}
	if group != history.None {
		q.shared++
		if q.filters == 0 {
			q.qos = max(q.qos, f.QoS)
		}
		return
	}
	if q.filters == 0 {
		q.qos = 0
	}
	q.filters++
	q.qos = max(q.qos, f.QoS)
}

// at returns the pair's place in a table of all of them, or -1.
func (r *route) at(process, stream int32) int {
	if uint32(stream) >= uint32(r.streams) || process < 0 {
		return -1
	}
	i := int(process)*r.streams + int(stream)
	if i >= len(r.pairs) {
		return -1
	}
	return i
}

// due is the QoS that a delivery is to come with.
func (q pair) due() uint8 { return min(q.sent, q.qos) }

func (r *route) probed(process int32) bool {
	return uint32(process) < uint32(len(r.probes)) && r.probes[process]
}

func (r *route) get(process, stream int32) pair {
	if i := r.at(process, stream); i >= 0 {
		return r.pairs[i]
	}
	return pair{}
}
