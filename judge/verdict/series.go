package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// An Attempt is one run among the repetitions of a scenario.
type Attempt struct {
	Seed    int64
	Root    string // root hash of its seal
	Verdict Verdict
	Panics  []string // places of its nodes' panics; none where nobody looked
	Short   bool     // of what a pass takes: a fault did not land, the host was starved
}

// Agreeing is how many seeds must agree for a pass to count as hardening.
const Agreeing = 3

// worst orders the states, the worst first: several attempts count as the
// worst of them.
var worst = [...]State{
	FailReproducible, FailNondetermin, FailOnce, InconclusiveFault, PartialSurface, InconclusiveEnv,
	InconclusiveOracle, PartialModel, NotRun, PassSmoke, PassHardening,
}

// Series decides over all attempts of one scenario on one build. Its results
// are those of the first attempt that is as bad as the whole. A run that is
// named twice is one attempt: it repeats nothing.
func Series(attempts []Attempt) Verdict {
	attempts = distinct(attempts)
	if len(attempts) == 0 {
		return Verdict{State: NotRun, Headline: "NOT-RUN: no attempt was made", Caps: []string{}, Reasons: []string{}, Runs: []string{}}
	}
	v := attempts[worstOf(attempts)].Verdict
	v.Runs = roots(attempts)
	if len(attempts) == 1 {
		return v
	}
	v.Tally = tallied(attempts)
	switch {
	case v.State.Failed():
		return failedSeries(v, attempts)
	case isPass(v.State):
		return passedSeries(v, attempts)
	}
	v.Reasons = append(slices.Clone(v.Reasons), fmt.Sprintf("%d of %d attempts passed", passes(attempts), len(attempts)))
	return v
}

// distinct leaves out runs that are there already, by their root hash.
func distinct(attempts []Attempt) (list []Attempt) {
	for _, a := range attempts {
		if a.Root == "" || !slices.ContainsFunc(list, func(b Attempt) bool { return b.Root == a.Root }) {
			list = append(list, a)
		}
	}
	return list
}

func worstOf(attempts []Attempt) int {
	at := 0
	for i, a := range attempts {
		if rankOf(a.Verdict.State) < rankOf(attempts[at].Verdict.State) {
			at = i
		}
	}
	return at
}

// Worst is the worst of states, [NotRun] of none.
func Worst(states []State) State {
	if len(states) == 0 {
		return NotRun
	}
	return slices.MinFunc(states, func(a, b State) int { return rankOf(a) - rankOf(b) })
}

func rankOf(s State) int {
	if i := slices.Index(worst[:], s); i >= 0 {
		return i
	}
	return 0 // a state nobody knows is nothing to be proud of
}

// failedSeries gives the verdict on a series with a failed attempt. Its state is
// FailReproducible if the violation repeats, FailNondetermin if it does not although
// another attempt could tell, and FailOnce if no other attempt could.
func failedSeries(v Verdict, attempts []Attempt) Verdict {
	claim, k, first := mostFailed(attempts, attempts)
	if first >= 0 {
		runs, tally := v.Runs, v.Tally
		v = attempts[first].Verdict
		v.Runs, v.Tally = runs, tally
	}
	v.State = repeated(attempts, claim, k)
	count := count(attempts, claim, k, false)
	reasons := []string{count}
	for _, r := range v.Reasons {
		if r != NotRepeated || v.State == FailOnce {
			reasons = append(reasons, r)
		}
	}
	v.Reasons = reasons
	v.Headline = v.Among(Repetition{State: v.State, Claim: claim, Count: count})
	return v
}

// repeated is the state of a failure that came k times in one way.
func repeated(attempts []Attempt, claim string, k int) State {
	switch {
	case k >= 2:
		return FailReproducible
	case told(attempts, claim) > 1:
		return FailNondetermin
	}
	return FailOnce
}

// Among returns the headline of a failed run among its repetitions: its own violation, and
// how often the claim fails in all of them. A claim that fails more rarely and is more
// severe stands beside it.
func (v Verdict) Among(r Repetition) string {
	return fmt.Sprintf("%s: %s (%s%s)%s", r.State, summaryOf(v, r.Claim), r.Count, moreSevere(v, r), plantedIn(v))
}

// moreSevere says how often the most severe claim failed that the run fails, "" if a
// repetition is about one as severe.
func moreSevere(v Verdict, r Repetition) string {
	failed := failures(v.Results)
	i := slices.IndexFunc(failed, func(f Result) bool { return f.Claim.Name == r.Claim })
	if i < 0 || failed[0].severity() == failed[i].severity() {
		return ""
	}
	name := failed[0].Claim.Name
	return fmt.Sprintf("; more severe, %s: %s", failed[0].severity(), cmp.Or(r.CountOf(name), name+" failed"))
}

// A Repetition is how often the failure of one run came in all that repeat each other.
type Repetition struct {
	State  State             `json:"state"`
	Claim  string            `json:"claim"`            // of those that the run fails, the one that came most often in its way
	Count  string            `json:"count"`            // how often it failed, in words
	Others map[string]string `json:"others,omitempty"` // the same of the other claims that the run fails; absent of older versions
}

// CountOf says how often a claim that the run fails failed, in words; "" if nobody counted.
func (r Repetition) CountOf(claim string) string {
	if claim == r.Claim {
		return r.Count
	}
	return r.Others[claim]
}

// String says how often each claim failed that the run fails, the one that came most often first.
func (r Repetition) String() string {
	text := r.Count
	for _, claim := range slices.Sorted(maps.Keys(r.Others)) {
		text += "; " + r.Others[claim]
	}
	return text
}

// Repeated returns how often the failure of one attempt came in all of them; nil if the
// attempt did not fail, or is the only one.
func Repeated(one Attempt, attempts []Attempt) *Repetition {
	if attempts = distinct(attempts); len(attempts) < 2 || !one.Verdict.State.Failed() {
		return nil
	}
	claim, k, _ := mostFailed([]Attempt{one}, attempts)
	if k == 0 {
		return nil
	}
	again := &Repetition{State: repeated(attempts, claim, k), Claim: claim, Count: count(attempts, claim, k, true), Others: map[string]string{}}
	for _, r := range one.Verdict.Results {
		if name := r.Claim.Name; r.Status == Fail && name != claim {
			n, _ := alike(attempts, name, r.Ways(one.Panics))
			again.Others[name] = count(attempts, name, n, true)
		}
	}
	return again
}

// count says how often a claim failed, of which k times in one way: in that of one run, if
// it is about one.
func count(attempts []Attempt, claim string, k int, ofOne bool) string {
	all := 0
	for _, a := range attempts {
		if failedOn(a.Verdict, claim) {
			all++
		}
	}
	text := fmt.Sprintf("%s failed in %d of %d runs", claim, all, len(attempts))
	switch {
	case k == all:
	case ofOne:
		text += fmt.Sprintf(", %d of them in this way", k)
	case k == 1:
		text += ", each time in another way"
	default:
		text += fmt.Sprintf(", %d of them in one way", k)
	}
	if silent := len(attempts) - told(attempts, claim); silent > 0 {
		text += fmt.Sprintf(", %d of which could not tell", silent)
	}
	return text
}

// told returns how many attempts say whether a claim holds. An attempt that neither passed
// nor failed as a whole says nothing, and one that did not judge the claim says nothing of
// it: the packets may not have been recorded, or another violation came before. Nor does one
// that passed it where it was not tried.
func told(attempts []Attempt, claim string) (n int) {
	for _, a := range attempts {
		v := a.Verdict
		if (v.State.Failed() || isPass(v.State)) && slices.ContainsFunc(v.Results, func(r Result) bool {
			return r.Claim.Name == claim && (r.Status == Fail || r.Status == Pass && !a.Short)
		}) {
			n++
		}
	}
	return n
}

// tallied counts what the attempts say of each claim, in the order of their results.
func tallied(attempts []Attempt) (list []Tally) {
	at := map[string]int{}
	for _, a := range attempts {
		for _, r := range a.Verdict.Results {
			i, known := at[r.Claim.Name]
			if !known {
				i = len(list)
				at[r.Claim.Name], list = i, append(list, Tally{Claim: r.Claim.Name, Of: len(attempts)})
			}
			switch r.Status {
			case Fail:
				list[i].Failed++
			case Pass:
				list[i].Passed++
			default:
				list[i].Unknown++
			}
		}
	}
	return list
}

// summaryOf returns how a verdict's run violates a claim, or else what its headline says.
func summaryOf(v Verdict, claim string) string {
	for _, r := range v.Results {
		if r.Claim.Name == claim && r.Status == Fail {
			return r.told()
		}
	}
	return afterState(v.Headline)
}

// mostFailed returns the claim of some attempts that failed in one way in the most of all,
// their number, and the place of the first of them. Among several it takes the most severe
// claim, then the first by name.
func mostFailed(of, all []Attempt) (claim string, k, first int) {
	severity := ""
	first = -1
	for _, a := range of {
		for _, r := range a.Verdict.Results {
			if r.Status != Fail {
				continue
			}
			n, at := alike(all, r.Claim.Name, r.Ways(a.Panics))
			if k == 0 || cmp.Or(cmp.Compare(k, n), cmp.Compare(r.severity(), severity), cmp.Compare(r.Claim.Name, claim)) < 0 {
				claim, k, first, severity = r.Claim.Name, n, at, r.severity()
			}
		}
	}
	return claim, k, first
}

// alike returns how many attempts failed a claim in one of some ways, and the first of them.
func alike(attempts []Attempt, claim string, ways []Way) (n, first int) {
	first = len(attempts)
	for i, a := range attempts {
		if slices.ContainsFunc(a.Verdict.Results, func(r Result) bool {
			return r.Claim.Name == claim && r.Status == Fail && Share(ways, r.Ways(a.Panics))
		}) {
			n, first = n+1, min(first, i)
		}
	}
	return n, first
}

func failedOn(v Verdict, claim string) bool {
	return slices.ContainsFunc(v.Results, func(r Result) bool { return r.Claim.Name == claim && r.Status == Fail })
}

// passedSeries lifts the cap of the single seed where enough seeds agree and
// nothing else caps any of them.
func passedSeries(v Verdict, attempts []Attempt) Verdict {
	seeds := map[int64]bool{}
	caps := []string{}
	for _, a := range attempts {
		seeds[a.Seed] = true
		for _, c := range a.Verdict.Caps {
			if c != CapOneSeed && !slices.Contains(caps, c) {
				caps = append(caps, c)
			}
		}
	}
	if len(seeds) < Agreeing {
		caps = append(caps, fmt.Sprintf("%s, needed are %d", plural(int64(len(seeds)), "seed", "seeds"), Agreeing))
	}
	v.Caps = caps
	v.State = PassSmoke
	if len(caps) == 0 {
		v.State = PassHardening
	}
	v.Headline = fmt.Sprintf("%s: %d of %d runs pass; the first: %s", v.State, passes(attempts), len(attempts), afterState(attempts[0].Verdict.Headline))
	return v
}

func passes(attempts []Attempt) (n int) {
	for _, a := range attempts {
		if isPass(a.Verdict.State) {
			n++
		}
	}
	return n
}

func roots(attempts []Attempt) []string {
	list := make([]string, len(attempts))
	for i, a := range attempts {
		list[i] = a.Root
	}
	return list
}
