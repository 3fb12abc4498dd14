package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// attempt is a run as the item with that id asks for it.
func attempt(r *Record, id string, seed int64, state verdict.State) Run {
	it := r.Items[slices.IndexFunc(r.Items, func(it Item) bool { return it.ID == id })]
	run := &history.Run{
		ID: id + "-" + string(rune('a'+seed%26)), Started: r.At.Add(time.Minute), Scenario: it.Scenario, ScenarioSHA: it.SHA, Seed: seed,
		Tier: it.Model.Tier, Protocol: it.Model.Protocol, SDK: it.Model.SDK, Transport: "tcp", Budget: it.Budget,
		Cluster: history.ClusterInfo{Flavor: it.Model.Flavor, Runtime: "process", Nodes: it.Model.Nodes, Profile: "tested", Config: it.Config},
	}
	v := verdict.Verdict{State: state, Headline: string(state) + ": words", Caps: []string{verdict.CapOneSeed}}
	for _, j := range it.Claims {
		v.Results = append(v.Results, verdict.Result{Claim: verdict.Claim{Name: j.Claim}, Status: verdict.Pass, Checker: j.Checker})
	}
	return Run{Record: run, Cell: campaigns.Cell{RunID: run.ID, Root: run.ID, Seed: seed, Tier: run.Tier, Verdict: v}}
}

func TestStatus(t *testing.T) {
	r := frozen(t, t.TempDir())
	with := func(run Run, change func(*Run)) Run { change(&run); return run }
	all := []Run{attempt(r, "S1", 1, verdict.PassSmoke), attempt(r, "S2", 11, verdict.PassSmoke), attempt(r, "S2", 12, verdict.PassSmoke), attempt(r, "S2", 13, verdict.PassSmoke)}
	ours, err := checker.Find("qos1-no-loss")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		runs    []Run
		moved   []string
		want    verdict.Outcome
		states  []verdict.State
		missing []int
		says    string // in the mismatches
	}{
		{"nothing ran", nil, nil, verdict.OutcomeBlocked, []verdict.State{verdict.NotRun, verdict.NotRun}, []int{1, 3}, ""},
		{"half", all[:1], nil, verdict.OutcomeConcerns, []verdict.State{verdict.PassSmoke, verdict.NotRun}, []int{0, 3}, ""},
		{"one attempt of three", all[:2], nil, verdict.OutcomeConcerns, []verdict.State{verdict.PassSmoke, verdict.PassSmoke}, []int{0, 2}, ""},
		{"all", all, nil, verdict.OutcomeDone, []verdict.State{verdict.PassSmoke, verdict.PassHardening}, []int{0, 0}, ""},
		{"all, and something moved", all, []string{"recovery_s: 30 → 300"}, verdict.OutcomeConcerns, []verdict.State{verdict.PassSmoke, verdict.PassHardening}, []int{0, 0}, "30 → 300"},
		{"retried until green", append([]Run{with(all[0], func(run *Run) {
			run.Cell.Verdict.Results = []verdict.Result{{Claim: verdict.Claim{Name: "qos1-no-loss"}, Status: verdict.Pass, Checker: ours.Checker}}
		})}, append(slices.Clone(all[1:]), with(attempt(r, "S1", 2, verdict.FailOnce), func(run *Run) {
			run.Cell.Verdict.Results = []verdict.Result{{Claim: verdict.Claim{Name: "qos1-no-loss"}, Status: verdict.Fail, Checker: ours.Checker}}
		}))...), nil, verdict.OutcomeFail, []verdict.State{verdict.FailNondetermin, verdict.PassHardening}, []int{0, 0}, ""},
		{"before it was frozen", []Run{with(all[0], func(run *Run) {
			run.Record = changedRun(run.Record, func(h *history.Run) { h.Started = r.At.Add(-time.Minute) })
		})}, nil,
			verdict.OutcomeBlocked, []verdict.State{verdict.NotRun, verdict.NotRun}, []int{1, 3}, ""},
		{"a seed that is not planned", []Run{attempt(r, "S2", 99, verdict.PassSmoke)}, nil, verdict.OutcomeBlocked, []verdict.State{verdict.NotRun, verdict.NotRun}, []int{1, 3}, ""},
		{"another SDK", []Run{with(all[0], func(run *Run) {
			run.Record = changedRun(run.Record, func(h *history.Run) { h.SDK = "python/paho-mqtt@2.1.0" })
		})}, nil,
			verdict.OutcomeBlocked, []verdict.State{verdict.NotRun, verdict.NotRun}, []int{1, 3}, ""},
		{"a planted defect", []Run{with(all[0], func(run *Run) {
			run.Record = changedRun(run.Record, func(h *history.Run) { h.Cluster.Planted = "wrong-ack" })
		})}, nil,
			verdict.OutcomeBlocked, []verdict.State{verdict.NotRun, verdict.NotRun}, []int{1, 3}, ""},
		{"another setting", []Run{with(all[0], func(run *Run) {
			run.Record = changedRun(run.Record, func(h *history.Run) {
				h.Cluster.Config = map[string]any{"jetstream": true, "replicas": 3, "sync_always": true, "ack_wait_ms": 5000, "max_ack_pending": 1024}
			})
		})}, nil, verdict.OutcomeBlocked, []verdict.State{verdict.NotRun, verdict.NotRun}, []int{1, 3}, ""},
		{"a laxer bound", []Run{with(all[0], func(run *Run) {
			run.Record = changedRun(run.Record, func(h *history.Run) { h.ScenarioSHA, h.Budget.RecoveryS = "abc", 300 })
		})}, nil, verdict.OutcomeBlocked, []verdict.State{verdict.NotRun, verdict.NotRun}, []int{1, 3}, "is no attempt: recovery_s: 20 → 300"},
		{"not what was sealed", []Run{with(all[0], func(run *Run) { run.Broken = "history.arrow was changed" })}, nil,
			verdict.OutcomeBlocked, []verdict.State{verdict.NotRun, verdict.NotRun}, []int{1, 3}, "history.arrow was changed"},
		{"two builds", []Run{all[1], with(all[2], func(run *Run) { run.Cell.Broker.Build = "feedbeef00" })}, nil,
			verdict.OutcomeConcerns, []verdict.State{verdict.NotRun, verdict.PassSmoke}, []int{1, 2}, "another build than"},
		{"a wanted claim that was not judged", append([]Run{with(all[0], func(run *Run) { run.Cell.Verdict.Results = nil })}, all[1:]...), nil,
			verdict.OutcomeConcerns, []verdict.State{verdict.PassSmoke, verdict.PassHardening}, []int{0, 0}, ""},
		{"two builds of two scenarios", []Run{all[0], with(all[1], func(run *Run) { run.Cell.Broker.Build = "feedbeef00" })}, nil,
			verdict.OutcomeConcerns, []verdict.State{verdict.PassSmoke, verdict.NotRun}, []int{0, 3}, "S2: run S2-l is no attempt: it was on another build than S1-b"},
		{"two scenarios of one build, otherwise set up", []Run{all[0], with(all[1], func(run *Run) { run.Cell.Broker.Profile, run.Cell.Broker.Nodes = "as-shipped", 1 })}, nil,
			verdict.OutcomeConcerns, []verdict.State{verdict.PassSmoke, verdict.PassSmoke}, []int{0, 2}, ""},
		{"another checker", []Run{with(all[0], func(run *Run) {
			run.Cell.Verdict.Results = []verdict.Result{{Claim: verdict.Claim{Name: "qos1-no-loss"}, Status: verdict.Pass, Checker: "loss@99"}}
		})}, nil, verdict.OutcomeConcerns, []verdict.State{verdict.PassSmoke, verdict.NotRun}, []int{0, 3}, "checker of qos1-no-loss: " + ours.Checker + " → loss@99"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := r.Status(test.runs, test.moved)
			if s.Outcome != test.want {
				t.Errorf("%s, want %s", s.Headline, test.want)
			}
			for i, line := range s.Items {
				if line.State != test.states[i] || len(line.Missing) != test.missing[i] {
					t.Errorf("%s is %s, %d missing; want %s, %d", line.ID, line.State, len(line.Missing), test.states[i], test.missing[i])
				}
				if (line.Command == "") != (len(line.Missing) == 0) {
					t.Errorf("%s: next %q with %d missing", line.ID, line.Command, len(line.Missing))
				}
			}
			if got := strings.Join(s.Mismatches, "\n"); !strings.Contains(got, test.says) || test.says == "" && got != "" {
				t.Errorf("mismatches %q, want %q", got, test.says)
			}
		})
	}
}

// A plan's page says how far it is, and leads to what is published.
func TestPage(t *testing.T) {
	r := frozen(t, t.TempDir())
	s := r.Status([]Run{attempt(r, "S1", 1, verdict.PassSmoke), attempt(r, "S2", 11, verdict.PassSmoke)}, []string{"recovery_s: 30 → 300 | more"})
	first := s.Items[0].Attempts[0].RunID
	page, err := s.Page(func(id string) string {
		if id == first {
			return "../runs/" + id
		}
		return ""
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"**" + s.Headline + "**", "`" + r.Hash + "`, which is not published", "[" + first + "](../runs/" + first + ") (PASS-smoke, seed 1)",
		"| 1 of 3 | " + s.Items[1].Attempts[0].RunID + " (PASS-smoke, seed 11) |", `30 → 300 \| more`, "## Not covered",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
}

func changedRun(run *history.Run, change func(*history.Run)) *history.Run {
	other := *run
	change(&other)
	return &other
}

// A run that cannot be judged is said to be none, and the others still count.
func TestARunThatCannotBeJudged(t *testing.T) {
	var run Run
	if run.judge(t.TempDir()); run.Broken == "" {
		t.Error("a run of which nothing is there is said to be judged")
	}
}

func TestCriteria(t *testing.T) {
	r := frozen(t, t.TempDir())
	s := r.Status([]Run{attempt(r, "S1", 1, verdict.PassSmoke), attempt(r, "S2", 11, verdict.PassSmoke)}, nil)
	if c := s.Claims[0]; c.Enough || len(c.Lacks) != 1 || c.Lacks[0] != "S2, which is PASS-smoke" {
		t.Errorf("%+v", c)
	}
	if c := s.Claims[1]; !c.Enough || c.Wanted != "PASS-smoke of S1, S2" {
		t.Errorf("%+v", c)
	}
	blind := attempt(r, "S1", 1, verdict.PassSmoke)
	blind.Cell.Verdict.Results = slices.DeleteFunc(blind.Cell.Verdict.Results, func(r verdict.Result) bool { return r.Claim.Name == "recovery" })
	s = r.Status([]Run{blind, attempt(r, "S2", 11, verdict.PassSmoke)}, nil)
	if c := s.Claims[1]; c.Enough || len(c.Lacks) != 1 || c.Lacks[0] != "S1, as run S1-b did not judge it" || !slices.Contains(s.Concerns, "S1: run S1-b did not judge recovery") {
		t.Errorf("%+v, concerns %q", c, s.Concerns)
	}
}

func TestBudget(t *testing.T) {
	r := frozen(t, t.TempDir())
	next := Missing{Item: &r.Items[1]}
	for _, test := range []struct {
		used Used
		want string
	}{
		{Used{}, ""},
		{Used{Runs: 5, Time: time.Minute}, ""},
		{Used{Runs: 6, Time: time.Minute}, "6 runs of 6"},
		{Used{Runs: 1, Time: 1795 * time.Second}, "1795 s of 1800 s, and S2 is expected to take"},
	} {
		if got := test.used.Over(r.Plan.Budget, next); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%+v: %q, want %q", test.used, got, test.want)
		}
	}
}
