package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
)

// Shortfalls returns everything that keeps a run from PASS-hardening, beside violations, in
// the order of [States].
func Shortfalls(in Input) []Shortfall { return byRank(shortfalls(in)) }

// shortfalls lists everything that keeps a run from PASS-hardening.
func shortfalls(in Input) []Shortfall {
	var list []Shortfall
	note := func(k Kind, format string, args ...any) {
		list = append(list, Shortfall{k, fmt.Sprintf(format, args...)})
	}
	if in.Run == nil {
		note(NeverRun, "the run has no frozen plan")
		return list
	}
	if in.Coverage.Recorded == 0 {
		note(NeverRun, "nothing was recorded%s", because(in.Harness))
		if len(in.Landings) == 0 && in.Complete.Closed {
			return list // all other shortfalls follow from this one
		}
	}
	landed := faultShortfalls(in, note)
	reachShortfalls(in, note)
	claimShortfalls(in, note)
	loadShortfalls(in, landed, note)
	budgetShortfalls(in, landed, note)
	return list
}

type noter func(k Kind, format string, args ...any)

// faultShortfalls returns how many faults landed. It decides the state of each landing
// and of its heal again from the samples, and does not trust the states in the file.
func faultShortfalls(in Input, note noter) (landed int) {
	landings, never := DecideLandings(in.Run, in.Landings)
	for _, l := range landings {
		why := l.Reasons
		name := fmt.Sprintf("%s (%s of %s)", l.Fault, l.Type, l.Target)
		switch l.State {
		case history.Landed:
			landed++
		case history.Unsupported:
			note(FaultUnsupported, "%s is unsupported here%s", name, because(why))
			continue
		case history.NotLanded:
			note(FaultNotLanded, "%s did not land%s", name, because(why))
		case history.Partial:
			note(FaultPartial, "%s landed in part%s", name, because(why))
		default:
			note(FaultIndeterminate, "it is not known whether %s landed%s", name, because(why))
		}
		if slices.Contains(in.Coverage.Idle, l.Fault) {
			note(FaultIdle, "no message was on its way while %s was in place; inject it while a workload runs", name)
		}
		switch healed, why := DecideHeal(l); healed {
		case history.HealVerified:
		case history.HealDown:
			note(NodeDown, "%s was taken out, and a node did not come back%s", name, because(why))
		default:
			note(HealUnverified, "the heal of %s was not verified%s", name, because(why))
		}
	}
	for _, p := range never {
		kind := FaultMissing
		if in.Run.Cluster.Lacks[history.LacksFaults] != "" {
			kind = FaultUnsupported
		}
		other := slices.ContainsFunc(in.Landings, func(l history.Landing) bool { return l.Type == p.Type && l.Target == p.Target && !asked(p, l) })
		note(kind, "the planned %s of %s%s was never injected", p.Type, p.Target, with(p.Params, other))
	}
	return landed
}

// reachShortfalls notes the situations that the scenario asks for and the run did not reach
// as often.
func reachShortfalls(in Input, note noter) {
	for _, name := range slices.Sorted(maps.Keys(in.Run.Reaches)) {
		got, counted := in.Coverage.Reached[name]
		switch asked := in.Run.Reaches[name]; {
		case asked == 0:
		case !counted:
			note(NotReached, "not reached: %s cannot be counted, as packets were not recorded: arm the tap, and speak MQTT over TCP", name)
		case got < asked:
			note(NotReached, "not reached: %s came %d times, and the scenario asks for %d", name, got, asked)
		}
	}
}

// with are parameters in words, where the same fault was injected with others.
func with(params map[string]any, other bool) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		words = append(words, fmt.Sprintf("%s %v", name, params[name]))
	}
	if !other || len(words) == 0 {
		return ""
	}
	return " with " + strings.Join(words, ", ")
}

func claimShortfalls(in Input, note noter) {
	if len(in.Run.Claims) == 0 && len(in.Results) == 0 {
		note(NoClaims, "no claim was judged")
	}
	for _, name := range in.Run.Claims {
		if !slices.ContainsFunc(in.Results, func(r Result) bool { return r.Claim.Name == name }) {
			note(CheckerMissing, "the declared claim %s was not judged", name)
		}
	}
	for _, r := range in.Results {
		switch {
		case r.Status == Fail:
		case r.Status == Unknown && r.Claim.Wire: // it is beside what the run asked; see [overlooked]
		case r.Status != Pass:
			note(CheckerUnknown, "%s is unknown%s", r.Claim.Name, because(r.Reasons))
		case !r.Canary.Red:
			note(CanaryGreen, "%s passes, but its canary did not turn red%s", r.Claim.Name, because([]string{r.Canary.Skipped}))
		}
		if r.Consumed < in.Coverage.Recorded {
			note(EventsUnread, "%s consumed %d of %d events", r.Claim.Name, r.Consumed, in.Coverage.Recorded)
		}
	}
	if !in.Complete.Closed {
		note(HistoryIncomplete, "the history is not complete%s", because(in.Complete.Why))
	}
}

func loadShortfalls(in Input, landed int, note noter) {
	c, least := in.Coverage, in.Run.Budget.MinRate
	switch {
	case least <= 0:
	case c.SteadyPerS <= 0:
		note(Underload, "nothing was acknowledged in the steady phase")
	default:
		if c.BeforePerS < least*c.SteadyPerS {
			note(Underload, "underload before the fault: %.1f/s of %.1f/s steady, at least %.0f %% is needed", c.BeforePerS, c.SteadyPerS, 100*least)
		}
		if landed > 0 && c.AfterPerS < least*c.SteadyPerS {
			note(Underload, "underload after the heal: %.1f/s of %.1f/s steady, at least %.0f %% is needed", c.AfterPerS, c.SteadyPerS, 100*least)
		}
	}
	if c.Indeterminate > maxIndeterminate {
		note(TooIndeterminate, "the outcome of %.1f %% of the publishes is unknown, at most %.0f %% may be", 100*c.Indeterminate, 100*maxIndeterminate)
	}
	if c.HostStarvedS > MaxStarvedS {
		note(HostStarved, "the host kept the harness from running for %.1f s", c.HostStarvedS)
	}
	for _, gone := range c.Gone {
		note(PartGone, "%s", gone)
	}
	for _, e := range c.Ended {
		note(NodeEnded, "%s", e)
	}
	for _, e := range in.Harness {
		note(HarnessError, "the harness: %s", e)
	}
}

func budgetShortfalls(in Input, landed int, note noter) {
	b, c := in.Run.Budget, in.Coverage
	if c.DurationS < b.DurationS {
		note(short(in.Run, c.DurationS/b.DurationS), "published for %.1f s of the %.1f s that the tier asks for", c.DurationS, b.DurationS)
	}
	if c.Acked < b.Messages {
		note(short(in.Run, float64(c.Acked)/float64(b.Messages)), "%d messages were acknowledged of the %d that the tier asks for", c.Acked, b.Messages)
	}
	if landed < b.Faults {
		note(BudgetShort, "%d faults landed of the %d that the tier asks for", landed, b.Faults)
	}
	if out := withoutSome(in.Run); out != "" {
		note(BudgetShort, "%s%s", out, because([]string{in.Run.ControlWhy}))
	}
	for _, seen := range overlooked(in) {
		note(Unjudged, "%s", seen)
	}
	if landed == 0 && len(in.Run.Faults) == 0 && len(in.Landings) == 0 {
		note(NoFault, "no fault was injected")
	}
	if !Hardens(in.Run.Tier) {
		note(SmokeTier, "the smoke tier: run it with --tier hardening for more")
	}
	note(OneSeed, CapOneSeed)
}

// overlooked are the observations that no claim of the run judges, and the undecided violations
// of claims about packets.
func overlooked(in Input) []string {
	list := slices.Clone(in.Coverage.Unjudged)
	for _, r := range in.Results {
		if r.Status == Unknown && r.Claim.Wire && len(r.Anomalies) > 0 {
			list = append(list, fmt.Sprintf("seen and not decided: %s: %s%s", r.Claim.Name, r.Anomalies[0].Text, because(r.Reasons)))
		}
	}
	return list
}

// Hardens reports whether a tier asks for enough to become PASS-hardening: that of
// this name, or the longer release.
func Hardens(tier string) bool { return tier == "hardening" || tier == "release" }

// short says what it means to reach a share of a tier's budget: hardening may
// come down to smoke, but what is less than smoke is no test at all.
func short(run *history.Run, share float64) Kind {
	if Hardens(run.Tier) && share >= 0.5 {
		return BudgetShort
	}
	return BudgetMissed
}

func because(why []string) string {
	why = slices.DeleteFunc(slices.Clone(why), func(s string) bool { return s == "" })
	if len(why) == 0 {
		return ""
	}
	return ": " + strings.Join(why, "; ")
}
