package finding

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// Make returns the findings of runs, parted as a person asks. A run that is there twice
// counts once.
func Make(runs []Run, parts []Part) Findings {
	runs = distinct(runs)
	all := sightsOf(runs)
	all.join()
	all.divide(parts)
	setups := map[Setup][]Run{}
	for _, r := range runs {
		if r.Report != nil && !r.byHand() {
			setups[r.setup()] = append(setups[r.setup()], r)
		}
	}
	out := Findings{Findings: []Finding{}, Notes: append([]string{}, all.notes...)}
	for _, key := range all.keys() {
		out.Findings = append(out.Findings, all.finding(key, setups))
	}
	slices.SortFunc(out.Findings, bySeverity)
	return out
}

// distinct leaves out copies of a run under other names.
func distinct(runs []Run) (list []Run) {
	roots := map[string]bool{}
	for _, r := range runs {
		if r.Root == "" || !roots[r.Root] {
			roots[r.Root], list = true, append(list, r)
		}
	}
	return list
}

func (all *sights) finding(key Key, setups map[Setup][]Run) Finding {
	joined := func(s *sight) int {
		if s.decided {
			return 0
		}
		return 1
	}
	list := slices.SortedFunc(maps.Values(all.of[key]), func(a, b *sight) int {
		return cmp.Or(joined(a)-joined(b), b.run.Started.Compare(a.run.Started), cmp.Compare(a.run.ID, b.run.ID))
	})
	decided := slices.DeleteFunc(slices.Clone(list), func(s *sight) bool { return !s.decided })
	claim := list[0].result.Claim
	if e, err := checker.Find(key.Claim); err == nil && claim.Severity == "" { // of a verdict that did not say
		claim = e.Claim
	}
	f := Finding{
		ID: key.ID(), Key: key, Text: claim.Text, Source: claim.Source, Severity: severity(claim, list),
		Unpromised: unpromised(key, list), First: list[0].run.Started, Last: list[0].run.Started,
	}
	if len(decided) == 0 { // as in a part of what joined: nobody is blamed in any of its runs
		decided, f.Party = list, verdict.Undecided
	}
	for _, s := range list {
		if s.run.Started.Before(f.First) {
			f.First = s.run.Started
		}
		if s.run.Started.After(f.Last) {
			f.Last = s.run.Started
		}
		f.Runs = append(f.Runs, RunLine{
			RunID: s.run.ID, Root: s.run.Root, Scenario: s.run.Name(), Broker: s.run.broker(), SDK: s.run.SDK, Started: s.run.Started,
			Count: s.count, AtLeast: s.listed, Counted: !s.run.byHand() && s.run.told(), Undecided: !s.decided && f.Party != verdict.Undecided, Example: s.example,
		})
	}
	f.Seen, f.Also = all.seen(key, setups), all.like(key)
	f.Smallest = smallest(key.Claim, decided, f.Seen)
	for _, s := range list[len(decided):] { // they tell nothing of how often it is the party's doing
		if s.run.setup() == f.Smallest.Setup && all.could(key, s.run) {
			f.Smallest.Failed, f.Smallest.Of = f.Smallest.Failed-1, f.Smallest.Of-1
		}
	}
	f.Status, f.History, f.Repeat = all.status(key, setups)
	f.Newest = newest(key, list)
	return f
}

// severity is the claim's, or expected if every violation was to be expected.
func severity(claim verdict.Claim, list []*sight) string {
	worst := []verdict.Result{}
	for _, s := range list {
		worst = append(worst, verdict.Result{Claim: claim, Expected: s.result.Expected})
	}
	return verdict.Severity(worst)
}

// unpromised says that the broker's vendor does not promise the claim; "" if it does, or if its
// promises are not known.
func unpromised(key Key, list []*sight) string {
	if key.Party == verdict.SDK || slices.ContainsFunc(list, func(s *sight) bool {
		return verdict.PromisedBy(s.run.Report.Cluster, s.result) != verdict.Unpromised
	}) {
		return ""
	}
	return list[0].run.Flavor + " does not promise it in this configuration"
}

// seen counts the runs of each setup of the finding's scenarios and of its subject, on each
// version and with each library: those that show it, of those that could have.
func (all *sights) seen(key Key, setups map[Setup][]Run) (list []Seen) {
	scenarios := map[string]bool{}
	for _, s := range all.of[key] {
		scenarios[s.run.Name()] = true
	}
	for setup, runs := range setups {
		if !scenarios[setup.Scenario] || !key.concerns(runs[0]) {
			continue
		}
		if s := (Seen{setup, all.times(key, runs)}); s.Of > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Seen) int { return a.Setup.compare(b.Setup) })
	return list
}

// times counts the runs that show a finding, of those that could have.
func (all *sights) times(key Key, runs []Run) (t reports.Times) {
	for _, r := range runs {
		if !all.could(key, r) {
			continue
		}
		if t.Of++; all.of[key][r.ID] != nil {
			t.Failed++
		}
	}
	return t
}

// smallest is the run of a scenario with the fewest faults, then the fewest nodes and
// messages. A run that counts and that a command repeats comes before all others.
func smallest(claim string, list []*sight, seen []Seen) Reproduction {
	lesser := map[*sight]int{}
	for _, s := range list {
		lesser[s] = s.lesser()
	}
	best := slices.MinFunc(list, func(a, b *sight) int {
		return cmp.Or(lesser[a]-lesser[b], cmp.Compare(a.faults(), b.faults()), cmp.Compare(a.run.Nodes, b.run.Nodes),
			cmp.Compare(a.run.Totals.Sent, b.run.Totals.Sent), cmp.Compare(a.run.ID, b.run.ID))
	})
	out := Reproduction{RunID: best.run.ID, Scenario: best.run.Name(), Setup: best.run.setup(), Faults: best.faults(), ByHand: best.run.byHand()}
	out.Command, out.Changed = best.run.command()
	if out.Command == best.run.Report.Reproduce { // a replay has all that the run had
		out.NotChosen = best.run.Report.NotChosen
	}
	if i := slices.IndexFunc(seen, func(s Seen) bool { return s.Setup == out.Setup }); i >= 0 {
		out.Times = seen[i].Times
	}
	out.Repeated = best.repeated(claim, out.Of)
	return out
}

// repeated says how often the claim failed in the repetitions of a run. They may
// be elsewhere: of runs that repeat each other often one is published. It is "" where no
// more repetitions than runs are counted here, and where the run fails the claim in several
// ways: the repetitions may have failed it in another one.
func (s *sight) repeated(claim string, counted int) string {
	report, ways := s.run.Report, s.result.Ways(nil)
	series := report.Series
	if series == nil || len(series.Runs) <= counted ||
		len(report.Panics) > 1 || slices.ContainsFunc(ways, func(w verdict.Way) bool { return w != ways[0] }) {
		return ""
	}
	return series.Each[report.ID].CountOf(claim)
}

// lesser is how much worse a run is as a reproduction than one that counts and that a
// command repeats.
func (s *sight) lesser() (n int) {
	if s.run.byHand() {
		n += 2
	}
	if !s.run.told() {
		n++
	}
	if command, _ := s.run.command(); command == "" {
		n++
	}
	return n
}

// faults are those that landed.
func (s *sight) faults() (n int) {
	for _, l := range s.run.Report.Landings {
		if l.State == history.Landed {
			n++
		}
	}
	return n
}

// commandForm is what the command of a report looks like: somebody may paste it.
var commandForm = regexp.MustCompile(`^rmq-mcp run ([\w/.-]+)(?: --[a-z-]+(?: [\w./@:\[\],=+-]+)?)*$`)

// command does the same again: by the library's scenario, or by the scenario that is
// stored with the run. It is "" where nobody can.
func (r Run) command() (command string, changed bool) {
	if m := commandForm.FindStringSubmatch(r.Report.Reproduce); m != nil && path.Ext(m[1]) != ".md" {
		if of, err := scenarios.Load(m[1]); err == nil {
			return r.Report.Reproduce, of.SHA != r.Report.Scenario.SHA256
		}
	}
	if r.Repeatable && !r.byHand() {
		return "rmq-mcp replay " + r.ID, false
	}
	return "", false
}

// sorted are the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// needs reports whether a finding may need the report of a run: it failed, or is of the same
// scenario as one that did.
func needs(rows []reports.Row) func(reports.Row) bool {
	failing := map[string]bool{}
	for _, r := range rows {
		if r.State.Failed() && r.Planted == "" {
			failing[r.Scenario] = true
		}
	}
	return func(r reports.Row) bool {
		return r.State.Failed() || r.State != reports.Unfinished && r.State != verdict.NotRun && failing[r.Scenario] && r.Planted == ""
	}
}
