package campaigns

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// reduceJobDir is a job on a scenario of the library.
func reduceJobDir(t *testing.T, rule shrink.Rule, maxRuns int) *JobDir {
	t.Helper()
	s, err := scenarios.Load("mqtt/broker-kill-9")
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewJobDir(t.TempDir(), Job{
		Format: jobFormat, Kind: Reduce, RunID: "1122-1504-broker-kill-9-3f2a", Was: "FAIL", Broker: "reference 2", Wanted: Fingerprint{lost}, Rule: rule, MaxRuns: maxRuns,
		Start: keeper.Start{Scenario: s.Name, Cluster: cluster.Config{Flavor: "reference", Runtime: "process", Profile: "tested", Nodes: 3, Arm: []string{"tap"}}, SDK: s.SDK, Protocol: s.Protocol, Seed: 7, Tier: "smoke"},
	}, s.Text, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// world answers runs by a condition on the scenario that is run.
func world(t *testing.T, run func(*scenarios.Scenario) Judged) Backend {
	made := map[string]Judged{}
	return Backend{
		Run: func(_ context.Context, file string, _ Variation) (string, error) {
			s, err := scenarios.Load(file)
			if err != nil {
				t.Errorf("a candidate that cannot be run: %v", err)
				return "", err
			}
			id := strings.Repeat("r", len(made)+1)
			made[id] = run(s)
			return id, nil
		},
		Read: func(id string) (Judged, error) { return made[id], nil },
		Tell: func(string) {},
	}
}

// The failure needs the kill and the offline subscriber, and two nodes.
func needs(s *scenarios.Scenario) Judged {
	if s.Workload.Subscribers.Offline == 0 || s.Cluster.Nodes < 2 {
		return judged(verdict.PassSmoke)
	}
	if len(s.Schedule) == 0 {
		missed := judged(verdict.InconclusiveFault)
		missed.Planned = 1
		return missed
	}
	return judged(verdict.FailOnce, lost)
}

func TestReduce(t *testing.T) {
	d := reduceJobDir(t, shrink.Rule{K: 1, N: 2}, 0)
	r, err := d.Reduce(t.Context(), world(t, needs))
	if err != nil {
		t.Fatal(err)
	}
	red := r.Reduction
	if !r.Ended || !red.Minimal || red.Failed != 2 || red.Runs != 2 {
		t.Errorf("%s: %+v", r.Headline, red)
	}
	s, err := scenarios.Load(red.Scenario)
	if err != nil {
		t.Fatalf("what was written: %v", err)
	}
	tier, err := s.Tier("", "reference")
	if err != nil {
		t.Fatal(err)
	}
	w := s.Workload
	if len(s.Schedule) != 1 || !reflect.DeepEqual(w.Subscribers, scenarios.Subscribers{Offline: 1}) || w.Publishers != 1 || w.Streams != 1 || s.Cluster.Nodes != 2 ||
		tier.FaultS != 1 || tier.SteadyS != 2 || w.RatePerS != 10 || tier.Messages > 40 || tier.DrainS != 30 || tier.RecoveryS != 30 || tier.ProgressS != 20 {
		t.Errorf("left is\n%s", s.Text)
	}
	if got := strings.Join(s.Claims, ","); got != lost.Claim {
		t.Errorf("claims %s", got)
	}
	for _, want := range []string{
		"what run `1122-1504-broker-kill-9-3f2a` of `mqtt/broker-kill-9` showed on reference 2", "failed in 2 of 2 runs",
		"rmq-mcp run broker-kill-9-reduced.md --arm tap --seed 7", "| online subscribers | 3 | 0 |", "| nodes | 3 | 2 |", "could not be told",
	} {
		if !strings.Contains(s.Prose, want) {
			t.Errorf("the prose does not say %q:\n%s", want, s.Prose)
		}
	}
	i := slices.IndexFunc(red.Steps, func(s ReduceStep) bool { return strings.Contains(s.What, "without kill of leader") })
	if i < 0 || red.Steps[i].Answer != shrink.Unknown || red.Steps[i].Why == "" {
		t.Errorf("a fault that was never injected is %+v", red.Steps)
	}
	if last, err := d.Result(); err != nil || last.Headline != r.Headline {
		t.Errorf("on disk: %q, %v", last.Headline, err)
	}
}

// A reduction that was stopped resumes: no run is made twice.
func TestReduceGoesOn(t *testing.T) {
	whole := reduceJobDir(t, shrink.Rule{K: 1, N: 1}, 0)
	want, err := whole.Reduce(t.Context(), world(t, needs))
	if err != nil {
		t.Fatal(err)
	}
	d := reduceJobDir(t, shrink.Rule{K: 1, N: 1}, 0)
	ctx, cancel := context.WithCancel(t.Context())
	backend, left := world(t, needs), 5
	run := backend.Run
	backend.Run = func(c context.Context, file string, as Variation) (string, error) {
		if left--; left < 0 {
			cancel()
			return "", c.Err()
		}
		return run(c, file, as)
	}
	if r, err := d.Reduce(ctx, backend); !errors.Is(err, context.Canceled) || r.Ended || len(d.Trials) != 5 {
		t.Fatalf("stopped: %d trials, ended %v, %v", len(d.Trials), r.Ended, err)
	}
	again, err := OpenJobDir(d.Dir)
	if err != nil {
		t.Fatal(err)
	}
	backend.Run = run
	got, err := again.Reduce(t.Context(), backend)
	if err != nil || got.Runs != want.Runs || got.Headline != want.Headline {
		t.Errorf("gone on: %s, %v; at once: %s", got.Headline, err, want.Headline)
	}
	was, _ := os.ReadFile(want.Reduction.Scenario)
	is, err := os.ReadFile(got.Reduction.Scenario)
	front := func(b []byte) string { text, _, _ := strings.Cut(string(b), "\n# "); return text }
	if err != nil || front(was) != front(is) {
		t.Errorf("gone on:\n%s\nat once:\n%s", is, was)
	}
}

// A run that could not tell is none of those of which some failed.
func TestReduceCountsWhatCouldTell(t *testing.T) {
	d := reduceJobDir(t, shrink.Rule{K: 2, N: 3}, 0)
	made := map[string]int{}
	r, err := d.Reduce(t.Context(), world(t, func(s *scenarios.Scenario) Judged {
		if made[s.Text]++; made[s.Text] == 3 {
			missed := judged(verdict.InconclusiveFault)
			missed.Planned = 1
			return missed
		}
		return needs(s)
	}))
	if err != nil {
		t.Fatal(err)
	}
	if red := r.Reduction; red.Failed != 2 || red.Runs != 2 || red.Unknown != 1 || !strings.Contains(r.Headline, "what is left failed in 2 of 2 runs; 1 could not be told, after") {
		t.Errorf("%s: %d of %d, %d unknown", r.Headline, red.Failed, red.Runs, red.Unknown)
	}
	if text, err := os.ReadFile(r.Reduction.Scenario); err != nil || !strings.Contains(string(text), "It failed in 2 of 2 runs of this scenario, with seed 7; 1 could not be told:") {
		t.Errorf("%v\n%s", err, text)
	}
}

// Candidates that pass on another build show nothing of the one that failed: the reduction
// stops.
func TestReduceStopsAtAnotherBuild(t *testing.T) {
	d := reduceJobDir(t, shrink.Rule{K: 1, N: 1}, 0)
	d.Job.Build = Build{SHA256: "a build"}
	made := 0
	r, err := d.Reduce(t.Context(), world(t, func(s *scenarios.Scenario) Judged {
		run := needs(s)
		run.Broker.Build = "a build"
		if made++; made > 3 {
			run = judged(verdict.PassSmoke)
			run.Broker.Build = "b build"
		}
		return run
	}))
	if !errors.Is(err, errOtherBuild) || r.Ended || made != 4 || len(d.Trials) != 3 || r.Reduction.Minimal || r.Reduction.Scenario != "" {
		t.Errorf("%d made, %d kept: %s, %v", made, len(d.Trials), r.Headline, err)
	}
	if last, err := d.Result(); err != nil || len(last.Reduction.Steps) == 0 {
		t.Errorf("on disk: %s, %v", last.Headline, err)
	}
}

// When the budget is used up, what failed until then is written, and that less
// may do.
func TestReduceWithinItsBudget(t *testing.T) {
	d := reduceJobDir(t, shrink.Rule{K: 1, N: 1}, 6)
	r, err := d.Reduce(t.Context(), world(t, needs))
	if err != nil || r.Reduction.Minimal || r.Runs != 6 || !strings.Contains(r.Headline, "the budget is used up, so that less may do") {
		t.Fatalf("%s, %v", r.Headline, err)
	}
	if text, err := os.ReadFile(r.Reduction.Scenario); err != nil || !strings.Contains(string(text), "less may do") {
		t.Errorf("%s, %v", text, err)
	}
}

// A failure that does not come again is not reduced.
func TestReduceNeedsTheFailure(t *testing.T) {
	for name, c := range map[string]struct {
		run     func(*scenarios.Scenario) Judged
		maxRuns int
		says    string
	}{
		"another": {func(*scenarios.Scenario) Judged {
			return judged(verdict.FailOnce, Failure{Claim: "no-panic", Checker: "panic@1"})
		}, 0, "did not come again in 2 of 3"},
		"in another way": {func(*scenarios.Scenario) Judged { return judged(verdict.FailOnce, lostBy(verdict.SDK)) }, 0, "did not come again in 2 of 3"},
		"none":           {func(*scenarios.Scenario) Judged { return judged(verdict.PassSmoke) }, 0, "did not come again in 2 of 3"},
		"budget":         {func(*scenarios.Scenario) Judged { return judged(verdict.PassSmoke) }, 1, "the budget is used up before it was known"},
	} {
		t.Run(name, func(t *testing.T) {
			d := reduceJobDir(t, shrink.Rule{K: 2, N: 3}, c.maxRuns)
			d.Job.Wanted = Fingerprint{lostBy(verdict.Broker)}
			r, err := d.Reduce(t.Context(), world(t, c.run))
			if err != nil || r.Reduction.Scenario != "" || !strings.Contains(r.Headline, c.says) {
				t.Errorf("%s, %v", r.Headline, err)
			}
			if found, err := filepath.Glob(filepath.Join(d.Dir, "*-reduced.md")); err != nil || len(found) > 0 {
				t.Errorf("%v was written, %v", found, err)
			}
		})
	}
}

// A run that failed in something else passes only where what is looked for held.
func TestAnswerOfARun(t *testing.T) {
	other := judged(verdict.FailOnce, Failure{Claim: "no-panic", Checker: "panic@1"})
	held := other
	held.Verdict.Results = append(slices.Clone(other.Verdict.Results), verdict.Result{Claim: verdict.Claim{Name: lost.Claim}, Checker: lost.Checker, Status: verdict.Pass, Canary: verdict.Canary{Red: true}})
	missed := held
	missed.Landings = []history.Landing{{Type: "kill", Target: "any", State: history.NotLanded}}
	never := held
	never.Planned = 1
	starved := held
	starved.StarvedS = verdict.MaxStarvedS + 1
	failsAnyway := judged(verdict.FailOnce, lost)
	silent := judged(verdict.PassSmoke)
	silent.Verdict.Results = nil
	failsAnyway.Landings, failsAnyway.StarvedS = missed.Landings, starved.StarvedS
	for name, c := range map[string]struct {
		run  Judged
		want shrink.Answer
	}{
		"fails in something else": {other, shrink.Unknown}, "and holds in this": {held, shrink.Passes}, "not landed": {missed, shrink.Unknown},
		"never injected": {never, shrink.Unknown}, "starved": {starved, shrink.Unknown}, "a violation stands": {failsAnyway, shrink.Fails},
		"inconclusive": {judged(verdict.InconclusiveEnv), shrink.Unknown}, "passes": {judged(verdict.PassSmoke), shrink.Passes},
		"passes, and judges another claim": {silent, shrink.Unknown},
	} {
		if got, why := c.run.answer(Fingerprint{lost}, Fingerprint.In); got != c.want || got == shrink.Unknown && why == "" {
			t.Errorf("%s: %s (%s), want %s", name, got, why, c.want)
		}
	}
}

// A run fails as wanted where it may be the same failure: of one kind, by one party, at one place.
func TestAnswerOfARunThatFailsInAnotherWay(t *testing.T) {
	var old Failure
	if err := json.Unmarshal([]byte(`{"claim":"qos1-no-loss","checker":"lost@1"}`), &old); err != nil {
		t.Fatal(err)
	}
	late := Failure{Claim: lost.Claim, Checker: lost.Checker, Ways: []verdict.Way{{Kind: "late", Party: verdict.Broker}}}
	both := Failure{Claim: lost.Claim, Checker: lost.Checker, Ways: []verdict.Way{{Kind: "late"}, {Kind: "lost", Party: verdict.Broker}}}
	for name, c := range map[string]struct {
		wanted, failed Failure
		want           shrink.Answer
	}{
		"the same":                      {lostBy(verdict.Broker), lostBy(verdict.Broker), shrink.Fails},
		"by nobody that is known":       {lostBy(verdict.Broker), lostBy(""), shrink.Fails},
		"as nobody wrote down":          {old, lostBy(verdict.SDK), shrink.Fails},
		"by another party":              {lostBy(verdict.Broker), lostBy(verdict.SDK), shrink.Unknown},
		"of another kind":               {lostBy(verdict.Broker), late, shrink.Unknown},
		"of another kind, beside it":    {lostBy(verdict.Broker), both, shrink.Fails},
		"a panic at its place":          {panicAt("raft.rs"), panicAt("raft.rs"), shrink.Fails},
		"a panic at another place":      {panicAt("raft.rs"), panicAt("mqtt/session.rs"), shrink.Unknown},
		"a panic at a place not listed": {panicAt("raft.rs"), panicAt(""), shrink.Fails},
	} {
		if got, why := judged(verdict.FailOnce, c.failed).answer(Fingerprint{c.wanted}, Fingerprint.In); got != c.want {
			t.Errorf("%s: %s (%s), want %s", name, got, why, c.want)
		}
	}
}

// Reducing a range of numbers finds the number that the failure needs, wherever
// it is. No range is tried whose first number is above its last.
func TestReduceOfARange(t *testing.T) {
	whole, err := scenarios.Load("mqtt/malformed-packets")
	if err != nil {
		t.Fatal(err)
	}
	bounds := func(s scenario) (first, last float64) {
		p := s.Schedule[0].Params
		return asNumber(p["first"]), asNumber(p["last"])
	}
	for _, culprit := range []float64{0, 1, 100, 499, 905, 1000} {
		tries := 0
		least, err := shrink.Minimize(whole, []shrink.Dimension[scenario]{lesser{}}, func(s scenario, what string) (shrink.Answer, error) {
			tries++
			first, last := bounds(s)
			if first > last {
				t.Errorf("%s: %g to %g", what, first, last)
			}
			if first <= culprit && culprit <= last {
				return shrink.Fails, nil
			}
			return shrink.Passes, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if first, last := bounds(least); first != culprit || last != culprit {
			t.Errorf("%g to %g, want %g", first, last, culprit)
		}
		t.Logf("%g: %d tries", culprit, tries)
	}
}
