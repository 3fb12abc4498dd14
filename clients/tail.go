package clients

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/robustmq/rmq-mcp/internal/secret"
)

// A tail passes on what a driver prints and keeps the end of it for an error.
type tail struct {
	next    io.Writer
	secrets []string // that it was given

	mu   sync.Mutex
	last []byte
	cut  bool // there was more in front of it
}

const tailBytes = 1000

// beyond is how much more than is shown is kept: lines are scrubbed whole.
const beyond = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b...)
	if extra := len(t.last) - tailBytes - beyond; extra > 0 {
		t.last, t.cut = t.last[:copy(t.last, t.last[extra:])], true
	}
	if t.next == nil {
		return len(b), nil
	}
	return t.next.Write(b)
}

// words is what to add to the end of a driver: nothing, or the last line that was
// printed, without secrets.
func (t *tail) words() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.last)), "\n")
	last := lines[len(lines)-1]
	if last == "" {
		return ""
	}
	return fmt.Sprintf(", and printed last: %s", secret.New(t.secrets...).End([]byte(last), maxWords, false))
}

// maxWords bounds the last words of a driver, in bytes.
const maxWords = 200

// String is what to add to an error: nothing, or the last that was printed,
// without secrets.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.last) == 0 {
		return ""
	}
	return fmt.Sprintf("; it printed:\n%s", secret.New(t.secrets...).End(t.last, tailBytes, t.cut))
}
