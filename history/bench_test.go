package history_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/shirou/gopsutil/v3/process"
)

// workload records n events as a run has them: publishes called and returned,
// and their deliveries, over 3 streams.
func workload(b *testing.B, dir string, n int) {
	r, err := history.Create(dir, history.Options{})
	if err != nil {
		b.Fatal(err)
	}
	fillTables(r)
	seqs := make([]int64, 3)
	for i := 0; i < n; i += 3 {
		stream := int32(i/3) % 3
		seq := seqs[stream]
		seqs[stream]++
		e := history.Event{
			Call: history.None, Time: time.Duration(i) * 997, Process: 0, Kind: history.KindPublish, Edge: history.Call,
			Via: history.ViaDriver, QoS: 1, Node: int16(stream % 2), Stream: stream, Seq: seq, ID: seq%65535 + 1,
		}
		e.Call = r.Record(e)
		e.Edge, e.Outcome, e.Time = history.Return, history.OK, e.Time+100_000
		r.Record(e)
		e.Call, e.Kind, e.Edge, e.Outcome, e.Time = history.None, history.KindDeliver, history.Point, history.OutcomeNone, e.Time+50_000
		r.Record(e)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRecord records b.N events and closes the history, which writes it
// to the disk.
func BenchmarkRecord(b *testing.B) {
	dir := b.TempDir()
	busy := cpu(b)
	workload(b, dir, b.N)
	b.ReportMetric(float64(b.N)/max(cpu(b)-busy, 0.01), "events/cpu-s")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	info, err := os.Stat(filepath.Join(dir, history.EventsFile))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/float64(b.N), "bytes/event")
}

// BenchmarkRead judges as a checker does: it goes through the file from disk
// and keeps, per stream, which messages were acknowledged and delivered.
func BenchmarkRead(b *testing.B) {
	const events = 3_000_000
	dir := b.TempDir()
	workload(b, dir, events)
	busy := cpu(b)
	for b.Loop() {
		acked, delivered := make([][]uint64, 3), make([][]uint64, 3)
		r, err := history.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for {
			batch, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			n += batch.N
			for i, kind := range batch.Kind {
				switch {
				case kind == history.KindPublish && batch.Outcome[i] == history.OK:
					set(&acked[batch.Stream[i]], batch.Seq[i])
				case kind == history.KindDeliver:
					set(&delivered[batch.Stream[i]], batch.Seq[i])
				}
			}
		}
		if n != events || !r.Ended() {
			b.Fatalf("read %d events of %d, ended %t", n, events, r.Ended())
		}
		r.Close()
	}
	b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(events*float64(b.N)/(cpu(b)-busy), "events/cpu-s")
}

// cpu is the processor time of this process so far, in seconds: unlike the
// clock on the wall it does not count what others do on the machine.
func cpu(b *testing.B) float64 {
	b.Helper()
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		b.Fatal(err)
	}
	t, err := p.Times()
	if err != nil {
		b.Fatal(err)
	}
	return t.User + t.System
}

func set(bitmap *[]uint64, i int64) {
	for int(i/64) >= len(*bitmap) {
		*bitmap = append(*bitmap, 0)
	}
	(*bitmap)[i/64] |= 1 << (i % 64)
}
