package driver

import (
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// A producer publishes a process's messages.
type producer struct {
	p       *Process
	work    contract.Publish
	next    []int64       // sequence number, per stream of work
	window  chan struct{} // one element for each call that has not returned
	started sync.Once
	stop    chan struct{} // closed: no new messages
	stopped chan struct{} // closed: none is being handed to the SDK any more
}

func newProducer(p *Process, work contract.Publish) *producer {
	if work.MaxInflight <= 0 {
		work.MaxInflight = 20
	}
	return &producer{
		p: p, work: work,
		next:    make([]int64, len(work.Streams)),
		window:  make(chan struct{}, work.MaxInflight),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
}

// start begins to publish, once.
func (q *producer) start() { q.started.Do(func() { go q.run() }) }

func (q *producer) run() {
	defer close(q.stopped)
	pace := newPace(q.work.RatePerS, milliseconds(q.work.FirstMS))
	for n := int64(0); q.work.Count == 0 || n < q.work.Count; n++ {
		if !pace.wait(q.stop) || !q.p.pause.wait(q.stop) || !q.p.online.wait(q.stop) {
			return
		}
		select {
		case q.window <- struct{}{}:
		case <-q.stop:
			return
		}
		pace.step()
		q.publish(int(n%int64(len(q.work.Streams))), contract.KindMessage, func(Ack) { <-q.window })
	}
}

// publish publishes the next message of a stream. Its call is in the history
// before the SDK hears of it.
func (q *producer) publish(stream int, kind byte, then func(Ack)) {
	s, seq := q.work.Streams[stream], q.next[stream]
	q.next[stream]++
	h := contract.Header{
		Run: q.p.spec.Run, Process: q.p.client.Process, Incarnation: uint16(q.p.spec.Epoch),
		Stream: s.Stream, Seq: seq, QoS: s.QoS, Kind: kind, T: monotonic(), Len: q.work.PayloadBytes,
	}
	if h.End() {
		s.TTLS = 0
	}
	payload := h.Encode()
	call := q.p.open(&contract.Line{Kind: "publish", Stream: &s.Stream, Seq: &seq, QoS: s.QoS, End: h.End()})
	call.then = then
	q.p.session.Publish(call, s, payload)
}

// finish stops, waits for outstanding messages, and sends the end marker of each
// stream that has one, until the broker acknowledges it. It waits no longer than
// the specification allows.
func (q *producer) finish() {
	q.p.connect()
	q.started.Do(func() { close(q.stopped) })
	close(q.stop)
	wait := milliseconds(q.p.spec.AckWaitMS)
	expired := after(wait, q.p.quit)
	select {
	case <-q.stopped:
	case <-expired:
		return // the SDK still holds the last message: a marker would overtake it
	}
	for range cap(q.window) {
		select {
		case q.window <- struct{}{}:
		case <-expired:
		}
	}
	expired = after(wait, q.p.quit)
	for i, s := range q.work.Streams {
		for !s.Unmarked && !q.mark(i, expired) {
			if !sleep(max(milliseconds(q.p.client.ReconnectMS), 10*time.Millisecond), expired) {
				return
			}
		}
	}
}

// mark publishes one end marker and waits for its acknowledgement. It is false
// where the outcome is another: the stream goes on by one more marker.
func (q *producer) mark(stream int, expired <-chan struct{}) bool {
	acked := make(chan Ack, 1)
	handed := make(chan struct{})
	go func() {
		defer close(handed)
		q.publish(stream, contract.KindEndMarker, func(a Ack) { acked <- a })
	}()
	select {
	case a := <-acked:
		<-handed // two messages are never handed over at once
		return a.Outcome == OK
	case <-expired:
		return false
	}
}

// after is closed when a time has passed or quit is closed.
func after(d time.Duration, quit <-chan struct{}) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		sleep(d, quit)
	}()
	return done
}
