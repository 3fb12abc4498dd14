package disk

import (
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Requests of the kernel about open files.

func (l *layer) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	x := l.tree.node(in.NodeId)
	if x == nil {
		return fuse.Status(unix.ESTALE)
	}
	if in.Flags&unix.O_TRUNC != 0 {
		if s := l.truncate(cancel, &in.InHeader, x, 0); !s.Ok() {
			return s
		}
	}
	return l.do(call{op: Open, h: &in.InHeader, cancel: cancel, x: x}, func() error {
		_, err := l.tree.open(x)
		return err
	})
}

func (l *layer) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	return l.make(Create, cancel, &in.InHeader, name, unix.S_IFREG, &out.EntryOut, func(path string) error {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0)
		if err != nil {
			return err
		}
		return closed(f, unix.Fchmod(int(f.Fd()), in.Mode&0o7777))
	}, func(x *inode) error {
		_, err := l.tree.open(x)
		return err
	})
}

func closed(f *os.File, err error) error {
	_ = f.Close() // nothing was written
	return err
}

func (l *layer) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	if x := l.tree.node(in.NodeId); x != nil {
		l.tree.released(x)
	}
}

func (l *layer) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	x := l.tree.node(in.NodeId)
	if x == nil {
		return nil, fuse.Status(unix.ESTALE)
	}
	n := 0
	s := l.do(call{op: Read, h: &in.InHeader, cancel: cancel, x: x, off: int64(in.Offset), n: int64(len(buf))}, func() error {
		var err error
		n, err = l.tree.read(x, buf, int64(in.Offset))
		return err
	})
	return fuse.ReadResultData(buf[:n]), s
}

func (l *layer) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	x := l.tree.node(in.NodeId)
	if x == nil {
		return 0, fuse.Status(unix.ESTALE)
	}
	n := 0
	s := l.do(call{op: Write, h: &in.InHeader, cancel: cancel, x: x, off: int64(in.Offset), n: int64(len(data)),
		forced: in.WriteFlags&fuse.WRITE_CACHE != 0}, func() error {
		var err error
		n, err = l.tree.write(x, data, int64(in.Offset))
		return err
	})
	return uint32(n), s
}

func (l *layer) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	x := l.tree.node(in.NodeId)
	if x == nil {
		return fuse.Status(unix.ESTALE)
	}
	c := call{op: Fsync, h: &in.InHeader, cancel: cancel, x: x}
	return l.do(c, func() error {
		return l.powered(c, func() (bool, error) { return l.tree.sync(x, in.FsyncFlags&fdatasync != 0) })
	})
}

// powered does a sync again if power was cut meanwhile, once it is back.
func (l *layer) powered(c call, sync func() (bool, error)) error {
	for {
		done, err := sync()
		if done || err != nil {
			return err
		}
		if off := l.tree.power(); off != nil && !await(off, nil, c) {
			return unix.EIO
		}
	}
}

func (l *layer) Fallocate(cancel <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	x := l.tree.node(in.NodeId)
	if x == nil {
		return fuse.Status(unix.ESTALE)
	}
	return l.do(call{op: Allocate, h: &in.InHeader, cancel: cancel, x: x, off: int64(in.Offset), n: int64(in.Length)}, func() error {
		return l.tree.allocate(x, in.Mode, int64(in.Offset), int64(in.Length))
	})
}

func (l *layer) Lseek(_ <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	x := l.tree.node(in.NodeId)
	if x == nil {
		return fuse.Status(unix.ESTALE)
	}
	f, err := l.tree.open(x)
	if err != nil {
		return fuse.ToStatus(err)
	}
	defer l.tree.close(x)
	n, err := unix.Seek(int(f.Fd()), int64(in.Offset), int(in.Whence))
	out.Offset = uint64(n)
	return fuse.ToStatus(err)
}

// Flush has nothing to do: nothing is held back.
func (l *layer) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.ENOSYS }

func (l *layer) truncate(cancel <-chan struct{}, h *fuse.InHeader, x *inode, size int64) fuse.Status {
	return l.do(call{op: Truncate, h: h, cancel: cancel, x: x, off: size}, func() error {
		return l.tree.truncate(x, size)
	})
}

func (l *layer) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	x := l.tree.node(in.NodeId)
	if x == nil {
		return fuse.Status(unix.ESTALE)
	}
	if in.NodeId == fuse.FUSE_ROOT_ID { // the kernel asks on everybody's way in, that of probes too
		return l.status(call{op: Stat, h: &in.InHeader, x: x}, false, l.attr(x, out))
	}
	return l.do(call{op: Stat, h: &in.InHeader, cancel: cancel, x: x}, func() error { return l.attr(x, out) })
}

func (l *layer) attr(x *inode, out *fuse.AttrOut) error {
	var st unix.Stat_t
	if err := l.tree.stat(x, &st); err != nil {
		return err
	}
	fill(&out.Attr, &st)
	out.SetTimeout(l.trust())
	return nil
}

func fill(a *fuse.Attr, st *unix.Stat_t) {
	a.FromStat(&syscall.Stat_t{Ino: st.Ino, Size: st.Size, Blocks: st.Blocks, Mode: st.Mode, Nlink: st.Nlink,
		Uid: st.Uid, Gid: st.Gid, Rdev: st.Rdev, Blksize: st.Blksize,
		Atim: syscall.Timespec(st.Atim), Mtim: syscall.Timespec(st.Mtim), Ctim: syscall.Timespec(st.Ctim)})
}

func (l *layer) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	x := l.tree.node(in.NodeId)
	if x == nil {
		return fuse.Status(unix.ESTALE)
	}
	if size, ok := in.GetSize(); ok {
		if s := l.truncate(cancel, &in.InHeader, x, int64(size)); !s.Ok() {
			return s
		}
	}
	if err := l.setAttr(x, in); err != nil {
		return fuse.ToStatus(err)
	}
	return fuse.ToStatus(l.attr(x, out))
}

func (l *layer) setAttr(x *inode, in *fuse.SetAttrIn) error {
	l.tree.ns.RLock()
	defer l.tree.ns.RUnlock()
	path := l.tree.path(x)
	if mode, ok := in.GetMode(); ok {
		if err := unix.Chmod(path, mode); err != nil {
			return err
		}
	}
	uid, hasUID := in.GetUID()
	gid, hasGID := in.GetGID()
	if hasUID || hasGID {
		if err := unix.Lchown(path, int(int32(uid)), int(int32(gid))); err != nil {
			return err
		}
	}
	return setTimes(path, in)
}

func setTimes(path string, in *fuse.SetAttrIn) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Nsec: unix.UTIME_OMIT}}
	atime, hasA := in.GetATime()
	mtime, hasM := in.GetMTime()
	if hasA {
		times[0] = unix.NsecToTimespec(atime.UnixNano())
	}
	if hasM {
		times[1] = unix.NsecToTimespec(mtime.UnixNano())
	}
	if !hasA && !hasM {
		return nil
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, times, unix.AT_SYMLINK_NOFOLLOW)
}

// fdatasync is the flag of an fsync that was one (FUSE_FSYNC_FDATASYNC).
const fdatasync = 1
