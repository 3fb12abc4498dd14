package campaigns

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/random"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// Files of a search's directory that people read.
const (
	SearchFile     = "campaign.json"
	SearchMarkdown = "campaign.md"
)

// A SearchSummary is what a campaign shows until now: campaign.json.
type SearchSummary struct {
	SearchPlan
	ID       string                `json:"campaign_id"`
	Headline string                `json:"headline"`
	SpentS   float64               `json:"spent_s"`
	Runs     int                   `json:"runs"`
	States   map[verdict.State]int `json:"states"`
	Errors   int                   `json:"errors"` // runs that could not be made
	Known    map[string]int        `json:"known"`  // defects of client libraries that their projects know, by how many runs met them
	Findings []Finding             `json:"findings"`
	Coverage []Covered             `json:"coverage"`
}

// Covered is what a campaign tried of one kind of fault.
type Covered struct {
	Fault     string         `json:"fault"`
	Landed    int            `json:"landed"`
	Missed    int            `json:"missed"` // tried in vain
	Roles     map[string]int `json:"roles"`
	Phases    map[string]int `json:"phases"`
	Workloads map[string]int `json:"workloads"`
	SDKs      map[string]int `json:"sdks"`
}

// Summary is what the campaign shows until now.
func (s *Search) Summary() SearchSummary {
	sum := SearchSummary{
		SearchPlan: s.Plan, ID: s.ID(), SpentS: s.SpentS(), Runs: len(s.Rounds), States: map[verdict.State]int{},
		Known: map[string]int{}, Findings: s.Findings(), Coverage: s.covered(),
	}
	for _, r := range s.Rounds {
		if r.Error != "" {
			sum.Errors++
		} else {
			sum.States[r.State]++
		}
		for _, k := range r.Known {
			sum.Known[k]++
		}
	}
	landed := 0
	for _, c := range sum.Coverage {
		if c.Landed > 0 {
			landed++
		}
	}
	sum.Headline = fmt.Sprintf("%s in %s of %.0f min; %d of %s landed",
		plural(len(sum.Findings), "finding", "findings"), plural(sum.Runs, "run", "runs"), sum.SpentS/60, landed, plural(len(sum.Coverage), "kind of fault", "kinds of faults"))
	return sum
}

// covered has a row for every kind of fault that can be drawn.
func (s *Search) covered() []Covered {
	rows := []Covered{}
	for _, fault := range s.Plan.Space.Kinds() {
		row := Covered{Fault: fault, Roles: map[string]int{}, Phases: map[string]int{}, Workloads: map[string]int{}, SDKs: map[string]int{}}
		each := func(cells []random.Cell, see func(random.Cell)) {
			for _, c := range cells {
				if c.Fault == fault {
					see(c)
				}
			}
		}
		for _, r := range s.Rounds {
			each(r.Missed, func(random.Cell) { row.Missed++ })
			each(r.Landed, func(c random.Cell) {
				row.Landed++
				row.Roles[c.Role]++
				row.Phases[c.Phase]++
				row.Workloads[c.Workload]++
				row.SDKs[c.SDK]++
			})
		}
		rows = append(rows, row)
	}
	return rows
}

// Save writes what people read.
func (s *Search) Save() error {
	sum := s.Summary()
	err := reports.WriteJSON(filepath.Join(s.Dir, SearchFile), sum)
	if err == nil {
		err = reports.WriteFile(filepath.Join(s.Dir, SearchMarkdown), []byte(sum.Markdown()))
	}
	if err != nil {
		return fmt.Errorf("write what campaign %s shows: %w", s.ID(), err)
	}
	return nil
}

// A Table is a part of a summary, as text.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// Tables are the verdicts, the findings and the coverage. Those with nothing in
// them are left out.
func (s SearchSummary) Tables() (list []Table) {
	verdicts := Table{Title: "Verdicts", Head: []string{"verdict", "runs"}}
	for _, state := range slices.Sorted(maps.Keys(s.States)) {
		verdicts.Rows = append(verdicts.Rows, []string{string(state), fmt.Sprint(s.States[state])})
	}
	if s.Errors > 0 {
		verdicts.Rows = append(verdicts.Rows, []string{"no run could be made", fmt.Sprint(s.Errors)})
	}
	coverage := Table{Title: "Coverage", Head: []string{"fault", "landed", "in vain", "roles", "began in", "workloads", "libraries"}}
	for _, c := range s.Coverage {
		coverage.Rows = append(coverage.Rows, []string{c.Fault, fmt.Sprint(c.Landed), fmt.Sprint(c.Missed), counts(c.Roles), counts(c.Phases), counts(c.Workloads), fmt.Sprint(len(c.SDKs))})
	}
	findings := Table{Title: "Findings", Head: []string{"fails", "runs", "first", "under", "reduced, or how to"}}
	for _, f := range s.Findings {
		next := "rmq-mcp reduce " + f.Runs[0]
		switch r := f.Reduced; {
		case r != nil && r.Scenario != "":
			next = path.Join(JobsDir, r.JobID, filepath.Base(r.Scenario)) // of the state directory
		case r != nil:
			next = r.Headline
		}
		findings.Rows = append(findings.Rows, []string{f.Failed.String(), fmt.Sprint(len(f.Runs)), f.Runs[0], f.Title, next})
	}
	known := Table{Title: "Known defects of client libraries", Head: []string{"claim, library, and where it is known", "runs"}}
	for _, k := range slices.Sorted(maps.Keys(s.Known)) {
		known.Rows = append(known.Rows, []string{k, fmt.Sprint(s.Known[k])})
	}
	for _, t := range []Table{verdicts, coverage, known, findings} {
		if len(t.Rows) > 0 {
			list = append(list, t)
		}
	}
	return list
}

// counts are names with how often each was met, the most frequent first.
func counts(m map[string]int) string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, m[name])
	}
	return strings.Join(names, ", ")
}

// Markdown is the summary as a page.
func (s SearchSummary) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Campaign %s\n\n%s.\n\n    %s\n\n", s.ID, s.Headline, s.Command)
	for _, t := range s.Tables() {
		fmt.Fprintf(&b, "## %s\n\n| %s |\n|%s\n", t.Title, strings.Join(t.Head, " | "), strings.Repeat("---|", len(t.Head)))
		for _, row := range t.Rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
		b.WriteString("\n")
	}
	return b.String()
}
