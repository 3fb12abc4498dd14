package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// undoDisk has nothing to do where the keeper had namespaces: the kernel took
// the mount and the process that served it with them. Elsewhere, and where that
// process was stopped and holds whoever waits for it, the mount is let go of.
func undoDisk(_ context.Context, layer string, entries []Entry) (string, error) {
	let := 0
	var errs []error
	seen := map[string]bool{}
	for _, e := range entries {
		args, err := argsOf[mounted](e)
		if err != nil {
			errs = append(errs, err)
		}
		if args.Mount == "" || seen[args.Mount] {
			continue
		}
		seen[args.Mount] = true
		n, err := disk.Release(args.Mount)
		let += n
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return "", fmt.Errorf("let go of the mount: %w; end whoever uses it and run rmq-mcp heal", err)
	}
	if let == 0 {
		return "nothing to undo: " + layer + " ended with its keeper", nil
	}
	return fmt.Sprintf("let go of %s, which was still mounted", layer), nil
}
