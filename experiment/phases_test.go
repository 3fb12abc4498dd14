package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A script is the parts of a run, which write down what is asked of them, and fail as told.
type script struct {
	fails map[string]error         // by step
	takes map[string]time.Duration // by step; a step that is stopped ends early
	acts  bool                     // the nemesis injects a fault
	gone  bool

	steps   []string
	started bool
	broken  []string // notes of the harness
	watched context.Context
}

func (s *script) step(ctx context.Context, name string) error {
	s.steps = append(s.steps, name)
	if d := s.takes[name]; d > 0 && !hold(ctx, d) {
		s.steps = append(s.steps, name+" stopped")
	}
	return s.fails[name]
}

func (s *script) enter(phase string) { s.steps = append(s.steps, strings.ToUpper(phase)) }
func (s *script) say(text string)    { s.steps = append(s.steps, "says "+text) }
func (s *script) harness(format string, args ...any) {
	s.broken = append(s.broken, fmt.Sprintf(format, args...))
}

func (s *script) up(ctx context.Context) error {
	err := s.step(ctx, "up")
	s.started = err == nil
	return err
}

func (s *script) observe(_, watched context.Context) { s.watched = watched }
func (s *script) answers(ctx context.Context)        { s.step(ctx, "answers") }
func (s *script) lost() bool                         { return s.gone }
func (s *script) forget(ctx context.Context)         { s.step(ctx, "forget") }
func (s *script) begin(ctx context.Context) error    { return s.step(ctx, "begin") }
func (s *script) loaded(ctx context.Context) bool    { return s.step(ctx, "loaded") == nil }
func (s *script) steady(ctx context.Context)         { s.step(ctx, "steady") }
func (s *script) probes(ctx context.Context) error   { return s.step(ctx, "probes") }
func (s *script) drain(ctx context.Context)          { s.step(ctx, "drain") }
func (s *script) disturb(ctx context.Context)        { s.step(ctx, "disturb") }
func (s *script) healAll(ctx context.Context)        { s.step(ctx, "heal") }
func (s *script) acted() bool                        { return s.acts }
func (s *script) retire(ctx context.Context) error   { return s.step(ctx, "retire") }
func (s *script) some() error                        { return s.fails["some"] }
func (s *script) all() error                         { return s.fails["all"] }

func (s *script) close(ctx context.Context) {
	s.step(ctx, "close")
	if s.watched != nil && s.watched.Err() != nil {
		s.broken = append(s.broken, "the host was not watched until all was drained")
	}
}

func (s *script) down(ctx context.Context) {
	s.step(ctx, "down")
	if s.watched != nil && s.watched.Err() == nil {
		s.broken = append(s.broken, "the host is watched for ever")
	}
}

func (s *script) nemesis() disturber {
	if !s.started {
		return nil
	}
	return s
}

// phases are a run of these parts.
func (s *script) phases(failed chan struct{}) phases {
	halted := make(chan struct{})
	return phases{
		notes: s, place: s, load: s, nemesis: s.nemesis, room: s, name: "s", after: 10 * time.Second,
		halt: sync.OnceFunc(func() { close(halted) }), halted: halted, failed: failed, why: func() error { return errors.New("disk full") },
	}
}

// end are the steps at the end of a run whose cluster came up.
const end = " heal close forget down retire"

func TestPhases(t *testing.T) {
	broken := errors.New("it broke")
	second := map[string]time.Duration{"up": time.Second, "begin": time.Second, "loaded": time.Second, "steady": time.Second, "disturb": time.Second, "probes": time.Second, "drain": time.Second}
	for _, test := range []struct {
		name   string
		script script
		hand   bool          // a run by hand
		stop   time.Duration // a halt, after the start
		cancel time.Duration // the keeper's own end
		full   time.Duration // the disk, from when on nothing is recorded
		want   string
		broken string // notes of the harness, in part
	}{
		{name: "to its end", script: script{acts: true}, want: "up LOAD begin loaded STEADY steady disturb RECOVERY probes answers DRAIN drain" + end},
		{name: "a cluster that does not come up", script: script{fails: map[string]error{"up": broken}}, want: "up close down", broken: "start cluster: it broke"},
		{name: "a load that does not come up", script: script{fails: map[string]error{"begin": broken}}, want: "up LOAD begin DRAIN drain" + end, broken: "it broke"},
		{name: "clients that are kept out", script: script{fails: map[string]error{"begin": keptOut{broken}}}, want: "up LOAD begin says it broke DRAIN drain" + end},
		{name: "a gate that stays closed", script: script{fails: map[string]error{"loaded": broken}}, want: "up LOAD begin loaded DRAIN drain" + end},
		{name: "probes that fail", script: script{acts: true, fails: map[string]error{"probes": broken}},
			want: "up LOAD begin loaded STEADY steady disturb RECOVERY probes answers DRAIN drain" + end, broken: "probe the nodes after the heal: it broke"},
		{name: "a broker that is lost", script: script{acts: true, gone: true}, want: "up LOAD begin loaded STEADY steady disturb DRAIN drain" + end},
		{name: "no room, and a fault that stays", script: script{acts: true, fails: map[string]error{"some": broken, "all": broken, "retire": broken}},
			want: "up LOAD begin loaded STEADY steady disturb RECOVERY probes answers DRAIN drain" + end, broken: "it broke; it broke; undo what was not healed: it broke"},

		{name: "stopped as it starts", stop: 500 * time.Millisecond, script: script{takes: second, fails: map[string]error{"up": broken}}, want: "up up stopped close down", broken: "start cluster"},
		{name: "stopped as clients connect", stop: 1500 * time.Millisecond, script: script{takes: second, fails: map[string]error{"begin": broken}},
			want: "up LOAD begin begin stopped says stopped before s had come up DRAIN drain" + end},
		{name: "stopped before a fault", stop: 3500 * time.Millisecond, script: script{takes: second},
			want: "up LOAD begin loaded STEADY steady steady stopped disturb disturb stopped heal DRAIN drain" + end},
		{name: "stopped in a fault", stop: 4500 * time.Millisecond, script: script{takes: second, acts: true},
			want: "up LOAD begin loaded STEADY steady disturb disturb stopped heal RECOVERY probes answers DRAIN drain" + end},
		{name: "stopped as it recovers", stop: 5500 * time.Millisecond, script: script{takes: second, acts: true},
			want: "up LOAD begin loaded STEADY steady disturb RECOVERY probes answers DRAIN drain" + end},
		{name: "stopped as it drains", stop: 16500 * time.Millisecond, script: script{takes: second, acts: true},
			want: "up LOAD begin loaded STEADY steady disturb RECOVERY probes answers DRAIN drain" + end},
		{name: "ended by its keeper", cancel: 4500 * time.Millisecond, script: script{takes: second, acts: true},
			want: "up LOAD begin loaded STEADY steady disturb disturb stopped heal RECOVERY probes answers DRAIN drain" + end},
		{name: "a full disk", full: 3500 * time.Millisecond, script: script{takes: second},
			want: "up LOAD begin loaded STEADY steady steady stopped disturb disturb stopped heal DRAIN drain" + end, broken: "record what happens: disk full"},

		{name: "by hand", hand: true, stop: time.Minute, want: "up READY" + end},
		{name: "by hand, ended by its keeper", hand: true, cancel: time.Minute, want: "up READY" + end},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s, failed := &test.script, make(chan struct{})
				p := s.phases(failed)
				if test.hand {
					p.name = ""
				}
				for after, do := range map[*time.Duration]func(){&test.stop: p.halt, &test.cancel: cancel, &test.full: func() { close(failed) }} {
					if *after > 0 {
						time.AfterFunc(*after, do)
					}
				}
				p.run(ctx)
				if got := strings.Join(s.steps, " "); got != test.want {
					t.Errorf("\n%s, want\n%s", got, test.want)
				}
				select {
				case <-p.halted:
				default:
					t.Error("workloads by hand were not told to stop")
				}
				if got := strings.Join(s.broken, "; "); !strings.Contains(got, test.broken) || (got == "") != (test.broken == "") {
					t.Errorf("the harness notes %q, want %q", got, test.broken)
				}
			})
		})
	}
}

// A run is healed, closed and taken down once, in this order, for any failures of its steps and
// any moment of a stop.
func TestPhasesAlwaysEnd(t *testing.T) {
	steps := []string{"up", "begin", "loaded", "probes", "some", "all", "retire"}
	for failing := range 1 << len(steps) {
		for stop := time.Duration(0); stop < 18*time.Second; stop += 1500 * time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				s := &script{acts: true, fails: map[string]error{}, takes: map[string]time.Duration{"up": time.Second, "steady": time.Second, "disturb": time.Second, "drain": time.Second}}
				for i, step := range steps {
					if failing>>i&1 == 1 {
						s.fails[step] = errors.New(step)
					}
				}
				p := s.phases(nil)
				if stop > 0 {
					defer time.AfterFunc(stop, p.halt).Stop()
				}
				p.run(t.Context())
				last := s.steps[max(0, len(s.steps)-5):]
				want := []string{"heal", "close", "forget", "down", "retire"}
				if s.fails["up"] != nil {
					last, want = s.steps[len(s.steps)-2:], []string{"close", "down"}
				}
				if !slices.Equal(last, want) {
					t.Fatalf("failing %07b, stopped after %s: %q", failing, stop, s.steps)
				}
			})
		}
	}
}
