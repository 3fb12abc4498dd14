package experiment

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A bed is the parts of a run of broker-kill-9 over a fake system, and what people are told.
type bed struct {
	*parts
	system *fakeSystem
	said   func() string
}

func inBed(t *testing.T, test func(t *testing.T, b bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var said strings.Builder
		env := keeper.Env{ID: "r1", Dir: dir, StateDir: dir, Self: []string{"rmq-mcp"}, Log: slog.New(slog.NewTextHandler(&said, nil))}
		e, err := New("test", env, keeper.Start{Scenario: "mqtt/broker-kill-9"}, verdict.DecideLanding)
		if err != nil {
			t.Fatal(err)
		}
		e.record.fill = func(*keeper.Progress) {}
		for _, node := range []string{"node-1", "node-2", "node-3"} {
			e.rec.Node(history.Node{Name: node})
		}
		e.record.clock = bubbleClock{time.Now()}
		f := newFakeSystem(e.record)
		e.load.system = f
		t.Cleanup(func() { // also after a failure: the bubble ends with all its goroutines
			for _, d := range f.drivers {
				d.Do(contract.Command{Do: "end", Process: contract.All})
				<-d.done
			}
			if err := errors.Join(e.rec.Close(), e.journal.Close()); err != nil {
				t.Error(err)
			}
		})
		test(t, bed{&parts{Experiment: e}, f, said.String})
	})
}

// A bubbleClock is the time of a bubble since it began.
type bubbleClock struct{ began time.Time }

func (c bubbleClock) Now() time.Duration { return time.Since(c.began) }

// A workload comes up, opens the gate, goes on, and is drained: offline and paused subscribers
// come back and get all that they are owed.
func TestWorkload(t *testing.T) {
	inBed(t, func(t *testing.T, b bed) {
		if err := b.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !b.loaded(t.Context()) {
			t.Fatalf("the gate stays closed: %s", b.said())
		}
		b.steady(t.Context())
		began := time.Now()
		b.drain(t.Context())
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the drain took %s", took)
		}
		if b.session.state != stateDone || !b.session.complete() || len(b.noted()) > 0 {
			t.Errorf("%s, complete %v, the harness notes %q", b.session.state, b.session.complete(), b.noted())
		}
		counts := b.load.live.snapshot(b.clock.Now())
		if counts.Acked < 500 || counts.Received < 4*counts.Acked {
			t.Errorf("%+v", counts)
		}
		for _, d := range b.system.drivers {
			if !d.closed {
				t.Errorf("the driver %s was not closed", d.name)
			}
		}
		if len(b.system.asked) > 0 {
			t.Errorf("asked what is stored of %q, and nothing is missing", b.system.asked)
		}
	})
}

// Duplex subscribers publish after all clients have subscribed, and read until the end of the drain.
func TestDuplex(t *testing.T) {
	inBed(t, func(t *testing.T, b bed) {
		b.load.scenario.Workload.Subscribers.Duplex = 2
		if err := b.begin(t.Context()); err != nil || !b.loaded(t.Context()) {
			t.Fatalf("%v: %s", err, b.said())
		}
		b.steady(t.Context())
		b.drain(t.Context())
		if b.session.state != stateDone || !b.session.complete() || len(b.noted()) > 0 {
			t.Errorf("%s, complete %v, the harness notes %q", b.session.state, b.session.complete(), b.noted())
		}
		streams := streamsOf(b.session.plan.subscribers.Clients)
		for _, s := range streams {
			if l := b.load.live.stream(s.Stream); !l.ended || l.acked.n < 10 {
				t.Errorf("%s: ended %v, %d acknowledged", s.Topic, l.ended, l.acked.n)
			}
		}
		if len(streams) == 0 {
			t.Error("duplex subscribers publish nothing")
		}
	})
}

// A workload is the same with its clients in several drivers, and ends without those that a fault has killed.
func TestFleet(t *testing.T) {
	for _, shot := range []bool{false, true} {
		inBed(t, func(t *testing.T, b bed) {
			b.load.start.Drivers = 3
			if err := b.begin(t.Context()); err != nil || !b.loaded(t.Context()) {
				t.Fatalf("%v: %s", err, b.said())
			}
			b.steady(t.Context())
			in, names := map[int32]int{}, []string{}
			for _, d := range b.system.drivers {
				names = append(names, d.name)
				for _, c := range d.spec.Clients {
					in[c.Process]++
				}
			}
			slices.Sort(names)
			if want := []string{"publishers-0-0", "publishers-0-1", "publishers-0-2", "subscribers-0-0", "subscribers-0-1", "subscribers-0-2"}; !slices.Equal(names, want) {
				t.Errorf("drivers %q, want %q", names, want)
			}
			for _, c := range slices.Concat(b.session.plan.publishers.Clients, b.session.plan.subscribers.Clients) {
				if in[c.Process] != 1 {
					t.Errorf("client %d is in %d drivers", c.Process, in[c.Process])
				}
			}
			for _, d := range b.system.drivers {
				d.shot = shot && strings.HasPrefix(d.name, "subscribers")
			}
			b.drain(t.Context())
			if b.session.state != stateDone || b.session.complete() == shot || len(b.noted()) > 0 {
				t.Errorf("shot %v: %s, complete %v, the harness notes %q", shot, b.session.state, b.session.complete(), b.noted())
			}
			for _, d := range b.system.drivers {
				if told := slices.Contains(d.commands, "end"); told == d.shot {
					t.Errorf("%s, shot %v, was told to end: %v", d.name, d.shot, told)
				}
			}
		})
	}
}

// A part of a side that does not start ends the others.
func TestMusterFails(t *testing.T) {
	inBed(t, func(t *testing.T, b bed) {
		b.load.start.Drivers, b.system.refusesDriver = 3, "subscribers-0-1"
		if err := b.begin(t.Context()); err == nil || !strings.Contains(err.Error(), "no machine takes it") {
			t.Errorf("%v", err)
		}
		for _, d := range b.system.drivers {
			if !d.closed {
				t.Errorf("%s was not closed", d.name)
			}
		}
	})
}

// A subscriber without all that it is owed connects once more, and then the drain gives up.
func TestDrainOfAnIncompleteWorkload(t *testing.T) {
	for name, test := range map[string]struct {
		bend     func(*fakeSystem)
		complete bool
		says     string
	}{
		"delivered to a new connection": {func(f *fakeSystem) { f.swallow = 7 }, true, "they reconnect"},
		"never delivered":               {func(f *fakeSystem) { f.loses = 7 }, false, "nothing was delivered for"},
		"PUBREL that is late":           {func(f *fakeSystem) { f.holds = 20 * time.Second }, true, "wait for PUBREL"},
	} {
		inBed(t, func(t *testing.T, b bed) {
			test.bend(b.system)
			if err := b.begin(t.Context()); err != nil || !b.loaded(t.Context()) {
				t.Fatalf("%s: %v: %s", name, err, b.said())
			}
			b.steady(t.Context())
			b.drain(t.Context())
			if b.session.complete() != test.complete || !strings.Contains(b.said(), test.says) || len(b.noted()) > 0 {
				t.Errorf("%s: complete %v, noted %q, said %s", name, b.session.complete(), b.noted(), b.said())
			}
			if asked := len(b.system.asked) > 0; asked == test.complete {
				t.Errorf("%s: asked what is stored of %q", name, b.system.asked)
			}
		})
	}
}

// A workload that does not come up is the broker's doing if it lets others in, and the harness's
// otherwise.
func TestWorkloadThatDoesNotComeUp(t *testing.T) {
	for name, test := range map[string]struct {
		bend    func(*fakeSystem)
		keptOut bool
		want    string
	}{
		"SUBSCRIBE is refused":   {func(f *fakeSystem) { f.refuses = "not authorized" }, false, "could not subscribe: not authorized"},
		"the SDK is not let in":  {func(f *fakeSystem) { f.shut, f.greets = "bad protocol", true }, true, "the nodes let rmq-mcp in, and not"},
		"nobody is let in":       {func(f *fakeSystem) { f.shut = "refused" }, false, "neither go/rmq-mcp@1 nor rmq-mcp itself could connect"},
		"clients do not go away": {func(f *fakeSystem) { f.stays = true }, false, "did not disconnect within"},
	} {
		inBed(t, func(t *testing.T, b bed) {
			test.bend(b.system)
			err := b.begin(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) || errors.As(err, new(keptOut)) != test.keptOut {
				t.Errorf("%s: %v", name, err)
			}
			b.drain(t.Context()) // as a run does
			if b.session.state != stateDone {
				t.Errorf("%s: it is %s", name, b.session.state)
			}
		})
	}
}

// The gate stays closed at a rate that is too low, and its drain ends.
func TestGate(t *testing.T) {
	inBed(t, func(t *testing.T, b bed) {
		b.system.slow = 20
		if err := b.begin(t.Context()); err != nil || b.loaded(t.Context()) {
			t.Errorf("%v: it opened at 20 of 150 publishes a second", err)
		}
		if !strings.Contains(b.said(), "load gate: fewer than 120 of the 150 publishes a second") {
			t.Error(b.said())
		}
		b.drain(t.Context())
	})
}

// A broker that is lost, and clients that a fault killed, are not waited for.
func TestDrainWaitsForNobodyWhoIsGone(t *testing.T) {
	for name, bend := range map[string]func(b bed){
		"broker":      func(b bed) { b.system.gone = true },
		"subscribers": func(b bed) { b.system.drivers[0].shot = true },
	} {
		inBed(t, func(t *testing.T, b bed) {
			b.system.loses = 3
			if err := b.begin(t.Context()); err != nil || !b.loaded(t.Context()) {
				t.Fatal(err, b.said())
			}
			bend(b)
			began := time.Now()
			b.drain(t.Context())
			if took := time.Since(began); took > 5*time.Second || b.session.state != stateDone {
				t.Errorf("%s: the drain took %s, it is %s", name, took, b.session.state)
			}
		})
	}
}

// The error of a driver is the harness's, unless a fault killed it.
func TestErrorOfADriver(t *testing.T) {
	for shot, want := range map[bool]string{false: "driver of the publishers: it printed rubbish", true: ""} {
		inBed(t, func(t *testing.T, b bed) {
			if err := b.begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			publishers := b.system.drivers[1]
			publishers.err, publishers.shot = errors.New("it printed rubbish"), shot
			b.drain(t.Context())
			if got := strings.Join(b.noted(), "; "); got != want {
				t.Errorf("killed by a fault %v: the harness notes %q", shot, got)
			}
		})
	}
}
