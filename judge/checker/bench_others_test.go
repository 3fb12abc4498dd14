package checker

import (
	"runtime"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/robustmq/rmq-mcp/history"
)

// The benchmarks below run other tools over the same history, for comparison. Each says
// only whether a message was lost or never sent; [BenchmarkJudge] decides eight claims
// with their canaries.

// one names a message on its way to a process.
type one struct {
	process, stream int32
	seq             int64
}

// BenchmarkMultiset counts acknowledgements and deliveries in maps.
func BenchmarkMultiset(b *testing.B) {
	reconcile(b, func(events func(func(*history.Batch, int))) (missing int) {
		acked, got := map[one]bool{}, map[one]int{}
		events(func(b *history.Batch, i int) {
			switch {
			case b.Kind[i] == history.KindPublish && b.Edge[i] == history.Return && b.Outcome[i] == history.OK:
				acked[one{0, b.Stream[i], b.Seq[i]}] = true
			case b.Kind[i] == history.KindDeliver:
				got[one{b.Process[i], b.Stream[i], b.Seq[i]}]++
			}
		})
		for m := range acked {
			for _, p := range []int32{sub, other} {
				if got[one{p, m.stream, m.seq}] == 0 {
					missing++
				}
			}
		}
		return missing
	})
}

// BenchmarkPorcupine has each message and subscriber be an object of its own,
// which is written once and then read: what is read before it is written, or not
// read in the end, is not linearizable.
func BenchmarkPorcupine(b *testing.B) {
	type op struct {
		of   one
		read bool
	}
	model := porcupine.Model{
		Init: func() any { return false },
		Step: func(state, in, _ any) (bool, any) {
			if in.(op).read {
				return state.(bool), state
			}
			return true, true
		},
		Partition: func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
			at := map[one]int{}
			for _, o := range all {
				key := o.Input.(op).of
				i, ok := at[key]
				if !ok {
					i = len(parts)
					at[key] = i
					parts = append(parts, nil)
				}
				parts[i] = append(parts[i], o)
			}
			return parts
		},
	}
	reconcile(b, func(events func(func(*history.Batch, int))) (missing int) {
		var ops []porcupine.Operation
		called, read := map[one]int64{}, map[one]bool{}
		events(func(b *history.Batch, i int) {
			m := one{0, b.Stream[i], b.Seq[i]}
			switch {
			case b.Kind[i] == history.KindPublish && b.Edge[i] == history.Call:
				called[m] = b.Time[i]
			case b.Kind[i] == history.KindPublish && b.Edge[i] == history.Return:
				for _, p := range []int32{sub, other} {
					ops = append(ops, porcupine.Operation{Input: op{of: one{p, m.stream, m.seq}}, Call: called[m], Return: b.Time[i]})
				}
			case b.Kind[i] == history.KindDeliver && b.Process[i] != fleet:
				m.process = b.Process[i]
				read[m] = true
				ops = append(ops, porcupine.Operation{ClientId: 1, Input: op{of: m, read: true}, Call: called[one{0, m.stream, m.seq}], Return: b.Time[i]})
			}
		})
		if !porcupine.CheckOperations(model, ops) {
			missing++
		}
		return missing + 2*len(called) - len(read)
	})
}

// reconcile measures a reconciliation of the history that BenchmarkJudge judges.
func reconcile(b *testing.B, missing func(events func(func(*history.Batch, int))) int) {
	s := load(1_000_000, whole)
	batches, events := s.source(4096).batches, float64(len(s.events))
	s.events = nil
	runtime.GC()
	b.ReportAllocs()
	busy := cpu(b)
	for b.Loop() {
		missing(func(see func(*history.Batch, int)) {
			for _, batch := range batches {
				for i := range batch.N {
					see(batch, i)
				}
			}
		})
	}
	n := events * float64(b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(n/(cpu(b)-busy), "events/cpu-s")
}
