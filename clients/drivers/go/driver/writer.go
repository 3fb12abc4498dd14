package driver

import (
	"io"
	"sync"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// A writer writes lines. A line is in the pipe when Write returns, and so
// survives the end of this process.
type writer struct {
	mu     sync.Mutex
	out    io.Writer
	buf    []byte
	lines  int64
	calls  int64
	ended  bool // bye is written
	err    error
	broken chan struct{} // closed at the first error
}

func newWriter(out io.Writer) *writer {
	return &writer{out: out, broken: make(chan struct{})}
}

// Write writes one line, with the time that it is written.
func (w *writer) Write(l *contract.Line) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write(l)
}

// Call writes a call line and answers the number it gave the call.
func (w *writer) Call(l *contract.Line) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	l.Edge, l.Call = "call", w.calls
	w.write(l)
	return l.Call
}

// Bye writes the last line. Later lines of an SDK are dropped.
func (w *writer) Bye() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write(&contract.Line{Edge: "bye", Lines: w.lines})
	w.ended = true
}

func (w *writer) write(l *contract.Line) {
	if w.err != nil || w.ended {
		return
	}
	l.TimeNS = monotonic()
	w.buf = append(l.AppendJSON(w.buf[:0]), '\n')
	if _, w.err = w.out.Write(w.buf); w.err != nil {
		close(w.broken)
		return
	}
	w.lines++
}

func (w *writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
