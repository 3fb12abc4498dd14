package verdict

import (
	"fmt"
	"strings"
)

// An Outcome is the result of several scenarios together, in one word.
type Outcome string

// The outcomes. The strongest evidence decides, not a count: one violation is
// FAIL whatever else passed, and DONE has no concern at all.
const (
	OutcomeFail         Outcome = "FAIL"               // some scenario fails
	OutcomeDone         Outcome = "DONE"               // every scenario was tried as planned and passes at its tier
	OutcomeConcerns     Outcome = "DONE_WITH_CONCERNS" // some scenario passes, none fails, and something is missing
	OutcomeInconclusive Outcome = "INCONCLUSIVE"       // something was tried, and nothing passes or fails
	OutcomeBlocked      Outcome = "BLOCKED"            // nothing was tried
)

// ExitCode of the command line: 0 for DONE, 1 for FAIL, 2 for everything that
// left something open.
func (o Outcome) ExitCode() int {
	switch o {
	case OutcomeDone:
		return 0
	case OutcomeFail:
		return 1
	}
	return 2
}

// A Planned is one scenario that was to be tried.
type Planned struct {
	Name    string  // S1
	Tier    string  // smoke, hardening, release
	Missing int     // attempts that were planned and not made
	Verdict Verdict // of all its attempts: a [Series]
}

// A SessionVerdict is the decision over all scenarios of a plan.
type SessionVerdict struct {
	Outcome  Outcome  `json:"outcome"`
	Headline string   `json:"headline"` // one sentence a person can quote
	Concerns []string `json:"concerns"` // the reasons why it is not DONE
}

// Session decides over the scenarios of a plan. concerns are added to those found here,
// for example that the plan differs from the frozen one. A FAIL that was seen once is a
// FAIL. A scenario that was not tried, was tried in part, or passes below its tier, is
// a concern.
func Session(items []Planned, concerns []string) SessionVerdict {
	s := SessionVerdict{Concerns: []string{}}
	tried, passed, missing, failed := 0, 0, 0, ""
	for _, p := range items {
		state := p.Verdict.State
		missing += p.Missing
		if state != NotRun {
			tried++
		}
		if isPass(state) {
			passed++
		}
		if state.Failed() && (failed == "" || state == FailReproducible && !strings.Contains(failed, string(FailReproducible))) {
			failed = p.Name + " is " + p.Verdict.Headline
		}
		if c := p.concern(); c != "" {
			s.Concerns = append(s.Concerns, c)
		}
	}
	s.Concerns = append(s.Concerns, concerns...)
	pass := fmt.Sprintf("%d of %s", passed, plural(int64(len(items)), "scenario passes", "scenarios pass"))
	switch {
	case failed != "":
		s.Outcome, s.Headline = OutcomeFail, failed
	case tried == 0:
		s.Outcome, s.Headline = OutcomeBlocked, "nothing of the plan was run"
	case passed == 0:
		s.Outcome, s.Headline = OutcomeInconclusive, pass+", none fails"
	case len(s.Concerns) > 0:
		s.Outcome, s.Headline = OutcomeConcerns, pass
	default:
		s.Outcome, s.Headline = OutcomeDone, pass
	}
	s.Headline = fmt.Sprintf("%s: %s", s.Outcome, s.Headline)
	if missing > 0 && tried > 0 {
		s.Headline += fmt.Sprintf("; %s NOT-RUN", plural(int64(missing), "attempt is", "attempts are"))
	}
	if n := len(concerns); n > 0 {
		s.Headline += fmt.Sprintf("; %s", plural(int64(n), "more concern", "more concerns"))
	}
	return s
}

// concern says why a scenario is not done as planned, "" if it is.
func (p Planned) concern() string {
	wanted := PassSmoke
	if Hardens(p.Tier) {
		wanted = PassHardening
	}
	switch state := p.Verdict.State; {
	case state == NotRun:
		return fmt.Sprintf("%s is %s", p.Name, NotRun)
	case state.Failed():
		return fmt.Sprintf("%s fails", p.Name)
	case p.Missing > 0:
		return fmt.Sprintf("%s is %s, and %s %s", p.Name, state, plural(int64(p.Missing), "attempt of it is", "attempts of it are"), NotRun)
	case !isPass(state), wanted == PassHardening && state == PassSmoke:
		return fmt.Sprintf("%s is %s, planned was %s", p.Name, state, wanted)
	}
	return ""
}
