package microvm

import (
	"bytes"
	"sync"
)

// lines is what a machine writes, and who waits for more of it.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	l.text.Write(bytes.ReplaceAll(b, []byte("\r"), nil))
	return len(b), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// changed is closed when there is more.
func (l *lines) changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more == nil {
		l.more = make(chan struct{})
	}
	return l.more
}
