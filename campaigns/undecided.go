package campaigns

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// undecided are the SDKs of which no verdict could be reached, those of one
// reason together. None of it is held against an SDK.
func (c *sdkRuns) undecided() (list []reports.Attribution) {
	groups := map[string][]*subject{}
	var order []string
	for _, s := range c.subjects {
		why := s.unjudged()
		if why == "" {
			continue
		}
		if !slices.Contains(order, why) {
			order = append(order, why)
		}
		groups[why] = append(groups[why], s)
	}
	for _, why := range order {
		list = append(list, c.unjudged(why, groups[why]))
	}
	return list
}

// Why there is no verdict on a subject, beside the states of verdicts.
const (
	whyError   = "error"
	whyStarved = "starved"
	whyLoad    = "load"
	whyHarness = "harness"
)

// unjudged says why there is no verdict on a subject; "" where there is one.
func (s *subject) unjudged() string {
	has := func(is func(Cell) bool) bool { return slices.ContainsFunc(s.cells, is) }
	starvedFailure := func(c Cell) bool { return c.Starved() && len(c.failed()) > 0 }
	for _, c := range s.cells {
		for _, claim := range c.failed() {
			if s.fails(claim) {
				return "" // that is attributed
			}
		}
	}
	switch {
	case has(Cell.unclear): // in spite of others that pass: several attempts count as the worst of them
		return string(s.judgedWorst().Verdict.State)
	case has(func(c Cell) bool { return c.calm() && c.Verdict.State.ExitCode() == 0 }):
		if has(starvedFailure) {
			return whyLoad
		}
		return ""
	case has(func(c Cell) bool { return c.ran() && c.Starved() }):
		return whyStarved
	case has(func(c Cell) bool { return c.ran() && len(c.Harness) > 0 }):
		return whyHarness
	case has(Cell.ran):
		return string(s.judgedWorst().Verdict.State)
	}
	return whyError
}

// unclear reports whether nothing could be told of a run, though the harness was
// well.
func (c Cell) unclear() bool { return c.calm() && c.Verdict.State.ExitCode() == 2 }

// judgedWorst is an attempt without a pass.
func (s *subject) judgedWorst() Cell {
	i := slices.IndexFunc(s.cells, Cell.unclear)
	if i < 0 {
		i = slices.IndexFunc(s.cells, func(c Cell) bool { return c.ran() && c.Verdict.State.ExitCode() != 0 })
	}
	return s.cells[max(i, 0)]
}

func (c *sdkRuns) unjudged(why string, of []*subject) reports.Attribution {
	a := c.deviation(reports.CauseEnvironment, "", of)
	first := of[0]
	switch why {
	case whyError:
		a.Text = "could not be run: " + first.cells[0].Error
		for _, s := range of {
			a.Next = append(a.Next, reports.Step{Why: "see what it lacks", Command: "rmq-mcp sdks install " + s.sdk, Call: "preflight()"})
		}
	case whyStarved:
		a.Text = "the host kept the harness from running, so that nothing can be held against the SDK"
		a.Next = append(a.Next, c.alone(first))
	case whyLoad:
		a.Text = "fails only while the host is starved, and passes alone"
	case whyHarness:
		a.Cause = reports.CauseHarness
		cell := first.cells[slices.IndexFunc(first.cells, func(c Cell) bool { return len(c.Harness) > 0 })]
		a.Text = "the harness could not do its job: " + cell.Harness[0]
		a.Next = append(a.Next, c.again(first))
	default:
		a.Cause = reports.CauseUndecided
		worst := first.judgedWorst()
		reason := worst.Verdict.Headline
		if len(worst.Verdict.Reasons) > 0 {
			reason = worst.Verdict.Reasons[0]
		}
		a.Text = fmt.Sprintf("%s: %s", cmp.Or(worst.Verdict.State, verdict.NotRun), reason)
		a.Next = append(a.Next, c.again(first))
	}
	for _, s := range of[:min(len(of), maxEvidence)] {
		for _, cell := range s.cells {
			switch {
			case cell.ran() && cell.Starved():
				a.Evidence = append(a.Evidence, fmt.Sprintf("%s, run %s: the host was starved for %.1f s", s.sdk, cell.RunID, cell.StarvedS))
			case cell.ran() && cell.Verdict.State.ExitCode() != 0:
				a.Evidence = append(a.Evidence, fmt.Sprintf("%s, run %s: %s", s.sdk, cell.RunID, cell.Verdict.Headline))
			case cell.Error != "":
				a.Evidence = append(a.Evidence, s.sdk+": "+cell.Error)
			}
		}
	}
	return a
}
