// Package disk is a layer of ours under a broker's data directory: a FUSE file system
// in a process of its own. It knows the data that a power loss would take, and
// applies errors, delays and limits as told.
//
// Everything the broker does is done at once to a plain directory, the tree. Beside
// it the layer keeps, in memory, how to take back changes that are not durable yet.
// For every file these are the writes and size changes since its last sync, each with
// the bytes that it replaced. For directories they are the entries without a sync or
// commit since. A sync forgets; a power loss takes back. A [Model] says what makes
// durable.
//
// [Start] runs the process and [Client] talks to it. The process ends, and the data
// directory is a plain one again, when its client closes or dies.
package disk

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Config is one layer.
type Config struct {
	Mount   string // the data directory; what is in it is taken over, and given back at the end
	Backing string // a directory of the layer's own on the same file system, outside Mount
	Model   Model  // what makes durable; zero: Ext4
}

func (c Config) check() (Config, error) {
	if !filepath.IsAbs(c.Mount) || !filepath.IsAbs(c.Backing) {
		return c, fmt.Errorf("disk: mount %q and backing %q must be absolute paths", c.Mount, c.Backing)
	}
	c.Mount, c.Backing = filepath.Clean(c.Mount), filepath.Clean(c.Backing)
	if within(c.Backing, c.Mount) || within(c.Mount, c.Backing) {
		return c, fmt.Errorf("disk: backing %s and mount %s must not lie in one another", c.Backing, c.Mount)
	}
	if c.Model == (Model{}) {
		c.Model = Ext4()
	}
	return c, c.Model.check()
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// A Model says what makes durable. Under each of them an fsync, an fdatasync
// or a write through a descriptor opened with O_SYNC or O_DSYNC makes durable
// what was written to that file until it was called, and its size;
// sync_file_range makes nothing durable. Modes, owners and times are not
// modelled: they survive.
type Model struct {
	Name string `json:"name"`
	// Journal: entries and truncations are committed in the order they were
	// made, for the whole file system. An fsync of a file whose metadata
	// changed since the last commit commits, so does one of a directory; an
	// fdatasync only if the file was created or its size changed. Without a
	// journal only an fsync of a directory makes its entries durable.
	Journal bool `json:"journal"`
	// Ordered: what a file held when it was renamed over another one, or
	// closed after it had been truncated to nothing, is durable with the next
	// commit (auto_da_alloc).
	Ordered bool `json:"ordered"`
	// Tails: the size of what was appended is committed before its bytes are
	// written where it lies in a block that the file has already; they read as
	// zeros.
	Tails bool `json:"tails"`
	// Commit is the longest that an entry waits for its commit, Writeback the longest
	// that written bytes wait for the kernel to write them. 0: for ever. Anything
	// older is durable.
	Commit    time.Duration `json:"commit_ns"`
	Writeback time.Duration `json:"writeback_ns"`
}

// Ext4 is ext4 as it is mounted by default: data=ordered, delayed allocation,
// auto_da_alloc, a commit every 5 s; the kernel writes data after 30 s.
// docs/power-loss.md compares it with a real one.
func Ext4() Model {
	return Model{Name: "ext4", Journal: true, Ordered: true, Tails: true, Commit: 5 * time.Second, Writeback: 30 * time.Second}
}

// XFS orders its metadata as ext4 does, later, and holds no renamed data back.
func XFS() Model {
	return Model{Name: "xfs", Journal: true, Commit: 30 * time.Second, Writeback: 30 * time.Second}
}

// Strict is what POSIX promises and no more: an entry needs an fsync of its
// directory, and nothing becomes durable by itself.
func Strict() Model { return Model{Name: "strict"} }

// ModelNamed is the model of that name.
func ModelNamed(name string) (Model, error) {
	for _, m := range []Model{Ext4(), XFS(), Strict()} {
		if m.Name == name {
			return m, nil
		}
	}
	return Model{}, fmt.Errorf("disk: no model %q; choose ext4, xfs or strict", name)
}

func (m Model) check() error {
	if m.Name == "" {
		return errors.New("disk: a model without a name; start from Ext4, XFS or Strict")
	}
	if m.Commit < 0 || m.Writeback < 0 {
		return fmt.Errorf("disk: model %s: commit %s and writeback %s must not be negative", m.Name, m.Commit, m.Writeback)
	}
	return nil
}

// Info is a layer that runs.
type Info struct {
	PID        int    `json:"pid"`        // of the process that serves it
	Connection uint32 `json:"connection"` // N of /sys/fs/fuse/connections/N, by which [Abort] frees whoever waits for it
	Mount      string `json:"mount"`
	Backing    string `json:"backing"`
	Tree       string `json:"tree"` // in Backing: the plain directory that the broker sees through Mount
	Model      Model  `json:"model"`
}
