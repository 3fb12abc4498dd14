package campaigns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

var lost = Failure{Claim: "qos1-no-loss", Checker: "lost@1"}

// lostBy is that failure, as the packets show it, and panicAt one at a place.
func lostBy(party verdict.Party) Failure {
	return Failure{Claim: lost.Claim, Checker: lost.Checker, Ways: []verdict.Way{{Kind: "lost", Party: party}}}
}

func panicAt(place string) Failure {
	return Failure{Claim: "no-panic", Checker: "panic@1", Ways: []verdict.Way{{Kind: "panic", Place: place}}}
}

// judged is a run in which some claims fail.
func judged(state verdict.State, failed ...Failure) Judged {
	v := verdict.Verdict{State: state, Headline: string(state)}
	var panics []string
	for _, f := range failed {
		r := verdict.Result{Claim: verdict.Claim{Name: f.Claim}, Checker: f.Checker, Status: verdict.Fail}
		for _, w := range f.Ways {
			r.Violations = append(r.Violations, verdict.Violations{Kind: w.Kind, Blame: w.Party, Count: 1})
			if w.Place != "" {
				panics = append(panics, w.Place)
			}
		}
		v.Results = append(v.Results, r)
	}
	if state.ExitCode() == 0 { // it holds what others fail
		v.Results = append(v.Results, verdict.Result{Claim: verdict.Claim{Name: lost.Claim}, Checker: lost.Checker, Status: verdict.Pass})
	}
	return Judged{Cell: Cell{Seed: 7, Verdict: v, Panics: panics}}
}

// fakeLab answers runs in order, over and over.
func fakeLab(runs ...Judged) (Backend, *int) {
	made := 0
	return Backend{
		Run: func(context.Context, string, Variation) (string, error) { made++; return fmt.Sprint(made), nil },
		Read: func(id string) (Judged, error) {
			if id == "/original" {
				run := judged(verdict.FailOnce, lost)
				run.Root = "root-0"
				return run, nil
			}
			var n int
			_, err := fmt.Sscan(id, &n)
			run := runs[(n-1)%len(runs)]
			run.RunID, run.Root = id, "root-"+id
			return run, err
		},
		JoinSeries: func(string, reports.Series) error { return nil },
		Tell:       func(string) {},
	}, &made
}

func testJobDir(t *testing.T, job Job) *JobDir {
	t.Helper()
	job.Format, job.RunID, job.Dir, job.Wanted = jobFormat, "1122-1504-kill-3f2a", "/original", Fingerprint{lost}
	job.Start = keeper.Start{Scenario: "mqtt/kill"}
	d, err := NewJobDir(t.TempDir(), job, "---\nname: mqtt/kill\n---\n", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestReplayCountsTheSameFailure(t *testing.T) {
	other := judged(verdict.FailOnce, Failure{Claim: "no-panic", Checker: "panic@1"})
	other.Verdict.Results = append(other.Verdict.Results, verdict.Result{Claim: verdict.Claim{Name: lost.Claim}, Checker: lost.Checker, Status: verdict.Pass, Canary: verdict.Canary{Red: true}})
	missed := judged(verdict.InconclusiveFault)
	missed.Landings = []history.Landing{{Type: "kill", Target: "leader", State: history.Indeterminate}}
	more := judged(verdict.FailOnce, lost, Failure{Claim: "session-kept", Checker: "session@1"})
	backend, _ := fakeLab(more, other, missed, judged(verdict.PassSmoke), judged(verdict.FailOnce, lost))
	d := testJobDir(t, Job{Kind: Replay, Rule: shrink.Rule{K: 1, N: 5}})
	r, err := d.Replay(t.Context(), backend)
	if err != nil {
		t.Fatal(err)
	}
	var got []shrink.Answer
	for _, trial := range r.Trials {
		got = append(got, trial.Answer)
	}
	want := []shrink.Answer{shrink.Fails, shrink.Passes, shrink.Unknown, shrink.Passes, shrink.Fails}
	if fmt.Sprint(got) != fmt.Sprint(want) || r.Failed != 2 || r.Unknown != 1 || !r.Ended {
		t.Errorf("%v, %d failed, %d unknown, ended %v; want %v", got, r.Failed, r.Unknown, r.Ended, want)
	}
	if r.State != verdict.FailReproducible || !strings.Contains(r.Headline, "run 1122-1504-kill-3f2a, repeated 5 times: qos1-no-loss failed again in 2; session-kept failed in 1, no-panic in 1; 1 could not be told") {
		t.Errorf("%s", r.Headline)
	}
	if why := r.Trials[2].Why; !strings.Contains(why, "kill of leader is ") {
		t.Errorf("a fault that did not land: %q", why)
	}
	if on, err := d.Result(); err != nil || on.Headline != r.Headline {
		t.Errorf("on disk: %q, %v", on.Headline, err)
	}
}

// A stopped replay goes on with the runs that it has. A replay that ended does
// not go on.
func TestReplayGoesOn(t *testing.T) {
	d := testJobDir(t, Job{Kind: Replay, Rule: shrink.Rule{K: 1, N: 3}})
	stateDir := filepath.Dir(filepath.Dir(d.Dir))
	ctx, cancel := context.WithCancel(t.Context())
	backend, made := fakeLab(judged(verdict.FailOnce, lost))
	run := backend.Run
	backend.Run = func(ctx context.Context, scenario string, as Variation) (string, error) {
		if *made == 1 {
			cancel()
			return "", ctx.Err()
		}
		return run(ctx, scenario, as)
	}
	if _, err := d.Replay(ctx, backend); !errors.Is(err, context.Canceled) {
		t.Fatalf("a stopped replay answers %v", err)
	}
	again, err := Unended(stateDir, d.Job)
	if err != nil || again == nil || len(again.Trials) != 1 {
		t.Fatalf("to go on with: %+v, %v", again, err)
	}
	backend.Run = run
	r, err := again.Replay(t.Context(), backend)
	if err != nil || r.Runs != 3 || *made != 3 {
		t.Errorf("%d runs, %d made, %v", r.Runs, *made, err)
	}
	if none, err := Unended(stateDir, d.Job); none != nil || err != nil {
		t.Errorf("one that ended: %v, %v", none, err)
	}
	other := d.Job
	other.Rule.N = 5
	if none, err := Unended(stateDir, other); none != nil || err != nil {
		t.Errorf("another one: %v, %v", none, err)
	}
}

// A run on another build repeats nothing: the replay stops, with what it has, and goes on once
// the build is back.
func TestReplayStopsAtAnotherBuild(t *testing.T) {
	on := func(sha string) Judged {
		run := judged(verdict.FailOnce, lost)
		run.Broker.Build = sha
		return run
	}
	d := testJobDir(t, Job{Kind: Replay, Rule: shrink.Rule{K: 1, N: 4}, Build: Build{Version: "v1", SHA256: "a build"}})
	backend, _ := fakeLab(on("a build"), on(""), on("b build"))
	r, err := d.Replay(t.Context(), backend)
	if !errors.Is(err, errOtherBuild) || !strings.Contains(err.Error(), "run 3 was on another build of the broker (sha256 b build) than that run (v1, sha256 a build)") {
		t.Errorf("%v", err)
	}
	if r.Ended || r.Runs != 2 || r.Failed != 2 || len(d.Trials) != 2 {
		t.Errorf("%d runs, ended %v: %s", r.Runs, r.Ended, r.Headline)
	}
	backend, _ = fakeLab(on("a build"))
	if r, err = d.Replay(t.Context(), backend); err != nil || !r.Ended || r.Runs != 4 {
		t.Errorf("the build is back: %d runs, ended %v, %v", r.Runs, r.Ended, err)
	}
}

// Where no repetition could be judged, what the run itself showed is not said of
// the replay.
func TestReplayOfNothing(t *testing.T) {
	backend, _ := fakeLab()
	backend.Run = func(context.Context, string, Variation) (string, error) { return "", errors.New("no cluster came up") }
	r, err := testJobDir(t, Job{Kind: Replay, Rule: shrink.Rule{K: 1, N: 2}}).Replay(t.Context(), backend)
	if err != nil || r.State != verdict.NotRun || !strings.Contains(r.Headline, "2 could not be told") {
		t.Errorf("%s, %v; want %s", r.Headline, err, verdict.NotRun)
	}
}

// A job that cannot go on keeps what it had found.
func TestSoFarKeepsWhatWasFound(t *testing.T) {
	d := testJobDir(t, Job{Kind: Reduce})
	if err := d.Save(Result{Job: d.Job, Headline: "reducing", Reduction: &Reduction{Why: "half of it"}}); err != nil {
		t.Fatal(err)
	}
	if r := d.SoFar(); r.Headline != "reducing" || r.Reduction == nil || r.Reduction.Why != "half of it" {
		t.Errorf("%+v", r)
	}
}

// A failure that does not come again is non-deterministic. A failure that comes
// again once is reproducible.
func TestReplayAndItsRunAreASeries(t *testing.T) {
	for want, run := range map[verdict.State]Judged{
		verdict.FailNondetermin: judged(verdict.PassSmoke), verdict.FailReproducible: judged(verdict.FailOnce, lost),
	} {
		backend, _ := fakeLab(run)
		r, err := testJobDir(t, Job{Kind: Replay, Rule: shrink.Rule{K: 1, N: 1}}).Replay(t.Context(), backend)
		if err != nil || r.State != want {
			t.Errorf("%s, %v; want %s", r.Headline, err, want)
		}
	}
}

// How often a run fails is counted over all of its repetitions, also those of an earlier
// command. One whose evidence is gone, or that had another seed, does not count. On a build
// that nobody knows none does. If this version asks for more than the run was judged by, its
// repetitions have that in common.
func TestReplaysAreOneSeries(t *testing.T) {
	for _, test := range []struct {
		build                   string
		messages                int64 // that the repetitions have, and the run has not
		joined, count, headline string
	}{
		{"5e1f", 0, "[/original 1 2 3]", "qos1-no-loss failed in 2 of 4 runs", "failed again in 0; with those of before: qos1-no-loss failed in 2 of 4 runs"},
		{"5e1f", 5000, "[/original 1 2 3]", "qos1-no-loss failed in 2 of 4 runs", "failed again in 0; with those of before: qos1-no-loss failed in 2 of 4 runs"},
		{"", 0, "[/original 1]", "qos1-no-loss failed in 1 of 2 runs", "failed again in 0"},
	} {
		backend, _ := fakeLab(judged(verdict.PassSmoke), judged(verdict.FailOnce, lost), judged(verdict.PassSmoke))
		read, known := backend.Read, &reports.Series{Runs: []string{"0", "gone", "2", "3", "other"}}
		backend.Read = func(id string) (Judged, error) {
			switch id {
			case "gone":
				return Judged{}, fs.ErrNotExist
			case "other":
				run, err := read("2")
				run.RunID, run.Seed = id, 8
				return run, err
			}
			run, err := read(id)
			if run.Broker = (Broker{Flavor: "robustmq", Build: test.build}); id == "/original" {
				run.RunID, run.Before = "0", known
			} else {
				run.Budget.Messages = test.messages
			}
			return run, err
		}
		var joined []string
		var series reports.Series
		backend.JoinSeries = func(run string, s reports.Series) error {
			joined, series = append(joined, run), s
			if run == "3" {
				return errors.New("another version of rmq-mcp decides otherwise about it")
			}
			return nil
		}
		r, err := testJobDir(t, Job{Kind: Replay, Rule: shrink.Rule{K: 1, N: 1}}).Replay(t.Context(), backend)
		if err != nil || !r.Ended || !strings.HasSuffix(r.Headline, test.headline) {
			t.Errorf("build %q: %q, ended %v, %v", test.build, r.Headline, r.Ended, err)
		}
		if fmt.Sprint(joined) != test.joined || series.Each["0"].Count != test.count {
			t.Errorf("build %q: joined %v: %+v; want %s", test.build, joined, series, test.count)
		}
	}
}

func TestOneWorksOnAJob(t *testing.T) {
	d := testJobDir(t, Job{Kind: Replay, Rule: shrink.Rule{K: 1, N: 1}})
	if err := d.AskStop(); err != nil {
		t.Fatal(err)
	}
	unlock, err := d.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if !d.Busy() || d.Stopped() {
		t.Errorf("begun: busy %v, stopped %v", d.Busy(), d.Stopped())
	}
	stateDir := filepath.Dir(filepath.Dir(d.Dir))
	if busy, err := BusyJobs(stateDir); len(busy) != 1 || err != nil {
		t.Errorf("%d jobs are busy, %v", len(busy), err)
	}
	if _, err := d.Begin(); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("begun twice: %v", err)
	}
	if err := unlock(); err != nil || d.Busy() {
		t.Errorf("ended: %v", err)
	}
	if busy, err := BusyJobs(stateDir); len(busy) != 0 || err != nil {
		t.Errorf("%d jobs are busy, %v", len(busy), err)
	}
}
