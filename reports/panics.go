package reports

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/loglines"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
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

// Bounds of what a broker can write into a report.
const (
	mostLogLine     = 64 << 10 // bytes of a line that are looked at
	mostPanicPlaces = 100
)

// PanicsIn returns the panics in the nodes' logs of a run directory, the most frequent
// first. Cut says that there are more places than it lists.
func PanicsIn(dir string, nodes []history.Node) (list []Panic, cut bool, err error) {
	p := panicked{at: map[panicPlace]int{}}
	for _, node := range nodes {
		if !stored.IsID(node.Name) { // it becomes part of a path
			continue
		}
		log := filepath.ToSlash(filepath.Join(EvidenceDir, LogsDir, node.Name+".log"))
		err := panicsOf(filepath.Join(dir, log), func(one loglines.Panic) { p.add(node.Name, log, one) })
		if err != nil {
			return nil, false, err
		}
	}
	slices.SortStableFunc(p.list, func(a, b Panic) int { return cmp.Compare(b.Count, a.Count) })
	return p.list, p.cut, nil
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

// panicsOf reads the panics in one log. A node that never ran has none.
func panicsOf(path string, take func(loglines.Panic)) error {
	var r loglines.PanicReader
	all := func(list []loglines.Panic) {
		for _, p := range list {
			take(p)
		}
	}
	err := stored.Lines(path, mostLogLine, func(line string) {
		if r.Take(plain.Text(line)) {
			all(r.Drain())
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	all(r.Rest())
	return err
}
