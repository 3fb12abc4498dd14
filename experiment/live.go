package experiment

import (
	"cmp"
	"context"
	"math/bits"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
)

// live follows the history as it is recorded, for the load to wait for and for people
// to watch. It decides nothing; that is for the checkers, later, from the file.
type live struct {
	mu        sync.Mutex
	changed   chan struct{} // closed at the next event
	processes map[int32]*liveProcess
	streams   map[int32]*liveStream
	counts    keeper.Counts
	publishes meter
	delivers  meter
}

type liveProcess struct {
	connected  bool
	connects   int
	will       int64  // number of the will of its connection; None without one
	lost       []loss // of those that it had before
	subscribed int    // filters acknowledged, in the session that it has
	refused    string // what the last SUBSCRIBE that failed was answered
	unheard    bool   // the last SUBSCRIBE of its connection failed, or nobody answered it
	unmet      string // why the last attempt to connect failed
	ended      bool
	delivered  int64
	activity   int64          // deliveries, and connections made and lost
	last       time.Duration  // of the last delivery
	got        map[int32]*set // of each stream, the messages that arrived
}

type liveStream struct {
	acked  set   // acknowledged messages, the end marker among them
	marker int64 // the last end marker; None before
	ended  bool  // the marker was acknowledged
}

func newLive() *live {
	return &live{
		changed:   make(chan struct{}),
		processes: map[int32]*liveProcess{},
		streams:   map[int32]*liveStream{},
	}
}

// event takes one event, in order. It must not block.
func (l *live) event(e history.Event) {
	if e.Kind == history.KindPacket || e.Kind == history.KindTold { // nobody waits for those
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Process != history.None {
		l.take(e)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *live) take(e history.Event) {
	p := l.process(e.Process)
	if e.Kind == history.KindDeliver || e.Kind == history.KindDisconnect || e.Kind == history.KindConnect && e.Outcome == history.OK {
		p.activity++
	}
	switch {
	case e.Kind == history.KindConnect && e.Edge == history.Return:
		p.connected, p.unmet, p.unheard = e.Outcome == history.OK, e.Text, false
		if p.connected {
			p.connects, p.will = p.connects+1, e.Seq
		}
		if p.connected && !e.Flags.Has(history.FlagSessionPresent) {
			p.subscribed = 0
		}
	case e.Kind == history.KindDisconnect:
		if p.will != history.None && e.Outcome != history.OK {
			p.lost = append(p.lost, loss{p.will, e.Time})
		}
		p.connected, p.will = false, history.None
	case e.Kind == history.KindSubscribe && e.Edge == history.Return && e.Outcome == history.OK:
		p.subscribed++
		p.refused, p.unheard = "", false
	case e.Kind == history.KindSubscribe && e.Edge == history.Return:
		p.unheard = true
		if e.Outcome == history.Fail {
			p.refused = cmp.Or(e.Text, "no reason was given")
		}
	case e.Kind == history.KindEnd:
		p.ended = true
	case e.Kind == history.KindPublish && e.Edge == history.Call:
		l.counts.Sent++
		if e.Flags.Has(history.FlagEnd) {
			l.stream(e.Stream).marker = e.Seq
		}
	case e.Kind == history.KindPublish && e.Edge == history.Return:
		l.published(e)
	case e.Kind == history.KindDeliver:
		l.counts.Received++
		l.delivers.add(e.Time)
		p.delivered++
		p.last = e.Time
		if e.Stream != history.None {
			p.stream(e.Stream).add(e.Seq)
		}
	}
}

func (l *live) published(e history.Event) {
	if e.Outcome == history.Info {
		l.counts.Unknown++
	}
	if e.Outcome != history.OK {
		return
	}
	l.counts.Acked++
	l.publishes.add(e.Time)
	s := l.stream(e.Stream)
	s.acked.add(e.Seq)
	s.ended = s.ended || e.Seq == s.marker
}

func (l *live) process(i int32) *liveProcess {
	p := l.processes[i]
	if p == nil {
		p = &liveProcess{will: history.None, got: map[int32]*set{}}
		l.processes[i] = p
	}
	return p
}

func (p *liveProcess) stream(i int32) *set {
	s := p.got[i]
	if s == nil {
		s = &set{}
		p.got[i] = s
	}
	return s
}

func (l *live) stream(i int32) *liveStream {
	s := l.streams[i]
	if s == nil {
		s = &liveStream{marker: history.None}
		l.streams[i] = s
	}
	return s
}

// snapshot returns the counts, with rates over the last second.
func (l *live) snapshot(now time.Duration) keeper.Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts
	c.PublishPerS = l.publishes.perSecond(now)
	c.DeliverPerS = l.delivers.perSecond(now)
	return c
}

// wait returns when the condition holds, which is looked at after every
// event, or when the bound has passed. The condition runs under the lock.
func (l *live) wait(ctx context.Context, bound time.Duration, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for {
		l.mu.Lock()
		ok, changed := holds(), l.changed
		l.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// probeAgain is the pause before a probe that could not subscribe is looked at again.
const probeAgain = time.Second

// served waits until each of the probes was delivered a message, and each of their
// streams had one acknowledged. A probe that could not subscribe is to do so again, as a
// client would: a node that refuses one subscription may take the next.
func (l *live) served(ctx context.Context, bound time.Duration, probes, streams []int32, again func(probe int32)) bool {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for {
		var unheard []int32
		var done bool
		if !l.wait(ctx, bound, func() bool {
			unheard = l.refused(probes)
			done = l.all(probes, func(p *liveProcess) bool { return p.delivered > 0 })()
			for _, s := range streams {
				done = done && l.stream(s).acked.n > 0
			}
			return done || len(unheard) > 0
		}) {
			return false
		}
		if done {
			return true
		}
		for _, i := range unheard {
			again(i)
		}
		hold(ctx, probeAgain)
	}
}

// unheard returns those of the processes that are connected and could not subscribe. Each
// failure is returned once.
func (l *live) unheard(processes []int32) []int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused(processes)
}

// refused is unheard under the lock.
func (l *live) refused(processes []int32) (list []int32) {
	for _, i := range processes {
		if p := l.process(i); p.connected && p.unheard {
			list, p.unheard = append(list, i), false
		}
	}
	return list
}

// all returns a condition: every process of the list meets it.
func (l *live) all(processes []int32, meets func(*liveProcess) bool) func() bool {
	return func() bool {
		for _, i := range processes {
			if !meets(l.process(i)) {
				return false
			}
		}
		return true
	}
}

// A meter counts events in buckets of a tenth of a second.
type meter struct {
	buckets [16]int64
	last    int64
}

const meterBucket = 100 * time.Millisecond

func (m *meter) add(t time.Duration) {
	m.advance(t)
	m.buckets[int64(t/meterBucket)%int64(len(m.buckets))]++
}

func (m *meter) advance(t time.Duration) {
	now := int64(t / meterBucket)
	for b := max(m.last+1, now-int64(len(m.buckets))+1); b <= now; b++ {
		m.buckets[b%int64(len(m.buckets))] = 0
	}
	m.last = max(m.last, now)
}

// perSecond is the rate over the ten full buckets before now.
func (m *meter) perSecond(now time.Duration) float64 {
	m.advance(now)
	var n int64
	for i := range int64(10) {
		if b := m.last - 1 - i; b >= 0 {
			n += m.buckets[b%int64(len(m.buckets))]
		}
	}
	return float64(n)
}

// A set of small numbers that are counted up.
type set struct {
	bits []uint64
	n    int
}

// farOut is how far beyond its end a set grows at once. A number further out was
// not counted up to: the judge tells what it is, and it must not cost memory.
const farOut = 1 << 20

func (s *set) add(i int64) {
	word := i / 64
	if i < 0 || word > int64(len(s.bits))+farOut/64 {
		return
	}
	if grow := word + 1 - int64(len(s.bits)); grow > 0 {
		s.bits = append(s.bits, make([]uint64, grow)...)
	}
	if bit := uint64(1) << (i % 64); s.bits[i/64]&bit == 0 {
		s.bits[i/64] |= bit
		s.n++
	}
}

// missing counts the numbers of s that are in none of the others.
func (s *set) missing(others ...*set) (n int) {
	for i, word := range s.bits {
		for _, other := range others {
			if i < len(other.bits) {
				word &^= other.bits[i]
			}
		}
		n += bits.OnesCount64(word)
	}
	return n
}
