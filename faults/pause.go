package faults

import "context"

// Pause freezes the target's processes, every thread of them, until it is
// healed. The kernel still accepts connections for them, so clients see
// timeouts and not refusals.
type Pause struct{}

// Name is pause.
func (Pause) Name() string { return "pause" }

// Plan plans to freeze every node.
func (Pause) Plan(ctx context.Context, target Target) (*Injection, error) {
	return sigstop().plan(ctx, target)
}

func sigstop() signal {
	return signal{mechanism: "sigstop", want: Frozen, expect: Frozen}
}

func pause() Kind {
	return Kind{
		Type:      "pause",
		Draw:      Draw{Majority: true},
		Summary:   "SIGSTOP: the process is frozen and answers no client; healing thaws it, with all it believed before",
		Targets:   processTargets(),
		Example:   Example{Target: "follower", Params: map[string]any{"duration_s": 4.0}},
		New:       func(Params) (Fault, error) { return Pause{}, nil },
		Available: sigstop().available,
	}
}
