package campaigns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// seriesLab makes runs whose ids say how they were varied. Those of the libraries that
// are named, with spaces between, fail.
func seriesLab(failing string) (backend Backend, made *[]string, joined map[string]string) {
	made, joined = &[]string{}, map[string]string{}
	return Backend{
		Run: func(_ context.Context, _ string, as Variation) (string, error) {
			id := fmt.Sprintf("%d|%s|%s", len(*made), as.SDK, as.Flavor)
			*made = append(*made, strings.TrimSuffix(as.SDK+" "+as.Referee, " "))
			return id, nil
		},
		Read: func(run string) (Judged, error) {
			parts := strings.Split(run, "|")
			r := verdict.Result{Claim: verdict.Claim{Name: lost.Claim}, Checker: lost.Checker, Status: verdict.Pass, Promised: true, Summary: "none lost", Canary: verdict.Canary{Red: true}}
			v := verdict.Verdict{State: verdict.PassSmoke, Headline: "PASS-smoke", Results: []verdict.Result{r}}
			if slices.Contains(strings.Fields(failing), parts[1]) && parts[2] == "" {
				r.Status, r.Anomalies = verdict.Fail, []verdict.Anomaly{{Kind: "lost"}}
				v = verdict.Verdict{State: verdict.FailOnce, Headline: "FAIL-once", Results: []verdict.Result{r}}
			}
			flavor := "robustmq"
			if parts[2] != "" {
				flavor = parts[2]
			}
			return Judged{Cell: Cell{RunID: run, Root: run, Scenario: "mqtt/kill", Seed: 7, SDK: parts[1], Protocol: "mqtt3", Transport: "tcp", Broker: Broker{Flavor: flavor}, Verdict: v}}, nil
		},
		Vary: func(string) ([]Variation, error) {
			return []Variation{{Referee: RefereeAgain}, {Referee: RefereeSDK, SDK: "rust/z@3"}, {Referee: RefereeControl, Flavor: "mosquitto"}}, nil
		},
		JoinSeries: func(run string, s reports.Series) error { joined[run] = string(s.State); return nil },
		JoinBlame:  func(run string, b reports.Blame) error { joined[run] += " blamed"; return nil },
		Tell:       func(string) {},
	}, made, joined
}

func seriesDir(t *testing.T, sdks []string, times int, blame bool) *JobDir {
	t.Helper()
	d := testJobDir(t, Job{Kind: Series})
	job := NewSeries("kill", keeper.Start{Scenario: "mqtt/kill"}, sdks, times, blame)
	d.Job = job
	return d
}

// A series that looks for failures ends once it has seen each of them, also when it goes on.
func TestSeriesUntilFails(t *testing.T) {
	other := Failure{Claim: "order-per-stream", Checker: "order@1"}
	for _, c := range []struct {
		failing string
		wanted  Fingerprint
		made    int
	}{{"go/x@1", Fingerprint{lost}, 1}, {"", Fingerprint{lost}, 3}, {"go/x@1", Fingerprint{lost, other}, 3}} {
		d := seriesDir(t, []string{"go/x@1"}, 3, false)
		d.Job.UntilFails, d.Job.Wanted = true, c.wanted
		backend, made, _ := seriesLab(c.failing)
		r, err := d.Series(t.Context(), backend)
		if err != nil || !r.Ended || len(*made) != c.made {
			t.Errorf("%+v: %v, %d made", c, err, len(*made))
		}
		if _, err := d.Series(t.Context(), backend); err != nil || len(*made) != c.made {
			t.Errorf("%+v, again: %v, %d made", c, err, len(*made))
		}
	}
}

// A part of something is found again, whatever became of it. It makes again the runs from the
// first that could not be made, each with the seed of its place.
func TestPartOf(t *testing.T) {
	dir := t.TempDir()
	job := NewSeries("kill", keeper.Start{Scenario: "mqtt/kill"}, nil, 3, false)
	job.For = "v1.0.0"
	if d, err := PartOf(dir, job); d != nil || err != nil {
		t.Fatalf("%+v, %v", d, err)
	}
	d, err := NewJobDir(dir, job, "text", time.Now())
	for _, state := range []verdict.State{verdict.PassSmoke, "", verdict.PassSmoke} {
		err = errors.Join(err, d.keep(Trial{RunID: string(state), State: state}))
	}
	if err != nil {
		t.Fatal(err)
	}
	job.Was, job.Wanted = "another word for it", Fingerprint{lost}
	for range 2 {
		if again, err := PartOf(dir, job); err != nil || again == nil || again.ID() != d.ID() || len(again.Trials) != 1 {
			t.Errorf("%+v, %v", again, err)
		}
	}
	job.For = "v1.0.1"
	if d, err := PartOf(dir, job); d != nil || err != nil {
		t.Errorf("a part of something else: %+v, %v", d, err)
	}
}

// Each library is run as often as is asked, in turn, and the runs are counted together.
func TestSeriesCounts(t *testing.T) {
	d := seriesDir(t, []string{"go/x@1", "python/y@2"}, 2, false)
	backend, made, joined := seriesLab("python/y@2")
	r, err := d.Series(t.Context(), backend)
	if err != nil || !r.Ended {
		t.Fatalf("%v, %+v", err, r)
	}
	if want := []string{"go/x@1", "python/y@2", "go/x@1", "python/y@2"}; !slices.Equal(*made, want) {
		t.Errorf("made %q, want %q", *made, want)
	}
	var rows []string
	for _, row := range r.Table.Rows {
		rows = append(rows, row.SDK+" "+row.Times())
	}
	if want := []string{"go/x@1 0 of 2", "python/y@2 2 of 2"}; !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	if r.State != verdict.FailReproducible || !strings.HasPrefix(r.Headline, "FAIL-reproducible: 2 of 4 runs pass") {
		t.Errorf("%s, %q", r.State, r.Headline)
	}
	if joined["1|python/y@2|"] != "FAIL-reproducible" || joined["0|go/x@1|"] != "PASS-smoke" {
		t.Errorf("the reports say %v", joined)
	}
}

// Each repetition has a seed of its own, unless one is given. A run for blame has that of
// the failure.
func TestSeriesSeeds(t *testing.T) {
	seeds := func(seed int64, list []Variation) (out []int64) {
		for _, v := range list {
			out = append(out, v.Apply(keeper.Start{Seed: seed}).Seed)
		}
		return out
	}
	sdks := []string{"go/x@1", "python/y@2"}
	if got := seeds(100, NewSeries("x", keeper.Start{}, sdks, 3, false).Variations); !slices.Equal(got, []int64{100, 100, 101, 101, 102, 102}) {
		t.Errorf("without a seed: %v", got)
	}
	if got := seeds(7, NewSeries("x", keeper.Start{Seed: 7}, sdks, 2, false).Variations); !slices.Equal(got, []int64{7, 7, 7, 7}) {
		t.Errorf("with a seed: %v", got)
	}
	d := seriesDir(t, sdks, 2, true)
	backend, _, _ := seriesLab("python/y@2")
	d.Trials = []Trial{{}, {}, {}, {RunID: "3|python/y@2|", Failed: Fingerprint{lost}}}
	more, _ := d.toBlame(backend)
	if !slices.Equal(seeds(100, more), []int64{101, 101}) || more[0].Referee != RefereeAgain || more[0].Of != 4 {
		t.Errorf("for blame: %+v", more)
	}
	// A failure that came with another seed, too, is repeated.
	d.Trials[1] = Trial{RunID: "1|python/y@2|", Failed: Fingerprint{lost}}
	if more, _ := d.toBlame(backend); len(more) != 1 || more[0].Referee != RefereeControl || more[0].Round != 0 {
		t.Errorf("of two that failed: %+v", more)
	}
}

// A run that could not be made is no pass.
func TestSeriesWithoutARun(t *testing.T) {
	d := seriesDir(t, []string{"go/x@1", "python/y@2"}, 1, false)
	backend, _, _ := seriesLab("nobody")
	run := backend.Run
	backend.Run = func(ctx context.Context, scenario string, as Variation) (string, error) {
		if as.SDK == "python/y@2" {
			return "", errors.New("its driver cannot be built")
		}
		return run(ctx, scenario, as)
	}
	r, err := d.Series(t.Context(), backend)
	if err != nil || r.State != verdict.NotRun || !strings.Contains(strings.Join(r.Comparison.Notes, ""), "its driver cannot be built") {
		t.Errorf("%v, %s: %q", err, r.State, r.Comparison.Notes)
	}
}

// A failure has the runs made that differ in one thing, but for those that the series has.
func TestSeriesBlames(t *testing.T) {
	for _, c := range []struct {
		sdks  []string
		times int
		fails string
		more  []string
	}{
		{[]string{"go/x@1"}, 1, "go/x@1", []string{"go/x@1 again", "rust/z@3 sdk", "go/x@1 control"}},
		{[]string{"go/x@1"}, 3, "go/x@1", []string{"rust/z@3 sdk", "go/x@1 control"}},
		{[]string{"go/x@1", "python/y@2"}, 2, "python/y@2", []string{"python/y@2 control"}},
		{[]string{"go/x@1", "python/y@2"}, 2, "go/x@1 python/y@2", []string{"go/x@1 control", "python/y@2 control", "go/x@1 control"}},
		{[]string{"go/x@1"}, 2, "nobody", nil},
	} {
		d := seriesDir(t, c.sdks, c.times, true)
		backend, made, joined := seriesLab(c.fails)
		r, err := d.Series(t.Context(), backend)
		if err != nil {
			t.Fatal(err)
		}
		if more := (*made)[len(c.sdks)*c.times:]; !slices.Equal(more, c.more) {
			t.Errorf("%v, %d times: beside them %q, want %q", c.sdks, c.times, more, c.more)
		}
		blamed := 0
		for _, says := range joined {
			if strings.HasSuffix(says, " blamed") {
				blamed++
			}
		}
		if blamed != r.Failed {
			t.Errorf("%v: %d reports say whose doing it is, of %d that failed", c.sdks, blamed, r.Failed)
		}
	}
}

// A series that was stopped goes on with the runs that it has, into the runs for blame.
func TestSeriesGoesOn(t *testing.T) {
	d := seriesDir(t, []string{"go/x@1"}, 2, true)
	backend, made, _ := seriesLab("go/x@1")
	run := backend.Run
	ctx, cancel := context.WithCancel(t.Context())
	backend.Run = func(ctx context.Context, scenario string, as Variation) (string, error) {
		if len(*made) == 3 {
			cancel()
		}
		return run(ctx, scenario, as)
	}
	if _, err := d.Series(ctx, backend); err == nil || len(d.Trials) != 3 {
		t.Fatalf("%d trials, %v", len(d.Trials), err)
	}
	if d, err := OpenJobDir(d.Dir); err != nil || d.Planned() != 4 || !d.Job.same(NewSeries("kill", d.Job.Start, []string{"go/x@1"}, 2, true)) {
		t.Fatalf("on disk: %v, %+v", err, d)
	}
	backend.Vary = func(string) ([]Variation, error) { return nil, errors.New("the run is gone") }
	backend.Run = run
	r, err := d.Series(t.Context(), backend)
	if err != nil || r.Runs != 4 || !r.Ended {
		t.Errorf("%d runs, ended %v, %v", r.Runs, r.Ended, err)
	}
}

// A series says how long it takes before its first run, by its tier.
func TestLeftS(t *testing.T) {
	s, err := scenarios.Load("mqtt/qos-roundtrip")
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]float64{}
	for _, tier := range []string{"smoke", "hardening"} {
		d, err := NewJobDir(t.TempDir(), NewSeries("x", keeper.Start{Tier: tier}, []string{"a", "b"}, 3, false), s.Text, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		left[tier] = d.LeftS()
		if err := d.keep(Trial{DurationS: 10}); err != nil {
			t.Fatal(err)
		}
		if d.LeftS() != 50 {
			t.Errorf("%g s for five runs, when one took 10", d.LeftS())
		}
	}
	if left["smoke"] < 6*15 || left["hardening"] < 2*left["smoke"] {
		t.Errorf("%v", left)
	}
}
