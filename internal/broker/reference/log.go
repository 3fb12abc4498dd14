package reference

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// logger writes the broker's lines as nats-server does, but with a time that names its zone.
type logger struct {
	mu  sync.Mutex
	out io.Writer
	pid int
}

func (l *logger) line(level, format string, v []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	fmt.Fprintf(l.out, "[%d] %s [%s] %s\n", l.pid, at, level, fmt.Sprintf(format, v...))
}

func (l *logger) Noticef(format string, v ...any) { l.line("INF", format, v) }
func (l *logger) Warnf(format string, v ...any)   { l.line("WRN", format, v) }
func (l *logger) Errorf(format string, v ...any)  { l.line("ERR", format, v) }
func (l *logger) Debugf(format string, v ...any)  { l.line("DBG", format, v) }
func (l *logger) Tracef(format string, v ...any)  { l.line("TRC", format, v) }

// Fatalf ends the process: the broker relies on it not to return.
func (l *logger) Fatalf(format string, v ...any) {
	l.line("FTL", format, v)
	os.Exit(1)
}
