package code

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/loglines"
	"github.com/robustmq/rmq-mcp/internal/plain"
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
	Function string `json:"function,omitempty"` // around it; "" where there is none, or nobody can tell
	Kind     string `json:"kind"`
	Clue     string `json:"clue"`           // of the run: the panic, the first such log line, the text
	From     string `json:"from,omitempty"` // log of the clue, and its line: node-1.log:531
	Matched  string `json:"matched"`        // text that the clue and the source share; of a panic its place
	Count    int    `json:"count"`          // such clues in the run
	During   When   `json:"during_failure"` // whether one of them was written while the failure lasted
	Others   int    `json:"others"`         // places that share as much
	Around   []Line `json:"around,omitempty"`

	spot spot
	in   tag
}

// A Line is a line of source with its number.
type Line struct {
	Number int    `json:"n"`
	Text   string `json:"text"`
}

// A Request is what to look for.
type Request struct {
	Dir   string   // of the run
	Claim string   // the failure of which; "" for any
	Texts []string // beside its panics and log lines
	Most  int      // places, at least one
}

// Places are what a run points at in a tree.
type Places struct {
	Tree    string   `json:"tree"`
	Checked bool     `json:"version_checked"` // the tree is of the run's broker, by its tag
	Places  []Place  `json:"places"`          // panics first, then texts, then what was written during the failure; of these those with the fewest others, and the rarest
	Left    int      `json:"left_out"`        // places that did not fit
	Unfound []string `json:"unfound"`         // clues without a place, and why; the first of many
	Notes   []string `json:"notes"`
}

const (
	aroundLines = 6 // above and below a place
	mostUnfound = 8
	mostClue    = 240 // characters
)

// Find maps a run to places. A run without logs has the texts alone.
func Find(ctx context.Context, tree *Tree, in Request) (Places, error) {
	out := Places{Tree: tree.Name, Checked: tree.Checked, Places: []Place{}, Unfound: []string{}, Notes: append([]string{}, tree.Notes...)}
	if in.Most < 1 {
		return out, fmt.Errorf("find code: %d places are asked for, expected at least one", in.Most)
	}
	report, err := reports.Dir(in.Dir).Report()
	if err != nil {
		return out, fmt.Errorf("find code of run %s: %w", filepath.Base(in.Dir), err)
	}
	found, err := cluesOf(in.Dir, report, in.Claim)
	if err != nil {
		return out, fmt.Errorf("find code of run %s: %w", report.ID, err)
	}
	out.Notes = append(out.Notes, found.notes()...)
	for _, text := range in.Texts {
		found.list = append(found.list, clue{kind: Text, text: text, count: 1})
	}
	x, f := newIndex(tree), newFunctions()
	for _, c := range found.list {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		places, why := x.places(ctx, f, c)
		if why != "" && len(out.Unfound) < mostUnfound {
			out.Unfound = append(out.Unfound, fmt.Sprintf("%s (%s)", clipped(c.text), why))
		}
		out.Places = append(out.Places, places...)
	}
	if f.ctags == "" && len(out.Places) > 0 {
		out.Notes = append(out.Notes, "functions are not named, and tests beside the code are not told from it: install Universal Ctags (Debian: universal-ctags)")
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

// notes say what of the run was not looked at.
func (c *clues) notes() (list []string) {
	switch {
	case c.logs == 0:
		list = append(list, "this copy of the run has no logs of its nodes")
	case len(c.list) == 0:
		list = append(list, "the logs of the nodes have no panic, no warning and no error; name texts to look for")
	}
	if c.more > 0 {
		list = append(list, fmt.Sprintf("%d warnings and errors were not looked at: more than %d differ", c.more, mostClues))
	}
	return list
}

// better orders places: panics first, then texts, then log lines of the time of the failure;
// of these those with the fewest others, and the rarest.
func better(a, b Place) int {
	kinds, times := []string{Panic, Text, LogLine}, []When{During, Unknown, Elsewhen}
	return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(slices.Index(times, a.During), slices.Index(times, b.During)),
		cmp.Compare(a.Others, b.Others), cmp.Compare(a.Count, b.Count), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

// merged joins the clues that lead to one place. Those with the same text are counted
// together. Else the one that fits the fewest places stays.
func merged(all []Place) (list []Place) {
	type place struct {
		file, kind string
		line       int
	}
	at := map[place]int{}
	for _, p := range all {
		key := place{p.File, p.Kind, p.Line}
		i, known := at[key]
		switch {
		case !known:
			at[key] = len(list)
			list = append(list, p)
		case list[i].Matched == p.Matched && list[i].Others == p.Others:
			list[i].Count, list[i].During = list[i].Count+p.Count, either(list[i].During, p.During)
		case p.Others < list[i].Others:
			list[i] = p
		}
	}
	return list
}

// around are the lines near a place.
func (f file) around(at int) (list []Line) {
	for n := max(1, at-aroundLines); n <= at+aroundLines; n++ {
		if text, ok := f.line(n); ok {
			list = append(list, Line{n, clipped(strings.ReplaceAll(text, "\t", "    "))})
		}
	}
	return list
}

// places are the lines of the source that a clue leads to, or why there are none.
func (x *index) places(ctx context.Context, f *functions, c clue) (list []Place, why string) {
	if c.kind == Panic {
		return x.panicked(ctx, f, c)
	}
	module, text := moduleOf(c.text)
	if c.kind == Text {
		module, text = nil, c.text
	}
	why = "the source has no such text"
	for _, shared := range x.candidates(text, c.kind) {
		spots := x.find(shared)
		own := module.near(written(spots, shared))
		if c.kind == Text && len(own) == 0 {
			own = spots
		}
		places := x.at(ctx, f, own, c, shared)
		switch {
		case len(places) > 0 && len(places) <= mostSpots:
			return places, ""
		case len(places) > mostSpots:
			why = fmt.Sprintf("%q is at %d places", clipped(shared), len(places))
		case x.has(shared) && len(spots) == 0:
			why = fmt.Sprintf("%q is at more than %d places", clipped(shared), mostHits)
		case len(spots) > 0 && why == "the source has no such text":
			why = "only comments, tests or another part of the program have such a text; it may be a library's"
		}
	}
	return nil, why
}

// at are the places of a clue at some spots, without tests.
func (x *index) at(ctx context.Context, f *functions, spots []spot, c clue, shared string) (list []Place) {
	if len(spots) > mostHits/mostSpots { // nobody asks which of so many are tests
		return make([]Place, len(spots))
	}
	for _, s := range spots {
		p := Place{Kind: c.kind, Clue: clipped(c.text), From: c.from, Count: c.count, During: c.during, Matched: clipped(shared), File: s.file.path, Line: s.line, spot: s}
		if p.in = f.around(ctx, s.file, s.line); c.kind == LogLine && p.in.test() {
			continue
		}
		p.Function = p.in.qualified()
		list = append(list, p)
	}
	for i := range list {
		list[i].Others = len(list) - 1
	}
	return list
}

// panicked are the places of a panic. A library's file is none of the broker's, whatever the
// tree has under such a name.
func (x *index) panicked(ctx context.Context, f *functions, c clue) ([]Place, string) {
	if c.file == "" {
		return nil, "a panic of which the log names no place"
	}
	library, path := loglines.SourceOf(c.file)
	if library != "" && library != x.tree.module {
		return nil, fmt.Sprintf("a panic at %s:%d of the library %s", path, c.line, library)
	}
	var spots []spot
	for _, file := range x.tree.named(path) {
		if _, there := file.line(c.line); there {
			spots = append(spots, spot{file, c.line})
		}
	}
	if len(spots) > mostSpots {
		return nil, fmt.Sprintf("a panic at %s:%d, which may be one of %d files", path, c.line, len(spots))
	}
	if len(spots) == 0 {
		return nil, fmt.Sprintf("a panic at %s:%d, which this source does not have", path, c.line)
	}
	return x.at(ctx, f, spots, c, fmt.Sprintf("%s:%d", c.file, c.line)), ""
}

// counterEnds are what libraries of metrics put behind a counter's name.
var counterEnds = []string{"_total", "_count", "_sum", "_bucket"}

// candidates are the texts by which a clue is looked for, the longest first. A log line is
// found by two words at least: one may be a name. A named text is found as it is, or
// without the end that a library of metrics gives it.
func (x *index) candidates(text, kind string) (list []string) {
	if x.has(text) {
		list = append(list, text)
	}
	if kind == LogLine {
		list = append(list, x.runs(text)...)
		return slices.DeleteFunc(list, func(run string) bool { return !strings.Contains(run, " ") })
	}
	for _, end := range counterEnds {
		if name, ends := strings.CutSuffix(text, end); ends && x.has(name) {
			list = append(list, name)
		}
	}
	return list
}

func clipped(text string) string {
	return plain.Cut(plain.Line(text), mostClue)
}

// VersionOf is the version of a run's broker, to read its source by; "" where nobody
// knows it.
func VersionOf(r *reports.Report) string {
	if r.Cluster.Version == history.UnknownVersion {
		return ""
	}
	return r.Cluster.Version
}
