package reports

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/loglines"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// A Panic is the panics of nodes at one place of their source.
type Panic struct {
	File    string   `json:"file,omitempty"` // as the log names it; "" where it names none
	Line    int      `json:"line,omitempty"` // of the file
	Message string   `json:"message,omitempty"`
	Count   int64    `json:"count"`
	Nodes   []string `json:"nodes"`
	Log     string   `json:"log"`      // of the first, relative to the run directory
	LogLine int      `json:"log_line"` // of the first, counted from 1
}

// mostLogLine is how much of a line of a log is looked at, in bytes.
const mostLogLine = 64 << 10

// PanicsIn returns the panics in the nodes' logs of a run directory, the most frequent
// first.
func PanicsIn(dir string, nodes []history.Node) (list []Panic, err error) {
	for _, node := range nodes {
		log := filepath.ToSlash(filepath.Join(EvidenceDir, LogsDir, node.Name+".log"))
		found, err := panicsOf(filepath.Join(dir, log))
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			p.File, p.Message = plain.Line(p.File), plain.Line(p.Message)
			i := slices.IndexFunc(list, func(known Panic) bool {
				return known.File == p.File && known.Line == p.At && (p.File != "" || known.Message == p.Message)
			})
			if i < 0 {
				i, list = len(list), append(list, Panic{File: p.File, Line: p.At, Message: p.Message, Log: log, LogLine: p.Line})
			}
			if list[i].Count++; !slices.Contains(list[i].Nodes, node.Name) {
				list[i].Nodes = append(list[i].Nodes, node.Name)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Panic) int { return cmp.Compare(b.Count, a.Count) })
	return list, nil
}

// panicsOf returns the panics in one log. A node that never ran has none.
func panicsOf(path string) ([]loglines.Panic, error) {
	f, err := stored.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r loglines.PanicReader
	for lines := bufio.NewReaderSize(f, mostLogLine); ; {
		line, cut, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return r.Panics, nil
		}
		if err != nil {
			return nil, err
		}
		r.Take(string(line))
		for cut && err == nil {
			_, cut, err = lines.ReadLine()
		}
	}
}
