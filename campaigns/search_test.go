package campaigns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/random"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/scenarios"
)

func searchPlan(t *testing.T, runs int) SearchPlan {
	t.Helper()
	sdk, err := clients.Resolve("go/paho.mqtt.golang")
	if err != nil {
		t.Fatal(err)
	}
	return SearchPlan{
		Seed: 7, MaxRuns: runs, Cluster: cluster.Config{Flavor: "reference"}, Command: "rmq-mcp campaign",
		Space: random.Space{Flavor: "reference", Nodes: 3, Clients: []random.Client{{SDK: sdk, Protocol: "mqtt3"}},
			Faults: random.Doable(true, cluster.Config{}, func(faults.Kind) bool { return true })},
	}
}

// searchLab answers runs by a condition on the scenario that is run, and counts
// them and the reductions.
func searchLab(t *testing.T, run func(n int, s *scenarios.Scenario) Judged) (backend SearchBackend, reduced *[]string) {
	made := map[string]Judged{}
	reduced = &[]string{}
	return SearchBackend{
		Run: func(_ context.Context, file string, seed int64) (string, error) {
			s, err := scenarios.Load(file)
			if err != nil {
				return "", err
			}
			if want := fmt.Sprintf("mqtt/random-%d", seed); s.Name != want {
				t.Errorf("%s is run with the seed of %s", s.Name, want)
			}
			j := run(len(made)+1, s)
			j.SDK, j.Protocol = s.SDK, s.Protocol
			id := fmt.Sprintf("run-%d", len(made)+1)
			made[id] = j
			return id, nil
		},
		Read: func(id string) (Judged, error) { return made[id], nil },
		Reduce: func(_ context.Context, run string, claims []string, _ time.Duration) (Result, error) {
			*reduced = append(*reduced, run+" "+strings.Join(claims, ","))
			if len(claims) > 1 { // of all of it none came again, of a part
				return Result{JobID: "reduce-" + run, Headline: "it did not come again", DurationS: 60, Trials: []Trial{{Failed: Fingerprint{}}, {Failed: Fingerprint{lost}}}, Reduction: &Reduction{}}, nil
			}
			return Result{JobID: "reduce-" + run, Headline: "it is reduced", DurationS: 60, Reduction: &Reduction{Scenario: run + ".md"}}, nil
		},
		Begins: func(int, string) {}, Ends: func(Round) {}, Tell: func(string) {},
	}, reduced
}

// A panic at another place is another finding. One whose place nobody knows is that of a place.
func TestSearchTellsPanicsApart(t *testing.T) {
	backend, reduced := searchLab(t, func(n int, _ *scenarios.Scenario) Judged {
		return judged(verdict.FailOnce, panicAt([]string{"raft.rs", "mqtt/session.rs", "raft.rs", ""}[n-1]))
	})
	s, err := NewSearch(t.TempDir(), searchPlan(t, 4), time.Now())
	if err == nil {
		err = s.Run(t.Context(), backend)
	}
	if err != nil {
		t.Fatal(err)
	}
	list := s.Summary().Findings
	if len(list) != 2 || !slices.Equal(list[0].Runs, []string{"run-1", "run-3", "run-4"}) || !slices.Equal(list[1].Runs, []string{"run-2"}) || len(*reduced) != 2 {
		t.Errorf("%+v, reduced %q", list, *reduced)
	}
}

// A campaign goes on after a failure: a new one is reduced, one that was seen is
// counted, and what is known of a library is no finding.
func TestSearch(t *testing.T) {
	known := Failure{Claim: "sdk-honest", Checker: "honest@2"}
	backend, reduced := searchLab(t, func(n int, _ *scenarios.Scenario) Judged {
		switch {
		case n == 2:
			return judged(verdict.FailOnce, known)
		case n%3 == 0:
			return judged(verdict.FailOnce, lost, known)
		case n == 7:
			return judged(verdict.FailOnce, lost, Failure{Claim: "no-panic", Checker: "panics@1"})
		}
		return judged(verdict.PassSmoke)
	})
	passed := 0
	backend.Passed = func(string) error { passed++; return nil }
	dir := t.TempDir()
	s, err := NewSearch(dir, searchPlan(t, 9), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), backend); err != nil {
		t.Fatal(err)
	}
	if want := []string{"run-3 qos1-no-loss", "run-7 no-panic,qos1-no-loss", "run-7 qos1-no-loss"}; !slices.Equal(*reduced, want) {
		t.Errorf("reduced %q, want %q", *reduced, want)
	}
	sum := s.Summary()
	if len(sum.Findings) != 2 || !slices.Equal(sum.Findings[0].Runs, []string{"run-3", "run-6", "run-9"}) || sum.Findings[0].Reduced == nil || sum.Findings[0].Reduced.Scenario != "run-3.md" {
		t.Errorf("findings %+v", sum.Findings)
	}
	if passed != 4 || sum.States[verdict.PassSmoke] != 4 || sum.States[verdict.FailOnce] != 5 || len(sum.Known) != 1 || s.SpentS() < 180 || sum.Findings[1].Reduced.Scenario != "run-7.md" {
		t.Errorf("%d passed, %+v", passed, sum)
	}
	for _, c := range sum.Coverage {
		if c.Landed > 0 {
			t.Errorf("no run recorded a landing, and %s is covered", c.Fault)
		}
	}
	page, err := os.ReadFile(filepath.Join(s.Dir, SearchMarkdown))
	if err != nil || !strings.Contains(string(page), "| qos1-no-loss (lost@1) | 3 | run-3 |") || !strings.Contains(string(page), "| jobs/reduce-run-3/run-3.md |") || !strings.Contains(string(page), "2 findings in 9 runs") {
		t.Errorf("%v\n%s", err, page)
	}
	if again, err := UnfinishedSearch(dir, searchPlan(t, 9)); again != nil || err != nil {
		t.Errorf("it has ended, and %v goes on, %v", again, err)
	}
}

// A library's known defect is no excuse for a failure that the packets show to be the
// broker's, nor for one that our own clients met.
func TestSearchOfAKnownDefect(t *testing.T) {
	fails := func(claim string, parties ...verdict.Party) Failure {
		f := Failure{Claim: claim, Checker: claim + "@1"}
		for _, p := range parties {
			f.Ways = append(f.Ways, verdict.Way{Kind: "k", Party: p})
		}
		return f
	}
	for _, c := range []struct {
		sdk   string
		fails Failure
		known bool
	}{
		{"python/paho-mqtt@2.1.0", fails("qos2-exactly-once"), true},
		{"python/paho-mqtt@2.1.0", fails("qos2-exactly-once", ""), true},
		{"python/paho-mqtt@2.1.0", fails("qos2-exactly-once", verdict.SDK), true},
		{"python/paho-mqtt@2.1.0", fails("qos2-exactly-once", verdict.Broker), false},
		{"python/paho-mqtt@2.1.0", fails("qos2-exactly-once", verdict.Broker, verdict.SDK), false},
		{"python/paho-mqtt@2.1.0", fails("qos2-no-loss"), false},
		{"rust/rumqttc@0.24.0", fails("progress", ""), true},
		{"rust/rumqttc@0.24.0", fails("recovery", ""), false},
		{"js/mqtt@5.0.0", fails("recovery"), false},
	} {
		run := judged(verdict.FailOnce, c.fails)
		run.SDK, run.Protocol = c.sdk, "mqtt3"
		var r Round
		if err := r.read(SearchBackend{Read: func(string) (Judged, error) { return run, nil }}, &scenarios.Scenario{}, "run-1"); err != nil {
			t.Fatal(err)
		}
		if known := len(r.Known) == 1 && len(r.Failed) == 0; known != c.known {
			t.Errorf("%s with %s: known %q, failed %s", c.fails, c.sdk, r.Known, r.Failed)
		}
	}
}

// A campaign that was stopped resumes, as if it had not been: no run
// is made twice, and the same scenarios are drawn.
func TestSearchGoesOn(t *testing.T) {
	titles := func(s *Search) (list []string) {
		for _, r := range s.Rounds {
			list = append(list, r.Title)
		}
		return list
	}
	fails := func(n int, _ *scenarios.Scenario) Judged { return judged(verdict.FailOnce, lost) }
	whole, err := NewSearch(t.TempDir(), searchPlan(t, 6), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	backend, _ := searchLab(t, fails)
	if err := whole.Run(t.Context(), backend); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s, err := NewSearch(dir, searchPlan(t, 6), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	backend, reduced := searchLab(t, fails)
	ctx, cancel := context.WithCancel(t.Context())
	reduce := backend.Reduce
	backend.Reduce = func(ctx context.Context, _ string, _ []string, _ time.Duration) (Result, error) {
		cancel()
		return Result{}, ctx.Err()
	}
	if err := s.Run(ctx, backend); !errors.Is(err, context.Canceled) || len(s.Rounds) != 1 || len(s.Reductions) != 0 {
		t.Fatalf("stopped: %d runs, %d reductions, %v", len(s.Rounds), len(s.Reductions), err)
	}
	other := searchPlan(t, 5)
	if none, err := UnfinishedSearch(dir, other); none != nil || err != nil {
		t.Errorf("another campaign goes on: %v, %v", none, err)
	}
	again := searchPlan(t, 6)
	again.Seed = 0
	on, err := UnfinishedSearch(dir, again)
	if err != nil || on == nil || on.ID() != s.ID() {
		t.Fatalf("to go on with: %v, %v", on, err)
	}
	backend.Reduce = reduce
	if err := on.Run(t.Context(), backend); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(titles(on), titles(whole)) || len(*reduced) != 1 {
		t.Errorf("gone on:\n%q\nat once:\n%q\nreduced %q", titles(on), titles(whole), *reduced)
	}
}

// Another build is another campaign. One that finds it under way ends, and keeps nothing of it.
func TestSearchIsOfOneBuild(t *testing.T) {
	on := func(sha string) func(int, *scenarios.Scenario) Judged {
		return func(n int, _ *scenarios.Scenario) Judged {
			run := judged(verdict.FailOnce, lost)
			if n > 2 {
				run = judged(verdict.PassSmoke)
			}
			if run.Broker.Build = "a build"; n > 2 {
				run.Broker.Build = sha
			}
			return run
		}
	}
	dir := t.TempDir()
	plan := searchPlan(t, 6)
	plan.Build = Build{SHA256: "a build"}
	s, err := NewSearch(dir, plan, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	backend, _ := searchLab(t, on("b build"))
	if err := s.Run(t.Context(), backend); !errors.Is(err, errOtherBuild) || !strings.Contains(err.Error(), "--fresh") || len(s.Rounds) != 2 {
		t.Errorf("%d runs, %v", len(s.Rounds), err)
	}
	if on, err := UnfinishedSearch(dir, plan); on == nil || err != nil || len(on.Rounds) != 2 || on.Rounds[0].Build != plan.Build {
		t.Errorf("the same build: %+v, %v", on, err)
	}
	plan.Build.SHA256 = "b build"
	if other, err := UnfinishedSearch(dir, plan); other != nil || err != nil {
		t.Errorf("another build goes on with %+v, %v", other, err)
	}
	// So does one whose plan knows no build, as of an image.
	s, err = NewSearch(dir, searchPlan(t, 6), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	backend, reduced := searchLab(t, on("b build"))
	if err := s.Run(t.Context(), backend); !errors.Is(err, errOtherBuild) || len(s.Rounds) != 2 || len(*reduced) != 1 {
		t.Errorf("%d runs, %v", len(s.Rounds), err)
	}
	// A reduction that meets it is not tried and in vain.
	s, err = NewSearch(dir, plan, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	backend, _ = searchLab(t, func(int, *scenarios.Scenario) Judged { return judged(verdict.FailOnce, lost) })
	backend.Reduce = func(context.Context, string, []string, time.Duration) (Result, error) {
		return Result{}, fmt.Errorf("it is %w", errOtherBuild)
	}
	if err := s.Run(t.Context(), backend); !errors.Is(err, errOtherBuild) || len(s.Reductions) != 0 {
		t.Errorf("%d reductions, %v", len(s.Reductions), err)
	}
}

// Where no run can be made, it says so and ends; one that could not is passed
// over.
func TestSearchWithoutRuns(t *testing.T) {
	for most, want := range map[int]int{3: 9, 9: maxErrors} {
		s, err := NewSearch(t.TempDir(), searchPlan(t, 9), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		backend, _ := searchLab(t, func(int, *scenarios.Scenario) Judged { return judged(verdict.PassSmoke) })
		run, n := backend.Run, 0
		backend.Run = func(ctx context.Context, file string, seed int64) (string, error) {
			if n++; n <= most {
				return "", errors.New("no broker")
			}
			return run(ctx, file, seed)
		}
		err = s.Run(t.Context(), backend)
		if ended := err != nil; ended != (most >= maxErrors) || len(s.Rounds) != want || s.Summary().Errors != min(most, maxErrors) {
			t.Errorf("%d could not be made: %d runs, %v", most, len(s.Rounds), err)
		}
	}
}

// The files left of a run that passed are its record, its verdict and its seal.
func TestSlim(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"evidence/history.arrow", "evidence/run.json", "evidence/logs/node-1.log", "SEAL", "verdict.json"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Slim(dir); err != nil {
		t.Fatal(err)
	}
	var left []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left = append(left, filepath.Base(path))
		}
		return err
	})
	if err != nil || !slices.Equal(left, []string{"SEAL", "run.json", "verdict.json"}) {
		t.Errorf("left are %v, %v", left, err)
	}
}
