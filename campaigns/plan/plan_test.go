package plan

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// Every gap is said with where it is and what to write instead.
func TestLint(t *testing.T) {
	limits := envelope.Default(t.TempDir())
	limits.AllowedFaults = []string{"pause"}
	for _, test := range []struct {
		name, old, new string // what is changed in the example
		want           []string
		limits         *envelope.Envelope
	}{
		{name: "none"},
		{"no name", "name: leader-crash", "name: Leader Crash", []string{`name: "Leader Crash"`}, nil},
		{"no question", "title: Does", "title: ''\n#", []string{"title: it is empty"}, nil},
		{"unknown claim", "claims: [qos1-no-loss, recovery] ", "claims: [qos1-no-loss, recovery, faster-than-light] ", []string{"claims: faster-than-light: there is no such claim", "one of qos1-no-loss"}, nil},
		{"a claim twice", "claims: [qos1-no-loss, recovery] ", "claims: [recovery, qos1-no-loss, recovery] ", []string{"recovery: it is there twice"}, nil},
		{"a claim that nothing judges", "claims: [qos1-no-loss, recovery] ", "claims: [qos1-no-loss, recovery, retained-register] ", []string{"claims: retained-register: no scenario of the plan judges it", "mqtt/retained-register", "nothing says what would be enough for retained-register", "no hypothesis says how"}, nil},
		{"unknown scenario", "scenario: mqtt/qos-roundtrip", "scenario: mqtt/nope", []string{`scenarios S1: scenario: no scenario "mqtt/nope"`, "mqtt/broker-kill-9"}, nil},
		{"a file where there are none", "scenario: mqtt/qos-roundtrip", "scenario: /etc/passwd.md", []string{"those of the library"}, nil},
		{"judges none of the claims", "claims: [qos1-no-loss, recovery] ", "claims: [retained-register] ", []string{"scenarios S1: mqtt/qos-roundtrip judges none of the plan's claims; write one that does, or a claim of qos0-at-most-once"}, nil},
		{"unknown SDK", "sdk: go/paho.mqtt.golang@1.5.1, tier", "sdk: cobol@1, tier", []string{"scenarios S1: model.sdk", "cobol", "sdk: go/rmq-mcp@1"}, nil},
		{"no SDK", "sdk: go/paho.mqtt.golang@1.5.1, tier", "tier", []string{"scenarios S1: model.sdk: the client library is missing"}, nil},
		{"unknown tier", "tier: smoke", "tier: heroic", []string{`scenarios S1: model.tier: mqtt/qos-roundtrip has no tier "heroic"; write hardening or smoke`}, nil},
		{"unknown flavor", "{flavor: reference", "{flavor: kafka", []string{`no flavor "kafka"; choose reference`}, nil},
		{"no cluster size", "nodes: 3, sdk", "sdk", []string{"scenarios S1: model.nodes: the size of the cluster is missing; write nodes: 3"}, nil},
		{"a protocol that the broker has not", "tier: smoke", "protocol: mqtt5, tier: smoke", []string{"scenarios S1: model.protocol: ", "does not speak mqtt5"}, nil},
		{"a protocol that there is not", "tier: smoke", "protocol: amqp, tier: smoke", []string{"write mqtt3 or mqtt5"}, nil},
		{"an unknown setting", "tier: smoke", "settings: {speed: 9}, tier: smoke", []string{`no setting "speed"`}, nil},
		{"no attempts", "attempts: 1", "attempts: 0", []string{"how often it is run is missing; write seeds"}, nil},
		{"too few for the tier", "seeds: [11, 12, 13]", "seeds: [11, 12]", []string{"2 of tier hardening cannot become PASS-hardening", "attempts: 3"}, nil},
		{"seeds that repeat", "seeds: [11, 12, 13]", "seeds: [11, 12, 12]", []string{"model.seeds"}, nil},
		{"seeds and attempts", "seeds: [11, 12, 13]", "seeds: [11, 12, 13]\n      attempts: 3", []string{"seeds or attempts, not both"}, nil},
		{"one run for two", "scenario: mqtt/broker-kill-9\n", "scenario: mqtt/qos-roundtrip\n    model: {flavor: reference, nodes: 3, sdk: go, tier: smoke, seeds: [4], thresholds: {recovery_s: 20, messages: 400}}\n  - id: S3\n    scenario: mqtt/broker-kill-9\n", []string{"scenarios S2: a run of it would be one of S1, too; write seeds of its own"}, nil},
		{"a moved threshold", "recovery_s: 30", "recovery_s: 300", []string{"scenarios S2: model.thresholds: {recovery_s: 300,", "write {recovery_s: 30, progress_s: 20, messages: 5000}"}, nil},
		{"hypothesis without claim", "    claims: [qos1-no-loss]\n", "", []string{"hypotheses H1: claims: there is none"}, nil},
		{"hypothesis without scenario", "    scenarios: [S1, S2]\n  - id: H2", "  - id: H2", []string{"hypotheses H1: scenarios: there is none", "scenarios S1: no hypothesis would be shown by it"}, nil},
		{"hypothesis of an unknown scenario", "scenarios: [S1, S2]\n  - id: H2", "scenarios: [S1, S9]\n  - id: H2", []string{`hypotheses H1: scenarios: "S9" is none; write ids`}, nil},
		{"hypothesis without reason", "because: It reads", "because: ''\n#", []string{"hypotheses H2: because: it is empty"}, nil},
		{"hypothesis without text", "text: A node", "text: ''\n#", []string{"hypotheses H2: text: it is empty"}, nil},
		{"a fault that is forbidden", "name:", "name:", []string{"scenarios S2: model: ", `fault "kill"`, "allowed_faults"}, &limits},
		{"a small budget", "{runs: 6, time_s: 1800}", "{runs: 2, time_s: 60}", []string{"budget.runs: 2 runs are fewer than the 4 attempts; write 4 or more", "budget.time_s: 60 s are less"}, nil},
		{"a pass that cannot be", "state: PASS-smoke", "state: PASS-hardening", []string{"adequacy 2: state: S1 cannot reach PASS-hardening at tier smoke"}, nil},
		{"a state that is none", "state: PASS-smoke", "state: green", []string{`adequacy 2: state: "green" is nothing to reach`}, nil},
		{"everything covered", "not_covered:\n  - what: power loss\n    why: A", "#", []string{"not_covered: there is none", "power loss"}, nil},
		{"an unknown field", "title:", "heading: x\ntitle:", []string{`line 3: no key "heading"`, "rmq-mcp plan example"}, nil},
		{"no front matter", "---\nname", "name", []string{`two lines "---"`, "not_covered:"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(Example, test.old) {
				t.Fatalf("the example has no %q", test.old)
			}
			text := strings.Replace(Example, test.old, test.new, 1)
			f, err := freezeIn(t, t.TempDir(), text, test.limits)
			if len(test.want) == 0 {
				if err != nil || len(f.Items) != 2 {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("it was frozen")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in:\n%v", want, err)
				}
			}
		})
	}
}

// A claim that no run of a model can be judged by is a gap, which says why.
func TestAClaimThatCannotBeSeen(t *testing.T) {
	for _, test := range []struct{ claim, scenario, bounds, sdk, more, want string }{
		{"qos1-dup-flag", "mqtt/qos-roundtrip", "{recovery_s: 20, messages: 400}", "c/libmosquitto", "", "qos1-dup-flag cannot be seen on 3 × reference, c/libmosquitto@2.0.11, mqtt3: the client library does not show it"},
		{"no-leak", "mqtt/connection-flood", "{recovery_s: 30, progress_s: 20, messages: 1500}", "go/rmq-mcp", "transport: tls, ", "no-leak cannot be seen on 3 × reference, go/rmq-mcp@1, mqtt3 over tls: it looks at connections of the plain listener alone"},
		{"no-leak", "mqtt/connection-flood", "{recovery_s: 30, progress_s: 20, messages: 1500}", "go/rmq-mcp", "runtime: docker, ", "no-leak cannot be seen on 3 × reference, go/rmq-mcp@1, mqtt3: the connections of a process in a container"},
		{"no-panic", "mqtt/qos-roundtrip", "{recovery_s: 20, messages: 400}", "go", "", ""},
	} {
		text := strings.NewReplacer(
			"claims: [qos1-no-loss, recovery] ", "claims: ["+test.claim+", recovery] ", "claims: [qos1-no-loss]", "claims: ["+test.claim+"]", "claim: qos1-no-loss", "claim: "+test.claim,
			"scenario: mqtt/qos-roundtrip", "scenario: "+test.scenario, "sdk: go/paho.mqtt.golang@1.5.1, tier", test.more+"sdk: "+test.sdk+", tier", "{recovery_s: 20, messages: 400}", test.bounds,
			"state: PASS-hardening\n    scenarios: [S2]", "state: PASS-smoke\n    scenarios: [S1]").Replace(Example)
		_, err := freezeIn(t, t.TempDir(), text, nil)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s of %s with %s: %v, want %q", test.claim, test.scenario, test.sdk, err, test.want)
		}
	}
}

func freezeIn(t *testing.T, stateDir, text string, limits *envelope.Envelope) (*Record, error) {
	t.Helper()
	return SiteOf("", limits).Freeze(t.Context(), stateDir, []byte(text), "", keeper.Caller{Via: "test"})
}

func frozen(t *testing.T, stateDir string) *Record {
	t.Helper()
	r, err := freezeIn(t, stateDir, Example, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFreezeOnce(t *testing.T) {
	dir := t.TempDir()
	r := frozen(t, dir)
	again := frozen(t, dir)
	if again.Hash != r.Hash || !again.At.Equal(r.At) {
		t.Errorf("frozen twice: %s at %s, %s at %s", r.Hash, r.At, again.Hash, again.At)
	}
	// how it is written is no part of it
	reworded, err := freezeIn(t, dir, strings.Replace(Example, "claims: [qos1-no-loss, recovery] ", "claims:\n  - qos1-no-loss\n  - recovery ", 1), nil)
	if err != nil || reworded.Hash != r.Hash {
		t.Errorf("%v, %v", reworded, err)
	}
	for _, ref := range []string{"latest", "leader-crash", r.Hash, r.Hash[:8]} {
		if found, err := Find(dir, ref); err != nil || found.Hash != r.Hash {
			t.Errorf("find %s: %v", ref, err)
		}
	}
	if _, err := Find(dir, "nope"); err == nil || !strings.Contains(err.Error(), "leader-crash") {
		t.Errorf("find nope: %v", err)
	}
	other := t.TempDir()
	if elsewhere := frozen(t, other); elsewhere.Hash != r.Hash {
		t.Errorf("the same plan is %s there and %s here", elsewhere.Hash, r.Hash)
	}
}

// A change under the name of a frozen plan is reported with the old and the new
// value, and the frozen plan stays.
func TestMismatch(t *testing.T) {
	dir := t.TempDir()
	r := frozen(t, dir)
	for _, test := range []struct{ old, new, want string }{
		{"recovery_s: 30", "recovery_s: 300", "scenarios S2.model.thresholds.recovery_s: 30 → 300"},
		{"seeds: [11, 12, 13]", "seeds: [11, 12, 14]", "scenarios S2.model.seeds 3: 13 → 14"},
		{"what: power loss", "what: floods", `not_covered 1.what: "power loss" → "floods"`},
		{"  - id: H2\n", "  - id: H3\n", `hypotheses H2.id: "H2" → nothing`},
		{"What a person", "What no person", "prose: "},
	} {
		_, err := freezeIn(t, dir, strings.Replace(Example, test.old, test.new, 1), nil)
		var mismatch *Mismatch
		if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), test.want) || mismatch.Record.Hash != r.Hash {
			t.Errorf("%s: %v, want %q", test.new, err, test.want)
		}
	}
	if all, err := All(dir); err != nil || len(all) != 1 {
		t.Errorf("%d plans, %v", len(all), err)
	}
}

// A frozen plan whose file is gone or damaged has no status, and holds up no other plan.
func TestAPlanThatCannotBeRead(t *testing.T) {
	for name, damage := range map[string]func(string) error{
		"gone": os.Remove,
		"cut":  func(path string) error { return os.Truncate(path, 20) },
	} {
		dir := t.TempDir()
		bad := frozen(t, dir)
		whole, err := freezeIn(t, dir, strings.Replace(Example, "name: leader-crash", "name: other-crash", 1), nil)
		if err == nil {
			err = damage(filepath.Join(dir, plansDir, bad.Hash+".json"))
		}
		if err != nil {
			t.Fatal(err)
		}
		all, err := All(dir)
		if err != nil || len(all) != 2 || all[0].Damaged == nil || all[0].Plan.Name != "leader-crash" || all[1].Damaged != nil {
			t.Fatalf("%s: %+v, %v", name, all, err)
		}
		if _, err := all[0].Look(dir); err == nil {
			t.Errorf("%s: it has a status", name)
		}
		for _, ref := range []string{"latest", "other-crash", whole.Hash[:8]} {
			if r, err := Find(dir, ref); err != nil || r.Hash != whole.Hash {
				t.Errorf("%s: find %s: %v", name, ref, err)
			}
		}
		for _, ref := range []string{"leader-crash", bad.Hash[:8]} {
			if _, err := Find(dir, ref); err == nil || !strings.Contains(err.Error(), "read frozen plan leader-crash") || !strings.Contains(err.Error(), "restore") {
				t.Errorf("%s: find %s: %v", name, ref, err)
			}
		}
		if r, err := freezeIn(t, dir, Example, nil); err == nil || !strings.Contains(err.Error(), "restore") {
			t.Errorf("%s: frozen once more: %v, %v", name, r, err)
		}
		if _, err := freezeIn(t, dir, strings.Replace(Example, "name: leader-crash", "name: third-crash", 1), nil); err != nil {
			t.Errorf("%s: a third is not frozen: %v", name, err)
		}
		run := attempt(whole, "S1", 7, "").Record
		runDir := filepath.Join(dir, reports.RunsDir, run.ID)
		evidence := filepath.Join(runDir, reports.EvidenceDir)
		if err := errors.Join(os.MkdirAll(evidence, 0o755), history.WriteRun(evidence, run), Place(t.Context(), dir, runDir)); err != nil {
			t.Fatal(err)
		}
		if places, err := reports.ReadPlans(runDir); err != nil || len(places) == 0 || places[0].SHA256 != whole.Hash {
			t.Errorf("%s: a run is an attempt of %v, %v", name, places, err)
		}
	}
}

func TestFrozenFileIsWhatItsNameSays(t *testing.T) {
	dir := t.TempDir()
	r := frozen(t, dir)
	path := filepath.Join(dir, plansDir, r.Hash+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), `"recovery_s": 30`, `"recovery_s": 99`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(dir, "latest"); err == nil || !strings.Contains(err.Error(), "is not what was frozen") {
		t.Errorf("%v", err)
	}
}

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

// A run that was an attempt cannot be made none by deleting it, or by changing
// what it says of itself.
func TestGone(t *testing.T) {
	dir := t.TempDir()
	r := frozen(t, dir)
	run := attempt(r, "S1", 7, "").Record
	runDir := filepath.Join(dir, reports.RunsDir, run.ID)
	save := func() {
		t.Helper()
		evidence := filepath.Join(runDir, reports.EvidenceDir)
		if err := errors.Join(os.MkdirAll(evidence, 0o755), history.WriteRun(evidence, run)); err != nil {
			t.Fatal(err)
		}
	}
	look := func() Status {
		t.Helper()
		s, err := r.Look(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	save()
	unlock := kept(t, dir, run.ID)
	if err := Place(t.Context(), dir, runDir); err != nil {
		t.Fatal(err)
	}
	if s := look(); len(s.Items[0].Running) != 1 || len(s.Mismatches) > 0 {
		t.Errorf("while it lasts: %+v", s)
	}
	if places, err := reports.ReadPlans(runDir); err != nil || len(places) != 1 || places[0].SHA256 != r.Hash || places[0].Item != "S1" {
		t.Errorf("places %v, %v", places, err)
	}
	unlock()
	if s := look(); len(s.Items[0].Running) > 0 || len(s.Mismatches) != 1 || !strings.Contains(s.Mismatches[0], "S1: run S1-h is no attempt: ") || !strings.Contains(s.Mismatches[0], "it is not sealed") {
		t.Errorf("when its keeper is dead: %v, %q", s.Items[0].Running, s.Mismatches)
	}
	run.SDK = "python/paho-mqtt@2.1.0"
	save()
	if s := look(); len(s.Mismatches) != 1 || !strings.Contains(s.Mismatches[0], "S1: run S1-h was an attempt when it ended, and its record now says something else") {
		t.Errorf("changed: %q", s.Mismatches)
	}
	if err := os.RemoveAll(runDir); err != nil {
		t.Fatal(err)
	}
	if s := look(); len(s.Mismatches) != 1 || !strings.Contains(s.Mismatches[0], "its record is gone") {
		t.Errorf("deleted: %q", s.Mismatches)
	}
}

// kept has a run be one whose guard lives.
func kept(t *testing.T, stateDir, id string) (unlock func()) {
	t.Helper()
	live := filepath.Join(stateDir, "live")
	lock := flock.New(filepath.Join(live, id+".lock"))
	if err := errors.Join(os.MkdirAll(live, 0o755), lock.Lock()); err != nil {
		t.Fatal(err)
	}
	return func() { lock.Unlock() }
}

// An attempt that was sealed counts, even if somebody deletes or damages what was
// written about it.
func TestWithoutSummary(t *testing.T) {
	dir := t.TempDir()
	r := frozen(t, dir)
	run := attempt(r, "S1", 7, "").Record
	runDir := runtest.Run{ID: run.ID, Lossy: true}.Record(t, filepath.Join(dir, reports.RunsDir))
	if err := history.WriteRun(filepath.Join(runDir, reports.EvidenceDir), run); err != nil {
		t.Fatal(err)
	}
	if _, err := reports.Finish(runDir, runtest.Key); err != nil {
		t.Fatal(err)
	}
	summary := filepath.Join(runDir, reports.SummaryFile)
	for _, test := range []struct {
		name   string
		damage func() error
	}{
		{"whole", func() error { return nil }},
		{"cut", func() error { return os.Truncate(summary, 20) }},
		{"deleted", func() error { return os.Remove(summary) }},
	} {
		if err := test.damage(); err != nil {
			t.Fatal(err)
		}
		s, err := r.Look(dir)
		if err != nil {
			t.Fatal(err)
		}
		if it := s.Items[0]; len(it.Attempts) != 1 || len(it.Running) > 0 || len(s.Mismatches) > 0 {
			t.Errorf("%s: attempts %v, running %v, mismatches %q", test.name, it.Attempts, it.Running, s.Mismatches)
		}
	}
}

// A change of a plan's file or of a scenario beside it is reported. The frozen
// text still counts.
func TestMoved(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	save := func(name, text string) string {
		t.Helper()
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	library, err := scenarios.Load("mqtt/qos-roundtrip")
	if err != nil {
		t.Fatal(err)
	}
	save("mine.md", library.Text)
	text := strings.Replace(Example, "scenario: mqtt/qos-roundtrip ", "scenario: mine.md ", 1)
	file := save("plan.md", text)
	r, err := SiteOf(file, nil).Freeze(t.Context(), dir, []byte(text), file, keeper.Caller{Via: "test"})
	if err != nil || len(r.moved()) > 0 {
		t.Fatalf("%v, %v", r, err)
	}
	older := *r // of a version that asked for more messages by the same text
	older.Items = slices.Clone(r.Items)
	older.Items[0].Budget.Messages++
	if moved := strings.Join(older.moved(), "\n"); !strings.HasPrefix(moved, "S1: messages: ") {
		t.Errorf("the same text with another budget: %q", moved)
	}
	save("mine.md", strings.Replace(library.Text, "recovery_s: 20", "recovery_s: 200", 1))
	save("plan.md", strings.Replace(text, "runs: 6", "runs: 60", 1))
	moved := strings.Join(r.moved(), "\n")
	for _, want := range []string{"S1: text of mqtt/qos-roundtrip: " + short(library.SHA) + " → ", "S1: recovery_s: 20 → 200", "budget.runs: 6 → 60"} {
		if !strings.Contains(moved, want) {
			t.Errorf("no %q in %q", want, moved)
		}
	}
	path, err := r.Scenario(dir, &r.Items[0])
	if err != nil {
		t.Fatal(err)
	}
	if s, err := scenarios.Load(path); err != nil || s.SHA != library.SHA {
		t.Errorf("what would be run is not what was frozen: %s, %v", path, err)
	}
	save("mine.md", "gone")
	if _, err := SiteOf(file, nil).Freeze(t.Context(), dir, []byte(text), file, keeper.Caller{Via: "test"}); err != nil {
		t.Errorf("a scenario that cannot be read any more: %v", err)
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
