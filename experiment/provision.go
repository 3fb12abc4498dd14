package experiment

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// Provision fetches and builds what a driver needs, where that has not been
// done yet. It is for whoever starts an experiment, before that: the network
// of an experiment has no way out. An empty flavor, sdk or protocol is the
// scenario's. Progress may be nil.
func Provision(ctx context.Context, stateDir string, self []string, scenario, flavor, sdk, protocol string, progress func(string)) error {
	s, err := scenarios.Load(scenario)
	if err != nil {
		return err
	}
	found, err := s.SDKFor(sdk, cmp.Or(protocol, s.Protocol), cmp.Or(flavor, s.Cluster.Flavor))
	if err != nil {
		return err
	}
	if progress == nil {
		progress = func(string) {}
	}
	if _, err := clients.Provision(ctx, CacheDir(stateDir), self, found, progress); err != nil {
		return fmt.Errorf("prepare the driver of %s: %w", found, err)
	}
	return nil
}

// CacheDir is where drivers and brokers are kept, of a state directory.
func CacheDir(stateDir string) string { return filepath.Join(stateDir, "cache") }
