package verdict

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/figures"
)

// headline is one sentence that can be quoted alone.
func headline(v Verdict, in Input) string {
	failed := failures(in.Results)
	switch {
	case v.Severity == Expected:
		return fmt.Sprintf("%s: %s%s", v.State, failed[0].told(), others(failed))
	case len(failed) > 0:
		return fmt.Sprintf("%s: %s: %s%s%s%s", v.State, NotRepeated, whose(in.Run, failed[0]), failed[0].Summary, others(failed), softly(in.Run, failed[0]))
	case isPass(v.State):
		return fmt.Sprintf("%s: %s over %s, %s%s%s", v.State,
			plural(int64(passed(in.Results)), "claim holds", "claims hold"), acknowledged(in.Coverage.Acked), faultsIn(in.Run, in.Landings), outage(in.Coverage), beside(overlooked(in)))
	case len(v.Reasons) > 0:
		first, _, _ := strings.Cut(v.Reasons[0], "\n") // an error may show the end of a log below
		return fmt.Sprintf("%s: %s", v.State, first)
	}
	return string(v.State)
}

// Bounds of the outages that a headline tells of.
const (
	longOutage = 2  // seconds
	fewMissing = 20 // publishes at the steady rate: a workload that publishes seldom has pauses
)

// outage says how long no publish was acknowledged, for a reader of the headline alone: claims
// bound an outage, and do not forbid it.
func outage(c Coverage) string {
	if c.LongestGapS < longOutage || c.LongestGapS*c.SteadyPerS < fewMissing {
		return ""
	}
	return fmt.Sprintf("; no publish was acknowledged for %.1f s", c.LongestGapS)
}

// acknowledged is over how many messages claims hold. A run that passes without any had
// messages of QoS 0 alone.
func acknowledged(n int64) string {
	if n == 0 {
		return "messages of QoS 0"
	}
	return figures.Sprintf("%d acknowledged messages", n)
}

// told is the summary of a result, behind the reason why it was to be expected.
func (r Result) told() string {
	if r.Expected == "" {
		return r.Summary
	}
	return fmt.Sprintf("expected: %s: %s", r.Expected, r.Summary)
}

func others(failed []Result) string {
	if len(failed) == 1 {
		return ""
	}
	return fmt.Sprintf(" (and %s)", plural(int64(len(failed)-1), "more claim fails", "more claims fail"))
}

// whose returns the name of the client library if the failed claim is about it, ""
// otherwise.
func whose(run *history.Run, r Result) string {
	if r.Claim.Of != SDK {
		return ""
	}
	return library(run) + ": "
}

// beside returns the observations that no claim of the run judges, for a reader of the
// headline alone.
func beside(unjudged []string) string {
	if len(unjudged) == 0 {
		return ""
	}
	return "; but " + strings.Join(unjudged, "; ")
}

// plantedIn says that a defect was planted, for a reader of the headline alone.
func plantedIn(v Verdict) string {
	if v.Planted == "" {
		return ""
	}
	return "; rmq-mcp planted the defect " + v.Planted
}

func passed(results []Result) (n int) {
	for _, r := range results {
		if r.Status == Pass {
			n++
		}
	}
	return n
}

func softly(run *history.Run, r Result) string {
	if why := notPromised(run, r); why != "" {
		return "; " + why
	}
	return ""
}

func faultsIn(run *history.Run, landings []history.Landing) string {
	var names []string
	if run != nil && run.Control && len(landings) == 0 {
		return "without the scenario's faults" + because([]string{run.ControlWhy})
	}
	for _, l := range landings {
		names = append(names, fmt.Sprintf("%s of %s", l.Type, cmp.Or(strings.Join(l.Nodes, ", "), l.Target)))
	}
	if len(names) == 0 {
		return "without a fault"
	}
	return strings.TrimSuffix("with "+strings.Join(names, "; ")+", "+withoutSome(run), ", ")
}

// withoutSome are the faults of the scenario that a run was without beside others; ""
// where it had all or none.
func withoutSome(run *history.Run) string {
	if run == nil || len(run.LeftOut) == 0 {
		return ""
	}
	return "without the scenario's " + strings.Join(run.LeftOut, ", ")
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return figures.Sprintf("%d %s", n, many)
}

// afterState is a headline without the state it begins with.
func afterState(s string) string {
	if _, rest, ok := strings.Cut(s, ": "); ok {
		return rest
	}
	return s
}
