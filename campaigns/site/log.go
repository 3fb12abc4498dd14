package site

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

const (
	linesAtOnce = 500     // on the page of a log
	mostOfLog   = 4 << 20 // bytes of a log on its page: half from its beginning, half from its end
	mostOfLine  = 8 << 10 // bytes of a line on the page
	costOfLine  = 16      // bytes of a page that a line takes beside its text
	mostRead    = 1 << 30 // bytes of a log that is shown; a stranger's may have no end
)

// A log is one of a run, with the page that shows it.
type log struct {
	reports.LogFile
	Name string // node-1.log
	Page string // of the run's folder
}

// A logPage is the page of a log.
type logPage struct {
	log
	Run  *run
	Up   string // the way to the run's folder
	Left string // which lines are not on the page
	Data logData
}

// A logData is the lines of a log as the page's script reads them.
type logData struct {
	Lines   []string `json:"lines"`
	Numbers []int    `json:"numbers"`
	AtOnce  int      `json:"at_once"`
}

// writeLogs writes a page of each log of a run that is not empty.
func (s *site) writeLogs(r *run, files []reports.LogFile) (logs []log, err error) {
	for _, f := range files {
		file, _ := stored.Unpacked(f.Path)
		name := path.Base(file)
		l := log{LogFile: f, Name: name, Page: "logs/" + strings.TrimSuffix(name, ".log") + ".html"}
		p := logPage{log: l, Run: r, Up: "../"}
		if p.Data, p.Left, err = readLog(filepath.Join(r.Dir, filepath.FromSlash(file))); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		if len(p.Data.Lines) == 0 && p.Left == "" {
			continue
		}
		if err := s.page(path.Join(reports.RunsDir, r.ID, l.Page), "log.html", p); err != nil {
			return nil, err
		}
		logs = append(logs, l)
	}
	return logs, nil
}

// readLog reads the lines of a log, and says which are not on its page.
func readLog(file string) (d logData, left string, err error) {
	d.AtOnce = linesAtOnce
	in, err := stored.Open(file)
	if err != nil {
		return d, "", err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return d, "", err
	}
	if info.Size() > mostRead {
		return d, fmt.Sprintf("It has more than %d bytes, and its lines are in the file alone", mostRead), nil
	}
	end := tail{} // the newest lines past the first half
	first, number := 0, 0
	err = stored.LinesOf(in, mostOfLine+1, func(line string) {
		number++
		if len(line) > mostOfLine {
			line = line[:mostOfLine] + " … (the file has the rest)"
		}
		line = plain.Line(line)
		if cost := len(line) + costOfLine; first+cost <= mostOfLog/2 {
			first += cost
			d.add(line, number)
			return
		}
		first = mostOfLog // later lines are of the end
		end.add(line)
	})
	from, to := len(d.Lines)+1, number-len(end.lines)
	if from <= to {
		left = fmt.Sprintf("Lines %d to %d are in the file alone", from, to)
	}
	for i, line := range end.lines {
		d.add(line, to+1+i)
	}
	return d, left, err
}

// A tail is the newest lines of a log, as many as half of a page takes.
type tail struct {
	lines []string
	bytes int
}

func (t *tail) add(line string) {
	t.lines, t.bytes = append(t.lines, line), t.bytes+len(line)+costOfLine
	for t.bytes > mostOfLog/2 {
		t.bytes -= len(t.lines[0]) + costOfLine
		t.lines = t.lines[1:]
	}
}

func (d *logData) add(line string, number int) {
	d.Lines, d.Numbers = append(d.Lines, line), append(d.Numbers, number)
}

// A panicLine is a panic with the way to its line of a log.
type panicLine struct {
	reports.Panic
	Way string // "" where the site has no such log
}

func panicsIn(logs []log, panics []reports.Panic) (list []panicLine) {
	for _, p := range panics {
		line := panicLine{Panic: p}
		for _, l := range logs {
			if strings.TrimSuffix(l.Path, stored.Packed) == p.Log {
				line.Way = fmt.Sprintf("%s#line=%d", l.Page, p.LogLine)
			}
		}
		list = append(list, line)
	}
	return list
}
