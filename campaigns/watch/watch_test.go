package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// releases are a source whose list a test changes.
type releases struct {
	list      []string
	published time.Time
	notes     string
	err       error
}

func (r *releases) Releases(context.Context) (list []Release, err error) {
	for _, v := range r.list {
		list = append(list, Release{Version: v, Published: r.published, Notes: r.notes})
	}
	return list, r.err
}

// A scene is a watch whose steps say what they did.
type scene struct {
	*Watch
	from *releases
	did  []string // round and step
	told []string
}

func newScene(t *testing.T, dir string, steps []Step, listed ...string) *scene {
	t.Helper()
	j, err := OpenJournal(dir, "x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	s := &scene{from: &releases{list: listed}}
	for i := range steps {
		do := steps[i].Do
		steps[i].Do = func(ctx context.Context, r Round) (string, error) {
			s.did = append(s.did, r.ID+" "+steps[i].Name)
			if do == nil {
				return "done", nil
			}
			return do(ctx, r)
		}
	}
	s.Watch = &Watch{Source: s.from, Steps: steps, Journal: j, Budget: time.Hour, Tell: func(line string) { s.told = append(s.told, line) }}
	return s
}

// look looks, and returns what was done meanwhile.
func (s *scene) look(t *testing.T) string {
	t.Helper()
	s.did = nil
	if err := s.Look(t.Context()); err != nil {
		t.Error(err)
	}
	return strings.Join(s.did, ", ")
}

func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, t.TempDir(), []Step{{Name: "a"}, {Name: "b"}}, "v0.4.9", "v0.4.11", "nightly", "v0.4.10")
		for _, look := range []struct{ add, want string }{
			{"", "v0.4.11 a, v0.4.11 b"}, // the newest alone
			{"", ""},
			{"v0.4.13", "v0.4.13 a, v0.4.13 b"},
			{"v0.4.12", "v0.4.12 a, v0.4.12 b"}, // an older one, too, that is new
		} {
			if look.add != "" {
				s.from.list = append(s.from.list, look.add)
			}
			if did := s.look(t); did != look.want {
				t.Errorf("with %q: did %q, want %q", look.add, did, look.want)
			}
		}
		s.Again = 24 * time.Hour
		if did := s.look(t); did != "" {
			t.Errorf("at once again: %s", did)
		}
		time.Sleep(24 * time.Hour)
		if did, want := s.look(t), "v0.4.13_2 a, v0.4.13_2 b"; did != want {
			t.Errorf("a day later: did %q, want %q", did, want)
		}
		s.from.list, s.from.err = nil, errors.New("no way out")
		if err := s.Look(t.Context()); err == nil || err.Error() != "no way out" {
			t.Error(err)
		}
	})
}

// A step that fails is begun again at each look for a day. It keeps no other from being done,
// but for one that takes the rest of the time.
func TestStepFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := func(context.Context, Round) (string, error) { return "", errors.New("it broke") }
		resting := true
		rest := func(context.Context, Round) (string, error) {
			if resting {
				resting = false
				return "", errors.New("it broke")
			}
			return "", nil
		}
		s := newScene(t, t.TempDir(), []Step{{Name: "a", Do: failing}, {Name: "b"}, {Name: "rest", Rest: true, Do: rest}, {Name: "c", Always: true}}, "v1.0.0")
		for i, want := range []string{"v1.0.0 a, v1.0.0 b, v1.0.0 c", "v1.0.0 a", "v1.0.0 a, v1.0.0 rest", "v1.0.0 rest, v1.0.0 c", ""} {
			if did := s.look(t); did != want {
				t.Errorf("look %d: did %q, want %q", i, did, want)
			}
			time.Sleep(patience / 2)
		}
		r := s.Journal.Rounds[0]
		if got, want := r.Step("a").String(), "failed, attempt 3: it broke"; got != want || r.Ended.IsZero() {
			t.Errorf("step %q, want %q; ended %s", got, want, r.Ended)
		}
	})
}

// A step that failed says so to the end, also where the round has no time to do it again.
func TestStepFailsAndTheTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := func(context.Context, Round) (string, error) {
			time.Sleep(40 * time.Minute)
			return "", errors.New("it broke")
		}
		s := newScene(t, t.TempDir(), []Step{{Name: "a", Do: failing}, {Name: "b"}}, "v1.0.0")
		for _, want := range []string{"v1.0.0 a, v1.0.0 b", "v1.0.0 a", ""} {
			if did := s.look(t); did != want {
				t.Errorf("did %q, want %q", did, want)
			}
		}
		r := s.Journal.Rounds[0]
		if got := r.Step("a"); got.Did != Failed || r.Ended.IsZero() {
			t.Errorf("%+v, ended %s", got, r.Ended)
		}
	})
}

// Nothing is done with a release that cannot be had yet, or never.
func TestFirstStepFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		missing := true
		have := func(context.Context, Round) (string, error) {
			if missing {
				return "", errors.New("there is no archive")
			}
			return "", nil
		}
		s := newScene(t, t.TempDir(), []Step{{Name: "a", First: true, Do: have}, {Name: "b"}, {Name: "c", Always: true}}, "v1.0.0")
		if did, want := s.look(t), "v1.0.0 a"; did != want {
			t.Errorf("did %q, want %q", did, want)
		}
		missing = false
		if did, want := s.look(t), "v1.0.0 a, v1.0.0 b, v1.0.0 c"; did != want {
			t.Errorf("did %q, want %q", did, want)
		}
		missing = true
		s.from.list = append(s.from.list, "v1.0.1")
		for range leastAttempts {
			if did, want := s.look(t), "v1.0.1 a"; did != want {
				t.Errorf("did %q, want %q", did, want)
			}
			time.Sleep(patience)
		}
		if did := s.look(t); did != "" {
			t.Errorf("did %q after it was given up", did)
		}
		if r := s.Journal.Rounds[1]; r.Ended.IsZero() || r.Step("b").Did != "" {
			t.Errorf("a release that never was there: %+v", r)
		}
	})
}

// A broker that uses up the time of its round ends it, and so do ten kills.
func TestRoundWithoutBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context, Round) (string, error) {
			time.Sleep(2 * time.Hour)
			return "", errors.New("it did not come")
		}
		dir := t.TempDir()
		s := newScene(t, dir, []Step{{Name: "a", First: true, Do: slow}, {Name: "b"}, {Name: "c", Always: true}}, "v1.0.0")
		if did, want := s.look(t), "v1.0.0 a"; did != want || len(s.Journal.Open()) > 0 {
			t.Errorf("did %q, want %q; open %v", did, want, s.Journal.Open())
		}
		s.from.list = append(s.from.list, "v1.0.1")
		if err := s.begin(Release{Version: "v1.0.1"}, "test"); err != nil {
			t.Fatal(err)
		}
		r := s.Journal.last()
		for range mostKills {
			if err := errors.Join(s.Journal.beginStep(r, "a"), s.Journal.settle()); err != nil {
				t.Fatal(err)
			}
		}
		if did := s.look(t); did != "" || !r.Step("a").Unfinished() || r.Ended.IsZero() {
			t.Errorf("did %q after ten kills: %+v", did, r.Step("a"))
		}
	})
}

// The issues are kept again after a publication: they link to it.
func TestAlwaysFollows(t *testing.T) {
	broken := true
	publish := func(context.Context, Round) (string, error) {
		if broken {
			return "", errors.New("no token")
		}
		return "", nil
	}
	s := newScene(t, t.TempDir(), []Step{{Name: "a"}, {Name: "publish", Always: true, Do: publish}, {Name: "issues", Always: true}}, "v1.0.0")
	if did, want := s.look(t), "v1.0.0 a, v1.0.0 publish, v1.0.0 issues"; did != want {
		t.Errorf("did %q, want %q", did, want)
	}
	broken = false
	for _, want := range []string{"v1.0.0 publish, v1.0.0 issues", ""} {
		if did := s.look(t); did != want {
			t.Errorf("did %q, want %q", did, want)
		}
	}
}

// A round whose release is not listed waits, and one published before the first look is not
// new.
func TestListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, t.TempDir(), []Step{{Name: "a", Do: func(context.Context, Round) (string, error) { return "", errors.New("later") }}}, "v1.0.0")
		s.look(t)
		s.from.list = []string{"v0.9.0"}
		s.from.published = time.Now().Add(-time.Hour)
		if did := s.look(t); did != "" || !strings.Contains(strings.Join(s.told, "\n"), "v1.0.0 is not listed any more") {
			t.Errorf("did %q, told %q", did, s.told)
		}
		time.Sleep(patience)
		if s.look(t); len(s.Journal.Open()) > 0 {
			t.Errorf("a day later it is still open: %+v", s.Journal.Open()[0])
		}
	})
}

// A round leaves out the steps that it has no time for, but not those that are always done.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lasting := func(ctx context.Context, _ Round) (string, error) {
			select {
			case <-ctx.Done():
				return "stopped in order", ctx.Err()
			case <-time.After(40 * time.Minute):
				return "done", nil
			}
		}
		s := newScene(t, t.TempDir(), []Step{{Name: "a", Do: lasting}, {Name: "b", Do: lasting}, {Name: "c"}, {Name: "d", Always: true, Do: lasting}}, "v1.0.0")
		if did, want := s.look(t), "v1.0.0 a, v1.0.0 b, v1.0.0 d"; did != want {
			t.Errorf("did %q, want %q", did, want)
		}
		r := s.Journal.Rounds[0]
		for name, want := range map[string]string{
			"a": "done: done", "b": "done: stopped in order" + cutOff, "c": "left out: the round has used its 1h0m0s", "d": "done: done",
		} {
			if got := r.Step(name).String(); got != want {
				t.Errorf("step %s is %q, want %q", name, got, want)
			}
		}
		if r.SpentS != (100 * time.Minute).Seconds() {
			t.Errorf("spent %v s", r.SpentS)
		}
	})
}

// A watch that was stopped or killed resumes its round, and the time until then counts.
func TestGoesOn(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", killed), func(t *testing.T) {
			dir := t.TempDir()
			ctx, stop := context.WithCancel(t.Context())
			first := newScene(t, dir, []Step{{Name: "a"}, {Name: "b", Do: func(ctx context.Context, _ Round) (string, error) {
				stop()
				return "", ctx.Err()
			}}, {Name: "c"}}, "v1.0.0")
			if err := first.Look(ctx); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			first.Journal.Close()
			path := filepath.Join(dir, Dir, "x", journalFile)
			if killed { // before it could say that it stopped
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				lines := strings.SplitAfter(string(text), "\n")
				if err := os.WriteFile(path, []byte(strings.Join(lines[:len(lines)-2], "")+`{"at":"half a l`), 0o644); err != nil {
					t.Fatal(err)
				}
				alive := time.Now().Add(10 * time.Minute)
				if err := os.Chtimes(path, alive, alive); err != nil {
					t.Fatal(err)
				}
			}
			second := newScene(t, dir, []Step{{Name: "a"}, {Name: "b"}, {Name: "c"}}, "v1.0.0")
			if did, want := second.look(t), "v1.0.0 b, v1.0.0 c"; did != want {
				t.Errorf("did %q, want %q", did, want)
			}
			r := second.Journal.Rounds[0]
			if killed && (r.SpentS < 590 || r.SpentS > 610) {
				t.Errorf("spent %v s, want those until the last sign of life", r.SpentS)
			}
			if b := r.Step("b"); b.Did != Done || b.Fails != 0 || b.Kills != 0 || r.Ended.IsZero() {
				t.Errorf("%+v, ended %s", b, r.Ended)
			}
		})
	}
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, t.TempDir(), []Step{{Name: "a"}})
		s.from.err = errors.New("no way out")
		ctx, stop := context.WithTimeout(t.Context(), 150*time.Minute)
		defer stop()
		if err := s.Run(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if want := []string{"no way out", "no way out", "no way out"}; !slices.Equal(s.told, want) {
			t.Errorf("told %q, want %q", s.told, want)
		}
	})
}
