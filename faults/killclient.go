package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/history"
)

// KillClient ends the driver processes that run the target's clients, by
// SIGKILL. Their operations in progress have an unknown outcome. They are not
// started again: a new process remembers nothing of its session, which would
// look like a broker that forgot it. Messages that they have not received at
// the end count as unknown, not as lost.
type KillClient struct{}

// Name is kill_client.
func (KillClient) Name() string { return "kill_client" }

// Plan plans a SIGKILL of every driver.
func (KillClient) Plan(_ context.Context, target Target) (*Injection, error) {
	return target.driverFault("sigkill", Killed, history.StateExited+"signal: killed", unconnected)
}

func killClient() Kind {
	return Kind{
		Type:      "kill_client",
		Draw:      Draw{Never: "no loss can be proven after it"},
		Summary:   "SIGKILL to the driver process of the client and of all others in it; it stays dead, so the run cannot prove a loss",
		Targets:   clientTargets(),
		Example:   Example{Target: history.TargetSubscribers, Params: map[string]any{"duration_s": 2.0}},
		New:       func(Params) (Fault, error) { return KillClient{}, nil },
		Available: sigkill().available,
	}
}
