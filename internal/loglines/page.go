package loglines

import (
	"fmt"
	"regexp"
	"strconv"
)

// A Query chooses lines; its zero value takes all.
type Query struct {
	Node    string
	Level   string // that and worse
	Match   string // regular expression (RE2)
	FromS   float64
	ToS     float64 // 0: to the end
	Context int     // lines of the same node around each match
	Limit   int     // matches, at least one
	After   string  // Next of an earlier page
}

// A Line is one of a node's log.
type Line struct {
	Node  string  `json:"node"`
	At    float64 `json:"at_s"` // since the start of the run, when it was read; 0 where nobody knows
	Level string  `json:"level"`
	Text  string  `json:"text"`
}

// A Page is what a query finds among the lines that it is given in turn.
type Page struct {
	Lines  []Line
	Total  int            // matches, on this page or another
	Levels map[string]int // of them
	Next   string         // cursor for more, "" where there are none

	query   Query
	match   *regexp.Regexp
	from    int // matches before it were on an earlier page
	taken   int // matches on this one
	context map[string]*surroundings
}

// surroundings are what may have to be shown around a match of a node.
type surroundings struct {
	before []Line
	after  int
}

// NewPage begins a page. An error says what of the query is not valid.
func NewPage(q Query) (*Page, error) {
	if err := checkLevel(q.Level); err != nil {
		return nil, err
	}
	match, err := regexp.Compile(q.Match)
	if err != nil {
		return nil, fmt.Errorf("match is no regular expression (RE2): %w", err)
	}
	from, err := strconv.Atoi(q.After)
	if q.After != "" && (err != nil || from < 0) {
		return nil, fmt.Errorf("after %q is not the next of an earlier answer", q.After)
	}
	return &Page{Lines: []Line{}, Levels: map[string]int{}, query: q, match: match, from: from, context: map[string]*surroundings{}}, nil
}

// Take looks at the next line.
func (p *Page) Take(l Line) {
	if p.query.Node != "" && l.Node != p.query.Node || l.At < p.query.FromS || p.query.ToS > 0 && l.At > p.query.ToS {
		return
	}
	c := p.context[l.Node]
	if c == nil {
		c = &surroundings{}
		p.context[l.Node] = c
	}
	if l.Text != "" && atLeast(l.Level, p.query.Level) && p.match.MatchString(l.Text) && p.matched(l) {
		p.Lines = append(append(p.Lines, c.before...), l)
		c.before, c.after = nil, p.query.Context
		return
	}
	if c.after > 0 {
		c.after--
		p.Lines = append(p.Lines, l)
		return
	}
	if c.before = append(c.before, l); len(c.before) > p.query.Context {
		c.before = c.before[1:]
	}
}

// matched counts a match, and reports whether it belongs on this page.
func (p *Page) matched(l Line) bool {
	p.Total++
	p.Levels[l.Level]++
	switch {
	case p.Total <= p.from:
		return false
	case p.taken < max(p.query.Limit, 1):
		p.taken++
		return true
	case p.Next == "":
		p.Next = strconv.Itoa(p.Total - 1)
	}
	return false
}
