package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/internal/secret"
)

// Words are the agent's own about a run. They are quoted and decide nothing.
type Words struct {
	Title            string   `json:"title,omitempty"`
	Problem          string   `json:"problem,omitempty"`           // what happened and at which stage
	Analysis         string   `json:"analysis,omitempty"`          // suspected causes
	CodePaths        []string `json:"code_paths,omitempty"`        // where to look
	ProposedSeverity string   `json:"proposed_severity,omitempty"` // P0 to P3

	Checks []CodeCheck `json:"code_checks,omitempty"` // of the paths, by the server
}

// A CodeCheck says whether a source tree has a place that an agent named.
type CodeCheck struct {
	Place string `json:"place"` // as it was named
	Tree  string `json:"tree"`  // at which version
	Found string `json:"found"` // there, not there, or not checked
	Why   string `json:"why,omitempty"`
}

// The values of [CodeCheck.Found].
const (
	CodeThere      = "there"
	CodeNotThere   = "not there"
	CodeNotChecked = "not checked"
)

func (w Words) empty() bool {
	return w.Title == "" && w.Problem == "" && w.Analysis == "" && len(w.CodePaths) == 0 && w.ProposedSeverity == ""
}

// A Note is what an agent said about a run, and when.
type Note struct {
	Time  time.Time `json:"time"`
	Words Words     `json:"words"`
	Hash  string    `json:"hash"` // of the entry in notes.jsonl
}

// AddWords chains words onto a finished run's notes and writes its report
// anew, from the evidence, with them quoted. Empty words are not noted. A run
// whose seal or verdict does not hold is refused with a [*BrokenSeal].
func AddWords(dir string, words Words) (*Summary, error) {
	if _, err := VerifySeal(dir); err != nil {
		return nil, err
	}
	d, err := Open(dir)
	if err != nil {
		return nil, err
	}
	v, found, err := d.rejudge()
	if err != nil {
		return nil, err
	}
	if !words.empty() && !d.said(words) {
		if err := appendWords(filepath.Join(dir, NotesFile), words); err != nil {
			return nil, fmt.Errorf("note what was said about %s: %w", dir, err)
		}
	}
	return d.render(v, found)
}

// said reports whether the newest note has these words: what was published in vain is published
// again.
func (d *RunDir) said(words Words) bool {
	notes, err := readNotes(string(d.Dir))
	if err != nil || len(notes) == 0 {
		return false
	}
	is, ierr := json.Marshal(notes[len(notes)-1].Words)
	want, werr := json.Marshal(words.Scrubbed())
	return ierr == nil && werr == nil && bytes.Equal(is, want)
}

// Scrubbed are the words without what is a secret by its name: they are published.
func (w Words) Scrubbed() Words {
	s := secret.New()
	for _, text := range []*string{&w.Title, &w.Problem, &w.Analysis, &w.ProposedSeverity} {
		*text = s.Text(*text)
	}
	w.CodePaths = slices.Clone(w.CodePaths)
	for i := range w.CodePaths {
		w.CodePaths[i] = s.Text(w.CodePaths[i])
	}
	w.Checks = slices.Clone(w.Checks)
	for i := range w.Checks {
		w.Checks[i].Place, w.Checks[i].Why = s.Text(w.Checks[i].Place), s.Text(w.Checks[i].Why)
	}
	return w
}

func appendWords(path string, words Words) error {
	notes, err := journal.Open(path)
	if err != nil {
		return err
	}
	_, err = notes.Append(journal.KindNote, words.Scrubbed())
	return errors.Join(err, notes.Close())
}
