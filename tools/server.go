package tools

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/near"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// Instructions are what a host shows its model about this server. Hosts cut
// them at 2 KB.
//
//go:embed instructions.md
var Instructions string

// Options of a server. Backend is required.
type Options struct {
	Version  string
	Backend  Backend
	Envelope envelope.Envelope
	ReadOnly bool          // only tools that change nothing
	MaxWait  time.Duration // that a call may wait; 0: as is known of its host
	Journal  Journal       // nil: calls are not recorded
}

// A Server offers the tools over stdio or HTTP.
type Server struct {
	mcp     *server.MCPServer
	done    *finished
	journal Journal
	maxWait time.Duration
}

// New makes a server. It returns an error where a tool cannot be described,
// which is a mistake in this package.
func New(o Options) (*Server, error) {
	s := &Server{done: newFinished(), journal: o.Journal, maxWait: o.MaxWait}
	a := &agent{backend: o.Backend, envelope: o.Envelope}
	names := completer{a.subjects(), a.families()}
	s.mcp = server.NewMCPServer("rmq-mcp", o.Version,
		server.WithTitle("RobustMQ chaos testing"),
		server.WithInstructions(Instructions),
		server.WithToolCapabilities(false),
		server.WithResourceCapabilities(false, false),
		server.WithPromptCapabilities(false),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(names),
		server.WithResourceCompletionProvider(names),
		server.WithLogging(),
		server.WithRecovery(),
		server.WithHooks(s.hooks()),
	)
	s.mcp.Use(s.finishProgress)
	for _, t := range a.tools() {
		if t.hidden || o.ReadOnly && !t.Hints.ReadOnly {
			continue
		}
		described, err := describeTool(t)
		if err != nil {
			return nil, err
		}
		s.mcp.AddTool(described, s.handle(t))
	}
	s.addFamilies(names.families)
	if err := s.addSkills(names.subjects); err != nil {
		return nil, err
	}
	return s, nil
}

// hooks are our steps in the way of every request.
func (s *Server) hooks() *server.Hooks {
	h := &server.Hooks{}
	h.AddOnRequestInitialization(s.checkRequest)
	h.AddAfterSubscriptionsListen(func(context.Context, any, *mcp.SubscriptionsListenRequest, *mcp.SubscriptionsListenResult) {
		time.Sleep(progressGrace) // nothing is subscribed to, so that the answer follows the acknowledgement at once
	})
	return h
}

// checkRequest refuses JSON that no message of the protocol can have, and unknown tools.
// mcp-go would do it later, in the words of its own types.
func (s *Server) checkRequest(_ context.Context, _, request any) error {
	text, ok := request.(json.RawMessage)
	if !ok {
		return nil
	}
	var m struct {
		Method mcp.MCPMethod  `json:"method"`
		Params map[string]any `json:"params"`
	}
	err := json.Unmarshal(text, &m)
	var unlike *json.UnmarshalTypeError
	if errors.As(err, &unlike) {
		return fmt.Errorf("%s of the message is of the type %s, which is not taken there. Nothing was changed", cmp.Or(unlike.Field, "a part"), plain.CutBytes(unlike.Value, 60))
	}
	if name, ok := m.Params["name"].(string); ok && m.Method == mcp.MethodToolsCall && s.mcp.GetTool(name) == nil {
		known := sortedKeys(s.mcp.ListTools())
		return fmt.Errorf("no tool %q%s. Nothing was changed", plain.CutBytes(name, 60), near.Hint(name, known, "; there are "+joined(known)))
	}
	return nil
}

// MCP is the underlying server, for in-process clients.
func (s *Server) MCP() *server.MCPServer { return s.mcp }

// describeTool is a tool in the protocol's words.
func describeTool(t Tool) (mcp.Tool, error) {
	input, err := json.Marshal(inputSchema(t.Params))
	if err != nil {
		return mcp.Tool{}, fmt.Errorf("input schema of %s: %w", t.Name, err)
	}
	output, err := listedSchema(t.answer)
	if err != nil {
		return mcp.Tool{}, fmt.Errorf("output schema of %s: %w", t.Name, err)
	}
	return mcp.Tool{
		Name:            t.Name,
		Description:     t.Description,
		RawInputSchema:  input,
		RawOutputSchema: output,
		Annotations:     t.Hints.annotation(),
	}, nil
}

// annotation leaves out the hints that have the protocol's default: that a tool
// destroys something and reaches beyond this host.
func (h Hints) annotation() (a mcp.ToolAnnotation) {
	if h.ReadOnly {
		a.ReadOnlyHint = &h.ReadOnly
	} else if !h.Destructive {
		a.DestructiveHint = &h.Destructive
	}
	if !h.OpenWorld {
		a.OpenWorldHint = &h.OpenWorld
	}
	return a
}

// handle is the way of every call: arguments are journalled before anything is
// done, checked, acted on, and the answer is journalled.
func (s *Server) handle(t Tool) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if !introduced(ctx) {
			return refusal(fmt.Errorf("%s: the client has not sent initialize yet. Nothing was changed", t.Name)), nil
		}
		given, isObject := argumentsOf(request)
		caller := callerOf(ctx, request, recorded(t.Params, given))
		entry, err := s.recordCall(caller)
		if err != nil {
			return refusal(err), nil
		}
		if !isObject {
			return s.conclude(entry, nil, &BadInput{Tool: t.Name, Example: t.Example,
				Problems: []Problem{{Path: "the arguments", Is: " are not an object", Kept: " are not an object"}}}), nil
		}
		args, err := check(t, given)
		if err != nil {
			return s.conclude(entry, nil, err), nil
		}
		p := s.progress(ctx, request)
		c := &Call{Args: args, Caller: caller, Patience: s.patience(ctx, caller.Client), Progress: p.report}
		result, err := t.run(ctx, c)
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			err = fmt.Errorf("%s: you stopped waiting, and what it had begun is still running; cluster_status or get_run shows it", t.Name)
		}
		answered := s.conclude(entry, result, err)
		noteAnswer(ctx, c, answered)
		p.settle(s.logCall(ctx, t.Name, answered))
		return answered, nil
	}
}

// conclude journals an answer and puts it into the protocol's words.
func (s *Server) conclude(call JournalEntry, result any, err error) *mcp.CallToolResult {
	if err != nil {
		kept := err.Error()
		var bad *BadInput
		if errors.As(err, &bad) {
			kept = bad.Recorded()
		}
		return refusal(errors.Join(err, s.recordAnswer(call, map[string]any{"error": withoutSecrets(kept)})))
	}
	result = neverNull(result)
	text, err := json.Marshal(result)
	if err != nil {
		return refusal(fmt.Errorf("write the answer: %w", err))
	}
	if err := s.recordAnswer(call, map[string]any{"answer": json.RawMessage(text)}); err != nil {
		return refusal(err)
	}
	return mcp.NewToolResultStructured(json.RawMessage(text), string(text))
}

func refusal(err error) *mcp.CallToolResult { return mcp.NewToolResultError(err.Error()) }
