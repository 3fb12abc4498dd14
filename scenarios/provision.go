package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
)

// Provision fetches and builds what a driver needs, where that has not been
// done yet. It is for whoever starts an experiment, before that: the network
// of an experiment has no way out. An empty flavor, sdk or protocol is the
// scenario's. Progress may be nil.
func Provision(ctx context.Context, stateDir string, self []string, scenario, flavor, sdk, protocol string, progress func(string)) error {
	s, err := Load(scenario)
	if err != nil {
		return err
	}
	found, err := s.client(sdk, cmp.Or(protocol, s.Protocol), cmp.Or(flavor, s.Cluster.Flavor))
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

// Client is the SDK that the scenario's clients have by default, in a protocol on a
// flavor.
func (s *Scenario) Client(protocol, flavor string) (clients.SDK, error) {
	return s.client("", protocol, flavor)
}

// client is the SDK of that name, or the scenario's, where it can do what the
// workload needs.
func (s *Scenario) client(sdk, protocol, flavor string) (clients.SDK, error) {
	found, err := s.named(cmp.Or(sdk, cluster.SDK(flavor, protocol)), protocol)
	if err == nil {
		err = s.Suits(found)
	}
	return found, err
}

// named is the SDK of that name, or the scenario's. Where that does not speak the
// protocol it is one that does, in the same language.
func (s *Scenario) named(sdk, protocol string) (clients.SDK, error) {
	if sdk != "" {
		return clients.ResolveFor(sdk, protocol)
	}
	found, err := clients.ResolveFor(s.SDK, protocol)
	if err != nil {
		lang, _, _ := strings.Cut(s.SDK, "/")
		if other, none := clients.ResolveFor(lang, protocol); none == nil {
			return other, nil
		}
	}
	return found, err
}

// CacheDir is where drivers and brokers are kept, of a state directory.
func CacheDir(stateDir string) string { return filepath.Join(stateDir, "cache") }
