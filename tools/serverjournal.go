package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/internal/journal"
	"github.com/robustmq/rmq-mcp/internal/keeper"
)

// A ServerJournal is the hash-chained record of all calls of one server,
// whatever they were about: StateDir/journal/server-TIME-PID.jsonl. The file is
// made at the first call.
type ServerJournal struct {
	path    string
	mu      sync.Mutex
	journal *journal.Journal
}

// OpenJournal makes the folder of a state directory's server journals.
func OpenJournal(stateDir string) (*ServerJournal, error) {
	dir := filepath.Join(stateDir, "journal")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the journal's directory: %w", err)
	}
	name := fmt.Sprintf("server-%s-%d.jsonl", time.Now().UTC().Format("20060102-150405"), os.Getpid())
	return &ServerJournal{path: filepath.Join(dir, name)}, nil
}

// Call records that a call was made.
func (s *ServerJournal) Call(caller keeper.Caller) (int64, error) {
	return s.append(journal.KindCall, caller)
}

// Answer records what a call was answered.
func (s *ServerJournal) Answer(call int64, answer any) error {
	_, err := s.append(journal.KindAnswer, map[string]any{"call": call, "answer": answer})
	return err
}

func (s *ServerJournal) append(kind string, entry any) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal == nil {
		opened, err := journal.Open(s.path)
		if err != nil {
			return 0, err
		}
		s.journal = opened
	}
	n, err := s.journal.Append(kind, entry)
	return int64(n), err
}

// Close closes the file.
func (s *ServerJournal) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal == nil {
		return nil
	}
	return s.journal.Close()
}
