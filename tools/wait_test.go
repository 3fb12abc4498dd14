package tools

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// aSession is a client's, by its id.
type aSession string

func (s aSession) SessionID() string                                 { return string(s) }
func (aSession) Initialize()                                         {}
func (aSession) Initialized() bool                                   { return true }
func (aSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return nil }

// A call waits as long as its host is known to bear, or as the operator says.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		host, session string
		max           time.Duration
		ask           float64
		want          time.Duration
	}{
		{"claude-ai 0.1.0", stdioSession, 0, 300, 45 * time.Second},
		{"claude-code 2.1", stdioSession, 0, 300, 300 * time.Second},
		{"claude-code 2.1", stdioSession, 0, 20, 20 * time.Second},
		{"claude-code 2.1", "over-http", 0, 300, 45 * time.Second},
		{"claude-code 2.1", stdioSession, time.Minute, 300, time.Minute},
		{"another", stdioSession, 2 * time.Minute, 300, 2 * time.Minute},
	} {
		s := (&host{}).server(t, Options{MaxWait: c.max})
		synctest.Test(t, func(t *testing.T) {
			call := Call{Patience: s.patience(s.MCP().WithContext(t.Context(), aSession(c.session)), c.host)}
			if waits := time.Until(call.deadline(c.ask)); waits != c.want {
				t.Errorf("%s by %s, at most %s: asked for %g s, waits %s", c.host, c.session, c.max, c.ask, waits)
			}
		})
	}
}
