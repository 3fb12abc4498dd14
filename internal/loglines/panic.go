package loglines

import (
	"regexp"
	"strconv"
	"strings"
)

// A Panic is one that a log tells of.
type Panic struct {
	Line    int    // of the log, counted from 1
	Thread  string // "" where the log does not name it
	File    string // of the source, as the log names it; "" where it does not
	At      int    // line of that file
	Message string // "" where the log has none
}

// The forms of panics: of Rust since 1.73, of Rust before, and of Go.
var (
	rustPanic   = regexp.MustCompile(`thread '([^']*)'(?: \(\d+\))? panicked at ([^\s'][^:]*):(\d+):\d+:?\s*$`)
	rustPanic72 = regexp.MustCompile(`thread '([^']*)' panicked at '(.*)', ([^:]+):(\d+):\d+`)
	goPanic     = regexp.MustCompile(`^(?:panic|fatal error): (.*)$`)
	goFrame     = regexp.MustCompile(`^\t(\S.*):(\d+)(?: \+0x[0-9a-f]+)?$`)
)

// framesWithin is how many lines below a panic of Go its place is looked for.
const framesWithin = 40

// A PanicReader reads the panics of a log that it is given line by line.
type PanicReader struct {
	Panics []Panic

	lines   int
	message bool   // the next line is the message
	frames  int    // lines that may still tell the place
	caller  string // function of the frame that the next line places
}

// Take reads the next line.
func (r *PanicReader) Take(line string) {
	r.lines++
	last := len(r.Panics) - 1
	switch {
	case r.frames > 0 && strings.HasPrefix(line, "[signal "): // of the same panic
	case Panics(line):
		r.begin(line)
		return
	case r.message:
		r.Panics[last].Message, r.message = strings.TrimSpace(line), false
	case r.frames > 0:
		r.frames--
		m := goFrame.FindStringSubmatch(line)
		switch {
		case m == nil:
			r.caller = line
		case strings.HasPrefix(r.caller, "panic(") || strings.HasPrefix(r.caller, "runtime."):
		default:
			r.Panics[last].File, r.Panics[last].At = m[1], number(m[2])
			r.frames = 0
		}
	}
}

// begin notes a panic, with all that its first line tells.
func (r *PanicReader) begin(line string) {
	p := Panic{Line: r.lines}
	r.message, r.frames, r.caller = false, 0, ""
	if m := rustPanic.FindStringSubmatch(line); m != nil {
		p.Thread, p.File, p.At, r.message = m[1], m[2], number(m[3]), true
	} else if m := rustPanic72.FindStringSubmatch(line); m != nil {
		p.Thread, p.Message, p.File, p.At = m[1], m[2], m[3], number(m[4])
	} else if m := goPanic.FindStringSubmatch(line); m != nil {
		p.Message, r.frames = m[1], framesWithin
	}
	r.Panics = append(r.Panics, p)
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
