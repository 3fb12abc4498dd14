package site

import (
	"cmp"
	"net/url"
	"slices"

	"golang.org/x/mod/semver"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
)

// writeVersions writes how the claims fared on each version of each broker.
func (s *site) writeVersions() error {
	return s.page("versions.html", "grids.html", gridPage{
		Title: "Versions of brokers",
		About: "In how many runs on a version a claim was decided, and in how many of these it failed. Runs with a planted defect are not counted. Versions were not all run through the same scenarios: the page of a finding compares the same with the same.",
		Grids: s.grids(versions),
	})
}

// versions are those of one broker, the oldest first.
func versions(broker string, runs []*run) grid {
	g := grid{Title: broker, Of: "Claim", Columns: values(runs, func(r *run) []string { return []string{r.On()} })}
	slices.SortFunc(g.Columns, func(a, b string) int {
		return cmp.Or(semver.Compare(finding.VersionOf(a), finding.VersionOf(b)), cmp.Compare(a, b))
	})
	verdicts := gridRow{Name: "verdicts"}
	for _, version := range g.Columns {
		on := slices.DeleteFunc(slices.Clone(runs), func(r *run) bool { return r.On() != version })
		verdicts.Cells = append(verdicts.Cells, ends(on, url.Values{"version": {version}}))
	}
	g.Rows = append(g.Rows, verdicts)
	for _, claim := range values(runs, func(r *run) []string { return r.Failed }) {
		row := gridRow{Name: claim}
		for _, version := range g.Columns {
			row.Cells = append(row.Cells, claimIn(runs, claim, url.Values{"version": {version}}, func(r *run) bool { return r.On() == version }))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}
