package publish

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

// memoryFile in a state directory has a line for each run that was published.
const memoryFile = "published.jsonl"

type published struct {
	To    string    `json:"to"` // see place
	RunID string    `json:"run_id"`
	Root  string    `json:"root"` // of its seal
	Time  time.Time `json:"time"`
}

// place is a destination as it is remembered: without credentials, and the same from wherever
// it was named.
func (d Destination) place() (string, error) {
	p, err := d.publisher()
	if err != nil {
		return "", err
	}
	at := p.where()
	switch p := p.(type) {
	case *gitRemote:
		at += "#" + p.branch
	case *gitHub:
		at += "#" + p.branch
	}
	return at, nil
}

// Remember keeps, in a state directory, that runs in these directories were published, with the
// roots of their seals by their ids.
func Remember(stateDir string, to Destination, runs []string, roots map[string]string) error {
	at, err := to.place()
	if err != nil {
		return err
	}
	for _, run := range runs {
		id := filepath.Base(run)
		if err := stored.AppendJSON(filepath.Join(stateDir, memoryFile), published{at, id, roots[id], time.Now().UTC()}); err != nil {
			return fmt.Errorf("run %s is published, and could not be remembered: %w", id, err)
		}
	}
	return nil
}

// Remembered are the runs of a state directory that were published to a destination as they are
// now. One that was judged again since has another seal, and its page tells an older verdict.
func Remembered(stateDir string, to Destination) (map[string]bool, error) {
	at, err := to.place()
	if err != nil {
		return nil, err
	}
	lines, err := stored.ReadJSONs[published](filepath.Join(stateDir, memoryFile))
	if err != nil {
		return nil, fmt.Errorf("read which runs were published before: %w", err)
	}
	roots := map[string]string{}
	for _, l := range lines {
		if l.To == at {
			roots[l.RunID] = l.Root
		}
	}
	same := map[string]bool{}
	for id, root := range roots {
		if seal, err := reports.Dir(filepath.Join(stateDir, reports.RunsDir, id)).Seal(); err == nil && seal.Root == root {
			same[id] = true
		}
	}
	return same, nil
}
