package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// A display shows a run as it goes: on a terminal one block that is painted
// anew, elsewhere a line for each thing that happens.
type display struct {
	mu      sync.Mutex
	w       io.Writer
	paint   paint
	block   bool // repaint, rather than append
	width   int
	drawn   int // lines of the block on the screen
	last    keeper.Progress
	printed time.Time
	closed  bool
}

// quietEvery is how often a display that appends says that the run goes on.
const quietEvery = 5 * time.Second

func newDisplay(w io.Writer) *display {
	d := &display{w: w, paint: paintTo(w), width: 80}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		d.block = true
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 20 {
			d.width = width
		}
	}
	return d
}

// progress shows what a keeper tells.
func (d *display) progress(p keeper.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	newPhase := p.Phase != d.last.Phase
	if p.Text == p.Phase {
		p.Text = "" // the phase is shown anyway
	}
	d.last = p
	if d.block {
		d.erase()
		if p.Text != "" {
			fmt.Fprintf(d.w, "%s %s\n", d.paint.faint(at(p)), d.clip(p.Text, 10))
		}
		d.draw()
		return
	}
	switch {
	case p.Text != "":
		fmt.Fprintf(d.w, "%s %-9s %s\n", at(p), p.Phase, p.Text)
	case newPhase || time.Since(d.printed) >= quietEvery:
		fmt.Fprintf(d.w, "%s %-9s %s\n", at(p), p.Phase, cmp.Or(p.Waits, rates(p)))
	default:
		return
	}
	d.printed = time.Now()
}

// say shows one line of our own.
func (d *display) say(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	fmt.Fprintln(d.w, text)
	if d.block && !d.closed {
		d.draw()
	}
}

// close takes the block away; what was said stays.
func (d *display) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	d.closed = true
}

func (d *display) erase() {
	if d.drawn > 0 {
		fmt.Fprintf(d.w, "\x1b[%dA\x1b[J", d.drawn)
		d.drawn = 0
	}
}

func (d *display) draw() {
	p := d.last
	lines := []string{
		fmt.Sprintf("%s %s %s", d.bar(p.Share), d.paint.bold(p.Phase), d.paint.faint(at(p))),
		d.clip(rates(p), 0),
	}
	if p.Waits != "" {
		lines = append(lines, d.paint.doubt("… ")+d.clip(p.Waits, 2))
	}
	for _, f := range p.Faults {
		lines = append(lines, d.paint.bad("● ")+d.clip(f, 2))
	}
	fmt.Fprintln(d.w, strings.Join(lines, "\n"))
	d.drawn = len(lines)
}

const barWidth = 30

func (d *display) bar(share float64) string {
	full := int(min(max(share, 0), 1) * barWidth)
	return d.paint.good(strings.Repeat("█", full)) + d.paint.faint(strings.Repeat("░", barWidth-full))
}

// clip keeps a line from wrapping, which would break the repainting.
func (d *display) clip(text string, taken int) string {
	return plain.Cut(strings.ReplaceAll(text, "\n", " "), d.width-taken-1)
}

func at(p keeper.Progress) string { return fmt.Sprintf("%6.1f s", p.At) }

func rates(p keeper.Progress) string {
	c := p.Counts
	text := fmt.Sprintf("%.0f/s published, %.0f/s delivered, %d acknowledged, %d received", c.PublishPerS, c.DeliverPerS, c.Acked, c.Received)
	if c.Unknown > 0 {
		text += fmt.Sprintf(", %d of unknown outcome", c.Unknown)
	}
	return text
}
