package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/clock"
)

// armClock puts a library between each node and its clock. A node that cannot
// have one starts all the same: its time faults are unsupported, and say why.
type armClock struct{}

// A nodeClock is what stands between a node and its clock.
type nodeClock struct {
	library, control string
	missing          error // why nothing does
}

func (armClock) arm(_ context.Context, n *Node) error {
	c := &nodeClock{control: filepath.Join(n.dir, "clock")}
	n.clock = c
	if c.missing = c.find(n); c.missing != nil {
		return nil
	}
	if err := clock.Hide(); err != nil {
		return err
	}
	return clock.Set(c.control, 0)
}

func (c *nodeClock) find(n *Node) (err error) {
	if err := n.launcher.beside(clockLibrary); err != nil {
		return err
	}
	if c.library, err = clock.Library(); err != nil {
		return err
	}
	program, err := exec.LookPath(n.command()[0])
	if err != nil {
		return err
	}
	return clock.Fits(program)
}

func (armClock) disarm(n *Node) error {
	n.clock.forget(n.PID())
	return nil
}

// environment is what the node is started with.
func (c *nodeClock) environment() []string {
	if c == nil || c.missing != nil {
		return nil
	}
	return clock.Environment(c.library, c.control)
}

// forget removes what the library left for a process that runs, or did.
func (c *nodeClock) forget(pid int) {
	if c != nil && c.missing == nil && pid != 0 {
		clock.Forget(pid)
	}
}

// Clock is the control file of what the node believes the time to be, for
// [clock.Set], and the library that reads it. The error of a node
// without one wraps [ErrUnsupported] and says what to do.
func (n *Node) Clock() (control, library string, err error) {
	if n.clock == nil {
		return "", "", fmt.Errorf("the clock of %s: %w: it was not armed; start the cluster with arm: [clock]", n.name, ErrUnsupported)
	}
	if n.clock.missing != nil {
		return "", "", fmt.Errorf("the clock of %s: %w", n.name, n.clock.missing)
	}
	return n.clock.control, n.clock.library, nil
}

// stampBound is how long a node may take to write about a new client.
const stampBound = time.Second

// TimeOff is how far the node's own idea of the time is ahead of ours: it does
// what the node writes a line about, which is to connect as a new client with
// most brokers, and reads the time in the last line. The log may count whole
// seconds, so that is exact to a second.
func (n *Node) TimeOff(ctx context.Context) (time.Duration, error) {
	before, err := os.Stat(n.log)
	if err != nil {
		return 0, fmt.Errorf("read the log of %s: %w", n.name, err)
	}
	if n.provoke == nil {
		_, err = n.Probe(ctx)
	} else {
		err = n.provoke(ctx)
	}
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, stampBound)
	defer cancel()
	for {
		off, err := timeOff(n.log, before.Size())
		if err == nil {
			return off, nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("ask %s for the time: %w", n.name, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

var errNoStamp = errors.New("it wrote nothing with a time in it")

// timeOff compares the last time in a log, after its first bytes, with ours.
func timeOff(log string, after int64) (time.Duration, error) {
	f, err := os.Open(log)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, after, 1<<20))
	if err != nil {
		return 0, err
	}
	now := time.Now()
	if end := bytes.LastIndexByte(b, '\n'); end >= 0 {
		if at, ok := lastStamp(string(b[:end])); ok {
			return at.Sub(now), nil
		}
	}
	return 0, errNoStamp
}

// lastStamp is the last time in a text, of RFC 3339 or with its zone without a
// colon. One without fractions is taken for the middle of its second.
func lastStamp(text string) (time.Time, bool) {
	stamps := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)`).FindAllStringSubmatch(text, -1)
	if len(stamps) == 0 {
		return time.Time{}, false
	}
	last := stamps[len(stamps)-1]
	at, err := time.Parse("2006-01-02T15:04:05Z07:00", last[0])
	if err != nil {
		at, err = time.Parse("2006-01-02T15:04:05Z0700", last[0])
	}
	if last[1] == "" {
		at = at.Add(time.Second / 2)
	}
	return at, err == nil
}
