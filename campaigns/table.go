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
	table := reports.Table{Runs: len(cells), Rows: []reports.TableRow{}}
	groups := alike(cells)
	for _, claim := range claimsOf(cells) {
		failed, passed, _ := count(cells, claim.Name)
		switch {
		case failed == 0 && passed > 0:
			table.Passed++
			continue
		case failed == 0:
			table.Unknown = append(table.Unknown, claim.Name)
			continue
		}
		for _, g := range groups {
			table.Rows = append(table.Rows, g.row(claim.Name, attributions))
		}
	}
	return table
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

// count says in how many runs a claim failed, passed, and could not be told.
func count(cells []Cell, claim string) (failed, passed, unknown int) {
	for _, c := range cells {
		switch {
		case c.fails(claim):
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
			if c.Baseline {
				return "no faults"
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

// row is what the runs show of a claim.
func (g runsAlike) row(claim string, attributions []reports.Attribution) reports.TableRow {
	row := reports.TableRow{Claim: claim, SDK: g.sdk, Where: g.where, Runs: []string{}}
	failed, passed, unknown := count(g.cells, claim)
	row.Failed, row.Of, row.Unknown = failed, failed+passed, unknown
	least, most := int64(0), int64(0)
	var parties []verdict.Party
	for _, c := range g.cells {
		if failed > 0 && !c.fails(claim) {
			continue
		}
		row.Runs = append(row.Runs, c.RunID)
		if failed == 0 {
			continue
		}
		found := c.result(claim).Found()
		if most == 0 || found < least {
			least = found
		}
		most = max(most, found)
		for _, party := range c.parties(claim) {
			if !slices.Contains(parties, party) {
				parties = append(parties, party)
			}
		}
	}
	switch {
	case most == 0:
	case least == most:
		row.Count = fmt.Sprint(most)
	default:
		row.Count = fmt.Sprintf("%d to %d", least, most)
	}
	if failed > 0 {
		row.Blame = blameOf(claim, row.Runs, parties, attributions)
	}
	return row
}

// blameOf returns whose doing the failure of a claim is: as it was attributed, else as
// the wire shows it.
func blameOf(claim string, runs []string, parties []verdict.Party, attributions []reports.Attribution) string {
	for _, a := range attributions {
		if slices.Contains(a.Claims, claim) && slices.ContainsFunc(a.Runs, func(run string) bool { return slices.Contains(runs, run) }) {
			return a.Words()
		}
	}
	var words []string
	for _, party := range parties {
		words = append(words, string(party))
	}
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, " and ") + ", by wire"
}
