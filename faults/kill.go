package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/history"
)

// Kill ends the target's processes by SIGKILL and keeps them down until it is
// healed, when they are started again with the data they left.
type Kill struct{}

// Name is kill.
func (Kill) Name() string { return "kill" }

// Plan plans a SIGKILL of every node.
func (Kill) Plan(ctx context.Context, target Target) (*Injection, error) {
	return sigkill().plan(ctx, target)
}

func sigkill() signal {
	return signal{mechanism: "sigkill", want: Killed, expect: history.StateKilled}
}

func kill() Kind {
	return Kind{
		Type:      "kill",
		Ends:      true,
		Draw:      Draw{Majority: true},
		Summary:   "SIGKILL: the process is gone between two instructions; healing starts it again on its data",
		Targets:   processTargets(),
		Example:   Example{Target: "follower", Params: map[string]any{"duration_s": 2.0}},
		New:       func(Params) (Fault, error) { return Kill{}, nil },
		Available: sigkill().available,
	}
}
