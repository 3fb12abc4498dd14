package site

import (
	"bufio"
	"fmt"
	"io"
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
	mostRead    = 1 << 30 // bytes of a log that are looked at; a stranger's may have no end
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
	Left string // lines that are not on the page
	Data logData
}

// A logData is the lines of a log as the page's script reads them.
type logData struct {
	Lines   []string `json:"lines"`
	Numbers []int    `json:"numbers"`
	AtOnce  int      `json:"at_once"`
}

// writeLogs writes a page of each log of a run that has lines.
func (s *site) writeLogs(r *run, files []reports.LogFile) (logs []log, err error) {
	for _, f := range files {
		file, _ := stored.Unpacked(f.Path)
		name := path.Base(file)
		l := log{LogFile: f, Name: name, Page: "logs/" + strings.TrimSuffix(name, ".log") + ".html"}
		p := logPage{log: l, Run: r, Up: "../"}
		if p.Data, p.Left, err = readLog(filepath.Join(r.Dir, filepath.FromSlash(file))); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		if len(p.Data.Lines) == 0 {
			continue
		}
		if err := s.page(path.Join(reports.RunsDir, r.ID, l.Page), "log.html", p); err != nil {
			return nil, err
		}
		logs = append(logs, l)
	}
	return logs, nil
}

// readLog reads the lines of a log, and says which are left out.
func readLog(file string) (d logData, left string, err error) {
	in, err := stored.Open(file)
	if err != nil {
		return d, "", err
	}
	defer in.Close()
	d.AtOnce = linesAtOnce
	var end []string // the newest lines past the first half
	first, bytes, number := 0, 0, 0
	for lines := bufio.NewReaderSize(io.LimitReader(in, mostRead), 64<<10); err == nil; {
		var line string
		if line, err = lines.ReadString('\n'); line == "" {
			break
		}
		number++
		line = strings.TrimRight(line, "\r\n")
		if len(line) > mostOfLine {
			line = line[:mostOfLine] + " … (the file has the rest)"
		}
		line = plain.Line(line)
		if first+len(line) <= mostOfLog/2 {
			first += len(line)
			d.add(line, number)
			continue
		}
		first = mostOfLog // later lines are of the end
		end, bytes = append(end, line), bytes+len(line)
		for bytes > mostOfLog/2 {
			end, bytes = end[1:], bytes-len(end[0])
		}
	}
	if err != nil && err != io.EOF {
		return d, "", err
	}
	if from, to := len(d.Lines)+1, number-len(end); from <= to {
		left = fmt.Sprintf("Lines %d to %d are in the file alone", from, to)
	}
	for i, line := range end {
		d.add(line, number-len(end)+1+i)
	}
	return d, left, nil
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
