package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	psnet "github.com/shirou/gopsutil/v3/net"

	"github.com/robustmq/rmq-mcp/history"
)

// Attended is what an attendant sees of a process.
type Attended struct {
	Now         int64         `json:"now"`   // CLOCK_MONOTONIC there, nanoseconds
	State       string        `json:"state"` // running or frozen; "": it has ended
	Stood       time.Duration `json:"stood"` // the longest time since the last answer for which its machine ran nothing
	Connections int           `json:"connections,omitempty"`
}

// Questions to an attendant, a line each.
const (
	askState       = "state"
	askConnections = "connections" // and the state
)

// standing is how often an attendant looks whether its machine runs.
const standing = 100 * time.Millisecond

// attend answers every line by what is to be seen of a process.
func attend(number, born string, in io.Reader, out io.Writer) error {
	var stood atomic.Int64
	go func() {
		last := history.MonotonicNow()
		for range time.Tick(standing) {
			now := history.MonotonicNow()
			stood.Store(max(stood.Load(), now-last-int64(standing)))
			last = now
		}
	}()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		seen := Attended{Now: history.MonotonicNow(), Stood: time.Duration(stood.Swap(0))}
		pid, err := sameProcess(number, born)
		if err == nil {
			if seen.State, err = osState(pid); err != nil {
				return err
			}
		}
		if seen.State != "" && lines.Text() == askConnections {
			all, err := psnet.ConnectionsPidWithoutUids("tcp", int32(pid))
			if err != nil {
				return fmt.Errorf("count the connections of process %s: %w", number, err)
			}
			seen.Connections = len(slices.DeleteFunc(all, func(c psnet.ConnectionStat) bool { return c.Status != "ESTABLISHED" }))
		}
		if err := json.NewEncoder(out).Encode(seen); err != nil {
			return err
		}
	}
	return nil
}
