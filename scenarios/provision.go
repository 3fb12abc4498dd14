package scenarios

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/clients"
)

// Provision fetches and builds what a driver needs, where that has not been
// done yet. It is for whoever starts an experiment, before that: the network
// of an experiment has no way out. An empty sdk or protocol is the scenario's.
// Progress may be nil.
func Provision(ctx context.Context, stateDir string, self []string, scenario, sdk, protocol string, progress func(string)) error {
	s, err := Load(scenario)
	if err != nil {
		return err
	}
	if sdk == "" {
		sdk = s.SDK
	}
	if protocol == "" {
		protocol = s.Protocol
	}
	found, err := clients.ResolveFor(sdk, protocol)
	if err != nil {
		return err
	}
	if progress == nil {
		progress = func(string) {}
	}
	if _, err := clients.Provision(ctx, cacheDir(stateDir), self, found, progress); err != nil {
		return fmt.Errorf("prepare the driver of %s: %w", found, err)
	}
	return nil
}

func cacheDir(stateDir string) string { return filepath.Join(stateDir, "cache") }
