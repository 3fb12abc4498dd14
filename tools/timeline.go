package tools

import (
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/reports"
)

// TimelineView is a run's traffic in coarse buckets, without our own probes, and what was
// done to the cluster meanwhile. Times are seconds since the start of the run.
type TimelineView struct {
	BucketS float64     `json:"bucket_s"`
	Columns []string    `json:"columns"`
	Buckets [][]float64 `json:"buckets"` // one row a bucket, in the order of columns
	Phases  []PhaseMark `json:"phases"`
	Faults  []FaultMark `json:"faults"`
}

// A PhaseMark is where a phase begins.
type PhaseMark struct {
	AtS   float64 `json:"at_s"`
	Phase string  `json:"phase"`
}

// A FaultMark is when a fault was in place.
type FaultMark struct {
	Fault string  `json:"fault_id"`
	FromS float64 `json:"from_s"`
	ToS   float64 `json:"to_s"` // 0: still in place
}

// At most so many buckets are shown, of a fine grain that halves until they
// fit.
const (
	maxBuckets = 60
	fineGrain  = 100 * time.Millisecond
)

// bucket is the traffic of one grain of time.
type bucket struct {
	called, acked, failed, unknown, delivered int
	latencies                                 []float64 // of the acknowledged, milliseconds; QoS 0 has none
}

func timeline(dir string) (*TimelineView, error) {
	tables, _, err := reports.Dir(dir).Tables()
	if err != nil {
		return nil, err
	}
	t := traffic{tables: tables, grain: fineGrain, open: map[int64]time.Duration{}}
	if _, err := reports.Dir(dir).EachBatch(t.add); err != nil {
		return nil, err
	}
	view := &TimelineView{BucketS: t.grain.Seconds(), Phases: t.phases,
		Columns: []string{"at_s", "published_per_s", "acked_per_s", "failed", "unknown", "delivered_per_s", "ack_p50_ms", "ack_max_ms"}}
	for i, b := range t.buckets {
		per := t.grain.Seconds()
		view.Buckets = append(view.Buckets, []float64{round(float64(i) * per), round(float64(b.called) / per), round(float64(b.acked) / per),
			float64(b.failed), float64(b.unknown), round(float64(b.delivered) / per), round(median(b.latencies)), round(largest(b.latencies))})
	}
	list, err := readLandings(dir)
	if err != nil {
		return nil, err
	}
	view.Faults = faultMarks(list)
	return view, nil
}

func faultMarks(landings []history.Landing) []FaultMark {
	var marks []FaultMark
	for _, w := range history.Windows(landings) {
		mark := FaultMark{Fault: w.Fault, FromS: round(w.Start.Seconds())}
		if w.End < time.Duration(1<<62) {
			mark.ToS = round(w.End.Seconds())
		}
		marks = append(marks, mark)
	}
	return marks
}

// traffic folds events into buckets.
type traffic struct {
	tables  *history.Tables
	grain   time.Duration
	buckets []bucket
	phases  []PhaseMark
	open    map[int64]time.Duration
}

func (t *traffic) add(b *history.Batch) bool {
	for i := range b.N {
		at := time.Duration(b.Time[i])
		switch {
		case b.Kind[i] == history.KindPhase:
			t.phases = append(t.phases, PhaseMark{round(at.Seconds()), b.Text(i)})
		case t.probe(b.Process[i]):
		case b.Kind[i] == history.KindDeliver:
			t.at(at).delivered++
		case b.Kind[i] == history.KindPublish && b.Edge[i] == history.Call:
			t.at(at).called++
			t.open[b.Index[i]] = at
		case b.Kind[i] == history.KindPublish && b.Edge[i] == history.Return:
			t.returned(b, i, at)
		}
	}
	return true
}

// probe reports whether a process only asks whether a node serves.
func (t *traffic) probe(process int32) bool {
	return process >= 0 && int(process) < len(t.tables.Processes) && t.tables.Processes[process].Group == history.GroupProbe
}

func (t *traffic) returned(b *history.Batch, i int, at time.Duration) {
	called, known := t.open[b.Call[i]]
	delete(t.open, b.Call[i])
	in := t.at(at)
	switch b.Outcome[i] {
	case history.OK:
		in.acked++
		if known && b.QoS[i] > 0 {
			in.latencies = append(in.latencies, float64(at-called)/float64(time.Millisecond))
		}
	case history.Fail:
		in.failed++
	default:
		in.unknown++
	}
}

// at answers the bucket of a time, doubling the grain when there are too many.
func (t *traffic) at(when time.Duration) *bucket {
	for int(when/t.grain) >= maxBuckets {
		t.grain *= 2
		for i := range t.buckets {
			if i%2 == 0 {
				t.buckets[i/2] = t.buckets[i]
			} else {
				t.buckets[i/2].merge(t.buckets[i])
			}
		}
		t.buckets = t.buckets[:(len(t.buckets)+1)/2]
	}
	for len(t.buckets) <= int(when/t.grain) {
		t.buckets = append(t.buckets, bucket{})
	}
	return &t.buckets[int(when/t.grain)]
}

func (b *bucket) merge(o bucket) {
	b.called, b.acked, b.failed, b.unknown, b.delivered = b.called+o.called, b.acked+o.acked, b.failed+o.failed, b.unknown+o.unknown, b.delivered+o.delivered
	b.latencies = append(b.latencies, o.latencies...)
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

func largest(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	return slices.Max(list)
}

// round keeps two digits: finer is noise to a reader.
func round(f float64) float64 { return float64(int64(f*100+0.5)) / 100 }
