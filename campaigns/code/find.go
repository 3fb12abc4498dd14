package code

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/loglines"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/secret"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

// The kinds of clues that lead to a place.
const (
	Panic   = "panic"    // the log names the place itself
	LogLine = "log line" // a warning or an error, found by its text
	Text    = "text"     // that somebody named: an error, a metric, a route
)

// A Place is a place in the source that a run points at.
type Place struct {
	File     string `json:"file"` // relative to the tree
	Line     int    `json:"line"`
	Function string `json:"function,omitempty"` // around it; "" where nobody can tell
	Kind     string `json:"kind"`
	Clue     string `json:"clue"`           // of the run: the panic, the first such log line, the text
	From     string `json:"from,omitempty"` // log of the clue, and its line: node-1:531
	Matched  string `json:"matched"`        // text that the clue and the source share; of a panic its place
	Count    int    `json:"count"`          // such clues in the run
	During   bool   `json:"during_failure"` // one of them was written while the failure lasted
	Others   int    `json:"others"`         // places that share as much
	spot     spot
	in       tag
	Around   []Line `json:"around,omitempty"` // the source there
}

// A Line is a line of source with its number.
type Line struct {
	Number int    `json:"n"`
	Text   string `json:"text"`
}

// A Request is what to look for.
type Request struct {
	Dir   string   // of the run
	Texts []string // beside its panics and log lines
	Most  int      // places
}

// Places are what a run points at in a tree.
type Places struct {
	Tree    string   `json:"tree"`
	Places  []Place  `json:"places"`   // panics first, then what was written during the failure, the rarest first
	Left    int      `json:"left_out"` // places that did not fit
	Unfound []string `json:"unfound"`  // clues that the tree has not got, the first of many
	Notes   []string `json:"notes"`
}

const (
	aroundLines = 6 // above and below a place
	mostUnfound = 8
	mostClue    = 240 // characters
	mostLogLine = 64 << 10
)

// Find maps a run to places. A run without logs has the texts alone.
func Find(ctx context.Context, tree *Tree, in Request) (Places, error) {
	out := Places{Tree: tree.Name, Places: []Place{}, Unfound: []string{}, Notes: append([]string{}, tree.Notes...)}
	report, err := reports.ReadReport(in.Dir)
	if err != nil {
		return out, fmt.Errorf("find code of run %s: %w", filepath.Base(in.Dir), err)
	}
	clues, err := cluesOf(in.Dir, report)
	if err != nil {
		return out, fmt.Errorf("find code of run %s: %w", report.ID, err)
	}
	for _, text := range in.Texts {
		clues = append(clues, clue{kind: Text, text: text, count: 1})
	}
	if len(clues) == 0 {
		out.Notes = append(out.Notes, "the run's logs have no panic, no warning and no error; name texts to look for")
	}
	x, f := newIndex(tree), newFunctions()
	for _, c := range clues {
		found := x.places(c)
		for i := range found {
			found[i].in = f.around(ctx, found[i].spot.file, found[i].Line)
			found[i].Function = found[i].in.qualified()
		}
		if c.kind == LogLine {
			found = slices.DeleteFunc(found, func(p Place) bool { return p.in.test() })
		}
		for i := range found {
			found[i].Others = len(found) - 1
		}
		if len(found) == 0 && len(out.Unfound) < mostUnfound {
			out.Unfound = append(out.Unfound, clipped(c.text))
		}
		out.Places = append(out.Places, found...)
	}
	if f.ctags == "" && len(out.Places) > 0 {
		out.Notes = append(out.Notes, "functions are not named: install Universal Ctags (Debian: universal-ctags)")
	}
	out.Places = merged(out.Places)
	slices.SortStableFunc(out.Places, better)
	out.Left = max(0, len(out.Places)-in.Most)
	out.Places = out.Places[:len(out.Places)-out.Left]
	for i, p := range out.Places {
		out.Places[i].Around = p.spot.file.around(p.Line)
	}
	return out, nil
}

// test reports whether a function is one of the tests that some languages keep beside the
// code.
func (t tag) test() bool {
	return t.Scope == "test" || t.Scope == "tests" || strings.HasPrefix(t.Name, "test_") || strings.HasSuffix(t.Name, "_test")
}

func (t tag) qualified() string {
	if t.Scope == "" || t.Name == "" {
		return t.Name
	}
	return t.Scope + "::" + t.Name
}

// better orders places: panics first, then those of the time of the failure, those with the
// fewest rivals, and the rarest.
func better(a, b Place) int {
	kinds := []string{Panic, Text, LogLine}
	no := func(is bool) int {
		if is {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), no(a.During)-no(b.During), cmp.Compare(a.Others, b.Others),
		cmp.Compare(a.Count, b.Count), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

// merged makes one of the clues that lead to one place.
func merged(all []Place) (list []Place) {
	for _, p := range all {
		i := slices.IndexFunc(list, func(q Place) bool { return q.File == p.File && q.Line == p.Line && q.Kind == p.Kind })
		if i < 0 {
			list = append(list, p)
			continue
		}
		list[i].Count, list[i].During, list[i].Others = list[i].Count+p.Count, list[i].During || p.During, min(list[i].Others, p.Others)
	}
	return list
}

// around are the lines near a place.
func (f file) around(at int) (list []Line) {
	for n := max(1, at-aroundLines); n <= at+aroundLines; n++ {
		if text, ok := f.line(n); ok {
			list = append(list, Line{n, plain.Text(text)})
		}
	}
	return list
}

// A clue is what a run shows that the source may have.
type clue struct {
	kind   string
	text   string // the message, without time and level
	file   string // of a panic
	line   int
	from   string
	count  int
	during bool
}

// cluesOf are the panics of a run, and the warnings and errors in its nodes' logs: those
// that differ in values alone are one.
func cluesOf(dir string, r *reports.Report) ([]clue, error) {
	var list []clue
	failure := failureOf(r)
	at := map[string]int{}
	panics, err := reports.PanicsIn(dir, r.Nodes)
	if err != nil {
		return nil, err
	}
	if len(panics) == 0 { // a published run may have no logs
		panics = r.Panics
	}
	for _, p := range panics {
		if p.File != "" {
			list = append(list, clue{kind: Panic, text: p.Message, file: p.File, line: p.Line, from: strings.TrimPrefix(p.Log, reports.EvidenceDir+"/"+reports.LogsDir+"/") + fmt.Sprintf(":%d", p.LogLine), count: int(p.Count), during: true})
		}
	}
	for _, node := range r.Nodes {
		err := eachLine(filepath.Join(dir, reports.EvidenceDir, reports.LogsDir, node.Name+".log"), func(n int, line string) {
			level := loglines.Level(line)
			if level != loglines.Error && level != loglines.Warn || loglines.Panics(line) {
				return
			}
			text := message(line)
			key := values.ReplaceAllString(text, "#")
			i, known := at[key]
			if !known {
				i, at[key] = len(list), len(list)
				list = append(list, clue{kind: LogLine, text: text, from: fmt.Sprintf("%s.log:%d", node.Name, n)})
			}
			list[i].count++
			list[i].during = list[i].during || failure.has(line)
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// values are the parts of a line that differ between two of its kind.
var values = regexp.MustCompile(`[0-9][\w.:-]*|"[^"]*"|'[^']*'`)

// header is what stands before the message of a log line: time, level, process.
var header = regexp.MustCompile(`^[\[\]\d\sTZ:.,/+-]*(?i:\[?(?:trace|debug|info|notice|warn|warning|error|fatal|critical|err|wrn|inf|dbg)\]?:?)?\s*`)

// message is a log line without its header.
func message(line string) string { return strings.TrimSpace(header.ReplaceAllString(line, "")) }

// eachLine reads a log without secrets, line by line. A log that is not there has none.
func eachLine(path string, take func(n int, line string)) error {
	f, err := stored.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	scrub := secret.New()
	for lines, n := bufio.NewReaderSize(f, mostLogLine), 1; ; n++ {
		line, cut, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take(n, plain.Line(scrub.Text(string(line))))
		for cut && err == nil {
			_, cut, err = lines.ReadLine()
		}
	}
}

// A span is the time of a failure.
type span struct{ from, to time.Time }

// before is how long before its first violation a failure is taken to begin.
const before = 5 * time.Second

// failureOf is the time from the first violation to the last, in the run's own clock; zero
// where there is none.
func failureOf(r *reports.Report) (s span) {
	for _, v := range r.Violations {
		from, to := r.Started.Add(time.Duration(v.FromNS)-before), r.Started.Add(time.Duration(v.ToNS))
		if s.from.IsZero() || from.Before(s.from) {
			s.from = from
		}
		if to.After(s.to) {
			s.to = to
		}
	}
	return s
}

var stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)

// has reports whether a line says that it was written in that time.
func (s span) has(line string) bool {
	at, err := time.Parse(time.RFC3339Nano, stamp.FindString(line[:min(len(line), mostHeader)]))
	return err == nil && !at.Before(s.from) && !at.After(s.to)
}

const mostHeader = 80 // bytes of a line in which its time is looked for

// places are the lines of the source that a clue leads to.
func (x *index) places(c clue) (list []Place) {
	p := Place{Kind: c.kind, Clue: clipped(c.text), From: c.from, Count: c.count, During: c.during}
	if c.kind == Panic {
		p.Matched = fmt.Sprintf("%s:%d", c.file, c.line)
		for _, f := range x.tree.named(c.file) {
			if _, there := f.line(c.line); there {
				list = append(list, p.at(spot{f, c.line}))
			}
		}
		return list
	}
	module, text := moduleOf(c.text)
	for _, shared := range x.candidates(text, c.kind) {
		spots := x.find(shared)
		if c.kind == LogLine {
			spots = module.near(written(spots, shared))
		} else if own := written(spots, shared); len(own) > 0 {
			spots = own
		}
		if len(spots) == 0 || len(spots) > mostSpots {
			continue
		}
		p.Matched = clipped(shared)
		for _, s := range spots {
			list = append(list, p.at(s))
		}
		return list
	}
	return nil
}

// candidates are the texts by which a clue is looked for, the longest first. One word of a
// log line may be a name. A name of which a library makes the end, such as that of a
// counter, is looked for without it.
func (x *index) candidates(text, kind string) (list []string) {
	if x.has(text) {
		list = append(list, text)
	}
	if kind == LogLine {
		list = append(list, x.runs(text, leastText)...)
		return slices.DeleteFunc(list, func(run string) bool { return !strings.Contains(run, " ") })
	}
	for i := strings.LastIndexByte(text, '_'); i > leastNamed; i = strings.LastIndexByte(text[:i], '_') {
		list = append(list, text[:i])
	}
	return append(list, x.runs(text, leastNamed)...)
}

// at is the place of a clue at a spot.
func (p Place) at(s spot) Place {
	p.File, p.Line, p.spot = s.file.path, s.line, s
	return p
}

func clipped(text string) string {
	text = plain.Line(text)
	if runes := []rune(text); len(runes) > mostClue {
		return string(runes[:mostClue]) + "…"
	}
	return text
}

// VersionOf is the version of a run's broker, to read its source by; "" where nobody
// knows it.
func VersionOf(r *reports.Report) string {
	if r.Cluster.Version == history.UnknownVersion {
		return ""
	}
	return r.Cluster.Version
}
