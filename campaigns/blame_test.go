package campaigns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

func recipeOf(protocol, flavor, sdk string, arm ...string) Recipe {
	return Recipe{
		Run:   &history.Run{ID: "run-1", Protocol: protocol, SDK: sdk, Cluster: history.ClusterInfo{Flavor: flavor}},
		Start: keeper.Start{SDK: sdk, Cluster: cluster.Config{Flavor: flavor, Nodes: 3, Profile: "as-shipped", Version: "0.4.11", Arm: arm}},
	}
}

func TestVariations(t *testing.T) {
	for _, c := range []struct {
		recipe  Recipe
		crashes bool
		faults  int
		want    string
	}{
		{recipeOf("mqtt3", "robustmq", "python/paho-mqtt@2.1.0"), true, 1, "again, tap, no-faults, sdk go/paho.mqtt.golang, control reference"},
		{recipeOf("mqtt3", "robustmq", "go/paho.mqtt.golang@1.5.1", "tap"), false, 0, "again, sdk python/paho-mqtt, control reference"},
		{recipeOf("mqtt3", "reference", "go/liar@honest, go/paho.mqtt.golang@1.5.1", "tap"), false, 2, "again, no-faults, sdk python/paho-mqtt, control mosquitto"},
		{recipeOf("mqtt5", "robustmq", "go/paho.golang@0.23.0"), false, 0, "again, tap, sdk python/paho-mqtt, control mosquitto"},
		{recipeOf("mqtt5", "robustmq", "python/paho-mqtt@2.1.0"), true, 1, "again, tap, no-faults, sdk go/paho.golang"},
		{recipeOf("mq9", "robustmq", "python/nats-py@2.9.0"), true, 0, "again, sdk go/nats.go, control reference"},
	} {
		c.recipe.Run.Faults, c.recipe.Wanted = make([]history.PlannedFault, c.faults), Fingerprint{lost}
		list, err := VariationsOf(c.recipe, "", c.crashes)
		var got []string
		for _, v := range list {
			got = append(got, strings.TrimSpace(v.Referee+" "+library(v.SDK)+v.Flavor))
		}
		if text := strings.Join(got, ", "); err != nil || text != c.want {
			t.Errorf("%s on %s: %s, %v; want %s", c.recipe.Run.SDK, c.recipe.Run.Cluster.Flavor, text, err, c.want)
		}
	}
	// A run without faults judges no claim that faults alone can break. It tells whose
	// doing a failure is where that is recorded.
	of := recipeOf("mqtt3", "robustmq", "python/paho-mqtt@2.1.0")
	of.Run.Faults, of.Wanted = make([]history.PlannedFault, 1), Fingerprint{{Claim: "progress"}}
	if list, _ := VariationsOf(of, "", false); slices.ContainsFunc(list, func(v Variation) bool { return v.NoFaults }) {
		t.Errorf("%+v", list)
	}
	of.Wanted = Fingerprint{lost}
	list, _ := VariationsOf(of, "", false)
	if i := slices.IndexFunc(list, func(v Variation) bool { return v.NoFaults }); i < 0 || !list[i].Tap || list[i].String() != "without the faults (the packets recorded)" {
		t.Errorf("%v", list)
	}
	// A control that leaves out more faults than the run did is compared with nothing.
	some, err := scenarios.Load("mqtt/degraded-quorum")
	if err != nil {
		t.Fatal(err)
	}
	of.Text = some.Text
	for leftOut, want := range map[string]bool{"delay of follower, slow of follower": false, "delay of follower, slow of follower, kill of leader": true} {
		of.Run.Scenario, of.Run.LeftOut = "mqtt/degraded-quorum", strings.Split(leftOut, ", ")
		list, _ := VariationsOf(of, "", false)
		if slices.ContainsFunc(list, func(v Variation) bool { return v.OffNodes }) != want {
			t.Errorf("without %s: %+v", leftOut, list)
		}
	}
	for _, sdk := range []string{"go/paho.mqtt.golang@1.3.5", "cobol/mqtt"} {
		if _, err := VariationsOf(recipeOf("mqtt3", "robustmq", "go/paho.mqtt.golang@1.5.1"), sdk, false); err == nil {
			t.Errorf("%s is taken for another library", sdk)
		}
	}
}

// A variation differs in one thing, and leaves what it is made of alone.
func TestVariationDiffersInOneThing(t *testing.T) {
	start := recipeOf("mqtt3", "robustmq", "python/paho-mqtt@2.1.0", "disk").Start
	if s := (Variation{Referee: RefereeAgain}).Apply(start); fmt.Sprint(s) != fmt.Sprint(start) {
		t.Errorf("all the same is %+v", s)
	}
	if s := (Variation{Tap: true}).Apply(start); !slices.Equal(s.Cluster.Arm, []string{"disk", "tap"}) || s.SDK != start.SDK || s.Cluster.Version == "" || len(start.Cluster.Arm) != 1 {
		t.Errorf("recorded: %+v", s)
	}
	if s := (Variation{SDK: "go/paho.mqtt.golang@1.5.1"}).Apply(start); s.SDK != "go/paho.mqtt.golang@1.5.1" || s.Cluster.Version == "" {
		t.Errorf("with another library: %+v", s)
	}
	if s := (Variation{NoFaults: true}).Apply(start); !s.NoFaults || start.NoFaults {
		t.Errorf("without the faults: %+v", s)
	}
	control := cluster.Config{Flavor: "reference", Nodes: 3, Arm: []string{"disk"}}
	if s := (Variation{Flavor: "reference"}).Apply(start); fmt.Sprint(s.Cluster) != fmt.Sprint(control) || s.SDK != start.SDK {
		t.Errorf("on the control broker: %+v", s)
	}
}

// blameLab answers a run by its variation: it fails where the variation is named.
func blameLab(failing ...string) Backend {
	cell := func(sdk, flavor string, fails bool) Judged {
		status, state := verdict.Pass, verdict.PassSmoke
		if fails {
			status, state = verdict.Fail, verdict.FailOnce
		}
		return Judged{Cell: Cell{
			Root: sdk + flavor, Scenario: "mqtt/kill", Seed: 7, SDK: sdk, Protocol: "mqtt3", Transport: "tcp", Broker: Broker{Flavor: flavor},
			Verdict: verdict.Verdict{State: state, Headline: string(state), Results: []verdict.Result{{
				Claim: verdict.Claim{Name: lost.Claim}, Checker: lost.Checker, Status: status, Promised: true, Summary: "3 lost", Canary: verdict.Canary{Red: true},
			}}},
		}}
	}
	made := 0
	return Backend{
		Run: func(_ context.Context, _ string, as Variation) (string, error) {
			made++
			return fmt.Sprintf("%s-%d", as.Referee, made), nil
		},
		Read: func(run string) (Judged, error) {
			referee, _, _ := strings.Cut(run, "-")
			fails := run == "/original" || slices.Contains(failing, referee)
			j := cell("go/paho.mqtt.golang@1.5.1", "robustmq", fails)
			switch referee {
			case RefereeSDK:
				j = cell("python/paho-mqtt@2.1.0", "robustmq", fails)
			case RefereeControl:
				j = cell("go/paho.mqtt.golang@1.5.1", "reference", fails)
			}
			if j.RunID = run; run == "/original" {
				j.RunID = "1122-1504-kill-3f2a"
			}
			return j, nil
		},
		JoinBlame: func(string, reports.Blame) error { return nil },
		Tell:      func(string) {},
	}
}

func TestBlame(t *testing.T) {
	variations := []Variation{{Referee: RefereeAgain}, {Referee: RefereeSDK, SDK: "python/paho-mqtt@2.1.0"}, {Referee: RefereeControl, Flavor: "reference"}}
	for _, c := range []struct {
		name    string
		failing []string
		cause   reports.Cause
		runs    int
	}{
		{"every library, and not on the control", []string{RefereeAgain, RefereeSDK}, reports.CauseBroker, 5},
		{"everywhere", []string{RefereeAgain, RefereeSDK, RefereeControl}, reports.CauseHarness, 3},
		{"every library, now and then", []string{RefereeSDK}, reports.CauseBroker, 6},
		{"one library, on each broker", []string{RefereeAgain, RefereeControl}, reports.CauseUndecided, 3},
		{"never again", nil, reports.CauseUndecided, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := testJobDir(t, Job{Kind: Blame, Variations: variations})
			backend := blameLab(c.failing...)
			var joined reports.Blame
			backend.JoinBlame = func(dir string, b reports.Blame) error {
				if dir != d.Job.Dir {
					t.Errorf("it is written into %s", dir)
				}
				joined = b
				return nil
			}
			r, err := d.Blame(t.Context(), backend)
			if err != nil {
				t.Fatal(err)
			}
			if joined.Headline != r.Headline || len(joined.Experiments) != c.runs || len(joined.Attributions) != len(r.Comparison.Attributions) {
				t.Errorf("the run's report gets %+v", joined)
			}
			for i, e := range joined.Experiments {
				want := "it does not fail so"
				if referee, _, _ := strings.Cut(e.RunID, "-"); slices.Contains(c.failing, referee) {
					want = "it fails so again"
				}
				if e.What != variations[min(i, 2)].String() || e.Shows != want {
					t.Errorf("experiment %d: %+v", i, e)
				}
			}
			if !r.Ended || r.Runs != c.runs || len(r.Comparison.Attributions) == 0 || r.Comparison.Attributions[0].Cause != c.cause || !strings.Contains(r.Headline, lost.Claim) {
				t.Errorf("%s: %+v", r.Headline, r.Comparison)
			}
			if on, err := d.Result(); err != nil || on.Headline != r.Headline {
				t.Errorf("on disk: %q, %v", on.Headline, err)
			}
		})
	}
}

// The headline of a run's report is about its broker and its library. Others are named.
func TestBlameOfAnotherLibrary(t *testing.T) {
	for _, job := range []Job{{Kind: Blame}, {Kind: Series, Blame: true}} {
		job.Variations = []Variation{{Referee: RefereeAgain}, {Referee: RefereeSDK, SDK: "python/paho-mqtt@2.1.0"}}
		d := testJobDir(t, job)
		backend, joined := blameLab(RefereeAgain, RefereeSDK), map[string]string{}
		backend.Vary = func(string) ([]Variation, error) { return nil, nil }
		backend.JoinSeries = func(string, reports.Series) error { return nil }
		backend.JoinBlame = func(run string, b reports.Blame) error { joined[run] = b.Headline; return nil }
		read := backend.Read
		backend.Read = func(run string) (Judged, error) {
			j, err := read(run)
			if j.SDK == "python/paho-mqtt@2.1.0" {
				j.Verdict.Results[0].Anomalies = []verdict.Anomaly{{Kind: "lost", Blame: verdict.SDK}}
			}
			return j, err
		}
		make, want := d.Blame, map[string]string{"/original": "that differ in one thing: qos1-no-loss: undecided; of other runs: qos1-no-loss: SDK, by wire, with python/paho-mqtt 2.1.0 on robustmq"}
		if job.Kind == Series {
			make, want = d.Series, map[string]string{
				"again-1": "of its series: qos1-no-loss: undecided; of other runs: qos1-no-loss: SDK, by wire, with python/paho-mqtt 2.1.0",
				"sdk-2":   "of its series: qos1-no-loss: SDK, by wire; of other runs: qos1-no-loss: undecided, with go/paho.mqtt.golang 1.5.1",
			}
		}
		if _, err := make(t.Context(), backend); err != nil {
			t.Fatal(err)
		}
		for run, says := range want {
			if !strings.Contains(joined[run], says) {
				t.Errorf("%s says %q, want %q", run, joined[run], says)
			}
		}
	}
}

// A report that cannot be written anew takes nothing from the answer.
func TestBlameOfARunThatStaysAsItIs(t *testing.T) {
	d := testJobDir(t, Job{Kind: Blame, Variations: []Variation{{Referee: RefereeAgain}}})
	backend := blameLab(RefereeAgain)
	backend.JoinBlame = func(string, reports.Blame) error { return errors.New("it is sealed by another") }
	r, err := d.Blame(t.Context(), backend)
	if err != nil || !r.Ended || !strings.Contains(strings.Join(r.Comparison.Notes, "; "), "does not say so: it is sealed by another") {
		t.Errorf("%v, %+v", err, r.Comparison)
	}
	if on, err := d.Result(); err != nil || len(on.Comparison.Notes) != len(r.Comparison.Notes) {
		t.Errorf("on disk: %+v, %v", on, err)
	}
}

// A variation that could not be run is reported and decides nothing.
func TestBlameWithoutARun(t *testing.T) {
	d := testJobDir(t, Job{Kind: Blame, Variations: []Variation{{Referee: RefereeAgain}, {Referee: RefereeSDK, SDK: "python/paho-mqtt@2.1.0"}}})
	backend := blameLab(RefereeAgain)
	run := backend.Run
	backend.Run = func(ctx context.Context, file string, as Variation) (string, error) {
		if as.SDK != "" {
			return "", errors.New("no Python here")
		}
		return run(ctx, file, as)
	}
	r, err := d.Blame(t.Context(), backend)
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(r.Comparison.Notes, "\n")
	if r.Comparison.ExitCode() != 2 || !strings.Contains(notes, "with python/paho-mqtt@2.1.0 shows nothing: no Python here") {
		t.Errorf("%d: %s\n%s", r.Comparison.ExitCode(), r.Headline, notes)
	}
}
