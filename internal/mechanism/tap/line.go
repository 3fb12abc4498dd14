package tap

import (
	"io"
	"sync"
	"time"
)

// maxHeld is how many bytes wait in a line before its sender waits too.
const maxHeld = 4 << 20

// A line holds bytes back until they are due, in order. It has one writer of
// its own, and only while something is in it.
type line struct {
	dst  io.Writer
	gone <-chan struct{} // the connection's end

	mu   sync.Mutex
	room sync.Cond // of mu: something was taken out
	held []parcel
	size int
	runs bool
	err  error
}

type parcel struct {
	bytes []byte
	due   time.Time
	early <-chan struct{} // closed: it is due now
}

func newLine(dst io.Writer, gone <-chan struct{}) *line {
	l := &line{dst: dst, gone: gone}
	l.room.L = &l.mu
	return l
}

// empty reports whether bytes may go past the line.
func (l *line) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.runs
}

// put appends bytes, which become the line's.
func (l *line) put(p parcel) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.size > maxHeld && l.err == nil {
		l.room.Wait()
	}
	if l.err != nil {
		return l.err
	}
	l.held, l.size = append(l.held, p), l.size+len(p.bytes)
	if !l.runs {
		l.runs = true
		go l.run()
	}
	return nil
}

// drain waits until all is written, or the connection has ended.
func (l *line) drain() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.runs {
		l.room.Wait()
	}
	return l.err
}

func (l *line) run() {
	for {
		l.mu.Lock()
		if len(l.held) == 0 || l.err != nil {
			l.runs, l.held, l.size = false, nil, 0
			l.room.Broadcast()
			l.mu.Unlock()
			return
		}
		p := l.held[0]
		l.mu.Unlock()
		err := l.await(p)
		if err == nil {
			_, err = l.dst.Write(p.bytes)
		}
		l.mu.Lock()
		l.err = err
		l.held, l.size = l.held[1:], l.size-len(p.bytes)
		l.room.Broadcast()
		l.mu.Unlock()
	}
}

func (l *line) await(p parcel) error {
	wait := time.Until(p.due)
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.early:
	case <-l.gone:
		return io.ErrClosedPipe
	}
	return nil
}
