package tools

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/scenarios"
)

// PreflightAnswer is what this host can do, and what the operator allows.
type PreflightAnswer struct {
	Answer
	scenarios.Preflight
	Envelope Limits `json:"envelope"`
}

// Limits are the envelope as an agent sees it.
type Limits struct {
	MaxNodes            int      `json:"max_nodes"`
	MaxFaultDurationS   float64  `json:"max_fault_duration_s"`
	MaxConcurrentFaults int      `json:"max_concurrent_faults"`
	Flavors             []string `json:"allowed_flavors"`
	Binaries            []string `json:"allowed_binaries"`
	Endpoints           []string `json:"allowed_endpoints"`
	Push                []string `json:"push"`
}

func (a *agent) preflight() Tool {
	t := Tool{
		Name:        "preflight",
		Title:       "What this host can do",
		Description: "What this host can do: isolation, flavors, SDKs, and by which mechanism each fault would be done or what is missing, with the line that installs it; and what the operator's envelope allows. Changes nothing.",
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
		e := a.envelope
		return PreflightAnswer{
			Answer: answer(fmt.Sprintf("isolation %s, %d of %s can be done here", host.Isolation, can, plural(len(host.Faults), "fault type")),
				"list_scenarios", "run_scenario mqtt/broker-kill-9"),
			Preflight: host,
			Envelope: Limits{e.MaxNodes, e.MaxFaultDurationS, e.MaxConcurrentFaults,
				e.AllowedFlavors, e.AllowedBinaries, e.AllowedEndpoints, e.Push},
		}, nil
	})
}
