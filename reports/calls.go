package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/history/journal"
)

// readCalls answers what was asked and answered during a run.
func readCalls(evidence string) ([]CallRecord, error) {
	entries, err := readJournal(filepath.Join(evidence, JournalFile))
	if err != nil {
		return nil, err
	}
	calls := []CallRecord{}
	for _, e := range entries {
		c := CallRecord{Number: e.N, Time: e.Time, Kind: e.Kind, Hash: e.Hash}
		var body struct {
			Via    string `json:"via"`
			Client string `json:"client"`
			Tool   string `json:"tool"`
			Args   any    `json:"args"`
			Answer any    `json:"answer"`
		}
		if err := json.Unmarshal(e.Data, &body); err != nil {
			return nil, fmt.Errorf("read entry %d of the journal: %w", e.N, err)
		}
		c.Via, c.Client, c.Tool, c.Args, c.Answer = body.Via, body.Client, body.Tool, body.Args, body.Answer
		calls = append(calls, c)
	}
	return calls, nil
}

// readNotes answers what the agent said about a run.
func readNotes(dir string) ([]Note, error) {
	entries, err := readJournal(filepath.Join(dir, NotesFile))
	if err != nil {
		return nil, err
	}
	notes := []Note{}
	for _, e := range entries {
		n := Note{Time: e.Time, Hash: e.Hash}
		if err := json.Unmarshal(e.Data, &n.Words); err != nil {
			return nil, fmt.Errorf("read note %d: %w", e.N, err)
		}
		notes = append(notes, n)
	}
	return notes, nil
}

func readJournal(path string) ([]journal.Entry, error) {
	entries, err := journal.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}
