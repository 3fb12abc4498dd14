package experiment

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

// Provision fetches and builds what the driver of a start's SDK needs, where that has
// not been done yet. It is for whoever starts an experiment, before that: the network of
// an experiment has no way out. Nothing is fetched if scenario, broker, SDK, protocol and
// transport do not fit together, which is an error. Progress may be nil.
func Provision(ctx context.Context, stateDir string, self []string, start keeper.Start, progress func(string)) error {
	s, err := checked(start)
	if err != nil {
		return err
	}
	if progress == nil {
		progress = func(string) {}
	}
	if _, err := clients.Provision(ctx, CacheDir(stateDir), self, s.sdk, progress); err != nil {
		return fmt.Errorf("prepare the driver of %s: %w", s.sdk, err)
	}
	return nil
}

// CacheDir is where drivers and brokers are kept, of a state directory.
func CacheDir(stateDir string) string { return filepath.Join(stateDir, "cache") }
