package verdict

import (
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/history"
)

// headline is one sentence that can be quoted alone.
func headline(v Verdict, in Input) string {
	failed := failures(in.Results)
	switch {
	case len(failed) > 0:
		return fmt.Sprintf("%s: %s%s%s", v.State, failed[0].Summary, others(failed), softly(in.Run, failed[0]))
	case isPass(v.State):
		return fmt.Sprintf("%s: %s over %d acknowledged messages, %s", v.State,
			plural(int64(len(in.Results)), "claim holds", "claims hold"), in.Coverage.Acked, faultsIn(in.Landings))
	case len(v.Reasons) > 0:
		return fmt.Sprintf("%s: %s", v.State, v.Reasons[0])
	}
	return string(v.State)
}

func others(failed []Result) string {
	if len(failed) == 1 {
		return ""
	}
	return fmt.Sprintf(" (and %s)", plural(int64(len(failed)-1), "more claim fails", "more claims fail"))
}

func softly(run *history.Run, r Result) string {
	if r.Promised {
		return ""
	}
	return "; " + notPromised(run, r)
}

func faultsIn(landings []history.Landing) string {
	var names []string
	for _, l := range landings {
		names = append(names, fmt.Sprintf("%s of %s", l.Type, strings.Join(l.Nodes, ", ")))
	}
	if len(names) == 0 {
		return "without a fault"
	}
	return "with " + strings.Join(names, "; ")
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// afterState is a headline without the state it begins with.
func afterState(s string) string {
	if _, rest, ok := strings.Cut(s, ": "); ok {
		return rest
	}
	return s
}
