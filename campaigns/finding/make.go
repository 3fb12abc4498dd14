package finding

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// Make returns the findings of runs, parted as a person asks.
func Make(runs []Run, parts []Part) Findings {
	all, notes := sightsOf(runs)
	all.join()
	notes = append(notes, all.divide(parts)...)
	setups := map[Setup][]Run{}
	for _, r := range runs {
		if r.Report != nil && !r.byHand() {
			setups[r.setup()] = append(setups[r.setup()], r)
		}
	}
	out := Findings{Findings: []Finding{}, Notes: append([]string{}, notes...)}
	for key, of := range all {
		out.Findings = append(out.Findings, all.finding(key, of, setups))
	}
	slices.SortFunc(out.Findings, bySeverity)
	return out
}

func (all sights) finding(key Key, of map[string]*sight, setups map[Setup][]Run) Finding {
	list := slices.SortedFunc(maps.Values(of), func(a, b *sight) int {
		return cmp.Or(b.run.Started.Compare(a.run.Started), cmp.Compare(a.run.ID, b.run.ID))
	})
	claim := list[0].result.Claim
	if e, err := checker.Find(key.Claim); err == nil && claim.Severity == "" { // of a verdict that did not say
		claim = e.Claim
	}
	f := Finding{
		ID: key.ID(), Key: key, Text: claim.Text, Source: claim.Source, Severity: verdict.Severity([]verdict.Result{{Claim: claim}}),
		Promised: list[0].result.Promised || claim.Of == verdict.SDK, First: list[len(list)-1].run.Started, Last: list[0].run.Started,
	}
	for _, s := range list {
		f.Runs = append(f.Runs, RunLine{
			RunID: s.run.ID, Root: s.run.Root, Scenario: s.run.Name(), Broker: s.run.broker(), SDK: s.run.SDK, Started: s.run.Started,
			Count: s.count, AtLeast: s.listed, Example: s.example,
		})
	}
	f.Seen, f.Also = all.seen(key, of, setups)
	f.Smallest = smallest(list, f.Seen)
	return f
}

// seen counts the runs of each setup in which a finding was seen, and of each that could
// have shown it beside them: the same scenario on another version or with another library.
// A run that shows another finding of the claim and kind could be either.
func (all sights) seen(key Key, of map[string]*sight, setups map[Setup][]Run) (list []Seen, also []string) {
	like, also := all.like(key)
	scenarios := map[string]bool{}
	for _, s := range of {
		scenarios[s.run.Name()] = true
	}
	for setup, runs := range setups {
		if !scenarios[setup.Scenario] {
			continue
		}
		s := Seen{Setup: setup}
		for _, r := range runs {
			switch {
			case of[r.ID] != nil:
				s.Failed, s.Of = s.Failed+1, s.Of+1
			case r.Planted == "" && !like[r.ID] && r.without(key.Claim, key.Kind):
				s.Of++
			}
		}
		if s.Of > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.SDK, b.SDK), cmp.Compare(a.Protocol, b.Protocol),
			cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.SHA256, b.SHA256), cmp.Compare(a.Else, b.Else))
	})
	return list, also
}

// smallest is the run of a scenario with the fewest faults, then the fewest nodes and
// messages. An exploration by hand comes last: nobody can repeat it by a command.
func smallest(list []*sight, seen []Seen) Reproduction {
	byHand := func(s *sight) int {
		if s.run.byHand() {
			return 1
		}
		return 0
	}
	best := slices.MinFunc(list, func(a, b *sight) int {
		return cmp.Or(cmp.Compare(byHand(a), byHand(b)), cmp.Compare(a.faults(), b.faults()), cmp.Compare(a.run.Nodes, b.run.Nodes),
			cmp.Compare(a.run.Totals.Sent, b.run.Totals.Sent), cmp.Compare(a.run.ID, b.run.ID))
	})
	out := Reproduction{RunID: best.run.ID, Scenario: best.run.Name(), Faults: best.faults()}
	out.Command, out.Changed = best.run.command()
	if i := slices.IndexFunc(seen, func(s Seen) bool { return s.Setup == best.run.setup() }); i >= 0 {
		out.Times = seen[i].Times
	}
	return out
}

func (s *sight) faults() int { return len(s.run.Report.Landings) }

// command does the same again: by the library's scenario, or by the scenario that is
// stored with the run.
func (r Run) command() (command string, changed bool) {
	if r.byHand() {
		return "", false
	}
	words := strings.Fields(r.Report.Reproduce) // rmq-mcp run NAME …
	if len(words) < 3 || path.Ext(words[2]) == ".md" {
		return "rmq-mcp replay " + r.ID, false
	}
	of, err := scenarios.Load(words[2])
	if err != nil {
		return "rmq-mcp replay " + r.ID, false
	}
	return plain.Line(r.Report.Reproduce), of.SHA != r.Report.Scenario.SHA256
}

// needs reports whether a finding may need the report of a run that passed: it is of the
// same scenario as one that failed.
func needs(rows []reports.Row) func(reports.Row) bool {
	failing := map[string]bool{}
	for _, r := range rows {
		if r.State.Failed() && r.Planted == "" {
			failing[r.Scenario] = true
		}
	}
	return func(r reports.Row) bool {
		return r.State.Failed() || r.State.ExitCode() == 0 && failing[r.Scenario] && r.Planted == ""
	}
}
