package reports

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Dir is the directory of a stored run, and the one door to what is in it. Each part is read
// when it is asked for, and is bounded and checked, since a run may come from a stranger. A part
// that is not there yet is an error that is [fs.ErrNotExist]. [Open] reads what a judge needs.
type Dir string

// ID is the run's.
func (d Dir) ID() string { return filepath.Base(string(d)) }

// File is the path of a file of the run, such as [MarkdownFile].
func (d Dir) File(name ...string) string {
	return filepath.Join(append([]string{string(d)}, name...)...)
}

// Evidence is the directory of what was recorded.
func (d Dir) Evidence() string { return d.File(EvidenceDir) }

// Log is the path of a node's or a client's log.
func (d Dir) Log(name string) string { return d.File(EvidenceDir, LogsDir, name+".log") }

// Record is what the run was.
func (d Dir) Record() (*history.Run, error) { return history.ReadRun(d.Evidence()) }

// Events are the recorded events; the caller closes them.
func (d Dir) Events() (*history.Reader, error) { return history.Open(d.Evidence()) }

// Tables are the names that events use. Torn reports whether a crash cut the file.
func (d Dir) Tables() (tables *history.Tables, torn bool, err error) {
	return history.ReadTables(d.Evidence())
}

// Processes are the names of the run's clients; none if nothing was recorded.
func (d Dir) Processes() (names []string) {
	tables, _, err := d.Tables()
	if err != nil {
		return nil
	}
	for _, p := range tables.Processes {
		names = append(names, p.Name)
	}
	return names
}

// EachBatch passes the events to add in order, until it returns false, and returns the tables.
func (d Dir) EachBatch(add func(*history.Batch) bool) (*history.Tables, error) {
	events, err := d.Events()
	if err != nil {
		return nil, err
	}
	defer events.Close()
	for {
		batch, err := events.Next()
		if errors.Is(err, io.EOF) {
			return events.Tables(), nil
		}
		if err != nil {
			return nil, err
		}
		if !add(batch) {
			return events.Tables(), nil
		}
	}
}

// Landings are what became of the run's faults: as the verdict takes them once the evidence is
// sealed, and as far as they are until then.
func (d Dir) Landings() ([]history.Landing, error) {
	if _, err := os.Lstat(d.File(SealFile)); err != nil {
		return d.Recorded()
	}
	opened, err := Open(string(d))
	if err != nil {
		return nil, err
	}
	return opened.Decided(), nil
}

// Recorded are the landings as the run's keeper wrote them.
func (d Dir) Recorded() ([]history.Landing, error) { return history.ReadLandings(d.Evidence()) }

// Scenario is the text of the scenario; "" for an exploration by hand.
func (d Dir) Scenario() (string, error) {
	text, err := stored.ReadFile(d.File(EvidenceDir, ScenarioFile), stored.MostText)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// Report is the report of a finished run.
func (d Dir) Report() (*Report, error) {
	r := &Report{}
	if err := stored.ReadJSON(d.File(ReportFile), r); err != nil {
		return nil, err
	}
	return r, nil
}

// Markdown is the report of a finished run for people.
func (d Dir) Markdown() ([]byte, error) {
	return stored.ReadFile(d.File(MarkdownFile), stored.MostText)
}

// Verdict is the run's own verdict; nil if it was not judged.
func (d Dir) Verdict() (*verdict.Verdict, error) {
	v := &verdict.Verdict{}
	err := stored.ReadJSON(d.File(VerdictFile), v)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the verdict of run %s: %w; `rmq-mcp judge %s` decides it again from the evidence", d.ID(), err, d.ID())
	}
	return v, nil
}

// Summary is the summary of a finished run, with its verdict.
func (d Dir) Summary() (*Summary, error) {
	s := &Summary{}
	if err := stored.ReadJSON(d.File(SummaryFile), &s.Row); err != nil {
		return nil, err
	}
	if err := stored.ReadJSON(d.File(VerdictFile), &s.Verdict); err != nil {
		return nil, fmt.Errorf("read the verdict beside %s: %w", SummaryFile, err)
	}
	s.Dir = string(d)
	return s, nil
}
