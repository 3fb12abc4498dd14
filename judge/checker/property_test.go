package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A broker in miniature: it keeps its promises and uses every freedom that
// they leave. It resends on reconnection, delivers QoS 1 twice, takes
// publishes whose acknowledgement is lost, and loses QoS 0.
type broker struct {
	*story
	rng    *rand.Rand
	next   map[int32]int64     // number of the next message, by stream
	queue  map[int32][]pending // messages that a process has still to get
	online map[int32]bool
}

type pending struct {
	stream int32
	seq    int64
	flags  history.Flags
}

func correct(seed uint64) *story { return correctOn(newStory(), seed) }

func correctOn(s *story, seed uint64) *story {
	b := &broker{story: s, rng: rand.New(rand.NewPCG(seed, 1)), next: map[int32]int64{}, queue: map[int32][]pending{}, online: map[int32]bool{}}
	b.connect(pub, false).join(sub, other, fleet)
	for _, p := range []int32{sub, other, fleet} {
		b.online[p] = true
	}
	b.phase("steady")
	for i := range 400 {
		if i == 200 {
			b.phase("fault").fault(300 * time.Millisecond)
		}
		b.step()
	}
	b.heal().phase("recovery").join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0)
	for _, p := range []int32{probe1, probe2} {
		b.deliver(p, probed, 0).deliver(p, probed2, 0)
	}
	b.phase("drain")
	for _, p := range []int32{sub, other} {
		if !b.online[p] {
			b.back(p)
		}
	}
	for _, st := range []int32{q1, q2, q1b} {
		b.send(st, history.OK, history.FlagEnd)
	}
	for _, p := range []int32{sub, other, fleet} {
		for len(b.queue[p]) > 0 {
			b.pop(p)
		}
	}
	return b.finish()
}

func (b *broker) step() {
	p := []int32{sub, other}[b.rng.IntN(2)]
	switch n := b.rng.IntN(100); {
	case n < 40:
		outcome := history.OK
		if b.rng.IntN(10) == 0 {
			outcome = history.Info
		}
		b.send([]int32{q0, q1, q2, q1b}[b.rng.IntN(4)], outcome, 0)
	case n < 44 && b.online[p]:
		b.disconnect(p)
		b.online[p] = false
	case n < 50 && !b.online[p]:
		b.back(p)
	case n < 54:
		b.publish(reg, b.number(reg), history.OK).fetch(reg, b.next[reg]-1)
	default:
		p = []int32{sub, other, fleet}[b.rng.IntN(3)]
		if b.online[p] && len(b.queue[p]) > 0 {
			b.pop(p)
		}
	}
}

func (b *broker) number(st int32) int64 { b.next[st]++; return b.next[st] - 1 }

func (b *broker) send(st int32, o history.Outcome, flags history.Flags) {
	seq := b.number(st)
	e := b.publishing(st, seq)
	e.Flags = flags
	c := b.call(e)
	b.wirePublish(st, seq, o == history.OK)
	b.ret(e, c, o)
	if o == history.Info && b.rng.IntN(2) == 0 {
		return // it was never taken
	}
	for _, p := range []int32{sub, other, fleet} {
		if st == q0 && b.rng.IntN(4) == 0 {
			continue
		}
		b.queue[p] = append(b.queue[p], pending{st, seq, flags})
	}
}

func (b *broker) pop(p int32) {
	m := b.queue[p][0]
	b.queue[p] = b.queue[p][1:]
	b.deliver(p, m.stream, m.seq, m.flags)
	if m.stream == q1 && b.rng.IntN(5) == 0 {
		b.deliver(p, m.stream, m.seq, m.flags|history.FlagDup)
	}
}

func (b *broker) back(p int32) { b.connect(p, true); b.online[p] = true }

func TestCorrectHistoriesNeverFail(t *testing.T) {
	for seed := range uint64(60) {
		s := correct(seed)
		report := judgeStory(t, s, names()...)
		if !report.Complete.Closed {
			t.Errorf("seed %d: not complete: %v", seed, report.Complete.Why)
		}
		for _, r := range report.Results {
			// A short random run may have no occasion to resume a session.
			if r.Status == verdict.Fail || r.Status == verdict.Unknown && r.Claim.Name != "session-kept" {
				t.Errorf("seed %d: %s is %s: %s %v", seed, r.Claim.Name, r.Status, r.Summary, r.Reasons)
			}
		}
	}
}

// Each defect is planted at a random place that shows it; the checker of its
// claim must find it, and name the message.
func TestPlantedDefectsAreFound(t *testing.T) {
	type defect struct {
		claim, kind string
		fits        func(s *story, e history.Event) bool
		plant       func(s *story, i int)
	}
	deliveredTo := func(st int32, to ...int32) func(*story, history.Event) bool {
		return func(_ *story, e history.Event) bool {
			return e.Kind == history.KindDeliver && e.Stream == st && slices.Contains(to, e.Process) && e.Flags&history.FlagEnd == 0
		}
	}
	ackedAnd := func(fits func(*story, history.Event) bool) func(*story, history.Event) bool {
		return func(s *story, e history.Event) bool { return fits(s, e) && wasAcked(s, e) }
	}
	for _, d := range []defect{
		{"qos1-no-loss", "lost", ackedAnd(deliveredTo(q1, sub, other)), vanish},
		{"qos2-no-loss", "lost", ackedAnd(deliveredTo(q2, sub, other)), vanish},
		{"qos2-exactly-once", "duplicated", deliveredTo(q2, sub, other, fleet), echo},
		{"qos0-at-most-once", "duplicated", deliveredTo(q0, sub, other, fleet), echo},
		{"no-unexpected", "unexpected", deliveredTo(q1, sub, other), func(s *story, i int) { s.events[i].Seq += 5000 }},
		{"no-corruption", "corrupted", deliveredTo(q1, sub), func(s *story, i int) { s.events[i].Flags |= history.FlagCorrupt }},
		{"session-kept", "session-lost", func(_ *story, e history.Event) bool {
			return e.Kind == history.KindConnect && e.Flags.Has(history.FlagSessionPresent)
		}, func(s *story, i int) { s.events[i].Flags = 0 }},
		{"order-per-stream", "nonmonotonic", func(s *story, e history.Event) bool {
			return deliveredTo(q1, sub)(s, e) && followed(s, e) && !repeated(s, e)
		}, postpone},
		{"no-panic", "panic", func(_ *story, e history.Event) bool { return e.Kind == history.KindPhase }, func(s *story, i int) {
			s.events[i].Kind, s.events[i].Text, s.events[i].Node = history.KindObserve, history.ObservePanic, 1
		}},
		{"no-exit", "exit", func(_ *story, e history.Event) bool { return e.Kind == history.KindPhase }, func(s *story, i int) {
			s.events[i].Kind, s.events[i].Text, s.events[i].Node, s.events[i].Value = history.KindObserve, history.ObserveExit, 1, 1
		}},
		{"retained-register", "not-linearizable", func(_ *story, e history.Event) bool {
			return e.Kind == history.KindFetch && e.Edge == history.Return && e.Seq > 0
		}, func(s *story, i int) { s.events[i].Seq-- }},
		{"session-fresh", "session-feigned", func(s *story, e history.Event) bool {
			return e.Kind == history.KindConnect && e.Edge == history.Return && !connectedBefore(s, e)
		}, func(s *story, i int) { s.events[i].Flags |= history.FlagSessionPresent }},
		{"qos-granted", "wrong QoS", deliveredTo(q1, sub, other), func(s *story, i int) { s.events[i].QoS = 2 }},
		{"qos1-dup-flag", "unflagged", ackedAnd(func(s *story, e history.Event) bool {
			return deliveredTo(q1, sub, other)(s, e) && !e.Flags.Has(history.FlagDup)
		}), echo},
		{"progress", "no-progress", func(s *story, e history.Event) bool {
			return e.Kind == history.KindPublish && e.Edge == history.Return && e.Outcome == history.OK && e.QoS > 0 && inFault(s, e)
		}, func(s *story, i int) { delay(s, i, 10*time.Minute) }},
		{"recovery", "not-recovered", func(_ *story, e history.Event) bool {
			return e.Kind == history.KindDeliver && (e.Process == probe1 || e.Process == probe2)
		}, deafen},
	} {
		t.Run(d.claim, func(t *testing.T) {
			planted := 0
			for seed := range uint64(20) {
				s := correct(seed)
				places := fitting(s, d.fits)
				if len(places) == 0 {
					continue
				}
				planted++
				i := places[rand.New(rand.NewPCG(seed, 2)).IntN(len(places))]
				at := s.events[i]
				d.plant(s, i)
				s.run.Wire = d.claim == "qos1-dup-flag" // without packets nobody is accused of it
				r := judgeStory(t, s, d.claim).Results[0]
				if r.Status != verdict.Fail || r.Anomalies[0].Kind != d.kind {
					t.Fatalf("seed %d: planted at %+v, got %s: %s %v", seed, at, r.Status, r.Summary, r.Reasons)
				}
				if a := r.Anomalies[0]; d.kind == "lost" && (a.Seq != at.Seq || a.Stream != at.Stream || a.Process != at.Process) {
					t.Errorf("seed %d: lost was %d of %d to %d, named %+v", seed, at.Seq, at.Stream, at.Process, a)
				}
			}
			if planted < 10 {
				t.Errorf("planted in %d histories of 20", planted)
			}
		})
	}
}

func fitting(s *story, fits func(*story, history.Event) bool) (places []int) {
	for i, e := range s.events {
		if fits(s, e) {
			places = append(places, i)
		}
	}
	return places
}

func wasAcked(s *story, e history.Event) bool {
	return slices.ContainsFunc(s.events, func(o history.Event) bool {
		return o.Kind == history.KindPublish && o.Edge == history.Return && o.Outcome == history.OK && o.Stream == e.Stream && o.Seq == e.Seq
	})
}

func same(a, b history.Event) bool {
	return b.Kind == history.KindDeliver && a.Process == b.Process && a.Stream == b.Stream && a.Seq == b.Seq
}

// vanish drops every delivery of the message in row i to its process.
func vanish(s *story, i int) {
	at := s.events[i]
	for j, e := range s.events {
		if same(at, e) {
			s.events[j].Kind = history.KindResume // a row that means nothing here
		}
	}
}

// echo repeats row i at the end of the history.
func echo(s *story, i int) { s.add(s.events[i]) }

func followed(s *story, e history.Event) bool {
	return slices.ContainsFunc(s.events[e.Index+1:], func(o history.Event) bool {
		return o.Kind == history.KindDeliver && o.Process == e.Process && o.Stream == e.Stream && o.Seq > e.Seq
	})
}

// postpone moves the message in row i behind all others.
func postpone(s *story, i int) {
	at := s.events[i]
	vanish(s, i)
	s.add(at)
}

// connectedBefore reports whether the process of a connection had one before.
func connectedBefore(s *story, e history.Event) bool {
	return slices.ContainsFunc(s.events[:e.Index], func(o history.Event) bool {
		return o.Kind == history.KindConnect && o.Edge == history.Return && o.Process == e.Process
	})
}

func inFault(s *story, e history.Event) bool {
	at := s.landings[0].Times
	return at.AppliedNS < int64(e.Time) && int64(e.Time) < at.HealedNS
}

// delay has everything from row i on happen later.
func delay(s *story, i int, by time.Duration) {
	for j := range s.events[i:] {
		s.events[i+j].Time += by
	}
}

// deafen takes all deliveries to the process of row i away, and gives it time.
func deafen(s *story, i int) {
	p := s.events[i].Process
	for j, e := range s.events {
		switch {
		case e.Kind == history.KindDeliver && e.Process == p:
			s.events[j].Kind = history.KindResume
		case e.Kind == history.KindPhase && e.Text == history.PhaseDrain:
			delay(s, j, 10*time.Minute)
		}
	}
}

// Nothing that a driver can be made to say may bring a checker down.
func TestRubbishIsNotFatal(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := correctOn(wired(), seed)
		for i := range s.events {
			if rng.IntN(3) > 0 {
				continue
			}
			e := &s.events[i]
			e.Kind, e.Edge, e.Outcome = history.Kind(rng.IntN(19)), history.Edge(rng.IntN(3)), history.Outcome(rng.IntN(4))
			e.Process, e.Stream = int32(rng.IntN(numProc+1))-1, int32(rng.IntN(len(s.tables.Streams)+1))-1
			e.Seq, e.Call = rng.Int64N(300)-1, rng.Int64N(int64(i)+1)-1
			e.Node, e.Flags, e.QoS = int16(rng.IntN(3))-1, history.Flags(rng.IntN(128)), uint8(rng.IntN(3))
			e.ID, e.Reason = rng.Int64N(300)-1, uint8(rng.IntN(256))
			if rng.IntN(10) == 0 {
				e.Seq = rng.Int64() - rng.Int64()
			}
		}
		first := fmt.Sprint(judgeStory(t, s, names()...))
		if again := fmt.Sprint(judgeStory(t, s, names()...)); again != first {
			t.Errorf("seed %d: judging again gives another report", seed)
		}
	}
}

// repeated reports whether some copy of a delivery has DUP, which may excuse
// its place.
func repeated(s *story, e history.Event) bool {
	return slices.ContainsFunc(s.events, func(o history.Event) bool {
		return o.Kind == history.KindDeliver && o.Process == e.Process && o.Stream == e.Stream && o.Seq == e.Seq && o.Flags.Has(history.FlagDup)
	})
}
