package site

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
)

// A gridPage is a page of tables.
type gridPage struct {
	Title, About string
	Grids        []grid
}

// A grid is a table that compares.
type grid struct {
	Title   string
	Of      string // the rows
	Columns []string
	Rows    []gridRow
	Notes   []string
}

type gridRow struct {
	Name  string
	Link  string // to its page, if it has one
	Says  string
	Cells []gridCell
}

// A gridCell says how often something failed. One of nothing is empty.
type gridCell struct {
	Class, Sign, Text string
	Link              template.URL // to the runs that it counts
}

// count is the cell of runs that judged a claim.
func count(failed, held int, chosen url.Values) gridCell {
	switch {
	case failed > 0:
		return gridCell{Class: "fail", Sign: "✗", Text: fmt.Sprintf("%d of %d", failed, failed+held), Link: countedOf(chosen)}
	case held > 0:
		return gridCell{Class: "pass", Sign: "✓", Text: fmt.Sprint(held), Link: countedOf(chosen)}
	}
	return gridCell{}
}

// ends is the cell of how runs ended.
func ends(runs []*run, chosen url.Values) gridCell {
	n := map[string]int{}
	for _, r := range runs {
		n[r.Class()]++
	}
	c := gridCell{Link: countedOf(chosen)}
	for _, e := range []struct{ class, sign string }{{"pass", "✓"}, {"unclear", "?"}, {"fail", "✗"}} {
		if n[e.class] > 0 {
			c.Class, c.Text = e.class, strings.TrimSpace(fmt.Sprintf("%s %d  %s", e.sign, n[e.class], c.Text))
		}
	}
	return c
}

// countedOf is the address of the list of those of the chosen runs that tables count.
func countedOf(chosen url.Values) template.URL {
	chosen.Set("counted", "yes")
	return runsOf(chosen)
}

// runsOf is the address of the list of the runs that have been chosen.
func runsOf(chosen url.Values) template.URL { return template.URL("index.html#" + chosen.Encode()) }
