package disk

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A spool keeps the bytes that writes replaced: small ones in memory as long
// as there is room, the others in a file that shrinks as they are dropped.
type spool struct {
	path string

	mu     sync.Mutex
	file   *os.File
	end    int64 // of the file
	onDisk int64 // bytes of the file that are needed
	inMem  int64
}

const (
	spoolSmall  = 64 << 10
	spoolMemory = 64 << 20
)

// A kept is some bytes in the spool.
type kept struct {
	mem []byte
	off int64
	n   int64
}

// put keeps n bytes of a file from off.
func (s *spool) put(from *os.File, off, n int64) (kept, error) {
	if n == 0 {
		return kept{}, nil
	}
	s.mu.Lock()
	small := n <= spoolSmall && s.inMem+n <= spoolMemory
	if small {
		s.inMem += n
	}
	s.mu.Unlock()
	if small {
		mem := make([]byte, n)
		if _, err := from.ReadAt(mem, off); err != nil {
			s.drop(kept{mem: mem, n: n})
			return kept{}, err
		}
		return kept{mem: mem, n: n}, nil
	}
	return s.putFile(from, off, n)
}

func (s *spool) putFile(from *os.File, off, n int64) (kept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return kept{}, err
		}
		s.file = f
	}
	if err := copyRange(from, off, s.file, s.end, n); err != nil {
		return kept{}, err
	}
	k := kept{off: s.end, n: n}
	s.end += n
	s.onDisk += n
	return k, nil
}

// write puts what was kept back.
func (s *spool) write(k kept, to *os.File, off int64) error {
	if k.mem != nil {
		_, err := to.WriteAt(k.mem, off)
		return err
	}
	return copyRange(s.file, k.off, to, off, k.n)
}

func (s *spool) drop(k kept) {
	if k.n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.mem != nil {
		s.inMem -= k.n
		return
	}
	if s.onDisk -= k.n; s.onDisk == 0 {
		s.end = 0
		_ = s.file.Truncate(0)
		return
	}
	_ = unix.Fallocate(int(s.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, k.off, k.n) // else it is larger for a while
}

// held is how many bytes are kept.
func (s *spool) held() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inMem + s.onDisk
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.path)
	}
}

func copyRange(from *os.File, off int64, to *os.File, at, n int64) error {
	buf := make([]byte, min(n, 1<<20))
	for n > 0 {
		part := buf[:min(n, int64(len(buf)))]
		if _, err := from.ReadAt(part, off); err != nil {
			return err
		}
		if _, err := to.WriteAt(part, at); err != nil {
			return err
		}
		off, at, n = off+int64(len(part)), at+int64(len(part)), n-int64(len(part))
	}
	return nil
}
