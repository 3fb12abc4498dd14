package loglines

import (
	"regexp"
	"slices"
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
	goFrame     = regexp.MustCompile(`^\t(\S.*):(\d+)(?: \+0x[0-9a-f]+)?(?: fp=.*)?$`)
	goRuntime   = regexp.MustCompile(`(?:^|/)(?:internal/)?runtime/`)
	overflow    = regexp.MustCompile(`has overflowed its stack`)
)

const (
	framesWithin = 40  // lines below a panic of Go in which its place is looked for
	mostText     = 240 // bytes of a message, and of a path
)

// A PanicReader reads the panics of a log that it is given line by line. It keeps them until
// they are drained.
type PanicReader struct {
	panics  []Panic
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
	case goRuntime.MatchString(m[1]) || strings.HasPrefix(r.caller, "panic("):
	default:
		r.note(func(p *Panic) { p.File, p.At = clipped(m[1]), number(m[2]) })
		r.frames = 0
	}
}

// begin notes a panic, with all that its first line tells.
func (r *PanicReader) begin(line string) {
	p := Panic{Line: r.lines}
	r.message, r.frames, r.caller = false, 0, ""
	if m := rustPanic.FindStringSubmatch(line); m != nil {
		p.Thread, p.File, p.At, r.message = clipped(m[1]), clipped(m[2]), number(m[3]), true
	} else if m := rustPanic72.FindStringSubmatch(line); m != nil {
		p.Thread, p.Message, p.File, p.At = clipped(m[1]), clipped(m[2]), clipped(m[3]), number(m[4])
	} else if m := goPanic.FindStringSubmatch(line); m != nil {
		p.Message, r.frames = clipped(m[1]), framesWithin
	} else if overflow.MatchString(line) {
		p.Message = "stack overflow"
	}
	r.panics = append(r.panics, p)
}

// note adds to the last panic.
func (r *PanicReader) note(add func(*Panic)) { add(&r.panics[len(r.panics)-1]) }

// Drain takes the panics out of which all is read. The last one may still get a message or a
// place.
func (r *PanicReader) Drain() []Panic {
	n := len(r.panics)
	if n > 0 && (r.message || r.frames > 0) {
		n--
	}
	done := slices.Clone(r.panics[:n])
	r.panics = r.panics[n:]
	return done
}

// Rest takes all panics out, at the end of the log.
func (r *PanicReader) Rest() []Panic {
	r.message, r.frames = false, 0
	return r.Drain()
}

func clipped(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), mostText)], "")
}

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
	goStandard    = regexp.MustCompile(`^/.*/(go)[^/]*/src/(.*)$`)
	rustStandard  = regexp.MustCompile(`^.*/?(rustc)/[0-9a-f]+/(.*)$`)
	goModule      = regexp.MustCompile(`^(?:.*/pkg/mod/)?([^@]+@v[^/]+)/(.*)$`)
	packageEnd    = regexp.MustCompile(`[@-]v?\d+\.\d+\.\d+.*$`)
)

// SourceOf splits the path of a source file, as a log names it, into the library that it is
// of, without its version, and the path within. The library is "" for a program's own file.
func SourceOf(file string) (library, path string) {
	for _, form := range []*regexp.Regexp{cargoRegistry, cargoGit, rustStandard, goModule, goStandard} {
		if m := form.FindStringSubmatch(file); m != nil {
			return packageEnd.ReplaceAllString(m[1], ""), m[2]
		}
	}
	return "", file
}
