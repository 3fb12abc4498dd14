package checker

import (
	"io"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shirou/gopsutil/v3/process"

	"github.com/robustmq/rmq-mcp/history"
)

// The claims of a fault scenario, as the benchmarks judge them.
var benchClaims = []string{"qos1-no-loss", "no-unexpected", "no-corruption", "order-per-stream", "session-kept", "progress", "recovery", "no-panic"}

// BenchmarkJudge goes through 833,000 events in memory with all claims of a
// fault scenario and their canaries: a publisher of eight streams, one half of
// the subscribers online, the other offline until the end.
func BenchmarkJudge(b *testing.B) {
	s := load(1_000_000, whole)
	batches := s.source(4096).batches
	measure(b, s, benchClaims, func() (Source, error) { return &memory{batches: batches}, nil })
}

// BenchmarkJudgeAll is the same load with its packets, half of it of QoS 2, by every
// claim of MQTT 3.1.1 and its canary. It has no wills, shared subscriptions or retained
// messages.
func BenchmarkJudgeAll(b *testing.B) {
	s := loaded(wired(), 1_000_000, whole)
	batches := s.source(4096).batches
	var claims []string
	for _, e := range All {
		if slices.Contains(e.Protocols, "mqtt3") {
			claims = append(claims, e.Claim.Name)
		}
	}
	measure(b, s, claims, func() (Source, error) { return &memory{batches: batches}, nil })
}

// BenchmarkJudgeFromDisk is the same from a recorded file.
func BenchmarkJudgeFromDisk(b *testing.B) {
	s := load(1_000_000, whole)
	dir := b.TempDir()
	record(b, s, dir)
	measure(b, s, benchClaims, func() (Source, error) { return history.Open(dir) })
}

// measure judges what open returns by the claims. The story's events are not kept, so that
// they are no work for the garbage collector.
func measure(b *testing.B, s *story, claims []string, open func() (Source, error)) {
	events := float64(s.rows())
	s.events, s.run.Reaches = nil, allReached()
	runtime.GC()
	b.ReportAllocs()
	busy := cpu(b)
	for b.Loop() {
		src, err := open()
		if err != nil {
			b.Fatal(err)
		}
		r, err := Judge(src, s.context(), claims)
		if err != nil || r.Results[0].Judged == 0 {
			b.Fatal(r.Results[0], err)
		}
		if c, ok := src.(io.Closer); ok {
			c.Close()
		}
	}
	n := events * float64(b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(n/(cpu(b)-busy), "events/cpu-s")
}

// cpu is the processor time of this process so far, in seconds: unlike the
// clock on the wall it does not count what others do on the machine.
func cpu(tb testing.TB) float64 {
	tb.Helper()
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		tb.Fatal(err)
	}
	t, err := p.Times()
	if err != nil {
		tb.Fatal(err)
	}
	return t.User + t.System
}

func record(tb testing.TB, s *story, dir string) {
	tb.Helper()
	r := recorder(tb, s, dir)
	for _, e := range s.events {
		r.Record(e)
	}
	closed(tb, r)
}

// recorder begins a history with the tables of a story.
func recorder(tb testing.TB, s *story, dir string) *history.Recorder {
	tb.Helper()
	r, err := history.Create(dir, history.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	for _, n := range s.tables.Nodes {
		r.Node(n)
	}
	for _, p := range s.tables.Processes {
		r.Process(p)
	}
	for _, st := range s.tables.Streams {
		r.Stream(st)
	}
	return r
}

func closed(tb testing.TB, r *history.Recorder) {
	tb.Helper()
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
}

// A history that went through the file is judged like the one in memory.
func TestJudgeFromDisk(t *testing.T) {
	s := healthy()
	got := judgedFromDisk(t, s, names()...)
	if diff := cmp.Diff(judgeStory(t, s, names()...), got); diff != "" {
		t.Error(diff)
	}
}

// judgedFromDisk records a story in a file, and judges that by all claims.
func judgedFromDisk(t *testing.T, s *story, claims ...string) Report {
	t.Helper()
	dir := t.TempDir()
	record(t, s, dir)
	src, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	ctx := s.context()
	ctx.Tables = src.Tables()
	report, err := Judge(src, ctx, claims)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// load tells a story of about so many events, and lets keep take what is told
// now and then.
func load(events int64, keep func(*story)) *story { return loaded(newStory(), events, keep) }

// loaded is a story to which load is told.
func loaded(s *story, events int64, keep func(*story)) *story {
	s.step = min(time.Millisecond, time.Hour/time.Duration(events))
	s.tables.Streams = nil
	for i := range uint8(8) {
		qos := uint8(1)
		if s.run.Wire {
			qos += i % 2
		}
		s.tables.Streams = append(s.tables.Streams, history.Stream{Producer: pub, Topic: "work/x", QoS: qos})
	}
	s.connect(pub, false).join(sub, other, fleet)
	s.phase("steady").disconnect(other)
	last := int64(0)
	for i := int64(0); s.rows() < events*2/3; i++ {
		st := int32(i % 8)
		e := s.publishing(st, i/8)
		c := s.call(e)
		s.wirePublish(st, i/8, true)
		s.deliver(sub, st, i/8)
		s.ret(e, c, history.OK)
		s.deliver(fleet, st, i/8)
		if s.rows() > events/2 && s.landings == nil {
			s.fault(time.Second)
		}
		last = i / 8
		keep(s)
	}
	s.phase("drain").connect(other, true)
	for seq := range last {
		for st := range int32(8) {
			n := len(s.events)
			s.deliver(other, st, seq).again(len(s.events) - n)
		}
		keep(s)
	}
	return s.finish()
}

func whole(*story) {}

// spill records what is told and forgets it.
func (s *story) spill(r *history.Recorder) {
	for _, e := range s.events {
		r.Record(e)
	}
	s.past += int64(len(s.events))
	s.events = s.events[:0]
}
