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
	causes   map[string]string       // by run
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

// A matrixGrid is where the cells of a matrix are in its table.
type matrixGrid struct {
	axis
	rows    []string // a language and a library together, as they were planned
	columns []matrixColumn
	cells   map[matrixPlace][]MatrixCell // repetitions of each other
}

type matrixPlace struct {
	row    string
	column matrixColumn
}

func (g matrixGrid) size() int { return len(g.rows) * len(g.columns) }

func newGrid(m Matrix) matrixGrid {
	g := gridBy(bySDK, m)
	if len(m.Scenarios) > len(g.rows) {
		g = gridBy(byScenario, m)
	}
	return g
}

func gridBy(a axis, m Matrix) matrixGrid {
	g := matrixGrid{axis: a, cells: map[matrixPlace][]MatrixCell{}}
	rows, columns := map[string]bool{}, map[matrixColumn]bool{}
	for _, c := range m.Cells {
		if c.Referee != "" {
			continue
		}
		at := matrixPlace{a.row(c), matrixColumn{a.head(c), c.Protocol, c.Transport, c.Flavor, c.NoFaults}}
		if !rows[at.row] {
			g.rows = append(g.rows, at.row)
		}
		if !columns[at.column] {
			g.columns = append(g.columns, at.column)
		}
		rows[at.row], columns[at.column] = true, true
		g.cells[at] = append(g.cells[at], c)
	}
	slices.SortStableFunc(g.rows, func(a, b string) int {
		x, _, _ := strings.Cut(a, "@")
		y, _, _ := strings.Cut(b, "@")
		return cmp.Compare(x, y)
	})
	slices.SortStableFunc(g.columns, func(a, b matrixColumn) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Flavor, b.Flavor), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Transport, b.Transport))
	})
	return g
}

// NewMatrixView makes the table of a matrix. Link is the way to the page of a run, "" where it has none.
func NewMatrixView(m Matrix, link func(run string) string) *MatrixView {
	g := newGrid(m)
	v := &MatrixView{Matrix: m, axis: g.axis, Columns: g.columns, causes: causesOf(m), link: link}
	for _, c := range m.Cells {
		if c.Referee != "" {
			v.Referees = append(v.Referees, v.show([]MatrixCell{c}))
		}
	}
	counts := map[string]int{}
	for _, name := range g.rows {
		row := v.rowOf(name, g)
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

func (v *MatrixView) rowOf(name string, g matrixGrid) matrixRow {
	short, version, _ := strings.Cut(name, "@")
	row := matrixRow{Name: path.Base(short), Version: version, Cells: make([]*shownCell, len(g.columns))}
	for i, column := range g.columns {
		if cells := g.cells[matrixPlace{name, column}]; len(cells) > 0 {
			cell := v.show(cells)
			row.Cells[i] = &cell
		}
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
	if cause := v.causes[worst.RunID]; cause != "" && out.Class == "fail" {
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

// causesOf are the causes of deviations, by the runs that show them: of each the first.
func causesOf(m Matrix) map[string]string {
	causes := map[string]string{}
	for _, a := range m.Attributions {
		for _, run := range a.Runs {
			if causes[run] == "" {
				causes[run] = string(a.Cause)
			}
		}
	}
	return causes
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
