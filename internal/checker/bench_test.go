package checker

import (
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/history"
)

// BenchmarkJudge goes through a million events with all claims of a fault
// scenario and their canaries: four publishers, two streams each, one half of
// the subscribers online, the other offline until the end.
func BenchmarkJudge(b *testing.B) {
	s := load(1_000_000)
	claims := []string{"qos1-no-loss", "no-unexpected", "no-corruption", "order-per-stream", "session-kept", "progress", "recovery", "no-panic"}
	batches := s.source(4096).batches
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		r, err := Judge(&memory{batches: batches}, s.context(), claims)
		if err != nil || r.Results[0].Judged == 0 {
			b.Fatal(r.Results[0], err)
		}
	}
	b.ReportMetric(float64(len(s.events)*b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}

func load(events int) *story {
	s := newStory()
	s.tables.Streams = nil
	for range 8 {
		s.tables.Streams = append(s.tables.Streams, history.Stream{Producer: pub, Topic: "work/x", QoS: 1})
	}
	s.connect(pub, false).join(sub, other, fleet)
	s.phase("steady").disconnect(other)
	for i := int64(0); len(s.events) < events*2/3; i++ {
		st := int32(i % 8)
		e := s.publishing(st, i/8)
		c := s.call(e)
		s.deliver(sub, st, i/8)
		s.ret(e, c, history.OK)
		s.deliver(fleet, st, i/8)
		if len(s.events) > events/2 && s.landings == nil {
			s.fault(time.Second)
		}
	}
	s.phase("drain").connect(other, true)
	n := s.events[len(s.events)-6].Seq
	for seq := range n {
		for st := range int32(8) {
			s.deliver(other, st, seq)
		}
	}
	return s.finish()
}
