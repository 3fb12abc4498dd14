package code

import (
	"errors"
	"fmt"
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

// A clue is what a run shows that the source may have.
type clue struct {
	kind   string
	text   string // the message, without time and level
	file   string // of a panic; "" where the log names none
	line   int
	from   string
	count  int
	during When
}

// When says whether something was written while the failure lasted.
type When string

// The values of When.
const (
	During   When = "during"
	Elsewhen When = "not during"
	Unknown  When = "" // nobody knows: no time is read, or the node's clock was changed
)

// Bounds of what a log may ask of this program.
const (
	mostLine  = 4 << 10 // bytes of a line
	mostClues = 2000    // that differ
)

// clues collects those of a run.
type clues struct {
	list    []clue
	at      map[string]int // place in list, by the clue without its values
	failure span
	more    int // lines that were not looked at
	logs    int // that there are
}

// cluesOf are the panics of a run, and the warnings and errors in its nodes' logs: those
// that differ in values alone are one.
func cluesOf(dir string, r *reports.Report, claim string) (*clues, error) {
	c := &clues{at: map[string]int{}, failure: failureOf(r, claim)}
	for _, node := range r.Nodes {
		if !stored.IsID(node.Name) { // it becomes part of a path
			continue
		}
		if err := c.read(node.Name, reports.Dir(dir).Log(node.Name)); err != nil {
			return nil, err
		}
	}
	if c.logs > 0 {
		return c, nil
	}
	for _, p := range r.Panics { // a published run may have no logs
		c.list = append(c.list, clue{kind: Panic, text: p.Message, file: p.File, line: p.Line, from: fmt.Sprintf("%s:%d", filepath.Base(p.Log), p.LogLine), count: int(p.Count)})
	}
	return c, nil
}

// read collects the clues of one log.
func (c *clues) read(node, path string) error {
	var panics loglines.PanicReader
	begun := map[int]When{} // of panics that are not read to their ends, by line
	now := Unknown
	take := func(list []loglines.Panic) {
		for _, p := range list {
			text := plain.Line(p.Message)
			c.add(fmt.Sprintf("%s %s:%d %s", Panic, p.File, p.At, text), clue{kind: Panic, text: text, file: plain.Line(p.File), line: p.At, from: fmt.Sprintf("%s.log:%d", node, p.Line), count: 1, during: begun[p.Line]})
			delete(begun, p.Line)
		}
	}
	err := eachLine(path, func(n int, line string) {
		if n == 1 {
			c.logs++
		}
		if at, ok := loglines.Time(line); ok {
			now = c.failure.has(at)
		}
		if panics.Take(line) {
			begun[n] = now
			take(panics.Drain())
			return
		}
		if level := loglines.Level(line); level == loglines.Error || level == loglines.Warn {
			text := message(plain.Line(line))
			c.add(string(LogLine)+values.ReplaceAllString(text, "#"), clue{kind: LogLine, text: text, from: fmt.Sprintf("%s.log:%d", node, n), count: 1, during: now})
		}
	})
	take(panics.Rest())
	return err
}

// add counts a clue.
func (c *clues) add(key string, one clue) {
	i, known := c.at[key]
	switch {
	case known:
		c.list[i].count++
		c.list[i].during = either(c.list[i].during, one.during)
	case len(c.list) == mostClues:
		c.more++
	default:
		c.at[key] = len(c.list)
		c.list = append(c.list, one)
	}
}

// either is During where one of two is, and not known where neither is known.
func either(a, b When) When {
	if a == During || b == During {
		return During
	}
	return min(a, b) // "" is the least
}

// values are the parts of a line that differ between two of its kind: words with a digit,
// and words in quotes.
var values = regexp.MustCompile(`[\w.:/-]*\d[\w.:/-]*|"[^"\s]*"`)

// header is what stands before the message of a log line: process, time, level.
var header = regexp.MustCompile(`^(?:\[\d+\]\s*)?(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:\d\d)?\s*|\d{10}:\s*)?` +
	`(?i:\[?(?:trace|debug|info|notice|warning|warn|error|fatal|critical|err|wrn|inf|dbg|trc|ftl)\b\]?:?\s*)?`)

// message is a log line without its header.
func message(line string) string { return strings.TrimSpace(header.ReplaceAllString(line, "")) }

// eachLine reads a log without secrets, line by line, as long as each is looked at. A log
// that is not there has none.
func eachLine(path string, take func(n int, line string)) error {
	scrub, n := secret.New(), 0
	err := stored.Lines(path, mostLine, func(line string) {
		n++
		take(n, plain.Text(scrub.Text(line)))
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// A span is the time of a failure, by the clock of the host.
type span struct {
	from, to time.Time
	unknown  bool // there is none, or a fault changed the clocks of nodes
}

// before is how long before its first violation a failure is taken to begin.
const before = 5 * time.Second

// failureOf is the time from the first violation of a claim to the last; of any claim for "".
func failureOf(r *reports.Report, claim string) (s span) {
	for _, v := range r.Violations {
		if claim != "" && v.Claim != claim {
			continue
		}
		from, to := r.Started.Add(time.Duration(v.FromNS)-before), r.Started.Add(time.Duration(v.ToNS))
		if s.from.IsZero() || from.Before(s.from) {
			s.from = from
		}
		if to.After(s.to) {
			s.to = to
		}
	}
	s.unknown = s.from.IsZero() || slices.ContainsFunc(r.Landings, history.Landing.MovesClock)
	return s
}

func (s span) has(at time.Time) When {
	switch {
	case s.unknown:
		return Unknown
	case at.Before(s.from) || at.After(s.to):
		return Elsewhen
	}
	return During
}
