package site

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A run is one that is stored, with what the lists of the site say of it.
type run struct {
	reports.Row
	Page   bool     // there is a page about it
	Broker string   // its flavor; somebody else's with its endpoints
	Failed []string // claims
	Held   []string // claims, none in a run that does not count
	Faults []string // that landed, by type

	counted bool // in the tables
}

// Class of its state: pass, fail or unclear.
func (r run) Class() string { return reports.Class(r.State) }

// On is the broker under test, by its name and version.
func (r run) On() string {
	named := history.ClusterInfo{Flavor: r.Broker, Planted: r.Planted}
	if r.Version != history.UnknownVersion {
		named.Version = strings.TrimSpace(strings.TrimPrefix(r.Version, r.Flavor))
	}
	return reports.BrokerName(named)
}

// Says is its headline without its state, which stands beside it.
func (r run) Says() string {
	return strings.TrimPrefix(strings.TrimPrefix(r.Headline, string(r.State)), ": ")
}

// Path of its page in the site.
func (r run) Path() string { return reports.RunsDir + "/" + r.ID + "/index.html" }

// writeRuns writes the pages of all runs. One that is broken hides no other.
func (s *site) writeRuns() error {
	rows, err := reports.List(s.root, reports.Filter{})
	if err != nil {
		return err
	}
	for _, row := range rows {
		r, err := s.writeRun(row)
		if err != nil {
			r = &run{Row: reports.Unreadable(row.Dir, err)}
		}
		s.Runs = append(s.Runs, r)
		s.byID[r.ID] = r
	}
	s.countRuns()
	return nil
}

// writeRun writes the page of one run, with the files that it links to.
func (s *site) writeRun(row reports.Row) (*run, error) {
	r := &run{Row: row, Broker: row.Flavor}
	if row.State == reports.Unfinished {
		return r, nil // there is nothing to show yet, or nothing to rely on
	}
	text, err := reports.Dir(row.Dir).Markdown()
	if err != nil {
		return r, err
	}
	report, err := reports.Dir(row.Dir).Report()
	if err != nil {
		return r, err
	}
	r.judged(report)
	body, err := toHTML(text)
	if err != nil {
		return r, err
	}
	files, err := s.copyRun(r)
	if err != nil {
		return r, err
	}
	logs, err := s.writeLogs(r, files)
	if err != nil {
		return r, err
	}
	r.Page = true
	return r, s.page(r.Path(), "run.html", map[string]any{"Run": r, "Body": body, "Sections": sectionsOf(body), "Logs": logs, "Panics": panicsIn(logs, report.Panics), "Findings": s.Shows[r.ID]})
}

// judged takes what its report says of its broker, of claims and of faults.
func (r *run) judged(report *reports.Report) {
	if at := reports.EndpointsOf(report.Cluster); len(at) > 0 {
		r.Broker += " " + strings.Join(at, ", ")
	}
	for _, result := range report.Verdict.Results {
		switch {
		case result.Status == verdict.Fail:
			r.Failed = append(r.Failed, result.Claim.Name)
		case result.Status == verdict.Pass && report.Holds():
			r.Held = append(r.Held, result.Claim.Name)
		}
	}
	for _, l := range report.Landings {
		if l.State == history.Landed && !slices.Contains(r.Faults, l.Type) {
			r.Faults = append(r.Faults, l.Type)
		}
	}
}

// copyRun copies the files that a run's page links to, and returns its logs.
func (s *site) copyRun(r *run) ([]reports.LogFile, error) {
	picture, err := stored.ReadFile(filepath.Join(r.Dir, reports.TimelineFile), stored.MostText)
	if err != nil {
		return nil, err
	}
	if err := reports.CheckSVG(picture); err != nil {
		return nil, fmt.Errorf("%s: %w", reports.TimelineFile, err)
	}
	for _, name := range []string{reports.ReportFile, reports.TimelineFile, reports.VerdictFile, reports.SealFile} {
		if err := s.copy(r, name); err != nil {
			return nil, err
		}
	}
	return s.copyLogs(r)
}

// copyLogs copies the logs of a run: one of each name, itself where a packed one is beside it.
func (s *site) copyLogs(r *run) (logs []reports.LogFile, err error) {
	dir := filepath.Join(reports.EvidenceDir, reports.LogsDir)
	entries, err := os.ReadDir(filepath.Join(r.Dir, dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, packed := stored.Unpacked(e.Name())
		if !e.Type().IsRegular() || !isLog(name) || packed && slices.ContainsFunc(entries, func(other fs.DirEntry) bool { return other.Name() == name }) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		rel := filepath.Join(dir, e.Name())
		logs = append(logs, reports.LogFile{Path: filepath.ToSlash(rel), Bytes: info.Size()})
		if err := s.copy(r, rel); err != nil {
			return nil, err
		}
	}
	return logs, nil
}

// isLog reports whether a file is a log by its name. A browser runs no .log.
func isLog(name string) bool {
	return stored.IsID(name) && strings.HasSuffix(name, ".log")
}

// copy copies a file of a run.
func (s *site) copy(r *run, name string) error {
	from, path := filepath.Join(r.Dir, name), filepath.Join(reports.RunsDir, r.ID, name)
	in, err := stored.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if same(from, filepath.Join(s.out.Name(), path)) {
		return nil
	}
	s.wrote(path)
	if err := s.remove(path); err != nil {
		return err
	}
	if err := s.out.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := s.out.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func same(a, b string) bool {
	x, xerr := os.Stat(a)
	y, yerr := os.Stat(b)
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}
