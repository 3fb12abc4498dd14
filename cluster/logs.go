package cluster

import (
	"bufio"
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
)

// openLog opens a node's log to append to it. A node that ran before gets a
// line between what it wrote then and what it writes now.
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
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		f.Seek(-tailBytes, io.SeekEnd)
	}
	b, _ := io.ReadAll(f)
	if len(bytes.TrimSpace(b)) == 0 {
		return "  (it is empty)"
	}
	lines := strings.Split(strings.TrimSpace(secret.New().Text(string(b))), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	return "  " + strings.Join(lines, "\n  ")
}

// A follower reads one node's log as it grows.
type follower struct {
	node    string
	file    *os.File
	partial []byte
}

// follow polls the logs until ctx is done, and reads them once more then. A
// file is the pipe: a broker is never held up by a reader, and writes on when
// there is none.
func follow(ctx context.Context, nodes []*Node, fn func(node, line string, at time.Time)) {
	followers := make([]*follower, len(nodes))
	for i, n := range nodes {
		followers[i] = &follower{node: n.name}
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

// read passes on what was written since the last time, without secrets. A line
// is passed on when it is complete.
func (f *follower) read(path string, fn func(node, line string, at time.Time)) {
	if f.file == nil {
		file, err := os.Open(path)
		if err != nil {
			return // not written yet; an external node has none
		}
		f.file = file
	}
	b, _ := io.ReadAll(f.file)
	if len(b) == 0 {
		return
	}
	at, all := time.Now(), append(f.partial, b...)
	end := bytes.LastIndexByte(all, '\n') + 1
	f.partial = bytes.Clone(all[end:])
	scrub, lines := secret.New(), bufio.NewScanner(bytes.NewReader(all[:end]))
	lines.Buffer(nil, len(all)+1)
	for lines.Scan() {
		fn(f.node, scrub.Text(lines.Text()), at)
	}
}
