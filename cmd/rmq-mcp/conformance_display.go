package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// A ticker counts on a terminal, in one line; elsewhere it says what does not
// conform, as it is known.
type ticker struct {
	w         io.Writer
	terminal  bool
	done, all int
	bad       int
}

func newTicker(w io.Writer, all int) *ticker {
	f, ok := w.(*os.File)
	return &ticker{w: w, all: all, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

func (t *ticker) tell(r conformance.Result) {
	t.done++
	if r.Verdict == conformance.Violates {
		t.bad++
	}
	if t.terminal {
		fmt.Fprintf(t.w, "\r\x1b[K%d of %d, %d violations: %s", min(t.done, t.all), t.all, t.bad, r.Name)
	} else if r.Verdict == conformance.Violates || r.Verdict == conformance.Undecided {
		fmt.Fprintf(t.w, "%s %s %s %s: %s\n", r.Verdict, r.Name, r.Version.Protocol(), r.Cite(), short(r.Why))
	}
}

func (t *ticker) end() {
	if t.terminal {
		fmt.Fprint(t.w, "\r\x1b[K")
	}
}

// knownVerdict is the column of violations for which the broker is known.
const knownVerdict = "known"

// column is where a row is counted.
func (r ConformanceRow) column() string {
	if r.Known != "" {
		return knownVerdict
	}
	return r.Verdict
}

// conformanceVerdicts are the columns of the tables.
func conformanceVerdicts() []string {
	return []string{string(conformance.Conforms), string(conformance.Violates), knownVerdict, string(conformance.Unsupported), string(conformance.Undecided)}
}

// counted counts the rows of a group, or of all where it is "", by verdict; what
// is known is counted apart.
func (c Conformance) counted(group string) map[string]int {
	n := map[string]int{}
	for _, r := range c.Results {
		if g, _, _ := strings.Cut(r.Name, "/"); group != "" && g != group {
			continue
		}
		n[r.column()]++
	}
	return n
}

// groups are those that have rows, in order.
func (c Conformance) groups() []string {
	var all []string
	for _, r := range c.Results {
		if g, _, _ := strings.Cut(r.Name, "/"); !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// wrong are the rows of what does not conform, the violations first.
func (c Conformance) wrong() []ConformanceRow {
	var all []ConformanceRow
	for _, verdict := range []conformance.Verdict{conformance.Violates, conformance.Undecided} {
		for _, r := range c.Results {
			if r.Verdict == string(verdict) {
				all = append(all, r)
			}
		}
	}
	return all
}

func citation(r ConformanceRow) string {
	if r.Number != "" {
		return fmt.Sprintf("%s [%s]", r.Protocol, r.Number)
	}
	return fmt.Sprintf("%s section %s", r.Protocol, r.Section)
}

func printConformance(p paint, w io.Writer, c Conformance) {
	fmt.Fprintf(w, "\n%-14s", "")
	for _, v := range conformanceVerdicts() {
		fmt.Fprintf(w, "%12s", v)
	}
	fmt.Fprintln(w)
	for _, group := range append(c.groups(), "") {
		n, name := c.counted(group), group
		if group == "" {
			name = "all"
		}
		fmt.Fprint(w, p.bold(fmt.Sprintf("%-14s", name)))
		for _, v := range conformanceVerdicts() {
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
	for _, r := range c.wrong() {
		state := p.bad(r.Verdict)
		if r.Verdict != string(conformance.Violates) || r.Known != "" {
			state = p.doubt(r.Verdict)
		}
		fmt.Fprintf(w, "\n%s %s %s %s: %s\n    %s\n", state, p.bold(r.Name), citation(r), r.Level, r.Text, r.Why)
		if r.Known != "" {
			fmt.Fprintf(w, "    known: %s\n", r.Known)
			continue
		}
		for _, line := range r.Packets {
			fmt.Fprintf(w, "    %s\n", p.faint(plain.Cut(line, shortLine)))
		}
	}
}

// writeConformance writes a table of the groups, one of what does not conform,
// and the packets of each violation that the broker is not known for.
func writeConformance(w io.Writer, c Conformance) {
	fmt.Fprintf(w, "%s, nodes: %d, seed: %d\n\n| Group | %s |\n|---%s|\n", c.Broker, c.Nodes, c.Seed,
		strings.Join(conformanceVerdicts(), " | "), strings.Repeat("|---", len(conformanceVerdicts())))
	for _, group := range append(c.groups(), "") {
		n, name := c.counted(group), group
		if group == "" {
			name = "**all**"
		}
		cells := []string{name}
		for _, v := range conformanceVerdicts() {
			cells = append(cells, fmt.Sprint(n[v]))
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	wrong := c.wrong()
	if len(wrong) == 0 {
		return
	}
	fmt.Fprint(w, "\n| Check | Statement | | Verdict | What was seen |\n|---|---|---|---|---|\n")
	for _, r := range wrong {
		verdict := r.Verdict
		if r.Known != "" {
			verdict = "known: " + r.Known
		}
		cells := []string{"`" + r.Name + "`", citation(r), r.Level, verdict, r.Text + ". " + r.Why}
		for i := range cells {
			cells[i] = strings.NewReplacer("|", "\\|", "\n", " ").Replace(cells[i])
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	for _, r := range wrong {
		if r.Known == "" && r.Verdict == string(conformance.Violates) {
			fmt.Fprintf(w, "\n`%s`, %s:\n\n```\n%s\n```\n", r.Name, citation(r), strings.Join(r.Packets, "\n"))
		}
	}
}
