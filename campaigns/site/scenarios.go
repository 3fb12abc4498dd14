package site

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/scenarios"
)

const scenariosDir = "scenarios"

// writeScenarios writes a page of each scenario of the library, and one that shows how the
// runs of each ended.
func (s *site) writeScenarios() error {
	library, err := scenarios.Library()
	if err != nil {
		return err
	}
	p := gridPage{
		Title: "Scenarios of the library",
		About: "How the runs of each scenario ended, on each broker, without the scenario's faults and as it is: passed (✓), failed (✗), could not be decided (?). A scenario without a run there is empty.",
	}
	var columns []string
	for _, broker := range s.brokers {
		columns = append(columns, broker+", no faults", broker)
	}
	for _, sc := range library {
		family, _, _ := strings.Cut(sc.Name, "/")
		if n := len(p.Grids); n == 0 || p.Grids[n-1].Title != family {
			p.Grids = append(p.Grids, grid{Title: family, Of: "Scenario", Columns: columns})
		}
		g := &p.Grids[len(p.Grids)-1]
		row := gridRow{Name: sc.Name, Link: scenariosDir + "/" + sc.Name + ".html", Says: sc.Title}
		for _, broker := range s.brokers {
			for _, name := range []string{sc.Name + history.OfControl, sc.Name} {
				of := slices.DeleteFunc(slices.Clone(s.counted[broker]), func(r *run) bool { return r.Scenario != name })
				row.Cells = append(row.Cells, ends(of, url.Values{"scenario": {name}, "broker": {broker}}))
			}
		}
		g.Rows = append(g.Rows, row)
		if err := s.writeScenario(sc); err != nil {
			return err
		}
	}
	return s.page("scenarios.html", "grids.html", p)
}

func (s *site) writeScenario(sc *scenarios.Scenario) error {
	list := "../../" + string(runsOf(url.Values{"scenario": {sc.Name}}))
	text := fmt.Sprintf("%s\n\n[Its runs](%s). To run it: `rmq-mcp run %s`.\n\n## The experiment\n\n```yaml\n%s\n```\n", sc.Prose, list, sc.Name, strings.Trim(strings.TrimSuffix(sc.Text, sc.Prose), "-\n"))
	return s.markdown(scenariosDir+"/"+sc.Name+".html", markdownPage{Title: sc.Name, Up: "../../scenarios.html", Of: "all scenarios"}, []byte(text))
}
