package verdict

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
)

// good is the input of a run that falls short of nothing but a second seed.
func good() Input {
	return Input{
		Run: &history.Run{
			Tier: "hardening", Claims: []string{"qos1-no-loss", "recovery"},
			Faults:  []history.PlannedFault{{Type: "kill", Target: "leader"}},
			Budget:  history.Budget{DurationS: 20, Messages: 1000, Faults: 1, MinRate: 0.5},
			Cluster: history.ClusterInfo{Flavor: "reference"},
		},
		Landings: []history.Landing{{
			Fault: "f1", Type: "kill", Target: "leader", Nodes: []string{"node-2"}, Healed: history.HealVerified,
			Proofs: []history.ProofRecord{killed, refused, still},
		}},
		Results:  []Result{result("qos1-no-loss", Pass), result("recovery", Pass)},
		Complete: Completeness{Closed: true},
		Coverage: Coverage{SteadyPerS: 100, BeforePerS: 100, AfterPerS: 90, DurationS: 30, Acked: 3000, Recorded: 9000},
		Root:     "r1",
	}
}

func result(claim string, s Status) Result {
	severity := map[string]string{"qos1-no-loss": P0, "no-corruption": P0, "recovery": P1, "sdk-once": P1}[claim]
	return Result{Claim: Claim{Name: claim, Source: "MQTT", Severity: severity}, Status: s, Summary: claim + " is a " + string(s), Promised: true, Consumed: 9000, Canary: Canary{Red: true}}
}

// shortOf has, for every kind of shortfall, a run that falls short in it.
var shortOf = map[Kind]func(in *Input){
	NeverRun:           func(in *Input) { in.Coverage.Recorded = 0 },
	FaultUnsupported:   func(in *Input) { in.Landings[0].State = history.Unsupported },
	FaultMissing:       func(in *Input) { in.Landings = nil },
	FaultNotLanded:     func(in *Input) { in.Landings[0].Proofs = []history.ProofRecord{alive, refused, still} },
	FaultPartial:       func(in *Input) { in.Landings[0].Proofs = []history.ProofRecord{killed, alive, refused, still} },
	FaultIndeterminate: func(in *Input) { in.Landings[0].Proofs = []history.ProofRecord{killed, refused, shaken} },
	FaultIdle:          func(in *Input) { in.Coverage.Idle = []string{"f1"} },
	NotReached: func(in *Input) {
		in.Run.Reaches, in.Coverage.Reached = map[string]int64{"wills_due": 3}, map[string]int64{"wills_due": 2}
	},
	HealUnverified:    func(in *Input) { in.Landings[0].Healed = history.HealFailed },
	NodeDown:          func(in *Input) { in.Landings[0].Healed = history.HealDown },
	CheckerMissing:    func(in *Input) { in.Results = in.Results[:1] },
	NoClaims:          func(in *Input) { in.Run.Claims, in.Results = nil, nil },
	HistoryIncomplete: func(in *Input) { in.Complete = Completeness{Why: []string{"cut off"}} },
	CheckerUnknown:    func(in *Input) { in.Results[1].Status = Unknown },
	CanaryGreen:       func(in *Input) { in.Results[1].Canary.Red = false },
	HostStarved:       func(in *Input) { in.Coverage.HostStarvedS = 3 },
	HarnessError:      func(in *Input) { in.Harness = []string{"a driver broke the contract"} },
	PartGone:          func(in *Input) { in.Coverage.Gone = []string{"the disk layer of node-2 is gone"} },
	NodeEnded:         func(in *Input) { in.Coverage.Ended = []string{"somebody ended node-2"} },
	Underload:         func(in *Input) { in.Coverage.AfterPerS = 10 },
	TooIndeterminate:  func(in *Input) { in.Coverage.Indeterminate = 0.2 },
	EventsUnread:      func(in *Input) { in.Results[0].Consumed = 8999 },
	BudgetMissed:      func(in *Input) { in.Coverage.DurationS = 3 },
	BudgetShort:       func(in *Input) { in.Coverage.DurationS = 15 },
	Unjudged:          func(in *Input) { in.Coverage.Unjudged = []string{"57 duplicates of QoS 2 seen"} },
	NoFault:           func(in *Input) { in.Landings, in.Run.Faults, in.Run.Budget.Faults = nil, nil, 0 },
	SmokeTier:         func(in *Input) { in.Run.Tier = "smoke" },
	OneSeed:           func(*Input) {},
}

// A planned fault that somebody healed early is weaker than the plan; one that was
// injected by hand has no plan to fall short of.
func TestHealedEarly(t *testing.T) {
	early := func(in *Input) {
		in.Landings[0].Times = history.LandingTimes{AppliedNS: 5e9, AskedNS: 8e9, DurationNS: 20e9}
	}
	in := good()
	early(&in)
	list := Shortfalls(in)
	if i := slices.IndexFunc(list, func(s Shortfall) bool { return s.Kind == FaultPartial }); i < 0 || !strings.Contains(list[i].Text, "after 3.0 s of 20.0 s") {
		t.Errorf("%+v", list)
	}
	in = good()
	in.Run.Faults = nil
	early(&in)
	if list := Shortfalls(in); slices.ContainsFunc(list, func(s Shortfall) bool { return s.Kind == FaultPartial }) {
		t.Errorf("by hand: %+v", list)
	}
}

// A situation that a scenario asks for must be counted, and reached as often.
func TestReached(t *testing.T) {
	for _, test := range []struct {
		asked, reached map[string]int64
		want           string
	}{
		{map[string]int64{"wills_due": 3}, map[string]int64{"wills_due": 3}, ""},
		{map[string]int64{"wills_due": 0}, map[string]int64{"wills_due": 0}, ""},
		{map[string]int64{"wills_due": 3}, map[string]int64{"wills_due": 2}, "wills_due came 2 times, and the scenario asks for 3"},
		{map[string]int64{"wills_due": 1}, nil, "packets were not recorded"},
	} {
		in := good()
		in.Run.Reaches, in.Coverage.Reached = test.asked, test.reached
		list := Shortfalls(in)
		i := slices.IndexFunc(list, func(s Shortfall) bool { return s.Kind == NotReached })
		if (i >= 0) != (test.want != "") || i >= 0 && !strings.Contains(list[i].Text, test.want) {
			t.Errorf("asked %v, reached %v: %+v, want %q", test.asked, test.reached, list, test.want)
		}
	}
}

// Every kind has exactly one state, in the table and out of a decision.
func TestEveryShortfallHasOneState(t *testing.T) {
	seen := map[Kind]int{}
	for _, row := range States {
		seen[row.Kind]++
		spoil, known := shortOf[row.Kind]
		if !known {
			t.Errorf("no run falls short in %s", row.Kind)
		}
		if !known {
			continue
		}
		t.Run(string(row.Kind), func(t *testing.T) {
			in := good()
			spoil(&in)
			if !slices.ContainsFunc(shortfalls(in), func(s Shortfall) bool { return s.Kind == row.Kind && s.Text != "" }) {
				t.Errorf("it is not noticed")
			}
			v := Decide(in)
			if v.State != row.State {
				t.Errorf("state %s, want %s: %v", v.State, row.State, v.Reasons)
			}
			if !strings.HasPrefix(v.Headline, string(v.State)+": ") {
				t.Errorf("headline %q", v.Headline)
			}
		})
	}
	for kind, n := range seen {
		if n != 1 {
			t.Errorf("%s has %d states", kind, n)
		}
	}
	if len(seen) != len(shortOf) {
		t.Errorf("%d kinds in the table, %d in the test", len(seen), len(shortOf))
	}
}

// A violation is a FAIL whatever else went wrong, and what went wrong is said.
func TestViolationStands(t *testing.T) {
	for kind, spoil := range shortOf {
		if kind == NoClaims || kind == CheckerMissing {
			continue
		}
		in := good()
		spoil(&in)
		in.Results[0] = result("qos1-no-loss", Fail)
		v := Decide(in)
		if v.State != FailOnce || v.Severity != "P0" || !strings.HasPrefix(v.Blame, "unknown: pending") {
			t.Errorf("with %s: %s, severity %q, blame %q", kind, v.State, v.Severity, v.Blame)
		}
		if !slices.Contains(v.Reasons, NotRepeated) {
			t.Errorf("with %s: reasons %v", kind, v.Reasons)
		}
	}
}

func TestDecide(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(in *Input)
		want  State
		says  string // in the headline, a cap or a reason
	}{
		{"good", func(*Input) {}, PassSmoke, "2 claims hold over 3,000 acknowledged messages, with kill of node-2"},
		{"nothing that is acknowledged", func(in *Input) { in.Coverage.Acked, in.Run.Budget.Messages = 0, 0 }, PassSmoke, "2 claims hold over messages of QoS 0, with kill of node-2"},
		{"one seed caps", func(*Input) {}, PassSmoke, CapOneSeed},
		{"not promised is said", func(in *Input) {
			in.Run.Cluster.Flavor = "mosquitto"
			in.Results[0] = result("qos1-no-loss", Fail)
			in.Results[0].Promised = false
		}, FailOnce, "mosquitto does not promise qos1-no-loss in this configuration"},
		{"what was to be expected comes first", func(in *Input) {
			in.Results[0] = result("qos1-no-loss", Fail)
			in.Results[0].Promised, in.Results[0].Expected = false, "mosquitto does not promise to keep acknowledged messages when its process is killed"
		}, FailOnce, "FAIL-once: expected: mosquitto does not promise to keep acknowledged messages when its process is killed: qos1-no-loss is a fail"},
		{"the worst failure makes the headline", func(in *Input) {
			in.Results = []Result{result("recovery", Fail), result("qos1-no-loss", Fail)}
		}, FailOnce, "FAIL-once: not repeated: qos1-no-loss is a fail (and 1 more claim fails)"},
		{"external brokers have no faults of ours", func(in *Input) {
			in.Run.Cluster.Lacks, in.Landings = history.LacksOfExternal(), nil
		}, InconclusiveEnv, "never injected"},
		{"a landing's own word is not believed", func(in *Input) {
			in.Landings[0].State = history.Landed
			in.Landings[0].Proofs = nil
		}, InconclusiveFault, "it is not known whether"},
		{"a fault by hand must land too", func(in *Input) {
			in.Run.Faults = nil
			in.Landings[0].Proofs = []history.ProofRecord{alive, refused, still}
		}, InconclusiveFault, "did not land"},
		{"each planned fault needs its own landing", func(in *Input) {
			in.Run.Faults = append(in.Run.Faults, in.Run.Faults[0])
		}, InconclusiveFault, "never injected"},
		{"one by hand is none of the plan", func(in *Input) {
			in.Landings[0].ByHand = true
		}, InconclusiveFault, "never injected"},
		{"one as it was planned", func(in *Input) {
			in.Run.Faults[0].Params = map[string]any{"duration_s": 5.0, "hard": true}
			in.Landings[0].Params = map[string]any{"duration_s": 5.0, "hard": true, "default": "x"}
		}, PassSmoke, "2 claims hold"},
		{"a weaker one is another", func(in *Input) {
			in.Run.Faults[0].Params = map[string]any{"duration_s": 5.0, "percent": 20.0}
			in.Landings[0].Params = map[string]any{"duration_s": 5.0, "percent": 1.0}
		}, InconclusiveFault, "with duration_s 5, percent 20 was never injected"},
		{"the fault comes before the checkers", func(in *Input) {
			in.Results, in.Landings = nil, nil
		}, InconclusiveFault, "was not judged"},
		{"nothing in the steady phase", func(in *Input) { in.Coverage.SteadyPerS = 0 }, InconclusiveOracle, "steady phase"},
		{"underload before", func(in *Input) { in.Coverage.BeforePerS = 10 }, InconclusiveOracle, "before the fault"},
		{"starvation explains underload", func(in *Input) {
			in.Coverage.AfterPerS, in.Coverage.HostStarvedS = 0, 5
		}, InconclusiveEnv, "host"},
		{"smoke that misses its own budget is no pass", func(in *Input) {
			in.Run.Tier, in.Coverage.Acked = "smoke", 999
		}, InconclusiveOracle, "999 messages were acknowledged of the 1000"},
		{"an outage is in the headline", func(in *Input) {
			in.Coverage.LongestGapS, in.Coverage.SteadyPerS = 10.26, 100
		}, PassSmoke, "; no publish was acknowledged for 10.3 s"},
		{"what nobody judged is in the headline", func(in *Input) {
			in.Coverage.Unjudged = []string{"seen and not claimed here: 9 duplicates of QoS 2, because of this"}
		}, PassSmoke, "with kill of node-2; but seen and not claimed here: 9 duplicates of QoS 2, because of this"},
		{"what packets show and nothing decides is in the headline", func(in *Input) {
			in.Results = append(in.Results, Result{
				Claim: Claim{Name: "broker-resend-dup", Wire: true}, Status: Unknown, Consumed: in.Coverage.Recorded,
				Anomalies: []Anomaly{{Text: "message 7 came again without DUP"}}, Reasons: []string{"a fault changed bytes"},
			})
		}, PassSmoke, "with kill of node-2; but seen and not decided: broker-resend-dup: message 7 came again without DUP: a fault changed bytes"},
		{"faults that a stranger's broker cannot have", func(in *Input) { in.Run.LeftOut = []string{"pause of leader"} },
			PassSmoke, "with kill of node-2, without the scenario's pause of leader"},
		{"no plan", func(in *Input) { in.Run = nil }, NotRun, "no frozen plan"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := good()
			test.spoil(&in)
			v := Decide(in)
			all := strings.Join(slices.Concat([]string{v.Headline}, v.Caps, v.Reasons), "\n")
			if v.State != test.want || !strings.Contains(all, test.says) {
				t.Errorf("%s, want %s with %q:\n%s", v.State, test.want, test.says, all)
			}
		})
	}
}

// A run of which nothing was recorded says why, and nothing of all that it lacks.
func TestDecideNothingRecorded(t *testing.T) {
	for harness, want := range map[string]string{
		"": "NOT-RUN: nothing was recorded",
		"start cluster: it ended\nthe last lines of its log:\n  no disk": "NOT-RUN: nothing was recorded: start cluster: it ended",
	} {
		in := good()
		in.Results, in.Landings, in.Coverage, in.Harness = nil, nil, Coverage{}, []string{harness}
		v := Decide(in)
		if v.Headline != want || len(v.Reasons) != 1 || !strings.HasSuffix(v.Reasons[0], harness) || len(v.Caps) != 0 {
			t.Errorf("%q, reasons %q, caps %q", v.Headline, v.Reasons, v.Caps)
		}
	}
}

func TestDecideAgainGivesTheSameBytes(t *testing.T) {
	a, _ := json.Marshal(Decide(good()))
	b, _ := json.Marshal(Decide(good()))
	if string(a) != string(b) || strings.Contains(string(a), "null") {
		t.Errorf("%s\n%s", a, b)
	}
}

func TestExitCode(t *testing.T) {
	want := map[State]int{PassSmoke: 0, PassHardening: 0, FailReproducible: 1, FailNondetermin: 1, FailOnce: 1}
	for _, s := range worst {
		code, known := want[s]
		if !known {
			code = 2
		}
		if got := s.ExitCode(); got != code {
			t.Errorf("%s exits %d, want %d", s, got, code)
		}
	}
	if State("whatever").ExitCode() != 2 {
		t.Error("an unknown state must not look like a pass")
	}
}
