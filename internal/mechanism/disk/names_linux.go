package disk

import (
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Requests of the kernel about names.

// trusted is how long the kernel need not ask again. Everything that changes
// goes through it, or it is told.
const trusted = 10 * time.Second

// trust is shorter where a rule wants to see every question.
func (l *layer) trust() time.Duration {
	for _, a := range l.rules.snapshot() {
		if len(a.Ops) == 0 || slices.Contains(a.Ops, Stat) {
			return 0
		}
	}
	return trusted
}

// entry fills what the kernel is told of a name that it knows from now on.
func (l *layer) entry(x *inode, out *fuse.EntryOut) error {
	var st unix.Stat_t
	if err := l.tree.stat(x, &st); err != nil {
		l.tree.forgotten(x.id, 1)
		return err
	}
	fill(&out.Attr, &st)
	out.NodeId, out.Generation = x.id, 1
	out.SetEntryTimeout(l.trust())
	out.SetAttrTimeout(l.trust())
	return nil
}

func (l *layer) Lookup(cancel <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	dir := l.tree.node(h.NodeId)
	if dir == nil {
		return fuse.Status(unix.ESTALE)
	}
	return l.do(call{op: Stat, h: h, cancel: cancel, slots: []slot{{dir, name}}}, func() error {
		x := l.tree.lookup(slot{dir, name})
		if x == nil {
			out.SetEntryTimeout(l.trust()) // node 0: that there is none can be trusted as well
			return nil
		}
		return l.entry(x, out)
	})
}

func (l *layer) Forget(id, n uint64) { l.tree.forgotten(id, n) }

// make makes a name; after is what else belongs to it, and may be nil.
func (l *layer) make(op Op, cancel <-chan struct{}, h *fuse.InHeader, name string, mode uint32,
	out *fuse.EntryOut, do func(path string) error, after func(*inode) error) fuse.Status {
	dir := l.tree.node(h.NodeId)
	if dir == nil {
		return fuse.Status(unix.ESTALE)
	}
	s := slot{dir, name}
	return l.do(call{op: op, h: h, cancel: cancel, slots: []slot{s}}, func() error {
		x, err := l.tree.make(s, mode, func(path string) error {
			if err := do(path); err != nil {
				return err
			}
			if h.Uid == uint32(os.Geteuid()) && h.Gid == uint32(os.Getegid()) {
				return nil
			}
			return unix.Lchown(path, int(h.Uid), int(h.Gid))
		})
		if err == nil && after != nil {
			err = after(x)
		}
		if err != nil {
			return err
		}
		return l.entry(x, out)
	})
}

func (l *layer) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return l.make(Mkdir, cancel, &in.InHeader, name, unix.S_IFDIR, out, func(path string) error {
		return unix.Mkdir(path, in.Mode&0o7777)
	}, nil)
}

func (l *layer) Mknod(cancel <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	return l.make(Create, cancel, &in.InHeader, name, in.Mode, out, func(path string) error {
		return unix.Mknod(path, in.Mode, int(in.Rdev))
	}, nil)
}

func (l *layer) Symlink(cancel <-chan struct{}, h *fuse.InHeader, to, name string, out *fuse.EntryOut) fuse.Status {
	return l.make(Create, cancel, h, name, unix.S_IFLNK, out, func(path string) error {
		return unix.Symlink(to, path)
	}, nil)
}

func (l *layer) Readlink(_ <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	x := l.tree.node(h.NodeId)
	if x == nil {
		return nil, fuse.Status(unix.ESTALE)
	}
	l.tree.ns.RLock()
	defer l.tree.ns.RUnlock()
	to, err := os.Readlink(l.tree.path(x))
	return []byte(to), l.status(call{}, false, err)
}

func (l *layer) Link(cancel <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	dir, x := l.tree.node(in.NodeId), l.tree.node(in.Oldnodeid)
	if dir == nil || x == nil {
		return fuse.Status(unix.ESTALE)
	}
	s := slot{dir, name}
	return l.do(call{op: Link, h: &in.InHeader, cancel: cancel, slots: []slot{s}}, func() error {
		if err := l.tree.link(x, s); err != nil {
			return err
		}
		return l.entry(x, out)
	})
}

func (l *layer) Unlink(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return l.remove(Unlink, cancel, h, name)
}

func (l *layer) Rmdir(cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return l.remove(Rmdir, cancel, h, name)
}

func (l *layer) remove(op Op, cancel <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	dir := l.tree.node(h.NodeId)
	if dir == nil {
		return fuse.Status(unix.ESTALE)
	}
	s := slot{dir, name}
	return l.do(call{op: op, h: h, cancel: cancel, slots: []slot{s}}, func() error {
		return l.tree.remove(s, op == Rmdir)
	})
}

func (l *layer) Rename(cancel <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	fromDir, toDir := l.tree.node(in.NodeId), l.tree.node(in.Newdir)
	if fromDir == nil || toDir == nil {
		return fuse.Status(unix.ESTALE)
	}
	a, b := slot{fromDir, from}, slot{toDir, to}
	return l.do(call{op: Rename, h: &in.InHeader, cancel: cancel, slots: []slot{a, b}}, func() error {
		return l.tree.rename(a, b, in.Flags)
	})
}

func (l *layer) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if l.tree.node(in.NodeId) == nil {
		return fuse.Status(unix.ESTALE)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	out.Fh = l.next
	return fuse.OK
}

func (l *layer) ReadDir(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	dir := l.tree.node(in.NodeId)
	if dir == nil {
		return fuse.Status(unix.ESTALE)
	}
	return l.do(call{op: ReadDir, h: &in.InHeader, cancel: cancel, x: dir}, func() error {
		list := l.listing(in.Fh, dir, in.Offset == 0)
		for i := int(in.Offset); i < len(list); i++ {
			e := list[i]
			if e.Off = uint64(i + 1); !out.AddDirEntry(e) {
				break
			}
		}
		return nil
	})
}

// listing is what a directory held when its reading began.
func (l *layer) listing(handle uint64, dir *inode, anew bool) []fuse.DirEntry {
	l.mu.Lock()
	list, ok := l.dirs[handle]
	l.mu.Unlock()
	if ok && !anew {
		return list
	}
	list = l.tree.names(dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dirs[handle] = list
	return list
}

// names are the entries of a directory, by name.
func (t *tree) names(dir *inode) []fuse.DirEntry {
	t.ns.RLock()
	defer t.ns.RUnlock()
	up := dir
	if len(dir.places) > 0 {
		up = dir.places[0].dir
	}
	list := []fuse.DirEntry{{Name: ".", Ino: dir.id, Mode: dir.mode}, {Name: "..", Ino: up.id, Mode: up.mode}}
	for name, x := range dir.entries {
		list = append(list, fuse.DirEntry{Name: name, Ino: x.id, Mode: x.mode})
	}
	slices.SortFunc(list[2:], func(a, b fuse.DirEntry) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (l *layer) ReleaseDir(in *fuse.ReleaseIn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.dirs, in.Fh)
}

func (l *layer) FsyncDir(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	dir := l.tree.node(in.NodeId)
	if dir == nil {
		return fuse.Status(unix.ESTALE)
	}
	c := call{op: FsyncDir, h: &in.InHeader, cancel: cancel, x: dir}
	return l.do(c, func() error {
		return l.powered(c, func() (bool, error) { return l.tree.syncDir(dir), nil })
	})
}

// StatFs is what is below, or the limit.
func (l *layer) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	var st unix.Statfs_t
	if err := unix.Statfs(l.tree.live, &st); err != nil {
		return fuse.ToStatus(err)
	}
	unit := uint64(st.Bsize)
	*out = fuse.StatfsOut{Blocks: st.Blocks, Bfree: st.Bfree, Bavail: st.Bavail, Files: st.Files, Ffree: st.Ffree,
		Bsize: uint32(st.Bsize), Frsize: uint32(st.Frsize), NameLen: uint32(st.Namelen)}
	u := l.tree.usage.read()
	if u.Limit.Bytes > 0 {
		out.Frsize = out.Bsize
		out.Blocks = (uint64(max(u.Limit.Bytes, u.Bytes)) + unit - 1) / unit // a disk that is full is none of no size
		out.Bfree = min(out.Bfree, uint64(max(0, u.Limit.Bytes-u.Bytes))/unit)
		out.Bavail = min(out.Bavail, out.Bfree)
	}
	if u.Limit.Inodes > 0 {
		out.Files = uint64(u.Limit.Inodes)
		out.Ffree = min(out.Ffree, uint64(max(0, u.Limit.Inodes-u.Inodes)))
	}
	return fuse.OK
}

func (l *layer) String() string { return fsName }
