package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// Between progress notifications at least progressEvery passes, and between
// the last one and the answer at least progressGrace: hosts take a
// notification that arrives after the answer for a broken connection, and
// notifications travel on another goroutine than answers do.
const (
	progressEvery = time.Second
	progressGrace = 25 * time.Millisecond
)

// A reporter sends the progress of one call: never twice in a second, always
// more than before, never all of it.
type reporter struct {
	mu     sync.Mutex
	send   func(params map[string]any) // nil: nobody asked for progress
	token  any
	last   float64
	sent   time.Time
	closed bool
}

func (s *Server) progress(ctx context.Context, request mcp.CallToolRequest) *reporter {
	meta := request.Params.Meta
	if meta == nil || meta.ProgressToken == nil {
		return &reporter{}
	}
	return &reporter{token: meta.ProgressToken, send: func(params map[string]any) {
		// A full channel drops the notification, which is what we want.
		_ = s.mcp.SendNotificationToClient(ctx, "notifications/progress", params)
	}}
}

func (r *reporter) report(done, total float64, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.send == nil || r.closed || done <= r.last || total > 0 && done >= total || now.Sub(r.sent) < progressEvery {
		return
	}
	params := map[string]any{"progressToken": r.token, "progress": done, "message": plain.CutBytes(text, 200)}
	if total > 0 {
		params["total"] = total
	}
	r.last, r.sent = done, now
	r.send(params)
}

// settle ends the reporting and lets the last notification overtake the answer, be it
// of progress or, if logged, of the log.
func (r *reporter) settle(logged bool) {
	r.mu.Lock()
	r.closed = true
	if logged {
		r.sent = time.Now()
	}
	wait := progressGrace - time.Since(r.sent)
	r.mu.Unlock()
	if wait > 0 {
		time.Sleep(wait)
	}
}

// finished are the progress tokens whose calls have answered, the latest ones.
type finished struct {
	mu     sync.Mutex
	tokens map[string]bool
	order  []string
}

const finishedKept = 1024

func newFinished() *finished { return &finished{tokens: map[string]bool{}} }

func (f *finished) begin(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tokens, token)
}

func (f *finished) add(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tokens[token] {
		return
	}
	f.tokens[token] = true
	f.order = append(f.order, token)
	if len(f.order) > finishedKept {
		delete(f.tokens, f.order[0])
		f.order = f.order[1:]
	}
}

func (f *finished) has(token string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tokens[token]
}

// finishProgress notes, before an answer is sent, that its token is spent.
func (s *Server) finishProgress(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if meta := request.Params.Meta; meta != nil && meta.ProgressToken != nil {
			token := tokenKey(meta.ProgressToken)
			s.done.begin(token)
			defer s.done.add(token)
		}
		return next(ctx, request)
	}
}

// tokenKey tells the string "1" from the number 1.
func tokenKey(token any) string {
	text, _ := json.Marshal(token)
	return string(text)
}

// A filter passes lines on, but not the progress of calls that have answered.
type filter struct {
	mu   sync.Mutex
	to   io.Writer
	done *finished
}

func (f *filter) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if bytes.Contains(line, []byte(`"notifications/progress"`)) && f.late(line) {
		return len(line), nil
	}
	return f.to.Write(line)
}

func (f *filter) late(line []byte) bool {
	var message struct {
		Method string `json:"method"`
		Params struct {
			Token any `json:"progressToken"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &message) != nil || message.Method != "notifications/progress" {
		return false
	}
	return f.done.has(tokenKey(message.Params.Token))
}
