package issues

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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
	lock       *flock.Flock
}

// OpenMemory reads what is remembered of a repository. Nobody else keeps issues from the same
// state directory until it is closed.
func OpenMemory(stateDir, repo string) (*FileMemory, error) {
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return nil, err
	}
	m := &FileMemory{path: filepath.Join(stateDir, MemoryFile), repo: repo, all: map[string]map[string]int{}, lock: flock.New(filepath.Join(stateDir, MemoryFile+".lock"))}
	switch mine, err := m.lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", m.path, err)
	case !mine:
		return nil, fmt.Errorf("another process keeps issues from %s; wait for its end", stateDir)
	}
	if err := stored.ReadJSON(m.path, &m.all); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("read the numbers of issues: %w", err), m.Close())
	}
	if m.all[repo] == nil {
		m.all[repo] = map[string]int{}
	}
	return m, nil
}

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
func (m *FileMemory) Close() error { return m.lock.Unlock() }
