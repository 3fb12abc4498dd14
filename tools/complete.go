package tools

import (
	"context"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/robustmq/rmq-mcp/reports"
)

// A subject is a thing that a question can be about, and its names.
type subject struct {
	name  string // of a prompt's argument
	about string
	names func() ([]string, error)
}

func (a *agent) subjects() []subject {
	fixed := func(list []string) func() ([]string, error) { return func() ([]string, error) { return list, nil } }
	return []subject{
		{"scenario", "a scenario of the library", fixed(a.backend.Library)},
		{"sdk", "a client library", fixed(a.backend.SDKs)},
		{"fault", "a fault type", fixed(a.backend.Faults)},
		{"run", "a stored run", a.runIDs},
	}
}

// runIDs are those of the stored runs, the newest first.
func (a *agent) runIDs() ([]string, error) {
	rows, err := a.backend.Runs(reports.Filter{})
	ids := make([]string, 0, len(rows))
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids, err
}

// A completer completes the names in the arguments of prompts and in the addresses of
// resources.
type completer struct {
	subjects []subject
	families []family
}

// CompletePromptArgument is of [server.PromptCompletionProvider].
func (c completer) CompletePromptArgument(_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	return c.complete(argument.Name, argument.Value)
}

// CompleteResourceArgument is of [server.ResourceCompletionProvider].
func (c completer) CompleteResourceArgument(_ context.Context, uri string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	for _, f := range c.families {
		if f.template() == uri {
			return c.complete(f.subject, argument.Value)
		}
	}
	return completion(nil), nil
}

func (c completer) complete(subject, typed string) (*mcp.Completion, error) {
	for _, s := range c.subjects {
		if s.name == subject {
			names, err := s.names()
			return completion(matching(names, typed)), err
		}
	}
	return completion(nil), nil
}

// matching are the names that contain the typed text. The ones that begin with it come
// first, and the case of letters does not count.
func matching(names []string, typed string) []string {
	typed = strings.ToLower(typed)
	var begin, within []string
	for _, name := range names {
		switch at := strings.Index(strings.ToLower(name), typed); {
		case at == 0:
			begin = append(begin, name)
		case at > 0:
			within = append(within, name)
		}
	}
	return slices.Concat(begin, within)
}

const mostCompleted = 100 // values; the bound of the protocol

func completion(values []string) *mcp.Completion {
	shown := append([]string{}, values[:min(len(values), mostCompleted)]...)
	return &mcp.Completion{Values: shown, Total: len(values), HasMore: len(shown) < len(values)}
}
