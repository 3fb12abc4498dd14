package finding

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Run is a stored run.
type Run struct {
	reports.Row
	Report *reports.Report // of one that failed; nil else
}

// A sight is a finding in one run.
type sight struct {
	run     Run
	result  verdict.Result
	count   int64
	example string
}

// Make returns the findings of runs, the most severe first, parted as a person asks. Runs with a planted defect are
// left out, and so is all that is the fault of the harness or of its machine.
func Make(runs []Run, parts []Part) []Finding {
	sights := map[Key][]sight{}
	for _, r := range runs {
		if r.Report == nil || r.Planted != "" || !r.Report.Verdict.State.Failed() {
			continue
		}
		for _, result := range r.Report.Verdict.Results {
			if result.Status == verdict.Fail {
				r.see(result, sights)
			}
		}
	}
	join(sights)
	divide(sights, parts)
	var list []Finding
	for key, of := range sights {
		list = append(list, finding(key, of, runs))
	}
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// see adds what one failed claim of a run shows.
func (r Run) see(result verdict.Result, sights map[Key][]sight) {
	seen := map[Key]*sight{}
	add := func(kind string, blame verdict.Party, count int64) {
		party := r.party(result.Claim, blame)
		if party != verdict.Broker && party != verdict.SDK && party != verdict.Undecided {
			return
		}
		key := Key{Claim: result.Claim.Name, Kind: kind, Party: party, Subject: r.subject(party)}
		s := seen[key]
		if s == nil {
			s = &sight{run: r, result: result, example: example(result, kind, blame)}
			seen[key] = s
		}
		s.count += count
	}
	for _, v := range counted(result) {
		add(v.Kind, v.Blame, v.Count)
	}
	for key, s := range seen {
		sights[key] = append(sights[key], *s)
	}
}

// counted are the violations of a result by kind and party. Verdicts of before list them
// alone.
func counted(r verdict.Result) []verdict.Violations {
	if len(r.Violations) > 0 {
		return r.Violations
	}
	var list []verdict.Violations
	for _, a := range r.Anomalies {
		list = append(list, verdict.Violations{Kind: a.Kind, Blame: a.Blame, Count: 1})
	}
	return list
}

// example is the first violation of a kind that is blamed on a party.
func example(r verdict.Result, kind string, blame verdict.Party) string {
	for _, a := range r.Anomalies {
		if a.Kind == kind && a.Blame == blame {
			return a.Text
		}
	}
	return r.Summary
}

// party is who is to blame for violations of a claim: as the packets show it, else as
// other runs decided it.
func (r Run) party(claim verdict.Claim, blame verdict.Party) verdict.Party {
	switch {
	case claim.Of == verdict.SDK:
		return verdict.SDK
	case blame != "" && blame != verdict.Undecided:
		return blame
	case r.Report.Blame == nil:
		return verdict.Undecided
	}
	for _, a := range r.Report.Blame.Attributions {
		if p := a.Cause.Party(); p != verdict.Undecided && slices.Contains(a.Claims, claim.Name) && slices.Contains(a.Runs, r.ID) {
			return p
		}
	}
	return verdict.Undecided
}

// subject is the broker's flavor, or the first library of the run without its version.
// A broker of somebody else's is known by its address.
func (r Run) subject(party verdict.Party) string {
	if party == verdict.SDK && len(r.Report.SDKs) > 0 {
		return r.Report.SDKs[0].Name
	}
	if endpoints := reports.EndpointsOf(r.Report.Cluster); len(endpoints) > 0 {
		return r.Flavor + " " + strings.Join(endpoints, ",")
	}
	return r.Flavor
}

// join adds violations without a party to those of the same claim and kind that are
// blamed on the same broker. It keeps them apart where the library is blamed for such, too.
func join(sights map[Key][]sight) {
	for key, of := range maps.Clone(sights) {
		decided := key
		decided.Party = verdict.Broker
		if key.Party != verdict.Undecided || len(sights[decided]) == 0 {
			continue
		}
		bySDK := slices.ContainsFunc(of, func(s sight) bool {
			other := key
			other.Party, other.Subject = verdict.SDK, s.run.subject(verdict.SDK)
			return len(sights[other]) > 0
		})
		if bySDK {
			decided.Party, decided.Title = verdict.Undecided, "the broker's or the library's"
		}
		sights[decided] = append(sights[decided], of...)
		delete(sights, key)
	}
}

func finding(key Key, of []sight, runs []Run) Finding {
	slices.SortFunc(of, func(a, b sight) int {
		return cmp.Or(b.run.Started.Compare(a.run.Started), cmp.Compare(a.run.ID, b.run.ID))
	})
	f := Finding{ID: key.ID(), Key: key, First: of[len(of)-1].run.Started, Last: of[0].run.Started}
	claim := of[0].result.Claim
	if e, err := checker.Find(key.Claim); err == nil && claim.Severity == "" { // of a verdict that did not say
		claim = e.Claim
	}
	f.Severity, f.Text, f.Source, f.Promised = verdict.Severity([]verdict.Result{{Claim: claim}}), claim.Text, claim.Source, of[0].result.Promised
	for _, s := range of {
		f.Runs = append(f.Runs, RunLine{RunID: s.run.ID, Root: s.run.Root, Scenario: s.run.Name(), Broker: s.run.broker(), SDK: s.run.SDK, Started: s.run.Started, Count: s.count, Example: s.example})
	}
	f.Seen = f.seen(runs)
	f.Smallest = smallest(of, runs)
	return f
}

func (r Run) broker() string {
	return strings.TrimSpace(r.Flavor + " " + strings.TrimPrefix(r.Version, r.Flavor+" "))
}

// holds reports whether a run holds a claim: one that passed, or failed another.
func (r Run) holds(claim string) bool {
	if r.Report == nil {
		return r.State.ExitCode() == 0
	}
	return slices.ContainsFunc(r.Report.Verdict.Results, func(of verdict.Result) bool { return of.Claim.Name == claim && of.Status == verdict.Pass })
}

// seen counts the runs of the finding's scenarios: those that show it, and those that
// hold the claim. The others could not tell.
func (f Finding) seen(runs []Run) (list []Seen) {
	shows := map[string]bool{}
	scenarios := map[string]bool{}
	for _, r := range f.Runs {
		shows[r.RunID], scenarios[r.Scenario] = true, true
	}
	for _, r := range runs {
		if r.Planted != "" || !scenarios[r.Name()] || !shows[r.ID] && !r.holds(f.Claim) {
			continue
		}
		i := slices.IndexFunc(list, func(s Seen) bool { return s.Broker == r.broker() && s.SDK == r.SDK })
		if i < 0 {
			i, list = len(list), append(list, Seen{Broker: r.broker(), SDK: r.SDK})
		}
		list[i].Of++
		if shows[r.ID] {
			list[i].Failed++
		}
	}
	slices.SortFunc(list, func(a, b Seen) int { return cmp.Or(cmp.Compare(a.Broker, b.Broker), cmp.Compare(a.SDK, b.SDK)) })
	return list
}

// smallest is the scenario with the fewest faults, then the fewest nodes and messages,
// and how often it shows the finding on the same broker with the same library.
func smallest(of []sight, runs []Run) Reproduction {
	best := slices.MinFunc(of, func(a, b sight) int {
		return cmp.Or(cmp.Compare(a.faults(), b.faults()), cmp.Compare(a.run.Nodes, b.run.Nodes),
			cmp.Compare(a.run.Totals.Sent, b.run.Totals.Sent), cmp.Compare(a.run.ID, b.run.ID))
	})
	out := Reproduction{RunID: best.run.ID, Scenario: best.run.Name(), Command: best.run.Report.Reproduce, Faults: best.faults()}
	same := func(r Run) bool {
		return r.Name() == best.run.Name() && r.broker() == best.run.broker() && r.SDK == best.run.SDK && r.Planted == ""
	}
	for _, r := range runs {
		shows := slices.ContainsFunc(of, func(s sight) bool { return s.run.ID == r.ID })
		if !same(r) || !shows && !r.holds(best.result.Claim.Name) {
			continue
		}
		out.Of++
		if shows {
			out.Failed++
		}
	}
	return out
}

func (s sight) faults() int { return len(s.run.Report.Landings) }
