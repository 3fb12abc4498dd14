package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// DecideLandings decides what became of each fault of a run, and of its heal, as the verdict
// takes them. A planned fault that somebody healed early landed in part. It also returns
// the planned faults that were never injected.
func DecideLandings(run *history.Run, landings []history.Landing) (decided []history.Landing, never []history.PlannedFault) {
	decided, never = slices.Clone(landings), slices.Clone(run.Faults)
	for i := range decided {
		l := &decided[i]
		l.State, l.Reasons, l.Proofs = DecideLanding(*l)
		l.Healed, _ = DecideHeal(*l)
		rest := without(never, *l)
		if early := healedEarly(*l); early != "" && len(rest) < len(never) && l.State == history.Landed {
			l.State, l.Reasons = history.Partial, []string{early}
		}
		never = rest
	}
	for i := range decided {
		l := &decided[i]
		if link := unreadLink(decided, i); link != "" && l.Healed == history.HealVerified {
			l.Healed, l.Reasons = history.HealPending, append(l.Reasons, link+": another fault acted there, and no later heal looked at it")
		}
	}
	return decided, never
}

// unreadLink returns a check that the heal of a landing could not read. No heal of another fault
// has looked at its link since. "" stands for none.
func unreadLink(all []history.Landing, of int) string {
	for _, p := range all[of].Proofs {
		last := lastAfter(p)
		if last.State != history.UnreadLink {
			continue
		}
		read := slices.ContainsFunc(all, func(l history.Landing) bool {
			return slices.ContainsFunc(l.Proofs, func(o history.ProofRecord) bool {
				s := lastAfter(o)
				return linkOf(o) == linkOf(p) && s.OK && s.State != history.UnreadLink && s.TimeNS >= last.TimeNS
			})
		})
		if !read {
			return p.Name
		}
	}
	return ""
}

// lastAfter returns the last sample of a check after its heal; none of any other proof.
func lastAfter(p history.ProofRecord) (last history.Sample) {
	if after := at(p, history.After); p.Role == history.RoleHeal && len(after) > 0 {
		last = after[len(after)-1]
	}
	return last
}

// linkOf returns the link that a check is about: the end of its name.
func linkOf(p history.ProofRecord) string {
	_, link, _ := strings.Cut(p.Name, " from ")
	return link
}

// healedEarly says how much of its time a fault had if it was healed before that was over, and why. A
// planned fault is then weaker than the plan.
func healedEarly(l history.Landing) string {
	t := l.Times
	if t.AskedNS == 0 {
		return ""
	}
	had := fmt.Sprintf("after %.1f s of %.1f s", time.Duration(t.AskedNS-t.AppliedNS).Seconds(), time.Duration(t.DurationNS).Seconds())
	if l.HealedFor != "" {
		return fmt.Sprintf("it was healed %s: %s", had, l.HealedFor)
	}
	return "it was healed on request " + had
}

// without leaves out the planned fault that a landing is of. A fault by hand is none of the plan.
func without(planned []history.PlannedFault, l history.Landing) []history.PlannedFault {
	i := slices.IndexFunc(planned, func(p history.PlannedFault) bool {
		return !l.ByHand && p.Type == l.Type && p.Target == l.Target && asked(p, l)
	})
	if i < 0 {
		return planned
	}
	return slices.Delete(planned, i, i+1)
}

// asked reports whether a fault has the parameters that were planned: a weaker one
// is another. Both were JSON, so equal values read the same.
func asked(p history.PlannedFault, l history.Landing) bool {
	for name, v := range p.Params {
		if fmt.Sprint(l.Params[name]) != fmt.Sprint(v) {
			return false
		}
	}
	return true
}
