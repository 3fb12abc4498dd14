package league

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/exam"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// Words of cells. Checks have the verdicts of conformance.
const (
	passes    = "passes"
	fails     = "fails"
	expected  = "expected" // a failure in what the vendor does not promise
	known     = "known"    // a violation that the broker is known for
	undecided = string(conformance.Undecided)
	notRun    = "not run"
	unasked   = "cannot be asked"
)

// A Cell says of one broker how it stands in a row.
type Cell struct {
	Word string `json:"word"`
	Why  string `json:"why,omitempty"`
	Run  string `json:"run,omitempty"` // its id, of a scenario
}

// bad reports whether the broker breaks the row's promise.
func (c Cell) bad() bool {
	return c.Word == fails || c.Word == string(conformance.Violates) || c.Word == known
}

// says reports whether the cell says something of its broker.
func (c Cell) says() bool { return c.Word != notRun && c.Word != unasked && c.Word != undecided }

// A Row is a statement or a scenario, with a cell for each broker.
type Row struct {
	Name  string `json:"name"`           // of the check or of the scenario
	Cite  string `json:"cite,omitempty"` // of the statement
	Text  string `json:"text,omitempty"`
	Cells []Cell `json:"cells"`
}

// differs reports whether two brokers stand differently.
func (r Row) differs() bool {
	words := map[string]bool{}
	for _, c := range r.Cells {
		if c.says() {
			words[c.Word] = true
		}
	}
	return len(words) > 1
}

// A Table is the result of a league. Rows with differences between brokers come first, then
// violations.
type Table struct {
	Brokers []string `json:"brokers"` // as they name themselves
	Rows    []Row    `json:"rows"`
	pages   map[string]exam.Report
}

// Table reads what is stored.
func (l League) Table() Table {
	t := Table{pages: map[string]exam.Report{}}
	var reports []Checked
	for _, b := range l.Brokers {
		c, _ := l.checked(b)
		reports = append(reports, c)
		t.Brokers = append(t.Brokers, cmp.Or(c.Report.Broker, b.String()))
		if c.Report.Broker != "" {
			t.pages[b.String()] = c.Report
		}
	}
	for _, s := range l.Scenarios {
		row := Row{Name: s.Name}
		for _, b := range l.Brokers {
			row.Cells = append(row.Cells, l.scenarioCell(b, s))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Rows = append(t.Rows, l.statementRows(reports)...)
	slices.SortStableFunc(t.Rows, func(a, b Row) int { return a.rank() - b.rank() })
	return t
}

func (r Row) rank() int {
	switch {
	case r.differs():
		return 0
	case slices.ContainsFunc(r.Cells, Cell.bad):
		return 1
	}
	return 2
}

func (l League) scenarioCell(b Broker, s *scenarios.Scenario) Cell {
	if err := s.RunsOn(b.Flavor, s.Protocol); err != nil {
		return Cell{Word: unasked, Why: err.Error()}
	}
	t, ok := l.tried(b, s)
	why := strings.Join(t.Failed, ", ")
	switch {
	case !ok:
		return Cell{Word: notRun}
	case t.State.ExitCode() == 0:
		return Cell{Word: passes, Run: t.Run}
	case t.State.Failed() && t.Severity == verdict.Expected:
		return Cell{Word: expected, Why: why, Run: t.Run}
	case t.State.Failed():
		party, _, _ := strings.Cut(cmp.Or(t.Blame, "unknown"), ":")
		return Cell{Word: fails, Why: why + "; blame: " + party, Run: t.Run}
	}
	return Cell{Word: undecided, Why: string(t.State), Run: t.Run}
}

// statementRows has a row for each statement that was held against a broker.
func (l League) statementRows(reports []Checked) (all []Row) {
	at := map[string]int{}
	for i, c := range reports {
		for _, r := range c.Report.Results {
			key := r.Name + r.Protocol
			n, ok := at[key]
			if !ok {
				n = len(all)
				at[key] = n
				all = append(all, Row{Name: r.Name, Cite: r.Cite(), Text: r.Text, Cells: slices.Repeat([]Cell{{Word: notRun}}, len(reports))})
			}
			all[n].Cells[i] = statementCell(l.Brokers[i], r)
		}
	}
	return all
}

func statementCell(b Broker, r exam.Row) Cell {
	if r.Protocol == conformance.V5.Protocol() {
		if err := cluster.Speaks(b.Flavor, contract.MQTT5); err != nil {
			return Cell{Word: unasked, Why: err.Error()}
		}
	}
	if r.Known != "" {
		return Cell{Word: known, Why: r.Known}
	}
	return Cell{Word: r.Verdict, Why: r.Why}
}

// Markdown writes the rows of Telling, the number of the others, and the failed runs. With pages, the
// name of a broker is a link to its page.
func (t Table) Markdown(w io.Writer, l League, pages bool) {
	head := []string{"", ""}
	for i, b := range l.Brokers {
		name := t.Brokers[i]
		if _, ok := t.pages[b.String()]; ok && pages {
			name = fmt.Sprintf("[%s](%s.md)", name, b)
		}
		head = append(head, name)
	}
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, r := range t.Telling() {
		cells := []string{"`" + r.Name + "`", r.Cite}
		for _, c := range r.Cells {
			word := c.Word
			if c.bad() {
				word = "**" + word + "**"
			}
			cells = append(cells, word)
		}
		for i := range cells {
			cells[i] = plain.Cell(cells[i])
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	fmt.Fprintf(w, "\n%s\n", t.Rest())
	for _, r := range t.Telling() {
		for i, c := range r.Cells {
			if c.Run != "" && c.bad() {
				fmt.Fprintf(w, "\n- `%s`, %s: %s (run %s)\n", r.Name, t.Brokers[i], c.Why, c.Run)
			}
		}
	}
}

// Telling are the rows with a difference or a violation.
func (t Table) Telling() []Row {
	i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.rank() == 2 })
	if i < 0 {
		return t.Rows
	}
	return t.Rows[:i]
}

// Rest counts the other rows.
func (t Table) Rest() string {
	return fmt.Sprintf("In %d other rows no broker differs from the others, and none breaks anything.", len(t.Rows)-len(t.Telling()))
}

// Write writes the table into a directory, with a page for each broker: the sentences that it
// violates, and their packets.
func (t Table) Write(dir string, l League) error {
	err := os.MkdirAll(dir, 0o755)
	write := func(name string, render func(io.Writer)) {
		var b strings.Builder
		render(&b)
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o644))
	}
	write("league.md", func(w io.Writer) { t.Markdown(w, l, true) })
	for name, report := range t.pages {
		write(name+".md", report.Markdown)
	}
	if err != nil {
		return fmt.Errorf("write the league into %s: %w", dir, err)
	}
	return nil
}
