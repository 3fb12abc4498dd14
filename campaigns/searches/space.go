package searches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/campaigns/random"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/mechanism/clock"
)

// A Target is the cluster, the client libraries and the limits of random scenarios.
type Target struct {
	Cluster  cluster.Config
	SDKs     []string // none: those in this program
	Protocol string   // "": all of MQTT
	Envelope string   // file; "" for no limits
}

// space returns what can be drawn for a target here, and the broker's binary, "" if it is no file here.
// A release is fetched.
func (t Target) space(ctx context.Context, r attempt.Runner, show Show) (s random.Space, binary string, err error) {
	if own := cluster.FlavorNames(cluster.Own); !slices.Contains(own, t.Cluster.Flavor) {
		return s, "", fmt.Errorf("draw a scenario: flavor %q: valid are %s; campaigns do not run on external brokers: write a scenario and use run --flavor external", t.Cluster.Flavor, strings.Join(own, ", "))
	}
	if t.Envelope != "" {
		limits, err := envelope.Read(t.Envelope, r.Dir)
		if err != nil {
			return s, "", err
		}
		s.Limits = &limits
	}
	fetched, err := experiment.Fetch(ctx, r.Dir, t.Cluster, show.Say) // each run fetches it again, from the cache
	if err != nil {
		return s, "", err
	}
	now, err := cluster.Check(fetched)
	if err != nil {
		return s, "", err
	}
	if s.Limits != nil {
		if err := s.Limits.Cluster(now); err != nil {
			return s, "", err
		}
	}
	s.Flavor, s.Nodes, s.Pods = now.Flavor, now.Nodes, now.Beyond()
	isolation, _ := keeper.Isolation(ctx, r.Self)
	image := now.Imaged()
	if !image {
		binary = now.Binary
	}
	told := image || clock.Fits(cmp.Or(now.Binary, r.Self[0])) == nil // its clock can be moved
	s.Faults = random.Doable(isolation == keeper.IsolationNamespaces, now, func(k faults.Kind) bool {
		_, missing := k.Available(ctx)
		return missing == "" && (k.Family != "time" || told)
	})
	if s.Clients, err = t.clients(s.Flavor); err != nil {
		return s, "", err
	}
	if err := s.Check(); err != nil {
		return s, "", err
	}
	return s, binary, install(ctx, r, s.Clients, show)
}

// clients are the libraries, with each version of MQTT that they share with the broker.
func (t Target) clients(flavor string) (list []random.Client, err error) {
	sdks := slices.DeleteFunc(clients.SDKs(), func(s clients.SDK) bool { return !s.Builtin })
	if len(t.SDKs) > 0 {
		sdks = nil
	}
	for _, name := range t.SDKs {
		found, err := clients.ResolveAll(name)
		if err != nil {
			return nil, err
		}
		sdks = append(sdks, found...)
	}
	for _, protocol := range cluster.FlavorNamed(flavor).Protocols {
		if protocol == contract.MQ9 || t.Protocol != "" && protocol != t.Protocol {
			continue
		}
		for _, sdk := range sdks {
			if sdk.Speaks(protocol) {
				list = append(list, random.Client{SDK: sdk, Protocol: protocol})
			}
		}
	}
	return list, nil
}

// Draw writes the scenario that a seed draws for a target into the state directory. It returns its file and
// title.
func Draw(ctx context.Context, r attempt.Runner, t Target, seed int64, show Show) (file, title string, err error) {
	space, _, err := t.space(ctx, r, show)
	if err != nil {
		return "", "", err
	}
	s, err := space.Scenario(seed)
	if err != nil {
		return "", "", err
	}
	file = filepath.Join(r.Dir, "random", fmt.Sprintf("random-%d.md", seed))
	err = os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(s.Text), 0o644)
	}
	if err != nil {
		return "", "", fmt.Errorf("write the scenario of seed %d: %w", seed, err)
	}
	return file, s.Title, nil
}

// install makes the drivers ready. A build during a run would starve it.
func install(ctx context.Context, r attempt.Runner, list []random.Client, show Show) error {
	var sdks []clients.SDK
	for _, c := range list {
		sdks = append(sdks, c.SDK)
	}
	var errs []error
	clients.Install(ctx, experiment.CacheDir(r.Dir), r.Self, sdks, show.Building, func(i clients.Installation) {
		show.Installed(i)
		if i.Err != nil {
			errs = append(errs, fmt.Errorf("campaign: make %s ready: %w; leave it out of --sdk", i.SDK, i.Err))
		}
	})
	return errors.Join(errs...)
}
