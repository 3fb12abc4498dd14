package tools

import (
	"context"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// Bounds of how long a call waits for work that goes on, in seconds. Claude Code lets a
// call over stdio take hours. Other hosts give up after a minute, and not all recover
// from that.
const (
	defaultWaitS = 30
	maxWaitS     = 45
	longWaitS    = 300
)

// LongestWait is the longest that any call may wait.
const LongestWait = longWaitS * time.Second

func waitS() Param {
	return Param{Name: "wait_s", Type: Number, Min: 0, Max: longWaitS, Default: float64(defaultWaitS), Example: "30"}
}

// patience is how long the host of a call lets it wait, in seconds: as the operator
// says, else as is known of the host.
func (s *Server) patience(ctx context.Context, client string) float64 {
	session := server.ClientSessionFromContext(ctx)
	switch {
	case s.maxWait > 0:
		return s.maxWait.Seconds()
	case session != nil && session.SessionID() == stdioSession && strings.HasPrefix(client, "claude-code"):
		return longWaitS
	}
	return maxWaitS
}

// deadline is when a call that is to wait so many seconds ends.
func (c *Call) deadline(wait float64) time.Time {
	return time.Now().Add(seconds(min(wait, c.Patience)))
}
