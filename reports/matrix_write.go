package reports

import (
	"bytes"
	"cmp"
	"fmt"
	html "html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// WriteMatrix writes what people and programs read about a matrix into a
// directory. runs is where its runs lie, seen from there.
func WriteMatrix(dir, runs string, m Matrix) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write matrix: %w", err)
	}
	view := NewMatrixView(m, func(run string) string { return strings.TrimSuffix(runs, "/") + "/" + run + "/" + MarkdownFile })
	markdown, err := view.Markdown()
	if err != nil {
		return err
	}
	html, err := view.HTML("")
	if err != nil {
		return err
	}
	if err := WriteFile(filepath.Join(dir, MatrixMarkdown), markdown); err != nil {
		return err
	}
	if err := WriteFile(filepath.Join(dir, matrixPage), html); err != nil {
		return err
	}
	return WriteJSON(filepath.Join(dir, MatrixFile), m)
}

// A MatrixView is a matrix as a table. Its rows are client libraries, or scenarios
// where there are more of these.
type MatrixView struct {
	Matrix
	axis
	Columns  []matrixColumn
	Groups   []matrixGroup
	Referees []shownCell
	Tally    []tallied
	Home     string                  // link to the list of all runs
	link     func(run string) string // to its page, "" where there is none
}

// An axis is what the rows of a table are, and what heads its columns.
type axis struct {
	Head      string // of the rows
	row, head func(MatrixCell) string
	claims    bool // cells name the claims that fail
}

var (
	scenarioOf = func(c MatrixCell) string { return c.Scenario }
	sdkOf      = func(c MatrixCell) string { return c.SDK }

	bySDK      = axis{Head: "SDK", row: sdkOf, head: scenarioOf}
	byScenario = axis{Head: "Scenario", row: scenarioOf, head: sdkOf, claims: true}
)

// A matrixColumn is what all cells below one another share: of the scenario and the
// SDK the one that is not in the rows.
type matrixColumn struct {
	Name, Protocol, Transport, Flavor string
	NoFaults                          bool
}

func (c matrixColumn) String() string { return c.Name + " · " + c.Where() }

// Where is the column without its name.
func (c matrixColumn) Where() string {
	text := c.Protocol
	if c.Transport != "tcp" {
		text += " · " + c.Transport
	}
	text += " · " + c.Flavor
	if c.NoFaults {
		text += " · no faults"
	}
	return text
}

// A matrixGroup is the rows of one language, or of one protocol.
type matrixGroup struct {
	Name string
	Rows []matrixRow
}

type matrixRow struct {
	Name, Version string
	Cells         []*shownCell // by column; nil where none was planned
}

// A shownCell is a cell with what its runs show together.
type shownCell struct {
	MatrixCell
	Class string // for colours
	Sign  string // the same for whoever sees no colours
	Word  string // what it comes from, or its state, in a word
	Count string // k of n, where it was repeated
	Link  string // to the page of its run
}

// A tallied is how many cells there are of one class.
type tallied struct {
	Class, Sign, Word string
	N                 int
}

// classes of cells, the worst first.
var classes = [...]struct{ class, sign, word string }{
	{"fail", "✗", "fails"}, {"error", "!", "could not be run"}, {"unclear", "?", "undecided"}, {"starved", "~", "starved host"},
	{"pending", "·", "not run yet"}, {"none", "–", "unsupported"}, {"pass", "✓", "passes"},
}

func classOf(c MatrixCell) string {
	switch c.State {
	case CellUnsupported:
		return "none"
	case CellError:
		return "error"
	case CellStarved:
		return "starved"
	case CellPending:
		return "pending"
	}
	return Class(c.State)
}

// NewMatrixView makes the table of a matrix. Link is the way to the page of a run, "" where it has none.
func NewMatrixView(m Matrix, link func(run string) string) *MatrixView {
	v := &MatrixView{Matrix: m, axis: bySDK, link: link}
	if len(m.Scenarios) > len(v.rows()) {
		v.axis = byScenario
	}
	counts := map[string]int{}
	for _, c := range m.Cells {
		if c.Referee != "" {
			v.Referees = append(v.Referees, v.show([]MatrixCell{c}))
			continue
		}
		if column := v.columnOf(c); !slices.Contains(v.Columns, column) {
			v.Columns = append(v.Columns, column)
		}
	}
	slices.SortStableFunc(v.Columns, func(a, b matrixColumn) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Flavor, b.Flavor), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Transport, b.Transport))
	})
	for _, name := range v.rows() {
		row := v.rowOf(name)
		for _, c := range row.Cells {
			if c != nil {
				counts[c.Class]++
			}
		}
		group := path.Dir(name)
		if n := len(v.Groups); n == 0 || v.Groups[n-1].Name != group {
			v.Groups = append(v.Groups, matrixGroup{Name: group})
		}
		last := &v.Groups[len(v.Groups)-1]
		last.Rows = append(last.Rows, row)
	}
	for _, c := range classes {
		if n := counts[c.class]; n > 0 {
			v.Tally = append(v.Tally, tallied{c.class, c.sign, c.word, n})
		}
	}
	return v
}

func (v *MatrixView) columnOf(c MatrixCell) matrixColumn {
	return matrixColumn{v.head(c), c.Protocol, c.Transport, c.Flavor, c.NoFaults}
}

// rows returns their names, a language and a library together, as they were planned.
func (v *MatrixView) rows() (list []string) {
	for _, c := range v.Cells {
		if c.Referee == "" && !slices.Contains(list, v.axis.row(c)) {
			list = append(list, v.axis.row(c))
		}
	}
	slices.SortStableFunc(list, func(a, b string) int {
		x, _, _ := strings.Cut(a, "@")
		y, _, _ := strings.Cut(b, "@")
		return cmp.Compare(x, y)
	})
	return list
}

func (v *MatrixView) rowOf(name string) matrixRow {
	short, version, _ := strings.Cut(name, "@")
	row := matrixRow{Name: path.Base(short), Version: version}
	for _, column := range v.Columns {
		var cells []MatrixCell
		for _, c := range v.Cells {
			if c.Referee == "" && v.axis.row(c) == name && v.columnOf(c) == column {
				cells = append(cells, c)
			}
		}
		if len(cells) == 0 {
			row.Cells = append(row.Cells, nil)
			continue
		}
		cell := v.show(cells)
		row.Cells = append(row.Cells, &cell)
	}
	return row
}

// show shows the worst of a cell's repetitions.
func (v *MatrixView) show(cells []MatrixCell) shownCell {
	rank := func(c MatrixCell) int {
		for i, known := range classes {
			if known.class == classOf(c) {
				return i
			}
		}
		return 0
	}
	worst := slices.MinFunc(cells, func(a, b MatrixCell) int { return cmp.Compare(rank(a), rank(b)) })
	out := shownCell{MatrixCell: worst, Class: classOf(worst)}
	known := classes[rank(worst)]
	out.Sign, out.Word = known.sign, known.word
	if cause := v.causeOf(worst.RunID); cause != "" && out.Class == "fail" {
		out.Word += ": " + cause
	}
	if v.claims && len(worst.Failed) > 0 {
		out.Word += " (" + strings.Join(worst.Failed, ", ") + ")"
	}
	if n := len(cells); n > 1 {
		same := 0
		for _, c := range cells {
			if classOf(c) == out.Class {
				same++
			}
		}
		out.Count = fmt.Sprintf("%d of %d", same, n)
	}
	if worst.RunID != "" {
		out.Link = v.link(worst.RunID)
	}
	return out
}

// causeOf is what a run's deviation comes from.
func (v *MatrixView) causeOf(run string) string {
	for _, a := range v.Attributions {
		if slices.Contains(a.Runs, run) {
			return string(a.Cause)
		}
	}
	return ""
}

// Where names the scenario, the protocol and the broker.
func (c shownCell) Where() string {
	text := fmt.Sprintf("%s, %s on %s", c.Scenario, c.Protocol, c.Broker)
	if c.NoFaults {
		text += ", no faults"
	}
	return text
}

// Hover is what a cell says to whoever points at it.
func (c shownCell) Hover() string {
	line := strings.TrimPrefix(strings.TrimPrefix(c.Line, string(c.State)), ": ")
	return fmt.Sprintf("%s: %s", c.State, line)
}

// LinkTo is the page of a run.
func (v *MatrixView) LinkTo(run string) string { return v.link(run) }

// Markdown is its page for people who read it beside the runs.
func (v *MatrixView) Markdown() ([]byte, error) {
	t, err := template.New("matrix.md.tmpl").Funcs(template.FuncMap{"cell": cell, "joined": joined}).ParseFS(templates, "templates/matrix.md.tmpl")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, v)
	return out.Bytes(), err
}

// PageTemplates are what pages of HTML share: "style", for their heads, and the page of a matrix.
func PageTemplates() (*html.Template, error) {
	return html.New("").Funcs(html.FuncMap{"inc": func(n int) int { return n + 1 }, "size": size}).ParseFS(templates, "templates/*.html")
}

// HTML is its page; home is the link to the list of all runs, "" for none.
func (v *MatrixView) HTML(home string) ([]byte, error) {
	t, err := PageTemplates()
	if err != nil {
		return nil, err
	}
	v.Home = home
	var out bytes.Buffer
	err = t.ExecuteTemplate(&out, "matrix.html", v)
	return out.Bytes(), err
}
