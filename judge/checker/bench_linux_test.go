package checker

import (
	"os"
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
)

// BenchmarkJudge50M judges a file of 50 million events, which takes 3 GB of disk.
func BenchmarkJudge50M(b *testing.B) {
	dir := b.TempDir()
	var r *history.Recorder
	s := load(60_000_000, func(s *story) {
		if r == nil {
			r = recorder(b, s, dir)
		}
		if len(s.events) > 1<<16 {
			s.spill(r)
		}
	})
	s.spill(r)
	closed(b, r)
	s.events, s.wires = nil, nil
	forgetPeak(b)
	measure(b, s, benchClaims, func() (Source, error) { return history.Open(dir) })
	b.ReportMetric(peakMB(b), "peak-MB")
}

// forgetPeak begins anew with the most memory that this process has had (proc(5),
// clear_refs).
func forgetPeak(tb testing.TB) {
	tb.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		tb.Fatal(err)
	}
}

// peakMB is the most memory that this process has had, in MB (getrusage(2)).
func peakMB(tb testing.TB) float64 {
	tb.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		tb.Fatal(err)
	}
	return float64(use.Maxrss) * 1024 / 1e6
}
