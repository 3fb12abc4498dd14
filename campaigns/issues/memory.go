package issues

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

// MemoryFile is in the state directory: the numbers of issues by repository and finding.
const MemoryFile = "issues.json"

// A FileMemory is a [Memory] of one repository in a file that remembers several.
type FileMemory struct {
	path, repo string
	all        map[string]map[string]int
	lock       *flock.Flock // nil of one that is only read
}

// ReadMemory reads what is remembered of a repository, and writes nothing.
func ReadMemory(stateDir, repo string) (*FileMemory, error) {
	m := &FileMemory{path: filepath.Join(stateDir, MemoryFile), repo: repo}
	return m, m.read()
}

func (m *FileMemory) read() error {
	if err := stored.ReadJSON(m.path, &m.all); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the numbers of issues: %w", err)
	}
	if m.all == nil {
		m.all = map[string]map[string]int{}
	}
	if m.all[m.repo] == nil {
		m.all[m.repo] = map[string]int{}
	}
	return nil
}

// OpenMemory reads what is remembered of a repository. Nobody else keeps issues from the same
// state directory until it is closed.
func OpenMemory(stateDir, repo string) (*FileMemory, error) {
	m := &FileMemory{path: filepath.Join(stateDir, MemoryFile), repo: repo, lock: flock.New(filepath.Join(stateDir, MemoryFile+".lock"))}
	switch mine, err := m.lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", m.path, err)
	case !mine:
		return nil, fmt.Errorf("another process keeps issues from %s; wait for its end", stateDir)
	}
	if err := m.read(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// IDs are the findings of which it remembers an issue, in order.
func (m *FileMemory) IDs() []string { return slices.Sorted(maps.Keys(m.all[m.repo])) }

// Number of the issue of a finding.
func (m *FileMemory) Number(id string) (int, bool) {
	n, known := m.all[m.repo][id]
	return n, known
}

// Add remembers one.
func (m *FileMemory) Add(id string, number int) error {
	m.all[m.repo][id] = number
	if err := reports.WriteJSON(m.path, m.all); err != nil {
		return fmt.Errorf("remember that issue %d is of %s: %w", number, id, err)
	}
	return nil
}

// Close lets others keep issues.
func (m *FileMemory) Close() error {
	if m.lock == nil {
		return nil
	}
	return m.lock.Unlock()
}
