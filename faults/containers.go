package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
)

// Made is the note of a layer that outlives its keeper, written under [KindMade] before the layer
// is made, and how to find it.
func Made(layer, run string, found any) Planned {
	return Planned{Fault: layer, Type: layer, Entries: []Entry{{Fault: layer, Layer: layer + "/" + run, Want: "none left", Args: found}}}
}

// undoContainers removes the containers that carry the run's label, and no
// others.
func undoContainers(ctx context.Context, layer string, entries []Entry) (string, error) {
	removed := 0
	for _, e := range entries {
		args, err := argsOf[docker.Made](e)
		if err != nil {
			return "", err
		}
		engine, err := docker.Open(ctx, args.Engine)
		if err != nil {
			return "", fmt.Errorf("remove the containers of run %s: %w; then call rmq-mcp heal", args.Run, err)
		}
		n, err := removeRun(ctx, engine, args.Run)
		engine.Close()
		if err != nil {
			return "", err
		}
		removed += n
	}
	return fmt.Sprintf("%s: removed %d containers", layer, removed), nil
}

// settled is how long an engine shows no container of a run until there is
// none: it may still make one that a keeper asked for before it died.
const settled = 2 * time.Second

func removeRun(ctx context.Context, engine *docker.Engine, run string) (removed int, err error) {
	for since := time.Now(); time.Since(since) < settled; {
		n, err := engine.RemoveRun(ctx, run)
		if err != nil {
			return removed, err
		}
		if n > 0 {
			removed, since = removed+n, time.Now()
		}
		select {
		case <-ctx.Done():
			return removed, fmt.Errorf("remove the containers of run %s: %w", run, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
	return removed, nil
}
