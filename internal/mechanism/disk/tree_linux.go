package disk

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A tree is the plain directory that the broker sees, and how to take back
// what is not durable of it. It knows nothing of FUSE.
//
// Locks: ns before an inode's mu before the tree's small ones.
type tree struct {
	model Model
	root  *inode
	live  string // the plain directory
	grave string // holds by number what is unlinked and may be needed yet

	ns        sync.RWMutex // names, log, nodes, cut
	nodes     map[uint64]*inode
	log       []*entryOp // entries that are not durable, in order
	cut       chan struct{}
	committed uint64 // until which number of seq the journal is

	mu    sync.Mutex
	dirty map[*inode]struct{} // with operations that are not durable
	eager map[*inode]struct{} // of those, the ones that a commit concerns

	seq    atomic.Uint64
	nextID atomic.Uint64
	usage  usage
	spool  spool
	clock  func() time.Duration // since some moment

	maxOps   int
	maxSpool int64
}

// An inode is a file or a directory.
type inode struct {
	id   uint64
	mode uint32 // S_IFMT only

	// Under ns.
	entries map[string]*inode // of a directory
	places  []slot            // where it is in the tree
	buried  bool              // it is in the grave
	pins    int               // changes of the log that name it
	probe   bool
	last    string // its path when it was unlinked

	lookups  atomic.Int64  // of the kernel
	meta     atomic.Uint64 // when anything of its metadata changed
	dataMeta atomic.Uint64 // when what an fdatasync needs of it did

	counted bool // in what is used; under usage.mu

	mu      sync.Mutex
	file    *os.File // while it is open
	opens   int
	size    int64
	ops     []dataOp // that are not durable, in order
	emptied bool     // truncated to nothing and not closed since
	ordered uint64   // what was done until then is durable with the next commit
	tail    tail
}

// A slot is a name in a directory.
type slot struct {
	dir  *inode
	name string
}

// Directories in a backing directory.
const (
	treeDir  = "tree"
	graveDir = "unlinked"
)

func newTree(backing string, model Model, clock func() time.Duration) (*tree, error) {
	t := &tree{model: model, clock: clock, maxOps: PendingLimit, maxSpool: SpoolLimit,
		live: filepath.Join(backing, treeDir), grave: filepath.Join(backing, graveDir),
		nodes: map[uint64]*inode{}, dirty: map[*inode]struct{}{}, eager: map[*inode]struct{}{}}
	if err := os.RemoveAll(t.grave); err != nil {
		return nil, err
	}
	for _, dir := range []string{t.live, t.grave} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	t.spool.path = filepath.Join(backing, "undo")
	t.root = t.newInode(unix.S_IFDIR)
	return t, t.scan(t.root, map[uint64]*inode{})
}

// scan finds what is in a directory; known are the files with several names.
func (t *tree) scan(dir *inode, known map[uint64]*inode) error {
	list, err := os.ReadDir(t.path(dir))
	if err != nil {
		return err
	}
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			return err
		}
		number := inodeNumber(info)
		x := known[number]
		if x == nil {
			x = t.newInode(fileType(info))
			x.size = sizeOf(info)
			x.tail.blocks = roundUp(x.size)
			x.probe = dir.probe || isProbe(e.Name())
			t.usage.enter(x)
		}
		if info.Mode().IsRegular() {
			known[number] = x
		}
		t.bind(slot{dir, e.Name()}, x)
		if info.IsDir() {
			if err := t.scan(x, known); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tree) newInode(mode uint32) *inode {
	x := &inode{id: t.nextID.Add(1), mode: mode & unix.S_IFMT}
	if x.isDir() {
		x.entries = map[string]*inode{}
	}
	t.nodes[x.id] = x
	return x
}

func (x *inode) isDir() bool { return x.mode == unix.S_IFDIR }
func (x *inode) isReg() bool { return x.mode == unix.S_IFREG }

func isProbe(name string) bool { return strings.HasPrefix(name, ProbePrefix) }

// bind and unbind change the names in memory only.
func (t *tree) bind(s slot, x *inode) {
	s.dir.entries[s.name] = x
	x.places = append(x.places, s)
}

func (t *tree) unbind(s slot, x *inode) {
	delete(s.dir.entries, s.name)
	for i, p := range x.places {
		if p == s {
			x.places = append(x.places[:i], x.places[i+1:]...)
			return
		}
	}
}

// path is where x is in the backing directory. Hold ns while it is used.
func (t *tree) path(x *inode) string {
	switch {
	case x == t.root:
		return t.live
	case len(x.places) > 0:
		return t.at(x.places[0])
	}
	return filepath.Join(t.grave, fmt.Sprint(x.id))
}

func (t *tree) at(s slot) string { return filepath.Join(t.path(s.dir), s.name) }

// name is a path as rules and reports say it: relative to the data directory.
func (t *tree) name(x *inode) string {
	switch {
	case x == t.root:
		return ""
	case len(x.places) > 0:
		return t.nameAt(x.places[0])
	}
	return x.last
}

func (t *tree) nameAt(s slot) string {
	if dir := t.name(s.dir); dir != "" {
		return dir + "/" + s.name
	}
	return s.name
}

// node is the inode of a number, nil without one.
func (t *tree) node(id uint64) *inode {
	t.ns.RLock()
	defer t.ns.RUnlock()
	return t.nodes[id]
}

// reap forgets an inode that nothing needs any more.
func (t *tree) reap(x *inode) {
	if x == t.root || len(x.places) > 0 || x.pins > 0 || x.lookups.Load() > 0 {
		return
	}
	if t.nodes[x.id] != x {
		return
	}
	delete(t.nodes, x.id)
	for name, child := range x.entries {
		if t.take(slot{x, name}, child) != nil {
			t.unbind(slot{x, name}, child) // it goes with its directory
		}
		t.reap(child)
	}
	x.mu.Lock()
	t.forget(x, x.all())
	x.mu.Unlock()
	if x.buried {
		_ = os.RemoveAll(t.path(x)) // what stays is in a directory of ours and goes with it
		x.buried = false
	}
}

// forgotten is the kernel forgetting an inode n times.
func (t *tree) forgotten(id, n uint64) {
	x := t.node(id)
	if x == nil || x.lookups.Add(-int64(n)) > 0 {
		return
	}
	t.ns.Lock()
	defer t.ns.Unlock()
	t.reap(x)
}

// open gives x's file, opened once for all who use it; close gives it back.
func (t *tree) open(x *inode) (*os.File, error) {
	t.ns.RLock()
	defer t.ns.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	return t.openLocked(x)
}

func (t *tree) openLocked(x *inode) (*os.File, error) {
	if x.file == nil {
		f, err := os.OpenFile(t.path(x), os.O_RDWR, 0)
		if err != nil {
			f, err = os.OpenFile(t.path(x), os.O_RDONLY, 0)
		}
		if err != nil {
			return nil, err
		}
		x.file = f
	}
	x.opens++
	return x.file, nil
}

func (t *tree) close(x *inode) {
	x.mu.Lock()
	defer x.mu.Unlock()
	t.closeLocked(x)
}

func (t *tree) closeLocked(x *inode) {
	if x.opens--; x.opens == 0 {
		_ = x.file.Close() // nothing of ours is buffered in it
		x.file = nil
	}
}

// stat is what the backing directory says of x.
func (t *tree) stat(x *inode, st *unix.Stat_t) error {
	t.ns.RLock()
	defer t.ns.RUnlock()
	if err := unix.Lstat(t.path(x), st); err != nil {
		return err
	}
	st.Ino = x.id
	if !x.isDir() {
		set(&st.Nlink, len(x.places))
	}
	return nil
}

// set sets a field that one processor has narrower than another.
func set[T uint32 | uint64](field *T, n int) { *field = T(n) }

// walk visits what is in a directory and below, in no order. Hold ns.
func walk(dir *inode, visit func(slot, *inode)) {
	for name, x := range dir.entries {
		visit(slot{dir, name}, x)
		walk(x, visit)
	}
}

func inodeNumber(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }
func fileType(info fs.FileInfo) uint32    { return info.Sys().(*syscall.Stat_t).Mode & unix.S_IFMT }

func sizeOf(info fs.FileInfo) int64 {
	if info.Mode().IsRegular() {
		return info.Size()
	}
	return 0
}
