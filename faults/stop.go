package faults

import (
	"context"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
)

// Stop asks the target's processes to shut down, by SIGTERM, and keeps them
// down until it is healed. A process that has to be killed after all, or dies
// of the signal, did not stop gracefully, and the fault did not land.
type Stop struct{}

// Name is stop.
func (Stop) Name() string { return "stop" }

// Plan plans a SIGTERM to every node.
func (Stop) Plan(ctx context.Context, target Target) (*Injection, error) {
	return sigterm().plan(ctx, target)
}

func sigterm() signal {
	return signal{mechanism: "sigterm", want: Stopped, expect: shutDown, reading: graceful}
}

// shutDown is the state of a process that ended itself, with whatever status.
const shutDown = "exited by itself"

func graceful(state string) string {
	if strings.HasPrefix(state, history.StateExited+"status") {
		return shutDown
	}
	return state
}

func stop() Kind {
	return Kind{
		Type:      "stop",
		Ends:      true,
		Draw:      Draw{Majority: true},
		Summary:   "SIGTERM: the node shuts itself down; healing starts it again",
		Targets:   processTargets(),
		Example:   Example{Target: "follower", Params: map[string]any{"duration_s": 2.0}},
		New:       func(Params) (Fault, error) { return Stop{}, nil },
		Available: sigterm().available,
	}
}
