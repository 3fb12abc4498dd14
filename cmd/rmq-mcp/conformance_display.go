package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/robustmq/rmq-mcp/campaigns/exam"
	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// A ticker counts on a terminal, in one line; elsewhere it says what does not
// conform, as it is known.
type ticker struct {
	w        io.Writer
	terminal bool
	drawn    bool
	bad      int
}

func newTicker(w io.Writer) *ticker {
	f, ok := w.(*os.File)
	return &ticker{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

func (t *ticker) tell(done, all int, r conformance.Result) {
	if r.Verdict == conformance.Violates {
		t.bad++
	}
	if t.terminal {
		t.drawn = true
		fmt.Fprintf(t.w, "\r\x1b[K%d of %d, %d violations: %s", done, all, t.bad, r.Name)
	} else if r.Verdict == conformance.Violates || r.Verdict == conformance.Undecided {
		fmt.Fprintf(t.w, "%s %s %s %s: %s\n", r.Verdict, r.Name, r.Version.Protocol(), r.Cite(), plain.Short(r.Why))
	}
}

func (t *ticker) end() {
	if t.drawn {
		fmt.Fprint(t.w, "\r\x1b[K")
	}
}

func printConformance(p paint, w io.Writer, report exam.Report) {
	fmt.Fprintf(w, "\n%-14s", "")
	for _, v := range exam.Columns() {
		fmt.Fprintf(w, "%12s", v)
	}
	fmt.Fprintln(w)
	for _, group := range append(report.Groups(), "") {
		n, name := report.Counted(group), group
		if group == "" {
			name = "all"
		}
		fmt.Fprint(w, p.bold(fmt.Sprintf("%-14s", name)))
		for _, v := range exam.Columns() {
			cell := fmt.Sprintf("%12d", n[v])
			switch {
			case n[v] == 0:
				cell = p.faint(fmt.Sprintf("%12s", "–"))
			case v == string(conformance.Violates):
				cell = p.bad(cell)
			case v == string(conformance.Undecided):
				cell = p.doubt(cell)
			}
			fmt.Fprint(w, cell)
		}
		fmt.Fprintln(w)
	}
	for _, end := range report.Down {
		fmt.Fprintf(w, "\n%s %s\n", p.bad("down after the checks:"), end)
	}
	for _, r := range report.Wrong() {
		state := p.bad(r.Verdict)
		if r.Verdict != string(conformance.Violates) || r.Known != "" {
			state = p.doubt(r.Verdict)
		}
		fmt.Fprintf(w, "\n%s %s %s %s: %s\n    %s\n", state, p.bold(r.Name), r.Cite(), r.Level, r.Text, r.Why)
		if r.Known != "" {
			fmt.Fprintf(w, "    known: %s\n", r.Known)
			continue
		}
		for _, line := range r.Packets {
			fmt.Fprintf(w, "    %s\n", p.faint(plain.Cut(line, plain.ShortLine)))
		}
	}
}
