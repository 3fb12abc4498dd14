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
	overflow    = regexp.MustCompile(`has overflowed its stack`)
)

const (
	framesWithin = 40     // lines below a panic of Go in which its place is looked for
	mostPanics   = 10_000 // that a reader keeps
	mostMessage  = 240    // bytes of a message
)

// A PanicReader reads the panics of a log that it is given line by line.
type PanicReader struct {
	Panics []Panic // the first ones

	lines   int
	message bool   // the next line is the message
	frames  int    // lines that may still tell the place
	caller  string // function of the frame that the next line places
}

// Take reads the next line. It reports whether a panic begins there.
func (r *PanicReader) Take(line string) bool {
	r.lines++
	switch {
	case r.frames > 0 && strings.HasPrefix(line, "[signal "): // of the same panic
	case Panics(line):
		r.begin(line)
		return true
	case r.message:
		if r.message = false; !levelForms.MatchString(line[:min(len(line), levelWithin)]) { // else it is another thread's
			r.note(func(p *Panic) { p.Message = clipped(strings.TrimSpace(line)) })
		}
	case r.frames > 0:
		r.frames--
		r.frame(line)
	}
	return false
}

// frame reads a line below a panic of Go. The first frame outside of the runtime is its
// place.
func (r *PanicReader) frame(line string) {
	m := goFrame.FindStringSubmatch(line)
	switch {
	case m == nil:
		r.caller = line
	case strings.HasPrefix(r.caller, "panic(") || strings.HasPrefix(r.caller, "runtime."):
	default:
		r.note(func(p *Panic) { p.File, p.At = m[1], number(m[2]) })
		r.frames = 0
	}
}

// begin notes a panic, with all that its first line tells.
func (r *PanicReader) begin(line string) {
	p := Panic{Line: r.lines}
	r.message, r.frames, r.caller = false, 0, ""
	if m := rustPanic.FindStringSubmatch(line); m != nil {
		p.Thread, p.File, p.At, r.message = m[1], m[2], number(m[3]), true
	} else if m := rustPanic72.FindStringSubmatch(line); m != nil {
		p.Thread, p.Message, p.File, p.At = m[1], clipped(m[2]), m[3], number(m[4])
	} else if m := goPanic.FindStringSubmatch(line); m != nil {
		p.Message, r.frames = clipped(m[1]), framesWithin
	} else if overflow.MatchString(line) {
		p.Message = "stack overflow"
	}
	if len(r.Panics) < mostPanics {
		r.Panics = append(r.Panics, p)
	} else {
		r.message, r.frames = false, 0 // there is nothing to note it in
	}
}

// note adds to the last panic.
func (r *PanicReader) note(add func(*Panic)) { add(&r.Panics[len(r.Panics)-1]) }

func clipped(text string) string { return text[:min(len(text), mostMessage)] }

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// The places where package managers keep the source of libraries.
var (
	cargoRegistry = regexp.MustCompile(`^.*/registry/src/[^/]+/([^/]+)/(.*)$`)
	cargoGit      = regexp.MustCompile(`^.*/git/checkouts/([^/]+)-[0-9a-f]+/[0-9a-f]+/(.*)$`)
	rustStandard  = regexp.MustCompile(`^.*/?(rustc)/[0-9a-f]+/(.*)$`)
	goModule      = regexp.MustCompile(`^(?:.*/pkg/mod/)?([^@]+@v[^/]+)/(.*)$`)
	packageEnd    = regexp.MustCompile(`[@-]v?\d+\.\d+\.\d+.*$`)
)

// SourceOf splits the path of a source file, as a log names it, into the library that it is
// of, without its version, and the path within. The library is "" for a program's own file.
func SourceOf(file string) (library, path string) {
	for _, form := range []*regexp.Regexp{cargoRegistry, cargoGit, rustStandard, goModule} {
		if m := form.FindStringSubmatch(file); m != nil {
			return packageEnd.ReplaceAllString(m[1], ""), m[2]
		}
	}
	return "", file
}
