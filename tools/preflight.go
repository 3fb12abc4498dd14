package tools

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/internal/envelope"
)

// PreflightAnswer is what this host can do, and what the operator allows.
type PreflightAnswer struct {
	Answer
	experiment.Preflight
	Envelope envelope.Envelope `json:"envelope"`
}

func (a *agent) preflight() Tool {
	t := Tool{
		Name:        "preflight",
		Title:       "Look at this host",
		Description: "Looks at this host: isolation, flavors, SDKs, the mechanism of each fault or what is missing for it, with the line that installs it; and the limits of the operator's envelope. Changes nothing.",
		Example:     `{}`,
		Hints:       Hints{ReadOnly: true, Idempotent: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in struct{}) (PreflightAnswer, error) {
		host, err := a.backend.Preflight(ctx)
		if err != nil {
			return PreflightAnswer{}, fmt.Errorf("look at the host: %w", err)
		}
		can := 0
		for _, f := range host.Faults {
			if f.OK {
				can++
			}
		}
		return PreflightAnswer{
			Answer: answer(fmt.Sprintf("isolation %s, %d of %s can be done here", host.Isolation, can, plural(len(host.Faults), "fault type")),
				"list_scenarios", "run_scenario mqtt/broker-kill-9"),
			Preflight: host,
			Envelope:  a.envelope,
		}, nil
	})
}
