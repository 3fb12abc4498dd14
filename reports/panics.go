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
// first, at so many places at most.
func PanicsIn(dir string, nodes []history.Node) (list []Panic, err error) {
	type place struct {
		file, message string
		line          int
	}
	at := map[place]int{}
	for _, node := range nodes {
		if !stored.IsID(node.Name) { // it becomes part of a path
			continue
		}
		log := filepath.ToSlash(filepath.Join(EvidenceDir, LogsDir, node.Name+".log"))
		found, err := panicsOf(filepath.Join(dir, log))
		if err != nil {
			return nil, err
		}
		for _, p := range found {
			p.File, p.Message = plain.Line(p.File), plain.Line(p.Message)
			key := place{file: p.File, line: p.At}
			if p.File == "" {
				key.message = p.Message
			}
			i, known := at[key]
			if !known {
				if len(list) == mostPanicPlaces {
					continue
				}
				i, at[key] = len(list), len(list)
				list = append(list, Panic{File: p.File, Line: p.At, Message: p.Message, Log: log, LogLine: p.Line})
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
		r.Take(plain.Text(string(line)))
		for cut && err == nil {
			_, cut, err = lines.ReadLine()
		}
	}
}
