package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"unicode/utf8"

	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

// PageView is a part of a text.
type PageView struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
	Next      int    `json:"next,omitempty"` // pass it as after
	Path      string `json:"path"`
}

const pageBytes = 5_000

func report(dir string, after int) (*PageView, error) {
	path := filepath.Join(dir, reports.MarkdownFile)
	text, err := stored.ReadFile(path, stored.MostJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("run %s has no report yet: it is written once the run is judged; call get_run with view summary to wait", runID(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	start := boundary(text, min(after, len(text)))
	end := boundary(text, min(start+pageBytes, len(text)))
	view := &PageView{Text: string(text[start:end]), Truncated: end < len(text), Path: path}
	if view.Truncated {
		view.Next = end
	}
	return view, nil
}

// boundary moves an offset back to the beginning of a rune.
func boundary(text []byte, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// JournalView are the calls of a run, as they were journalled.
type JournalView struct {
	Entries []map[string]any `json:"entries"`
	Total   int              `json:"total"`
	Next    int              `json:"next,omitempty"` // pass it as after
}

const (
	journalEntry = 1500 // bytes; a longer one is shown as text, cut
)

func journalOf(dir string, after int) (*JournalView, error) {
	text, err := stored.ReadFile(filepath.Join(reports.Dir(dir).Evidence(), reports.JournalFile), stored.MostJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return &JournalView{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	view := &JournalView{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		if view.Total++; view.Total > after {
			view.Entries = append(view.Entries, journalLine(lines.Bytes()))
		}
	}
	view.Entries = fitting(view.Entries, answerBytes)
	if end := after + len(view.Entries); end < view.Total {
		view.Next = end
	}
	return view, lines.Err()
}

func journalLine(line []byte) map[string]any {
	entry := map[string]any{}
	if len(line) > journalEntry || json.Unmarshal(plain.JSON(line), &entry) != nil {
		return map[string]any{"text": plain.CutBytes(string(line), journalEntry)}
	}
	for _, chain := range []string{"prev", "hash", "mono_ns"} { // for verifying the file, not for reading
		delete(entry, chain)
	}
	return entry
}
