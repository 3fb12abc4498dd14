package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/secret"
)

const (
	followEvery = 100 * time.Millisecond
	tailBytes   = 8 << 10
	tailLines   = 12
	mostLine    = 64 << 10 // bytes of a line that are passed on
)

// openLog opens a node's log to append to it. If the node ran before, a line
// separates its old output from the new.
func openLog(path string, again bool) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if again {
		fmt.Fprintf(f, "\n---- started again %s ----\n", time.Now().UTC().Format(time.RFC3339Nano))
	}
	return f, nil
}

// tail is the last lines of a log, without secrets, indented.
func tail(path string) string {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "  (it has none)"
	}
	if err != nil {
		return fmt.Sprintf("  (%v)", err)
	}
	defer f.Close()
	cut := false
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		f.Seek(-tailBytes, io.SeekEnd)
		cut = true
	}
	b, _ := io.ReadAll(io.LimitReader(f, tailBytes))
	if len(bytes.TrimSpace(b)) == 0 {
		return "  (it is empty)"
	}
	end := strings.TrimSpace(secret.New().End(b, tailBytes, cut))
	if end == "" {
		return fmt.Sprintf("  (its last line is longer than %d KiB)", tailBytes>>10)
	}
	lines := strings.Split(end, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	return "  " + strings.Join(lines, "\n  ")
}

// A follower reads one node's log as it grows.
type follower struct {
	node    string
	file    *os.File
	partial []byte // of the last line
	long    bool   // of a line that was passed on already, as far as it goes
	scrub   *secret.Scrubber
	part    []byte // for what is read
}

func newFollower(node string) *follower {
	return &follower{node: node, scrub: secret.New(), part: make([]byte, mostLine)}
}

// follow polls the logs until ctx is done, and reads them once more then. A
// file is the pipe: a broker is never held up by a reader, and writes on when
// there is none.
func follow(ctx context.Context, nodes []*Node, fn func(node, line string, at time.Time)) {
	followers := make([]*follower, len(nodes))
	for i, n := range nodes {
		followers[i] = newFollower(n.name)
		defer func() { followers[i].file.Close() }()
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for done := false; ; {
		for i, f := range followers {
			f.read(nodes[i].log, fn)
		}
		if done {
			return
		}
		select {
		case <-ctx.Done():
			done = true
		case <-tick.C:
		}
	}
}

// read passes on what was written since the last time, without secrets. A line is
// passed on when it is complete, or longer than any should be: its beginning.
func (f *follower) read(path string, fn func(node, line string, at time.Time)) {
	if f.file == nil {
		file, err := os.Open(path)
		if err != nil {
			return // not written yet; an external node has none
		}
		f.file = file
	}
	at := time.Now()
	pass := func(line []byte) {
		if !f.long {
			fn(f.node, f.scrub.Text(string(line)), at)
		}
		f.long = false
	}
	for {
		n, err := f.file.Read(f.part)
		f.partial = append(f.partial, f.part[:n]...)
		for {
			line, rest, whole := bytes.Cut(f.partial, []byte("\n"))
			if !whole {
				break
			}
			pass(bytes.TrimSuffix(line, []byte("\r")))
			f.partial = rest
		}
		if len(f.partial) > mostLine {
			pass(f.partial[:mostLine])
			f.partial, f.long = nil, true
		}
		f.partial = bytes.Clone(f.partial)
		if n == 0 || err != nil {
			return
		}
	}
}
