package tools

import (
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/keeper"
)

// A Journal records calls: each before it acts, and its answer after. Call
// answers a number by which Answer refers to it, and returns once it is on
// disk.
type Journal interface {
	Call(caller keeper.Caller) (int64, error)
	Answer(call int64, answer any) error
}

// recordCall is the last thing before a tool acts. What cannot be written down
// is not done.
func (s *Server) recordCall(caller keeper.Caller) (int64, error) {
	if s.journal == nil {
		return 0, nil
	}
	call, err := s.journal.Call(caller)
	if err != nil {
		return 0, fmt.Errorf("write the call to the journal: %w; nothing was done", err)
	}
	return call, nil
}

func (s *Server) recordAnswer(call int64, answer any) error {
	if s.journal == nil {
		return nil
	}
	if err := s.journal.Answer(call, answer); err != nil {
		return fmt.Errorf("write the answer to the journal: %w; what was asked for has been done", err)
	}
	return nil
}

// withoutSecrets copies arguments for the journal, passwords replaced.
func withoutSecrets(args map[string]any) map[string]any {
	out := make(map[string]any, len(args))
	for key, value := range args {
		lower := strings.ToLower(key)
		object, isObject := value.(map[string]any)
		switch {
		case strings.Contains(lower, "password") || strings.Contains(lower, "token") || strings.Contains(lower, "secret"):
			out[key] = "[scrubbed]"
		case isObject:
			out[key] = withoutSecrets(object)
		default:
			out[key] = value
		}
	}
	return out
}
