package faults

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/history"
)

// PauseClient freezes the driver processes that run the target's clients. Their
// kernel still accepts what a broker sends, until its buffers are full.
type PauseClient struct{}

// Name is pause_client.
func (PauseClient) Name() string { return "pause_client" }

// Plan plans to freeze every driver.
func (PauseClient) Plan(ctx context.Context, target Target) (*Injection, error) {
	if missing := sigstop().missing(); missing != "" {
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, missing)
	}
	in, err := target.driverFault("sigstop", Frozen, Frozen, silent)
	if err != nil {
		return nil, err
	}
	in.Healed = append(in.Healed, unnumbered("frozen drivers", func(context.Context) error { return target.driversRun() }))
	return in, nil
}

// driversRun reads back that no driver is frozen.
func (t Target) driversRun() error {
	for _, c := range t.Clients {
		d, err := t.Site.Clients.Driver(c.Driver)
		if err != nil {
			return err
		}
		if state, err := d.State(); err != nil || state == Frozen {
			return fmt.Errorf("the driver %s is %s (%v)", d.Name(), state, err)
		}
	}
	return nil
}

func pauseClient() Kind {
	return Kind{
		Type:      "pause_client",
		Draw:      Draw{Silences: true},
		Summary:   "SIGSTOP to the driver process of the client and of all others in it; healing continues it",
		Targets:   clientTargets(),
		Example:   Example{Target: history.TargetSubscribers, Params: map[string]any{"duration_s": 3.0}},
		New:       func(Params) (Fault, error) { return PauseClient{}, nil },
		Available: sigstop().available,
	}
}
