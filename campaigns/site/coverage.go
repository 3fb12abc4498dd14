package site

import (
	"maps"
	"net/url"
	"slices"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/judge/checker"
)

// noFault is the column of runs in which no fault landed.
const noFault = "no fault"

// countRuns takes the runs that say something of a broker, by its name. One with a defect that
// was planted does not, and a copy of a run says nothing more.
func (s *site) countRuns() {
	s.counted = map[string][]*run{}
	roots := map[string]bool{}
	for _, r := range s.Runs {
		if r.counted = r.Page && r.Planted == "" && !roots[r.Root]; !r.counted {
			continue
		}
		roots[r.Root] = true
		s.counted[r.Broker] = append(s.counted[r.Broker], r)
	}
	s.brokers = slices.Sorted(maps.Keys(s.counted))
}

// grids are a table of each broker.
func (s *site) grids(of func(broker string, runs []*run) grid) (list []grid) {
	for _, broker := range s.brokers {
		list = append(list, of(broker, s.counted[broker]))
	}
	return list
}

// writeCoverage writes which claims were judged while which faults were in place.
func (s *site) writeCoverage() error {
	return s.page("coverage.html", "grids.html", gridPage{
		Title: "Coverage: claims and faults",
		About: "In how many runs a claim was decided in which a fault landed, and in how many of these it failed. A run with two kinds of faults is in both columns. An empty cell: no run decided the claim there. A claim holds only in a run that was as its scenario has it, with every fault in place. Runs with a planted defect are not counted.",
		Grids: s.grids(coverage),
	})
}

// coverage is that of one broker.
func coverage(broker string, runs []*run) grid {
	g := grid{Title: broker, Of: "Claim", Columns: values(runs, under)}
	for _, claim := range values(runs, judged) {
		row := gridRow{Name: claim}
		for _, fault := range g.Columns {
			chosen := url.Values{"broker": {broker}, "fault": {fault}}
			row.Cells = append(row.Cells, claimIn(runs, claim, chosen, func(r *run) bool { return slices.Contains(under(r), fault) }))
		}
		g.Rows = append(g.Rows, row)
	}
	if list := absent(values(runs, judged), len(checker.All), func(i int) string { return checker.All[i].Claim.Name }); list != "" {
		g.Notes = append(g.Notes, "No counted run decided: "+list+".")
	}
	kinds := faults.Catalog()
	if list := absent(g.Columns, len(kinds), func(i int) string { return kinds[i].Type }); list != "" {
		g.Notes = append(g.Notes, "Landed in no counted run: "+list+".")
	}
	return g
}

// under are the faults of a run that landed.
func under(r *run) []string {
	if len(r.Faults) == 0 {
		return []string{noFault}
	}
	return r.Faults
}

// judged are the claims that a run decided about.
func judged(r *run) []string { return slices.Concat(r.Failed, r.Held) }

// claimIn counts the runs of a kind that judged a claim.
func claimIn(runs []*run, claim string, chosen url.Values, of func(r *run) bool) gridCell {
	failed, held := 0, 0
	for _, r := range runs {
		switch {
		case !of(r):
		case slices.Contains(r.Failed, claim):
			failed++
		case slices.Contains(r.Held, claim):
			held++
		}
	}
	if failed > 0 {
		chosen.Set("fails", claim)
	} else {
		chosen.Set("holds", claim)
	}
	return count(failed, held, chosen)
}

// absent are the names of a catalogue that are not among those that are there, in one line.
func absent(there []string, n int, name func(i int) string) (line string) {
	for i := range n {
		if !slices.Contains(there, name(i)) {
			if line != "" {
				line += ", "
			}
			line += name(i)
		}
	}
	return line
}
