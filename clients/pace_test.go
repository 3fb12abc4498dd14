package clients_test

import (
	"slices"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

func TestTheFirstMessageIsPutOff(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		at := broker(t, protocol)
		putOff(t, program, publisher(0, protocol, 0, 1, at), publisher(1, protocol, 2, 1, at))
	})
}

// putOff has one publisher put off its first message for a moment, and another for longer
// than it lives. Each has two streams. They begin when the subscribers have subscribed.
func putOff(t *testing.T, program clients.Program, soon, late contract.Client, subscribers ...contract.Client) {
	const first = 300 * time.Millisecond
	soon.Publish.FirstMS, late.Publish.FirstMS = int(first.Milliseconds()), int(time.Hour.Milliseconds())
	r := start(t, program, 4, append(subscribers, soon, late)...)
	for _, s := range subscribers {
		r.wait(t, "subscriptions", len(s.Subscribe), and(is(s.Process, history.KindSubscribe, history.Return), ok))
	}
	r.do(t, "connect", contract.All)
	connected := func(process int32) func(history.Event) bool {
		return and(is(process, history.KindConnect, history.Return), ok)
	}
	r.wait(t, "the connection of who is early", 1, connected(soon.Process))
	r.wait(t, "the connection of who is late", 1, connected(late.Process))
	r.wait(t, "acknowledgements", 2, and(is(soon.Process, history.KindPublish, history.Return), ok))
	r.finish(t)
	moment := func(match func(history.Event) bool) time.Duration {
		all := r.all()
		return all[slices.IndexFunc(all, match)].Time
	}
	began, called := moment(connected(soon.Process)), moment(is(soon.Process, history.KindPublish, history.Call))
	if called-began < first {
		t.Errorf("the first message is called %s after the connect, not %s", called-began, first)
	}
	calls := is(late.Process, history.KindPublish, history.Call)
	if all, markers := r.count(calls), r.count(and(calls, end)); all != 2 || markers != 2 {
		t.Errorf("%d messages of who ended before its first, %d end markers among them; two markers are due, and no more", all, markers)
	}
}

// A publisher that is paused before its first message is due calls nothing until it is
// resumed. Another, which publishes once while that one waits and again when its message
// would be due, tells the time.
func TestAPublisherIsPausedWhileItWaits(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		const paused, other = 0, 1
		at := broker(t, protocol)
		p, o := publisher(paused, protocol, 0, 1, at), publisher(other, protocol, 2, 1, at)
		p.Publish.FirstMS, o.Publish.FirstMS, o.Publish.RatePerS = 1000, 300, 1
		r := start(t, program, 4, p, o)
		r.do(t, "connect", paused)
		r.wait(t, "connection", 1, and(is(paused, history.KindConnect, history.Return), ok))
		r.do(t, "connect", other)
		tick := and(is(other, history.KindPublish, history.Return), ok)
		r.wait(t, "an acknowledgement of who is not paused", 1, tick)
		r.do(t, "pause", paused)
		r.wait(t, "pause", 1, is(paused, history.KindPause, history.Point))
		calls := is(paused, history.KindPublish, history.Call)
		before := r.count(calls)
		r.wait(t, "acknowledgements of who is not paused", 2, tick)
		if during := r.count(calls) - before; during > 0 {
			t.Errorf("%d messages of a publisher that is paused", during)
		}
		r.do(t, "resume", paused)
		r.wait(t, "acknowledgements after the pause", 2, and(is(paused, history.KindPublish, history.Return), ok))
		r.finish(t)
	})
}

func TestAPauseOutlivesItsConnection(t *testing.T) {
	everyDriver(t, func(t *testing.T, sdk clients.SDK, program clients.Program, protocol string) {
		at := broker(t, protocol)
		p := newProxy(t, at)
		const sub, pub = 0, 1
		r := start(t, program, 2, subscriber(sub, protocol, p.address), publisher(pub, protocol, 0, 10, at))
		r.wait(t, "subscription", 1, and(is(sub, history.KindSubscribe, history.Return), ok))
		r.do(t, "pause", sub)
		r.wait(t, "pause", 1, is(sub, history.KindPause, history.Point))
		r.do(t, "connect", pub)
		r.wait(t, "acknowledgements", 20, and(is(pub, history.KindPublish, history.Return), ok))
		p.cut()
		if !slices.Contains(sdk.Cannot, contract.CannotPauseConnected) {
			r.wait(t, "second connection", 2, and(is(sub, history.KindConnect, history.Return), ok))
		}
		r.do(t, "resume", sub)
		message := func(stream int32, seq int64) func(history.Event) bool {
			return func(e history.Event) bool { return delivered(sub, 0)(e) && e.Stream == stream && e.Seq == seq }
		}
		for seq := range int64(10) {
			r.wait(t, "delivery of QoS 1", 1, message(0, seq))
			r.wait(t, "delivery of QoS 2", 1, message(1, seq))
		}
		r.finish(t)
		for seq := range int64(10) {
			if n := r.count(message(1, seq)); n != 1 && sdk.Dedupes {
				t.Errorf("message %d of QoS 2 arrived %d times", seq, n)
			}
		}
		checkHistory(t, r.all())
	})
}
