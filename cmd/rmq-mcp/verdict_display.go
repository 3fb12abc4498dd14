package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/robustmq/rmq-mcp/internal/figures"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A sheet prints lines of a label and a text. On a terminal it wraps the text between words;
// elsewhere a line is as long as its text. Nothing is cut.
type sheet struct {
	paint
	w     io.Writer
	width int // 0: no terminal
}

func sheetFor(w io.Writer) sheet {
	s := sheet{paint: paintTo(w), w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.width, _, _ = term.GetSize(int(f.Fd())) // 0 if it fails
	}
	return s
}

// line prints a text in the colour of a function. Its further lines are indented.
func (s sheet) line(colour func(string) string, indent int, label, text string) {
	lines := wrap(plain.Line(text), s.width-indent)
	fmt.Fprintf(s.w, "%s%s\n", label, colour(lines[0]))
	for _, more := range lines[1:] {
		fmt.Fprintf(s.w, "%*s%s\n", indent, "", colour(more))
	}
}

// row prints a text beside a label of a column.
func (s sheet) row(colour func(string) string, column int, label, text string) {
	s.line(none, column+4, "  "+colour(fmt.Sprintf("%-*s", column, label))+"  ", text)
}

func none(text string) string { return text }

// wrap breaks a text between words into lines of a width, in characters. A width too small
// for words leaves it as it is.
func wrap(text string, width int) (lines []string) {
	const tooSmall = 20
	if width < tooSmall {
		return []string{text}
	}
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

func (s sheet) headline(v verdict.Verdict) {
	colour := func(text string) string { return s.state(v.State, s.bold(text)) }
	if v.Severity == verdict.Expected {
		colour = func(text string) string { return s.doubt(s.bold(text)) }
	}
	s.line(colour, 0, "", v.Headline)
}

const labels = 8 // characters of the labels beside claims

// whole prints a verdict with every claim and reason.
func (s sheet) whole(v verdict.Verdict) {
	s.headline(v)
	column := 0
	for _, r := range v.Results {
		column = max(column, len(r.Claim.Name))
	}
	said := map[string]bool{}
	for _, r := range v.Results {
		colour := s.doubt
		switch {
		case r.Status == verdict.Pass:
			colour = s.good
		case r.Status == verdict.Fail && r.Expected == "":
			colour = s.bad
		}
		text := r.Summary
		if r.Status == verdict.Fail {
			text += ". Source: " + r.Claim.Source
			said[fmt.Sprintf("%s (%s): %s", r.Claim.Name, r.Claim.Source, r.Summary)] = true
		}
		s.line(none, labels+column+6, fmt.Sprintf("  %s  %-*s  ", colour(fmt.Sprintf("%-*s", labels, r.Status)), column, r.Claim.Name), text)
	}
	for _, t := range v.Tally {
		if t.Failed > 0 {
			s.row(s.faint, labels, "series", fmt.Sprintf("%s failed in %d of %d runs, passed in %d", t.Claim, t.Failed, t.Of, t.Passed))
		}
	}
	for _, reason := range v.Reasons {
		if !said[reason] {
			s.row(s.faint, labels, "because", reason)
		}
	}
	for _, limit := range v.Caps {
		s.row(s.faint, labels, "limit", limit)
	}
	s.blame(v)
	for _, root := range v.Runs {
		s.row(s.faint, labels, "root", root)
	}
}

func (s sheet) blame(v verdict.Verdict) {
	if v.Severity != "" {
		s.row(s.faint, labels, "severity", v.Severity)
	}
	if v.Blame != "" {
		s.row(s.faint, labels, "blame", v.Blame)
	}
}

// brief prints a verdict, what failed and where, and how many claims hold. Processes are the
// names of the run's clients, by their number.
func (s sheet) brief(v verdict.Verdict, processes []string) {
	s.headline(v)
	passed, unknown := 0, []string{}
	for _, r := range v.Results {
		switch {
		case r.Status == verdict.Pass:
			passed++
		case r.Status == verdict.Fail:
			s.row(s.faint, labels, "failed", r.Claim.Name+counted(r, processes))
		case !r.Claim.Wire || len(r.Anomalies) > 0: // packets that no client sent show nothing
			name := r.Claim.Name
			if v.State.ExitCode() == 0 && len(r.Reasons) > 0 { // the reasons of other states are told below
				name += " (" + r.Reasons[0] + ")"
			}
			unknown = append(unknown, name)
		}
	}
	if v.State.ExitCode() == exitUndecided && len(v.Reasons) > 1 {
		for _, reason := range v.Reasons[1:] { // the headline has the first
			s.row(s.faint, labels, "because", reason)
		}
	}
	if v.State.ExitCode() != 0 {
		s.row(s.faint, labels, "passed", plural(passed, "claim")) // the headline of a pass has it
	}
	if len(unknown) > 0 {
		s.row(s.faint, labels, "unknown", strings.Join(unknown, ", "))
	}
	if v.State.ExitCode() == 0 && len(v.Caps) > 0 {
		s.row(s.faint, labels, "limits", strings.Join(v.Caps, "; "))
	}
	s.blame(v)
}

// counted says how many violations of each kind a result has, and which clients have most.
func counted(r verdict.Result, processes []string) string {
	type of struct {
		name  string
		count int64
	}
	byKind, byClient := map[string]int64{}, map[string][]of{}
	for _, v := range r.Violations {
		byKind[v.Kind] += v.Count
		if v.Process >= 0 && int(v.Process) < len(processes) {
			byClient[v.Kind] = append(byClient[v.Kind], of{processes[v.Process], v.Count})
		}
	}
	var kinds []string
	for kind, n := range byKind {
		text := figures.Sprintf("%d %s", n, kind)
		clients := byClient[kind]
		slices.SortFunc(clients, func(a, b of) int { return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name)) })
		const most = 4
		var list []string
		for _, c := range clients[:min(most, len(clients))] {
			list = append(list, figures.Sprintf("%s %d", c.name, c.count))
		}
		if more := len(clients) - most; more > 0 {
			list = append(list, plural(more, "more client"))
		}
		if len(list) > 0 {
			text += " (" + strings.Join(list, ", ") + ")"
		}
		kinds = append(kinds, text)
	}
	if len(kinds) == 0 {
		return ""
	}
	slices.Sort(kinds)
	return ": " + strings.Join(kinds, "; ")
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
