package verdict

import (
	"strings"
	"testing"
)

func TestSession(t *testing.T) {
	item := func(name, tier string, state State, missing int) Planned {
		return Planned{Name: name, Tier: tier, Missing: missing, Verdict: Verdict{State: state, Headline: string(state) + ": words"}}
	}
	smoke := func(state State) Planned { return item("S1", "smoke", state, 0) }
	unrun := item("S2", "smoke", NotRun, 2)
	for _, test := range []struct {
		name     string
		items    []Planned
		concerns []string
		want     Outcome
		says     string
	}{
		{"nothing ran", []Planned{unrun, unrun}, nil, OutcomeBlocked, "nothing of the plan was run"},
		{"all pass", []Planned{smoke(PassSmoke), item("S2", "hardening", PassHardening, 0)}, nil, OutcomeDone, "2 of 2 scenarios pass"},
		{"half run", []Planned{smoke(PassSmoke), unrun}, nil, OutcomeConcerns, "1 of 2 scenarios pass; 2 attempts are NOT-RUN"},
		{"an attempt short", []Planned{item("S1", "smoke", PassSmoke, 1)}, nil, OutcomeConcerns, "1 attempt is NOT-RUN"},
		{"below its tier", []Planned{item("S1", "hardening", PassSmoke, 0)}, nil, OutcomeConcerns, "1 of 1 scenario passes"},
		{"a concern besides", []Planned{smoke(PassSmoke)}, []string{"recovery_s moved"}, OutcomeConcerns, "1 more concern"},
		{"partial is never clean", []Planned{smoke(PassSmoke), smoke(PartialModel)}, nil, OutcomeConcerns, "1 of 2"},
		{"nothing told", []Planned{smoke(InconclusiveEnv), unrun}, nil, OutcomeInconclusive, "none fails"},
		{"only partial", []Planned{smoke(PartialSurface)}, nil, OutcomeInconclusive, "none fails"},
		{"one fail, all else passes", []Planned{smoke(PassSmoke), smoke(FailReproducible)}, nil, OutcomeFail, "S1 is FAIL-reproducible"},
		{"seen once", []Planned{smoke(FailOnce), unrun}, nil, OutcomeFail, "FAIL-once"},
		{"the one that repeats is named", []Planned{smoke(FailNondetermin), item("S3", "smoke", FailReproducible, 0)}, nil, OutcomeFail, "S3 is FAIL-reproducible"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := Session(test.items, test.concerns)
			if s.Outcome != test.want || !strings.HasPrefix(s.Headline, string(test.want)+": ") || !strings.Contains(s.Headline, test.says) {
				t.Errorf("%+v, want %s with %q", s, test.want, test.says)
			}
			if clean := len(s.Concerns) == 0; clean != (test.want == OutcomeDone) {
				t.Errorf("%s with concerns %q", s.Outcome, s.Concerns)
			}
		})
	}
}
