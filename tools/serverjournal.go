package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history/journal"
)

// A ServerJournal is the hash-chained record of all calls of one server,
// whatever they were about: StateDir/journal/server-TIME-PID-N.jsonl. A file is
// made when it is needed, begins with the name and head of the one before, and the
// last ones are kept.
type ServerJournal struct {
	path    string // but for -N.jsonl
	most    int64  // bytes of one file
	mu      sync.Mutex
	number  int
	journal *journal.Journal
}

const (
	mostJournal  = 16 << 20
	journalsKept = 8 // of one server
)

// OpenJournal makes the folder of a state directory's server journals.
func OpenJournal(stateDir string) (*ServerJournal, error) {
	dir := filepath.Join(stateDir, "journal")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the journal's directory: %w", err)
	}
	name := fmt.Sprintf("server-%s-%d", time.Now().UTC().Format("20060102-150405"), os.Getpid())
	return &ServerJournal{path: filepath.Join(dir, name), most: mostJournal}, nil
}

// Call records that a call was made.
func (s *ServerJournal) Call(caller keeper.Caller) (JournalEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(journal.KindCall, caller)
}

// Answer records what a call was answered: its number, with its file where that is
// another one.
func (s *ServerJournal) Answer(call JournalEntry, answer any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	entry := map[string]any{"call": call.N, "answer": answer}
	if call.File != filepath.Base(s.file(s.number)) {
		entry["file"] = call.File
	}
	_, err := s.append(journal.KindAnswer, entry)
	return err
}

func (s *ServerJournal) append(kind string, entry any) (JournalEntry, error) {
	if err := s.open(); err != nil {
		return JournalEntry{}, err
	}
	n, err := s.journal.Append(kind, entry)
	return JournalEntry{File: filepath.Base(s.file(s.number)), N: n}, err
}

// open makes the first file, or the next one where it is full.
func (s *ServerJournal) open() (err error) {
	if s.journal == nil {
		s.journal, err = journal.Open(s.file(0))
		return err
	}
	if s.journal.Size() < s.most {
		return nil
	}
	head, _ := s.journal.Head()
	next, err := journal.Open(s.file(s.number + 1))
	if err != nil {
		return err
	}
	if _, err := next.Append(journal.KindContinues, map[string]string{"file": filepath.Base(s.file(s.number)), "head": head}); err != nil {
		return errors.Join(err, next.Close())
	}
	err = s.journal.Close()
	s.journal, s.number = next, s.number+1
	if old := s.number - journalsKept; old >= 0 {
		if gone := os.Remove(s.file(old)); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

func (s *ServerJournal) file(number int) string { return fmt.Sprintf("%s-%d.jsonl", s.path, number) }

// Close closes the file.
func (s *ServerJournal) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal == nil {
		return nil
	}
	return s.journal.Close()
}
