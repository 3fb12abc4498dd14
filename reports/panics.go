package reports

import (
	"cmp"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/loglines"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// A Panic is the panics of nodes at one place of their source, or, where the log names no
// place, with one message.
type Panic struct {
	File    string   `json:"file,omitempty"` // as the log names it; "" where it names none
	Line    int      `json:"line,omitempty"` // of the file
	Message string   `json:"message,omitempty"`
	Count   int64    `json:"count"`
	Nodes   []string `json:"nodes"`
	Log     string   `json:"log"`      // of the first, relative to the run directory
	LogLine int      `json:"log_line"` // of the first, counted from 1
}

// mostPanicPlaces bounds what a broker can write into a report.
const mostPanicPlaces = 100

// Panics are the panics in the nodes' logs, the most frequent first. Cut says that there are
// more places than it lists.
func (d Dir) Panics(nodes []history.Node) (list []Panic, cut bool, err error) {
	p := panicked{at: map[panicPlace]int{}}
	err = readLogs(string(d), nodes, p.of)
	return p.sorted(), p.cut, err
}

// panicked are panics by place.
type panicked struct {
	list []Panic
	at   map[panicPlace]int
	cut  bool
}

type panicPlace struct {
	file, message string
	line          int
}

func (p *panicked) add(node, log string, one loglines.Panic) {
	one.File, one.Message = plain.Line(one.File), plain.Line(one.Message)
	key := panicPlace{file: one.File, line: one.At}
	if one.File == "" {
		key.message = one.Message
	}
	i, known := p.at[key]
	if !known {
		if p.cut = p.cut || len(p.list) == mostPanicPlaces; p.cut {
			return
		}
		i, p.at[key] = len(p.list), len(p.list)
		p.list = append(p.list, Panic{File: one.File, Line: one.At, Message: one.Message, Log: log, LogLine: one.Line})
	}
	if p.list[i].Count++; !slices.Contains(p.list[i].Nodes, node) {
		p.list[i].Nodes = append(p.list[i].Nodes, node)
	}
}

// of takes the lines of a node's log.
func (p *panicked) of(node, log string) (line func(n int, text string), end func()) {
	var r loglines.PanicReader
	all := func(list []loglines.Panic) {
		for _, one := range list {
			p.add(node, log, one)
		}
	}
	line = func(_ int, text string) {
		if r.Take(text) {
			all(r.Drain())
		}
	}
	return line, func() { all(r.Rest()) }
}

func (p *panicked) sorted() []Panic {
	slices.SortStableFunc(p.list, func(a, b Panic) int { return cmp.Compare(b.Count, a.Count) })
	return p.list
}
