package experiment

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

func event(kind history.Kind, edge history.Edge, process, stream int32, seq int64) history.Event {
	return history.Event{Kind: kind, Edge: edge, Process: process, Stream: stream, Seq: seq, Outcome: history.OK}
}

// A number far out was not counted up to, and costs no memory.
func TestSetIsOfSmallNumbers(t *testing.T) {
	var s set
	for _, i := range []int64{0, 70, 1 << 40, -1, 70} {
		s.add(i)
	}
	if s.n != 2 || len(s.bits) != 2 {
		t.Errorf("%d numbers in %d words, want 2 in 2", s.n, len(s.bits))
	}
}

func TestLiveWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive()
		ready := l.all([]int32{4, 5}, func(p *liveProcess) bool { return p.subscribed > 0 })
		go func() {
			for _, p := range []int32{4, 5} {
				time.Sleep(time.Second)
				l.event(event(history.KindSubscribe, history.Return, p, history.None, history.None))
			}
		}()
		if l.wait(context.Background(), 1500*time.Millisecond, ready) {
			t.Error("ready with one of two subscribed")
		}
		if !l.wait(context.Background(), time.Minute, ready) {
			t.Error("not ready with both subscribed")
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if l.wait(ctx, time.Minute, func() bool { return false }) {
			t.Error("a wait that was stopped says that its condition holds")
		}
	})
}

func TestComplete(t *testing.T) {
	l := newLive()
	s := &session{load: &load{live: l}, plan: &plan{groups: map[string][]int32{}, guaranteed: []int32{0}}}
	s.plan.subscribers.Clients = append(s.plan.subscribers.Clients, (&planner{rec: &fakeTables{}}).client(s.plan, history.GroupOnline, 0, []contract.Filter{{Filter: "#", QoS: 1}}))
	if !s.complete() {
		t.Error("nothing was acknowledged, and something is missing")
	}
	l.event(event(history.KindPublish, history.Return, 9, 0, 70))
	l.event(event(history.KindDeliver, history.Point, 0, 0, 3))
	if s.complete() {
		t.Error("message 70 is acknowledged and not delivered")
	}
	l.event(event(history.KindDeliver, history.Point, 0, 0, 70))
	if !s.complete() {
		t.Error("all is delivered; what came without being acknowledged is no matter")
	}
}

// A message that reached one member of a shared subscription need not reach the
// others. If it reached none, all are to reconnect: any may have it in its session.
func TestSharedComplete(t *testing.T) {
	l := newLive()
	s := &session{load: &load{live: l}, plan: &plan{guaranteed: []int32{0}, shared: [][]int32{{1, 2}}}}
	for seq := range int64(2) {
		l.event(event(history.KindPublish, history.Return, 9, 0, seq))
		l.event(event(history.KindDeliver, history.Point, 1, 0, 0))
		if want := seq == 0; s.complete() != want {
			t.Errorf("message %d: complete is %v", seq, !want)
		}
	}
	if got := s.lacking(); !slices.Equal(got, []int32{1, 2}) {
		t.Errorf("%v lack a message, want both members", got)
	}
	l.event(event(history.KindDeliver, history.Point, 2, 0, 1))
	if !s.complete() {
		t.Error("each message reached a member, and something is missing")
	}
	if got := s.lacking(); len(got) > 0 {
		t.Errorf("each message reached a member, and %v lack one", got)
	}
}

// A subscriber whose SUBSCRIBE failed is to subscribe again, once for each failure and
// while it is connected.
func TestSubscribersUnheard(t *testing.T) {
	l := newLive()
	refused := event(history.KindSubscribe, history.Return, 1, history.None, history.None)
	refused.Outcome = history.Fail
	for _, p := range []int32{0, 1} {
		l.event(event(history.KindConnect, history.Return, p, history.None, 0))
		l.event(event(history.KindSubscribe, history.Return, p, history.None, history.None))
	}
	l.event(refused)
	for _, want := range [][]int32{{1}, nil} {
		if got := l.unheard([]int32{0, 1}); !slices.Equal(got, want) {
			t.Errorf("%v subscribe again, want %v", got, want)
		}
	}
	l.event(refused)
	l.event(event(history.KindDisconnect, history.Point, 1, history.None, 0))
	if got := l.unheard([]int32{0, 1}); len(got) > 0 {
		t.Errorf("%v subscribe again, and are not connected", got)
	}
}

// Subscribers that are refused are connected anew until the drain begins: it waits for calm.
func TestResubscribingEndsWithTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{load: &load{live: newLive()}, plan: &plan{groups: map[string][]int32{}}, state: stateRunning}
		s.plan.subscribers.Clients = []contract.Client{{Process: 1}, {Process: 2}}
		s.plan.groups[history.GroupPaused] = []int32{2}
		refused := func() {
			for _, p := range []int32{1, 2} {
				s.load.live.event(event(history.KindConnect, history.Return, p, history.None, 0))
				e := event(history.KindSubscribe, history.Return, p, history.None, history.None)
				e.Outcome = history.Fail
				s.load.live.event(e)
			}
		}
		told := make(chan contract.Command, 100)
		go s.resubscribe(nil, func(c contract.Command) error {
			told <- c
			refused()
			return nil
		})
		refused()
		time.Sleep(2*subscribeAgain + time.Second)
		s.load.settle(s, stateDraining, nil)
		time.Sleep(time.Minute)
		if n := len(told); n != 2 {
			t.Errorf("told %d times", n)
		}
		for range len(told) {
			if diff := cmp.Diff(contract.Command{Do: "reconnect", Process: 1}, <-told); diff != "" {
				t.Error(diff)
			}
		}
	})
}

// Another workload that goes on says nothing of who lacks messages.
func TestQuietBesideOtherWorkloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive()
		s := &session{load: &load{live: l}, plan: &plan{guaranteed: []int32{0}, shared: [][]int32{{1, 2}}}}
		l.event(event(history.KindPublish, history.Return, 9, 0, 0))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				l.event(event(history.KindDeliver, history.Point, 7, 5, 0))
				time.Sleep(5 * time.Millisecond)
			}
		}()
		if complete, quiet := s.quiet(ctx, time.Second); complete || !quiet {
			t.Errorf("complete %v, quiet %v beside another workload", complete, quiet)
		}
		cancel()
		time.Sleep(time.Second) // until the other workload has ended
	})
}

// A stop finds workloads whose driver was not prepared yet.
func TestDrainOfWhatDidNotBegin(t *testing.T) {
	s := &session{load: &load{}}
	s.drain(t.Context(), 0)
	if s.state != stateDone {
		t.Errorf("it is %s", s.state)
	}
}

func TestMeter(t *testing.T) {
	var m meter
	for i := range 300 { // a hundred a second for three seconds
		m.add(time.Duration(i) * 10 * time.Millisecond)
	}
	if got := m.perSecond(3 * time.Second); got != 100 {
		t.Errorf("%g a second, want 100", got)
	}
	if got := m.perSecond(3500 * time.Millisecond); got != 50 {
		t.Errorf("%g a second after half a second of silence, want 50", got)
	}
	if got := m.perSecond(10 * time.Second); got != 0 {
		t.Errorf("%g a second after long silence, want 0", got)
	}
}

// A probe whose SUBSCRIBE was refused, or not answered in time, subscribes again: only
// a node that serves nobody until the bound has not recovered.
func TestProbesSubscribeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive()
		unanswered := event(history.KindSubscribe, history.Return, 1, history.None, history.None)
		unanswered.Outcome = history.Info
		for probe := range int32(2) {
			connected := event(history.KindConnect, history.Return, probe, history.None, history.None)
			connected.Outcome = history.OK
			l.event(connected)
		}
		l.event(event(history.KindPublish, history.Return, 0, 0, 0))
		l.event(event(history.KindPublish, history.Return, 1, 1, 0))
		l.event(event(history.KindDeliver, history.Point, 0, 0, 0))
		l.event(unanswered)
		var again []int32
		if l.served(t.Context(), 30*time.Second, []int32{0, 1}, []int32{0, 1}, func(i int32) { again = append(again, i) }) {
			t.Error("probe 1 was delivered nothing")
		}
		if !slices.Equal(again, []int32{1}) {
			t.Fatalf("%v subscribed again, want probe 1, once", again)
		}
		go func() {
			time.Sleep(time.Second)
			l.event(event(history.KindDeliver, history.Point, 1, 0, 0))
		}()
		if !l.served(t.Context(), 30*time.Second, []int32{0, 1}, []int32{0, 1}, func(int32) {}) {
			t.Error("both were served, and it was not noticed")
		}
	})
}
