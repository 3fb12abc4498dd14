package disk

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// A layer answers the kernel: it asks the rules what to do to an operation,
// and has the tree do it. It never looks at its own mount.
type layer struct {
	fuse.RawFileSystem // what it does not answer itself: not there
	tree               *tree
	rules              table
	limit              atomic.Pointer[armed] // counts what that of bytes refused
	limitFiles         atomic.Pointer[armed] // and that of files
	counts             [2]map[Op]*atomic.Int64
	server             *fuse.Server

	mu   sync.Mutex
	dirs map[uint64][]fuse.DirEntry // open directories
	next uint64
}

func newLayer(t *tree) *layer {
	l := &layer{RawFileSystem: fuse.NewDefaultRawFileSystem(), tree: t, dirs: map[uint64][]fuse.DirEntry{}}
	for i := range l.counts {
		l.counts[i] = map[Op]*atomic.Int64{}
		for _, op := range Ops() {
			l.counts[i][op] = &atomic.Int64{}
		}
	}
	l.limit.Store(armLimit())
	l.limitFiles.Store(armLimit())
	return l
}

// A call is one request of the kernel, as far as rules look at it: of an
// inode, or of one or two names.
type call struct {
	op     Op
	h      *fuse.InHeader
	cancel <-chan struct{}
	x      *inode
	slots  []slot
	off, n int64
	forced bool
}

// do does one operation as the rules will have it.
func (l *layer) do(c call, f func() error) fuse.Status {
	probe := l.isProbe(c)
	l.counts[index(probe)][c.op].Add(1)
	if len(l.rules.snapshot()) == 0 {
		return l.status(c, probe, f())
	}
	o := operation{op: c.op, off: c.off, n: c.n, probe: probe, forced: c.forced, paths: l.paths(c)}
	if c.x != nil {
		o.inode = c.x.id
	}
	b := l.rules.strike(o)
	l.pause(b.delays, c)
	for _, a := range b.before {
		l.holdFor(a, c)
	}
	if b.errno != "" {
		l.fail(b, c)
		return fuse.Status(errno(b.errno))
	}
	s := l.status(c, probe, f())
	for _, a := range b.after {
		l.holdFor(a, c)
	}
	return s
}

func index(probe bool) int {
	if probe {
		return 1
	}
	return 0
}

func (l *layer) isProbe(c call) bool {
	if c.x != nil {
		return c.x.probe
	}
	for _, s := range c.slots {
		if s.dir.probe || isProbe(s.name) {
			return true
		}
	}
	return false
}

// paths are the names of what an operation is about.
func (l *layer) paths(c call) []string {
	l.tree.ns.RLock()
	defer l.tree.ns.RUnlock()
	if c.x != nil {
		return []string{l.tree.name(c.x)}
	}
	names := make([]string, len(c.slots))
	for i, s := range c.slots {
		names[i] = l.tree.nameAt(s)
	}
	return names
}

// status is an error as the kernel wants it. It counts the operations that a limit
// refused.
func (l *layer) status(c call, probe bool, err error) fuse.Status {
	if err == nil {
		return fuse.OK
	}
	var number unix.Errno
	if !errors.As(err, &number) {
		number = unix.EIO
	}
	var full noRoom
	if errors.As(err, &full) {
		counter := &l.limit
		if full.files {
			counter = &l.limitFiles
		}
		o := operation{op: c.op, off: c.off, n: c.n, probe: probe, paths: l.paths(c)}
		counter.Load().strike(o, &blow{})
	}
	return fuse.Status(number)
}

// fail is what a failed fsync does beside failing.
func (l *layer) fail(b blow, c call) {
	if c.op != Fsync || b.failed != FailedLoses {
		return
	}
	lost, err := l.tree.lose(c.x)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lose what was not synced:", err)
	}
	b.failing.lost(lost)
	go l.server.InodeNotify(c.x.id, 0, 0) // once the kernel has its answer
}

// pause delays an operation. As with a disk, no signal but the one that kills shortens
// it. It does not outlast the rules that delay: who heals them has healed the disk.
func (l *layer) pause(delays []delay, c call) {
	for _, d := range delays {
		over := make(chan struct{})
		timer := time.AfterFunc(d.wait, func() { close(over) })
		lives := await(over, d.by.resumed, c)
		timer.Stop()
		if !lives {
			return
		}
	}
}

// holdFor holds an operation until the rule is resumed.
func (l *layer) holdFor(a *armed, c call) {
	a.holding()
	await(a.resumed, nil, c)
}

// await waits for one of two things, but no longer than the caller lives: a process
// that is being killed is gone only after its request was answered. It answers
// whether it was worth waiting.
func await(what, or <-chan struct{}, c call) bool {
	select {
	case <-what:
		return true
	case <-or:
		return true
	case <-c.cancel:
	}
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-what:
			tick.Stop()
			return true
		case <-or:
			tick.Stop()
			return true
		case <-tick.C:
			if dying(c.h.Pid) {
				tick.Stop()
				return false
			}
		}
	}
}

// dying says whether a thread is being killed. One that cannot be seen from
// here is.
func dying(pid uint32) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); key {
		case "State":
			if strings.HasPrefix(value, "Z") || strings.HasPrefix(value, "X") {
				return true
			}
		case "SigPnd", "ShdPnd":
			var set uint64
			if _, err := fmt.Sscanf(value, "%x", &set); err == nil && set&(1<<(unix.SIGKILL-1)) != 0 {
				return true
			}
		}
	}
	return false
}

// errno is the number of a name that [Errnos] has.
func errno(name string) unix.Errno {
	for n := unix.Errno(1); n < 134; n++ {
		if unix.ErrnoName(n) == name {
			return n
		}
	}
	return unix.EIO
}

func armLimit() *armed { return arm(Rule{ID: "limit", Errno: "ENOSPC"}) }

// set makes the layer disturb by these faults.
func (l *layer) set(f Faults) {
	was := l.tree.usage.read().Limit
	if f.Limit.Bytes != was.Bytes {
		l.limit.Store(armLimit())
	}
	if f.Limit.Inodes != was.Inodes {
		l.limitFiles.Store(armLimit())
	}
	l.tree.usage.limit(f.Limit)
	l.rules.set(f.Rules)
	l.distrust(func(x *inode) bool { return true })
}

// distrust makes the kernel ask again for what it has cached, and write back
// what was changed through mappings.
func (l *layer) distrust(which func(*inode) bool) {
	l.tree.ns.RLock()
	var ids []uint64
	for id, x := range l.tree.nodes {
		if x.isReg() && x.lookups.Load() > 0 && which(x) {
			ids = append(ids, id)
		}
	}
	l.tree.ns.RUnlock()
	for _, id := range ids {
		l.server.InodeNotify(id, 0, 0)
	}
}

func (l *layer) invalidate(s stale) {
	for _, id := range s.files {
		l.server.InodeNotify(id, 0, 0)
	}
	for _, n := range s.names {
		l.server.EntryNotify(n.dir, n.name)
		l.server.InodeNotify(n.dir, -1, 0)
	}
}

func (l *layer) stats() Stats {
	s := Stats{Ops: map[Op]int64{}, Probes: map[Op]int64{}, Rules: map[string]RuleHits{},
		Full: l.limit.Load().stats(), FullFiles: l.limitFiles.Load().stats(), Usage: l.tree.usage.read()}
	for _, op := range Ops() {
		s.Ops[op], s.Probes[op] = l.counts[0][op].Load(), l.counts[1][op].Load()
	}
	s.Faults.Limit = s.Usage.Limit
	for _, a := range l.rules.snapshot() {
		s.Rules[a.ID] = a.stats()
		s.Faults.Rules = append(s.Faults.Rules, a.Rule)
	}
	return s
}
