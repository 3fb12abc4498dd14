package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
)

// undoPods removes the namespace that carries the run's label, and no other.
func undoPods(ctx context.Context, layer string, entries []Entry) (string, error) {
	for _, e := range entries {
		made, err := argsOf[kube.Made](e)
		if err != nil {
			return "", err
		}
		api, err := kube.Open(ctx, made.Target)
		was := false
		if err == nil {
			was, err = api.Of(made.Run).RemoveOfDead(ctx)
		}
		if err != nil {
			return "", fmt.Errorf("remove the pods of run %s: %w; then call rmq-mcp heal", made.Run, err)
		}
		if !was {
			return layer + ": its namespace was gone", nil
		}
	}
	return layer + ": removed its namespace", nil
}

// undoLeases removes the leases of a run on pods of others.
func undoLeases(ctx context.Context, layer string, entries []Entry) (string, error) {
	for _, e := range entries {
		held, err := argsOf[kube.Held](e)
		if err != nil {
			return "", err
		}
		api, err := kube.Open(ctx, held.Target)
		if err == nil {
			for _, l := range api.Leases(held) {
				err = errors.Join(err, l.Free(ctx))
			}
		}
		if err != nil {
			return "", fmt.Errorf("%w; then call rmq-mcp heal", err)
		}
	}
	return layer + ": removed", nil
}
