package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// A matrixDisplay shows a matrix as it goes: a line for each cell that ends,
// and on a terminal, below them, what runs now.
type matrixDisplay struct {
	mu      sync.Mutex
	w       io.Writer
	paint   paint
	live    bool // a terminal
	drawn   bool
	began   time.Time
	running []string
	done    int
	of      int
	text    string // what is being built, or measured
	many    bool   // there are several scenarios
}

func newMatrixDisplay(w io.Writer) *matrixDisplay {
	d := &matrixDisplay{w: w, paint: paintTo(w), began: time.Now()}
	if f, ok := w.(*os.File); ok {
		d.live = term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
	}
	return d
}

// say shows one line.
func (d *matrixDisplay) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.line(fmt.Sprintf(format, args...))
}

func (d *matrixDisplay) line(text string) {
	d.erase()
	fmt.Fprintln(d.w, text)
	d.draw()
}

// building shows what is being made or measured, until the next line.
func (d *matrixDisplay) building(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	d.text = text
	d.draw()
}

func (d *matrixDisplay) installed(i clients.Installation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text = ""
	switch {
	case i.Err != nil:
		d.line(fmt.Sprintf("%s %s: %s", d.paint.doubt("–"), i.SDK, plain.Cut(i.Err.Error(), plain.ShortLine)))
	case i.Took > time.Second:
		d.line(d.paint.faint(fmt.Sprintf("  %s is ready, %s", i.SDK, i.Took.Round(time.Second))))
	}
}

// tell shows what happens to the matrix.
func (d *matrixDisplay) tell(e campaigns.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done, d.of = e.Done, e.Of
	switch {
	case e.Begins != nil:
		d.erase()
		d.running = append(d.running, oneLine(d.name(*e.Begins)))
		d.draw()
	case e.Ends != nil:
		d.ended(oneLine(d.name(e.Ends.Entry)))
		d.line(d.cell(e))
	case e.Text != "":
		d.line(e.Text)
	}
}

// name is what tells an entry from the others, in columns.
func (d *matrixDisplay) name(e campaigns.Entry) string {
	name := fmt.Sprintf("%-42s %-5s %-9s", e.SDK, e.Protocol, e.Flavor)
	if d.many {
		name = fmt.Sprintf("%-30s %s", e.Scenario, name)
	}
	if e.Transport != "tcp" {
		name += " " + e.Transport
	}
	if e.NoFaults {
		name += " no faults"
	}
	return name
}

// oneLine is a text without the blanks that make columns.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (d *matrixDisplay) ended(name string) {
	for i, r := range d.running {
		if r == name {
			d.running = append(d.running[:i:i], d.running[i+1:]...)
			return
		}
	}
}

// cell is the line of one that ended.
func (d *matrixDisplay) cell(e campaigns.Event) string {
	o := e.Ends
	what := d.name(o.Entry)
	if o.Entry.Referee != "" {
		what += " " + d.paint.bold(o.Entry.Referee)
	}
	count := d.paint.faint(fmt.Sprintf("%3d/%d", e.Done, e.Of))
	switch {
	case o.Unsupported != "":
		return fmt.Sprintf("%s %s %s %s", count, d.paint.faint("–"), what, d.paint.faint("unsupported: "+plain.Short(o.Unsupported)))
	case o.Error != "":
		return fmt.Sprintf("%s %s %s %s", count, d.paint.doubt("!"), what, "could not be run: "+plain.Short(o.Error))
	}
	state, headline := e.Cell.Verdict.State, e.Cell.Verdict.Headline
	sign := map[int]string{0: "✓", 1: "✗"}[state.ExitCode()]
	if sign == "" {
		sign = "?"
	}
	if e.Cell.Starved() {
		return fmt.Sprintf("%s %s %s %4.0f s  %s", count, d.paint.doubt("~"), what, o.DurationS, d.paint.doubt("the host was starved"))
	}
	text := string(state)
	if state.ExitCode() != 0 {
		text = plain.Cut(headline, plain.ShortLine)
	}
	return fmt.Sprintf("%s %s %s %4.0f s  %s", count, d.paint.state(state, sign), what, o.DurationS, d.paint.state(state, text))
}

// close takes what runs now away.
func (d *matrixDisplay) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	d.live = false
}

func (d *matrixDisplay) erase() {
	if d.drawn {
		fmt.Fprint(d.w, "\r\x1b[K")
		d.drawn = false
	}
}

// draw draws the last line, with what runs now, and how long that may take.
func (d *matrixDisplay) draw() {
	if !d.live {
		return
	}
	text := d.text
	if len(d.running) > 0 {
		text = fmt.Sprintf("%d of %d, %s", d.done, d.of, time.Since(d.began).Round(time.Second))
		if d.done > 0 {
			left := time.Since(d.began) / time.Duration(d.done) * time.Duration(d.of-d.done)
			text += fmt.Sprintf(", about %s left", left.Round(time.Second))
		}
		text += ": " + strings.Join(d.running, ", ")
	}
	if text == "" {
		return
	}
	width := 80
	if f, ok := d.w.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			width = w
		}
	}
	fmt.Fprint(d.w, d.paint.faint(plain.Cut(strings.ReplaceAll(text, "\n", " "), width-1)))
	d.drawn = true
}
