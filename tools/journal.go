package tools

import (
	"context"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

// A Journal records calls: each before it acts, and its answer after. Call returns
// once the call is on disk.
type Journal interface {
	Call(caller keeper.Caller) (JournalEntry, error)
	Answer(call JournalEntry, answer any) error
}

// A JournalEntry is where a journal has something: a file and the number there.
type JournalEntry struct {
	File string
	N    int
}

// recordCall is the last thing before a tool acts. A call that cannot be
// written down is not carried out.
func (s *Server) recordCall(caller keeper.Caller) (JournalEntry, error) {
	if s.journal == nil {
		return JournalEntry{}, nil
	}
	call, err := s.journal.Call(caller)
	if err != nil {
		return JournalEntry{}, fmt.Errorf("write the call to the journal: %w; nothing was done", err)
	}
	return call, nil
}

func (s *Server) recordAnswer(call JournalEntry, answer any) error {
	if s.journal == nil {
		return nil
	}
	if err := s.journal.Answer(call, answer); err != nil {
		return fmt.Errorf("write the answer to the journal: %w; what was asked for has been done", err)
	}
	return nil
}

// noteAnswer puts what the agent gets to see into the journal of the run that
// the call was about. A run that is sealed takes no more; the server's own
// journal has the answer in any case.
func noteAnswer(ctx context.Context, call *Call, answered *mcp.CallToolResult) {
	if call.touched == nil {
		return
	}
	var answer any = answered.StructuredContent
	if answered.IsError {
		answer = map[string]any{"error": withoutSecrets(mcp.GetTextFromContent(answered.Content[0]))}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteBound)
	defer cancel()
	_ = call.touched.Journal(ctx, call.Caller, answer)
}

const noteBound = 2 * time.Second
