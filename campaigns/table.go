package campaigns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// tabulate counts in how many runs each claim failed, apart for each client library
// and for all else that the runs differ in. A claim that no run failed is no row.
func tabulate(cells []Cell, attributions []reports.Attribution) reports.Table {
	cells = slices.DeleteFunc(slices.Clone(cells), func(c Cell) bool { return !c.ran() })
	table := reports.Table{Runs: len(cells), Rows: []reports.TableRow{}, Passed: []string{}}
	groups := alike(cells)
	for _, claim := range claimsOf(cells) {
		failed, passed, _ := count(cells, claim.Name)
		why := nobodys(cells, claim.Name)
		switch {
		case failed == 0 && why != "":
			table.Unknown = append(table.Unknown, claim.Name+": "+why)
			continue
		case failed == 0 && passed > 0 && controlAlone(cells, claim.Name):
			table.Unknown = append(table.Unknown, claim.Name+": only the control broker was seen to hold it")
			continue
		case failed == 0 && passed > 0:
			table.Passed = append(table.Passed, claim.Name)
			continue
		case failed == 0:
			table.Unknown = append(table.Unknown, claim.Name+whyUnknown(cells, claim.Name))
			continue
		}
		for _, g := range groups {
			table.Rows = append(table.Rows, g.rows(claim.Name, attributions)...)
		}
	}
	return table
}

// controlAlone reports whether only control brokers were seen to hold a claim, and other brokers
// were under test.
func controlAlone(cells []Cell, claim string) bool {
	tested := slices.DeleteFunc(slices.Clone(cells), func(c Cell) bool { return c.Broker.control() })
	_, passed, _ := count(tested, claim)
	return len(tested) > 0 && passed == 0
}

// whyUnknown is why the first run that judged a claim could not tell: ": no will was due".
func whyUnknown(cells []Cell, claim string) string {
	for _, c := range cells {
		if r := c.result(claim); r != nil && len(r.Reasons) > 0 {
			return ": " + r.Reasons[0]
		}
	}
	return ""
}

// nobodys is the first failure of a claim that is held against nobody, "" for none: run b
// failed it, and the host was starved for 3.0 s.
func nobodys(cells []Cell, claim string) string {
	for _, c := range cells {
		switch {
		case !c.fails(claim) || c.held(claim):
		case c.Starved():
			return fmt.Sprintf("run %s failed it, and the host was starved for %.1f s", c.RunID, c.StarvedS)
		default:
			return fmt.Sprintf("run %s failed it, and the harness could not do its job: %s", c.RunID, c.Harness[0])
		}
	}
	return ""
}

// claimsOf are those that any of the runs judged, the most severe first, then those
// that failed in the most runs.
func claimsOf(cells []Cell) (list []verdict.Claim) {
	for _, c := range cells {
		for _, r := range c.Verdict.Results {
			if !slices.ContainsFunc(list, func(claim verdict.Claim) bool { return claim.Name == r.Claim.Name }) {
				list = append(list, r.Claim)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b verdict.Claim) int {
		inA, _, _ := count(cells, a.Name)
		inB, _, _ := count(cells, b.Name)
		return cmp.Or(cmp.Compare(severityOf(a), severityOf(b)), cmp.Compare(inB, inA))
	})
	return list
}

// severityOf is the severity of a claim's violation.
func severityOf(c verdict.Claim) string { return verdict.Severity([]verdict.Result{{Claim: c}}) }

// count says in how many runs a claim failed, passed, and could not be told: a failure that
// is held against nobody tells no more than a pass of such a run.
func count(cells []Cell, claim string) (failed, passed, unknown int) {
	for _, c := range cells {
		switch {
		case c.held(claim):
			failed++
		case c.passes(claim):
			passed++
		default:
			unknown++
		}
	}
	return failed, passed, unknown
}

// runsAlike are runs that have the library and everything else in common.
type runsAlike struct {
	sdk, where string
	cells      []Cell
}

// A part of what a run is, in words for people; "" is the ordinary.
type part func(Cell) string

// plainParts tell runs apart in few words, and fineParts those that the first do not.
var (
	plainParts = [...]part{
		func(c Cell) string { return c.Scenario },
		func(c Cell) string { return c.Protocol },
		func(c Cell) string { return c.Transport },
		func(c Cell) string { return c.Broker.String() },
		func(c Cell) string {
			switch {
			case c.Baseline:
				return "no faults"
			case c.LeftOut != "":
				return "without " + c.LeftOut
			}
			return ""
		},
	}
	fineParts = [...]part{
		func(c Cell) string { return c.Tier },
		func(c Cell) string { return fmt.Sprintf("%d nodes", c.Broker.Nodes) },
		func(c Cell) string { return c.Broker.Profile },
		func(c Cell) string { return c.Broker.Runtime },
		func(c Cell) string { return c.Broker.Differs },
		func(c Cell) string { return c.Broker.At },
		func(c Cell) string { return fmt.Sprintf("build %.12s", c.Broker.Build) },
		func(c Cell) string { return fmt.Sprintf("scenario %.12s", c.ScenarioSHA) },
	}
)

// alike puts runs that have everything in common together, and names them by what
// differs.
func alike(cells []Cell) []runsAlike {
	var out []runsAlike
	for _, g := range split(cells, plainParts[:]) {
		finer := split(g.cells, fineParts[:])
		for _, f := range finer {
			f.where = strings.Trim(g.where+", "+f.where, ", ")
			out = append(out, f)
		}
	}
	return out
}

// split groups runs by their library and the parts in which any two of them differ.
func split(cells []Cell, parts []part) (groups []runsAlike) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p part) bool {
		return !slices.ContainsFunc(cells, func(c Cell) bool { return p(c) != p(cells[0]) })
	})
	for _, c := range cells {
		var words []string
		for _, p := range parts {
			if word := p(c); word != "" {
				words = append(words, word)
			}
		}
		where := strings.Join(words, ", ")
		i := slices.IndexFunc(groups, func(g runsAlike) bool { return g.sdk == c.SDK && g.where == where })
		if i < 0 {
			i = len(groups)
			groups = append(groups, runsAlike{sdk: c.SDK, where: where})
		}
		groups[i].cells = append(groups[i].cells, c)
	}
	return groups
}

// rows are those of a claim: one for each party that the wire blames, and one for the
// violations that it blames on nobody.
func (g runsAlike) rows(claim string, attributions []reports.Attribution) (list []reports.TableRow) {
	failed, passed, unknown := count(g.cells, claim)
	row := reports.TableRow{Claim: claim, SDK: g.sdk, Where: g.where, Of: failed + passed, Unknown: unknown}
	if failed == 0 {
		for _, c := range g.cells {
			row.Runs = append(row.Runs, c.RunID)
		}
		return []reports.TableRow{row}
	}
	for _, party := range []verdict.Party{verdict.Broker, verdict.SDK, verdict.Harness, verdict.CheckerSelf, verdict.Environment, ""} {
		of, least, most := row, int64(0), int64(0)
		for _, c := range g.cells {
			found := c.foundBy(claim)[party]
			if found == 0 {
				continue
			}
			if of.Failed++; of.Failed == 1 {
				least = found
				of.Example, of.At = c.example(claim, party)
			}
			least = min(least, found)
			most = max(most, found)
			of.Runs = append(of.Runs, c.RunID)
		}
		if of.Failed == 0 {
			continue
		}
		of.Count = fmt.Sprintf("%d to %d", least, most)
		if least == most {
			of.Count = fmt.Sprint(most)
		}
		of.Blame = blameOf(claim, party, of.Runs, attributions)
		list = append(list, of)
	}
	return list
}

// example is the first violation of a claim that the wire blames on a party, "" for
// nobody, and its message.
func (c Cell) example(claim string, party verdict.Party) (text, at string) {
	r := c.result(claim)
	for _, a := range r.Anomalies {
		if a.Blame == party || party != "" && r.Claim.Of == party || party == "" && a.Blame == verdict.Undecided {
			if a.Stream >= 0 && a.Seq >= 0 {
				at = fmt.Sprintf("%d/%d", a.Stream, a.Seq)
			}
			return a.Text, at
		}
	}
	return "", ""
}

// foundBy counts the violations of a claim that a run failed by the party that the wire
// blames, "" where it does not tell. A failed claim about the client library is the
// library's. Nothing is found where the failure is held against nobody.
func (c Cell) foundBy(claim string) map[verdict.Party]int64 {
	by := map[verdict.Party]int64{}
	if !c.held(claim) {
		return by
	}
	r := c.result(claim)
	switch parties := c.parties(claim); {
	case r.Claim.Of == verdict.SDK:
		by[verdict.SDK] = max(r.Found(), 1)
	case len(r.Violations) > 0:
		for _, v := range r.Violations {
			if v.Blame == verdict.Undecided {
				v.Blame = ""
			}
			by[v.Blame] += v.Count
		}
	case len(parties) == 1: // a verdict that does not count by party
		by[parties[0]] = max(r.Found(), 1)
	default:
		by[""] = max(r.Found(), 1)
	}
	return by
}
