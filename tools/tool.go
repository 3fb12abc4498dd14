// Package tools is the MCP surface: what an agent can ask for, one file per
// family of tools. It is the only package that imports mcp-go, and even here
// only the files that speak to it do: a tool is a value of our own.
//
// A tool checks its arguments, asks the keeper or the records one thing, and
// answers. It never takes a verdict, a count, a landing or evidence.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

// A Tool is one thing an agent can ask for.
type Tool struct {
	Name        string
	Description string // what it does, when to use it, what it does not answer
	Params      []Param
	Example     string // arguments of a call that works, as JSON
	Hints       Hints
	hidden      bool // the server has nothing to use it on
	answer      reflect.Type
	run         func(context.Context, *Call) (any, error)
}

// Hints are what a host may decide on before it lets an agent call a tool.
type Hints struct {
	ReadOnly    bool // changes nothing
	Destructive bool // may end or disturb something
	OpenWorld   bool // reaches beyond this host
}

// A Call is one use of a tool: its checked arguments, who asked, and where
// progress goes.
type Call struct {
	Args     map[string]any
	Caller   keeper.Caller
	Patience float64                                // how long its host lets it wait, in seconds
	Progress func(done, total float64, text string) // never blocks; may be called from any goroutine

	touched Experiment // the one it was about, whose journal gets the answer
}

// handler makes a typed function the body of a tool. A is a struct of the
// arguments, R of the answer.
func handler[A, R any](t Tool, run func(context.Context, *Call, A) (R, error)) Tool {
	t.answer = reflect.TypeFor[R]()
	t.run = func(ctx context.Context, call *Call) (any, error) {
		args, err := decode[A](call.Args)
		if err != nil {
			return nil, err
		}
		return run(ctx, call, args)
	}
	return t
}

// decode turns checked arguments into their struct.
func decode[A any](args map[string]any) (A, error) {
	var into A
	text, err := json.Marshal(args)
	if err != nil {
		return into, fmt.Errorf("read the arguments: %w", err)
	}
	err = json.Unmarshal(text, &into)
	var unlike *json.UnmarshalTypeError
	if errors.As(err, &unlike) {
		return into, fmt.Errorf("the value of %q, of the type %s, is not taken there. Nothing was changed", unlike.Field, unlike.Value)
	}
	if err != nil {
		return into, fmt.Errorf("read the arguments: %w", err)
	}
	return into, nil
}
