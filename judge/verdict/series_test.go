package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSeries(t *testing.T) {
	roots := 0
	run := func(seed int64, spoil func(*Input)) Attempt {
		in := good()
		spoil(&in)
		roots++
		return Attempt{Seed: seed, Root: fmt.Sprint(roots), Verdict: Decide(in)}
	}
	judged := func(seed int64, status map[string]Status) Attempt {
		return run(seed, func(in *Input) {
			in.Results = []Result{result("qos1-no-loss", Pass)}
			for _, claim := range []string{"recovery", "no-corruption"} {
				in.Results = append(in.Results, result(claim, cmp.Or(status[claim], Pass)))
			}
		})
	}
	green := func(seed int64) Attempt { return judged(seed, nil) }
	red := func(seed int64, claim string) Attempt { return judged(seed, map[string]Status{claim: Fail}) }
	by := func(seed int64, party Party) Attempt {
		a := red(seed, "recovery")
		a.Verdict.Results[1].Violations = []Violations{{Kind: "late", Blame: party, Count: 1}}
		return a
	}
	panicked := func(seed int64, places ...string) Attempt {
		a := red(seed, "no-corruption")
		a.Verdict.Results[2].Violations, a.Panics = []Violations{{Kind: KindPanic, Count: 1}}, places
		return a
	}
	blind := func(seed int64) Attempt { return run(seed, func(*Input) {}) } // does not judge no-corruption
	smoke := func(seed int64) Attempt { return run(seed, func(in *Input) { in.Run.Tier = "smoke" }) }
	grey := func(seed int64) Attempt { return run(seed, func(in *Input) { in.Landings = nil }) }
	for _, test := range []struct {
		name     string
		attempts []Attempt
		want     State
		says     string
	}{
		{"none", nil, NotRun, "no attempt"},
		{"one green", []Attempt{green(1)}, PassSmoke, CapOneSeed},
		{"two agree", []Attempt{green(1), green(2)}, PassSmoke, "2 seeds, needed are 3"},
		{"three agree", []Attempt{green(1), green(2), green(3)}, PassHardening, "3 of 3 runs pass"},
		{"one seed three times", []Attempt{green(1), green(1), green(1)}, PassSmoke, "1 seed, needed"},
		{"three agree on smoke", []Attempt{smoke(1), smoke(2), smoke(3)}, PassSmoke, "smoke tier"},
		{"one of three is smoke", []Attempt{green(1), smoke(2), green(3)}, PassSmoke, "smoke tier"},
		{"one red", []Attempt{red(1, "recovery")}, FailOnce, NotRepeated},
		{"one red, two green", []Attempt{green(1), red(2, "recovery"), green(3)}, FailNondetermin, "recovery failed in 1 of 3 runs"},
		{"two red, one green", []Attempt{red(1, "recovery"), green(2), red(3, "recovery")}, FailReproducible, "recovery failed in 2 of 3 runs"},
		{"two red for different reasons", []Attempt{red(1, "recovery"), red(2, "no-corruption")}, FailNondetermin, "no-corruption failed in 1 of 2 runs"},
		{"red beats grey", []Attempt{grey(1), red(2, "recovery"), grey(3)}, FailOnce, "recovery failed in 1 of 3 runs, 2 of which could not tell"},
		{"one red, one green, one grey", []Attempt{green(1), red(2, "recovery"), grey(3)}, FailNondetermin, "recovery failed in 1 of 3 runs, 1 of which could not tell"},
		{"one red, one green that did not judge it", []Attempt{red(1, "no-corruption"), blind(2)}, FailOnce, "no-corruption failed in 1 of 2 runs, 1 of which could not tell"},
		{"one red, one red of another claim that leaves it open", []Attempt{
			red(1, "no-corruption"), judged(2, map[string]Status{"recovery": Fail, "no-corruption": Unknown}),
		}, FailOnce, "no-corruption failed in 1 of 2 runs, 1 of which could not tell"},
		{"two red by two parties", []Attempt{by(1, Broker), by(2, SDK)}, FailNondetermin, "recovery failed in 2 of 2 runs, each time in another way"},
		{"three red, two of them by one party", []Attempt{by(1, SDK), by(2, Broker), by(3, Broker)}, FailReproducible, "recovery failed in 3 of 3 runs, 2 of them in one way"},
		{"two red, one by nobody knows whom", []Attempt{by(1, ""), by(2, Broker)}, FailReproducible, "recovery failed in 2 of 2 runs"},
		{"two panics at two places", []Attempt{panicked(1, "raft.rs"), panicked(2, "session.rs")}, FailNondetermin, "each time in another way"},
		{"two panics at one place", []Attempt{panicked(1, "raft.rs", "session.rs"), panicked(2, "session.rs")}, FailReproducible, "failed in 2 of 2 runs"},
		{"grey beats green", []Attempt{green(1), green(2), grey(3)}, InconclusiveFault, "2 of 3 attempts passed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := Series(test.attempts)
			all := strings.Join(slices.Concat([]string{v.Headline}, v.Caps, v.Reasons), "\n")
			if v.State != test.want || !strings.Contains(all, test.says) {
				t.Errorf("%s, want %s with %q:\n%s", v.State, test.want, test.says, all)
			}
			if len(v.Runs) != len(test.attempts) || !strings.HasPrefix(v.Headline, string(v.State)+": ") {
				t.Errorf("runs %v, headline %q", v.Runs, v.Headline)
			}
			if again := v.State.Failed() && v.State != FailOnce; again && slices.Contains(v.Reasons, NotRepeated) {
				t.Errorf("it was repeated: %v", v.Reasons)
			}
		})
	}
}

// A headline is of the violation that comes again. A more severe one beside it is in it, too.
func TestAmong(t *testing.T) {
	in := good()
	in.Results = []Result{result("recovery", Fail), result("no-corruption", Fail), result("no-panic", Fail)}
	v := Decide(in)
	for _, test := range []struct {
		of   Repetition
		want string
	}{
		{Repetition{FailReproducible, "recovery", "recovery failed in 2 of 2 runs", map[string]string{"no-corruption": "no-corruption failed in 1 of 2 runs"}},
			"FAIL-reproducible: recovery is a fail (recovery failed in 2 of 2 runs; more severe, P0: no-corruption failed in 1 of 2 runs)"},
		{Repetition{State: FailReproducible, Claim: "recovery", Count: "recovery failed in 2 of 2 runs"}, // of an older version
			"FAIL-reproducible: recovery is a fail (recovery failed in 2 of 2 runs; more severe, P0: no-corruption failed)"},
		{Repetition{State: FailReproducible, Claim: "no-corruption", Count: "no-corruption failed in 2 of 2 runs"},
			"FAIL-reproducible: no-corruption is a fail (no-corruption failed in 2 of 2 runs)"},
	} {
		if got := v.Among(test.of); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}

// Each failed run of a series has the state of its own failure, and says how often each of
// its claims failed.
func TestRepeated(t *testing.T) {
	attempt := func(root string, failed map[string][]Violations, places ...string) Attempt {
		in := good()
		in.Results = []Result{result("qos1-no-loss", Pass)}
		for _, claim := range []string{"no-corruption", "no-panic", "recovery"} {
			status := Pass
			if failed[claim] != nil {
				status = Fail
			}
			r := result(claim, status)
			r.Violations = failed[claim]
			in.Results = append(in.Results, r)
		}
		return Attempt{Seed: 1, Root: root, Verdict: Decide(in), Panics: places}
	}
	fails := func(claim string, kinds ...string) map[string][]Violations {
		var list []Violations
		for _, kind := range kinds {
			list = append(list, Violations{Kind: kind, Count: 1})
		}
		return map[string][]Violations{claim: list}
	}
	for name, test := range map[string]struct {
		attempts []Attempt
		want     []string
	}{
		"two claims, twice each": {
			[]Attempt{attempt("a", fails("recovery", "late")), attempt("b", fails("no-corruption", "corrupt")), attempt("c", fails("recovery", "late")), attempt("d", fails("no-corruption", "corrupt"))},
			[]string{"FAIL-reproducible recovery failed in 2 of 4 runs", "FAIL-reproducible no-corruption failed in 2 of 4 runs", "FAIL-reproducible recovery failed in 2 of 4 runs", "FAIL-reproducible no-corruption failed in 2 of 4 runs"},
		},
		"two kinds": {
			[]Attempt{attempt("a", fails("recovery", "late")), attempt("b", fails("recovery", "late", "down")), attempt("c", fails("recovery", "down"))},
			[]string{"FAIL-reproducible recovery failed in 3 of 3 runs, 2 of them in this way", "FAIL-reproducible recovery failed in 3 of 3 runs", "FAIL-reproducible recovery failed in 3 of 3 runs, 2 of them in this way"},
		},
		"two places": {
			[]Attempt{attempt("a", fails("no-panic", KindPanic), "raft.rs"), attempt("b", fails("no-panic", KindPanic), "session.rs"), attempt("c", fails("no-panic", KindPanic), "session.rs")},
			[]string{"FAIL-nondeterministic no-panic failed in 3 of 3 runs, 1 of them in this way", "FAIL-reproducible no-panic failed in 3 of 3 runs, 2 of them in this way", "FAIL-reproducible no-panic failed in 3 of 3 runs, 2 of them in this way"},
		},
		"once, and looked for": {
			[]Attempt{attempt("a", fails("recovery", "late")), attempt("b", nil), attempt("c", nil)},
			[]string{"FAIL-nondeterministic recovery failed in 1 of 3 runs", "", ""},
		},
		"two claims in one run": {
			[]Attempt{attempt("a", map[string][]Violations{"recovery": {{Kind: "late", Count: 1}}, "no-corruption": {{Kind: "corrupt", Count: 1}}}), attempt("b", fails("recovery", "late")), attempt("c", nil)},
			[]string{"FAIL-reproducible recovery failed in 2 of 3 runs; no-corruption failed in 1 of 3 runs", "FAIL-reproducible recovery failed in 2 of 3 runs", ""},
		},
		"another claim, where a fault did not land": {
			[]Attempt{attempt("a", fails("recovery", "late")), {Seed: 1, Root: "b", Verdict: attempt("b", fails("no-corruption", "corrupt")).Verdict, Short: true}},
			[]string{"FAIL-once recovery failed in 1 of 2 runs, 1 of which could not tell", "FAIL-nondeterministic no-corruption failed in 1 of 2 runs"},
		},
		"a run named twice": {[]Attempt{attempt("a", fails("recovery", "late")), attempt("a", fails("recovery", "late"))}, []string{"", ""}},
	} {
		for i, a := range test.attempts {
			got := ""
			if r := Repeated(a, test.attempts); r != nil {
				got = string(r.State) + " " + r.String()
			}
			if got != test.want[i] {
				t.Errorf("%s: run %d is %q, want %q", name, i, got, test.want[i])
			}
		}
	}
}

// A run that is named twice repeats nothing.
func TestSeriesOfOneRun(t *testing.T) {
	in := good()
	in.Results[0] = result("recovery", Fail)
	a := Attempt{Seed: 1, Root: "r1", Verdict: Decide(in)}
	if v := Series([]Attempt{a, a, a}); v.State != FailOnce || len(v.Runs) != 1 || !slices.Contains(v.Reasons, NotRepeated) {
		t.Errorf("%s of %v: %v", v.State, v.Runs, v.Reasons)
	}
}

func TestEveryStateHasARank(t *testing.T) {
	for _, row := range States {
		if !slices.Contains(worst[:], row.State) {
			t.Errorf("%s has no rank", row.State)
		}
	}
	if len(worst) != 11 {
		t.Errorf("%d states", len(worst))
	}
}

// A headline says that the defect was planted, of a run as of a series: it may be read
// alone.
func TestHeadlineOfPlanted(t *testing.T) {
	attempt := func(root string, status Status) Attempt {
		in := good()
		in.Run.Cluster.Planted = "resend"
		in.Results = []Result{result("recovery", status)}
		return Attempt{Seed: 1, Root: root, Verdict: Decide(in)}
	}
	for name, v := range map[string]Verdict{
		"one red": attempt("a", Fail).Verdict, "one grey": attempt("a", Pass).Verdict,
		"two red": Series([]Attempt{attempt("a", Fail), attempt("b", Fail)}), "two grey": Series([]Attempt{attempt("a", Pass), attempt("b", Pass)}),
	} {
		if strings.Count(v.Headline, "; rmq-mcp planted the defect resend") != 1 {
			t.Errorf("%s: %s", name, v.Headline)
		}
	}
}
