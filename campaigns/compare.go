package campaigns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/reports"
)

// A Comparison is what runs show together.
type Comparison struct {
	Headline     string                `json:"headline"`
	Table        reports.Table         `json:"table"`        // claims by library: k of n
	Attributions []reports.Attribution `json:"attributions"` // the worst first
	Notes        []string              `json:"notes"`        // what was not compared with what, and why
	Runs         int                   `json:"runs"`
	Passed       int                   `json:"passed"` // runs that pass
}

// CompareRuns judges runs again and compares them.
func CompareRuns(dirs []string) (Comparison, error) {
	cells, err := ReadAll(dirs)
	return Compare(cells), err
}

// Compare finds the causes of the differences between runs. Runs of one
// scenario, tier and broker are compared with each other. Runs on another
// broker are their control. The order of the cells makes no difference.
//
// Evidence beats pattern: if the wire shows a party leaving the specification,
// that party is blamed, whatever the other runs do. Otherwise one of the three
// patterns of a matrix decides: one version alone fails, one or several
// libraries fail, or all fail. If a pattern fits more than one cause, the
// deviation is undecided, and the runs that would decide it are named. An SDK
// that speaks an earlier version of the protocol has no part in any of this.
func Compare(cells []Cell) Comparison {
	cells = distinct(cells)
	groups := groupsOf(cells)
	out := Comparison{Attributions: []reports.Attribution{}, Notes: notesOn(groups)}
	for _, g := range groups {
		controls := controlsOf(g, groups)
		for _, column := range g.bySDK() {
			column.controls = sameLibraries(controls, column)
			column.controlled = sameLibraries(controlledBy(g, groups), column)
			column.baseline = sameLibraries(baselineOf(g, groups), column)
			column.faulty = sameLibraries(faultyOf(g, groups), column)
			out.Attributions = append(out.Attributions, column.attribute()...)
		}
	}
	out.Attributions = merge(withBaselines(out.Attributions))
	slices.SortStableFunc(out.Attributions, worstFirst)
	for _, c := range cells {
		if c.ran() {
			out.Runs++
		}
		if c.ran() && c.Verdict.State.ExitCode() == 0 {
			out.Passed++
		}
	}
	out.Headline = headline(out)
	out.Table = tabulate(cells, out.Attributions)
	return out
}

// distinct leaves out runs that are there already, and puts the rest into an
// order of their own.
func distinct(cells []Cell) []Cell {
	var list []Cell
	for _, c := range cells {
		if c.RunID == "" || !slices.ContainsFunc(list, func(b Cell) bool { return b.RunID == c.RunID }) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b Cell) int {
		return cmp.Or(bySDK(a.SDK, b.SDK), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Transport, b.Transport),
			cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Unsupported+a.Error, b.Unsupported+b.Error))
	})
	return list
}

// order of the causes, the worst first.
var order = []reports.Cause{
	reports.CauseProtocol, reports.CauseBroker, reports.CauseSDK, reports.CauseLibrary, reports.CauseUndecided, reports.CauseHarness, reports.CauseEnvironment,
}

// needsNoFault reports whether an attribution is of failures that came without any fault.
func needsNoFault(a reports.Attribution) bool {
	return len(a.Claims) > 0 && (a.NoFaults || a.Without.Failed > 0)
}

// worstFirst orders attributions. Before all others come those of what is broken without
// any fault.
func worstFirst(a, b reports.Attribution) int {
	without := func(a reports.Attribution) int {
		if needsNoFault(a) {
			return 0
		}
		return 1
	}
	broken := func(a reports.Attribution) int {
		if a.Cause.Broken() {
			return without(a)
		}
		return 2
	}
	return cmp.Or(
		broken(a)-broken(b),
		cmp.Compare(slices.Index(order, a.Cause), slices.Index(order, b.Cause)),
		without(a)-without(b),
		cmp.Compare(len(b.Claims), len(a.Claims)),
		cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Transport, b.Transport),
		cmp.Compare(a.Versions, b.Versions), cmp.Compare(a.Text, b.Text),
	)
}

// merge makes one of the claims that the same SDKs fail for the same cause.
func merge(list []reports.Attribution) (out []reports.Attribution) {
	for _, a := range list {
		same := func(b reports.Attribution) bool {
			return a.Cause == b.Cause && a.Suspect == b.Suspect && a.Proof == b.Proof && a.Versions == b.Versions && a.Scenario == b.Scenario && a.NoFaults == b.NoFaults && a.Without == b.Without &&
				a.Protocol == b.Protocol && a.Transport == b.Transport && a.Issue == b.Issue &&
				a.Broker == b.Broker && a.Text == b.Text
		}
		i := slices.IndexFunc(out, same)
		if i < 0 {
			out = append(out, a)
			continue
		}
		b := &out[i]
		b.Claims = union(b.Claims, a.Claims)
		b.Runs = union(b.Runs, a.Runs)
		b.Evidence = union(b.Evidence, a.Evidence)
		b.Controls = max(b.Controls, a.Controls)
		for _, step := range a.Next {
			if !slices.Contains(b.Next, step) {
				b.Next = append(b.Next, step)
			}
		}
	}
	return out
}

// withBaselines folds each failure of a baseline into the attribution with faults that
// counts it already.
func withBaselines(list []reports.Attribution) []reports.Attribution {
	folded := map[int]bool{}
	for i, a := range list {
		if j := slices.IndexFunc(list, func(with reports.Attribution) bool { return covers(with, a) }); j >= 0 {
			folded[i], list[j].Runs = true, union(list[j].Runs, a.Runs)
		}
	}
	var out []reports.Attribution
	for i, a := range list {
		if !folded[i] {
			out = append(out, a)
		}
	}
	return out
}

// covers reports whether an attribution says all that another says of the baseline. It
// does where both blame one party, or the baseline alone could not tell.
func covers(with, baseline reports.Attribution) bool {
	return baseline.NoFaults && !with.NoFaults && with.Without.Failed > 0 && with.Scenario == baseline.Scenario && with.Broker == baseline.Broker &&
		with.Protocol == baseline.Protocol && with.Transport == baseline.Transport &&
		(with.Cause.Party() == baseline.Cause.Party() || baseline.Cause == reports.CauseUndecided) &&
		subset(baseline.Claims, with.Claims) && subset(baseline.SDKs, with.SDKs)
}

func subset(part, all []string) bool {
	return !slices.ContainsFunc(part, func(s string) bool { return !slices.Contains(all, s) })
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

func headline(c Comparison) string {
	text := fmt.Sprintf("%d of %s", c.Passed, plural(c.Runs, "run passes", "runs pass"))
	if c.Runs == 0 {
		text = "nothing was run"
	}
	if len(c.Attributions) == 0 {
		return text + "; no deviation"
	}
	counts, alone := map[reports.Cause]int{}, 0
	for _, a := range c.Attributions {
		counts[a.Cause]++
		if needsNoFault(a) && a.Cause.Broken() {
			alone++
		}
	}
	var parts []string
	for _, cause := range order {
		if n := counts[cause]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, cause))
		}
	}
	text = fmt.Sprintf("%s; %s: %s", text, plural(len(c.Attributions), "deviation", "deviations"), strings.Join(parts, ", "))
	if faulty := func(a reports.Attribution) bool { return !a.NoFaults }; alone > 0 && slices.ContainsFunc(c.Attributions, faulty) {
		text += fmt.Sprintf("; %d without any fault", alone)
	}
	return text
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// ExitCode is that of the worst deviation: 1 where something is broken, 2 where
// that could not be told or nothing was run, 0 for none.
func (c Comparison) ExitCode() int {
	worst := 0
	if c.Runs == 0 {
		worst = 2
	}
	for _, a := range c.Attributions {
		if a.Cause.Broken() {
			return 1
		}
		worst = 2
	}
	return worst
}
