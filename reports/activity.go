package reports

import (
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/checker"
)

// bucketWidth is the grain in which a run's traffic is drawn.
const bucketWidth = 200 * time.Millisecond

// A Phase is one part of a run.
type Phase struct {
	Name    string `json:"name"`
	StartNS int64  `json:"start_ns"`
	EndNS   int64  `json:"end_ns"`
}

// activity is the traffic of a run over time, folded from its events. Probes,
// which only ask whether a node serves, are left out.
type activity struct {
	tables  *history.Tables
	buckets []bucket
	phases  []Phase
	qos0    bool          // some publishes have QoS 0
	end     time.Duration // of the last event
	open    map[int64]time.Duration
	taken   map[taker][]taking
}

// A taker is a node, and the metric of what it takes.
type taker struct{ node, metric string }

// A taking is how much it took, in the unit of the quantity's trend.
type taking struct {
	at    time.Duration
	value float64
}

// bucket is what happened within one bucketWidth. Publishes of QoS 0 are among the
// acknowledged ones once they are written, and have no latency. A publish's latency counts
// where the publish was called, not where it was acknowledged: a stall then
// shows at the messages that felt it.
type bucket struct {
	called, acked, delivered int
	latencies                []float32 // milliseconds
}

func newActivity(tables *history.Tables) *activity {
	return &activity{tables: tables, open: map[int64]time.Duration{}, taken: map[taker][]taking{}}
}

func (a *activity) Add(b *history.Batch) {
	for i := range b.N {
		at := time.Duration(b.Time[i])
		a.end = max(a.end, at)
		switch {
		case b.Kind[i] == history.KindPhase:
			a.phase(b.Text(i), at)
		case b.Kind[i] == history.KindObserve && b.Node[i] >= 0 && int(b.Node[i]) < len(a.tables.Nodes):
			if scale, ok := checker.Scale(b.Text(i)); ok {
				k := taker{a.tables.Nodes[b.Node[i]].Name, b.Text(i)}
				a.taken[k] = append(a.taken[k], taking{at, b.Value[i] * scale})
			}
		case b.Process[i] == history.None || a.probe(b.Process[i]):
		case b.Kind[i] == history.KindPublish && b.Edge[i] == history.Call:
			a.open[b.Index[i]] = at
			a.bucket(at).called++
		case b.Kind[i] == history.KindPublish && b.Edge[i] == history.Return:
			a.returned(b, i, at)
		case b.Kind[i] == history.KindDeliver:
			a.bucket(at).delivered++
		}
	}
}

func (a *activity) returned(b *history.Batch, i int, at time.Duration) {
	called, ok := a.open[b.Call[i]]
	delete(a.open, b.Call[i])
	if b.Outcome[i] != history.OK {
		return
	}
	a.bucket(at).acked++
	if b.QoS[i] == 0 { // it was written, and nobody acknowledges it
		a.qos0 = true
		return
	}
	if ok {
		in := a.bucket(called)
		in.latencies = append(in.latencies, float32((at-called).Microseconds())/1000)
	}
}

func (a *activity) phase(name string, at time.Duration) {
	if n := len(a.phases); n > 0 {
		a.phases[n-1].EndNS = int64(at)
	}
	a.phases = append(a.phases, Phase{Name: name, StartNS: int64(at)})
}

// finish closes what the last event left open.
func (a *activity) finish() {
	a.bucket(a.end)
	if n := len(a.phases); n > 0 {
		a.phases[n-1].EndNS = int64(a.end)
	}
}

func (a *activity) bucket(at time.Duration) *bucket {
	i := max(0, int(at/bucketWidth))
	for len(a.buckets) <= i {
		a.buckets = append(a.buckets, bucket{})
	}
	return &a.buckets[i]
}

func (a *activity) probe(process int32) bool {
	return int(process) < len(a.tables.Processes) && a.tables.Processes[process].Group == history.GroupProbe
}

// merged answers the buckets in at most n groups of equal width.
func (a *activity) merged(n int) (groups []bucket, width time.Duration) {
	per := max(1, (len(a.buckets)+n-1)/n)
	for i := 0; i < len(a.buckets); i += per {
		var sum bucket
		for _, b := range a.buckets[i:min(i+per, len(a.buckets))] {
			sum.called += b.called
			sum.acked += b.acked
			sum.delivered += b.delivered
			sum.latencies = append(sum.latencies, b.latencies...)
		}
		slices.Sort(sum.latencies)
		groups = append(groups, sum)
	}
	return groups, time.Duration(per) * bucketWidth
}

// quantile of the sorted values; there is at least one.
func quantile(sorted []float32, q float64) float64 {
	return float64(sorted[min(len(sorted)-1, int(q*float64(len(sorted))))])
}
