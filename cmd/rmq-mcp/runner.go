package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

// runner makes runs in the state directory.
func (a *app) runner() (attempt.Runner, error) {
	dir, err := a.state()
	if err != nil {
		return attempt.Runner{}, err
	}
	argv, err := self()
	return runner(dir, argv, nil), err
}

// runner makes runs, which an interrupt ends in order. Tell may be nil.
func runner(dir string, argv []string, tell func(string)) attempt.Runner {
	return attempt.Runner{Dir: dir, Self: argv, Tell: tell, Stop: endInOrder}
}

// endInOrder stops a run and waits until it is sealed, because the next run beside it would
// disturb both. A second interrupt leaves it to its keeper.
func endInOrder(ctx context.Context, client *keeper.Client, caller keeper.Caller) error {
	ctx, leave := interrupted(context.WithoutCancel(ctx))
	defer leave()
	fmt.Fprintf(os.Stderr, "rmq-mcp: stopping run %s: heals, drains and judges what happened; interrupt again to leave it to its keeper\n", client.Info().ID)
	_, err := client.Stop(ctx, caller)
	switch {
	case errors.Is(err, keeper.ErrGone):
		return nil
	case ctx.Err() != nil:
		return left(client)
	}
	return err
}
