package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// A spaceAsk is what scenarios are to be drawn for.
type spaceAsk struct {
	cluster  cluster.Config
	sdks     []string
	protocol string
	envelope string // file, "" for no limits
	binary   string // of the nodes, once there is a space; "" where it is no file here
}

// space is what can be drawn for a cluster here. A release that it names is fetched.
func (ask *spaceAsk) space(ctx context.Context, dir string, argv []string, show *matrixDisplay) (random.Space, error) {
	var s random.Space
	if own := cluster.FlavorNames(cluster.Own); !slices.Contains(own, ask.cluster.Flavor) {
		return s, fmt.Errorf("draw a scenario: flavor %q: valid are %s; campaigns do not run on external brokers: write a scenario and use run --flavor external", ask.cluster.Flavor, strings.Join(own, ", "))
	}
	if ask.envelope != "" {
		limits, err := envelope.Read(ask.envelope, dir)
		if err != nil {
			return s, err
		}
		s.Limits = &limits
	}
	fetched, err := experiment.Fetch(ctx, dir, ask.cluster, func(line string) { show.say("%s", line) }) // each run fetches it again, from here
	if err != nil {
		return s, err
	}
	now, err := cluster.Check(fetched)
	if err != nil {
		return s, err
	}
	if s.Limits != nil {
		if err := s.Limits.Cluster(now); err != nil {
			return s, err
		}
	}
	s.Flavor, s.Nodes = now.Flavor, now.Nodes
	isolation, _ := keeper.Isolation(ctx, argv)
	docker := now.Imaged()
	if !docker {
		ask.binary = now.Binary
	}
	told := docker || clock.Fits(cmp.Or(now.Binary, argv[0])) == nil // whether its clock can be lied about
	s.Faults = random.Doable(isolation == keeper.IsolationNamespaces, docker, func(k faults.Kind) bool {
		_, missing := k.Available(ctx)
		return missing == "" && (k.Family != "time" || told)
	})
	if s.Clients, err = ask.clients(s.Flavor); err != nil {
		return s, err
	}
	if err := s.Check(); err != nil {
		return s, err
	}
	return s, install(ctx, dir, argv, s.Clients, show)
}

// clients are the libraries that were asked for, or those in this program, with
// each version of MQTT that they share with the broker.
func (ask *spaceAsk) clients(flavor string) (list []random.Client, err error) {
	sdks := slices.DeleteFunc(clients.SDKs(), func(s clients.SDK) bool { return !s.Builtin })
	if len(ask.sdks) > 0 {
		sdks = nil
	}
	for _, name := range ask.sdks {
		found, err := clients.ResolveAll(name)
		if err != nil {
			return nil, err
		}
		sdks = append(sdks, found...)
	}
	for _, protocol := range cluster.FlavorNamed(flavor).Protocols {
		if protocol == contract.MQ9 || ask.protocol != "" && protocol != ask.protocol {
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

// randomScenario is the name under which run draws a scenario by its seed.
const randomScenario = "mqtt/random"

// draw writes the scenario of a run's seed into the state directory, and answers
// its file. Without a seed it takes one.
func (r *running) draw(ctx context.Context, dir string, show *matrixDisplay) (string, error) {
	argv, err := self()
	if err != nil {
		return "", err
	}
	r.cluster.Flavor = cmp.Or(r.cluster.Flavor, cluster.DefaultFlavor)
	r.seed = cmp.Or(r.seed, 1+rand.Int64N(1<<31-1))
	ask := spaceAsk{cluster: r.cluster, protocol: r.protocol}
	if r.sdk != "" {
		sdk, err := clients.ResolveFor(r.sdk, r.protocol)
		if err != nil {
			return "", err
		}
		ask.sdks = []string{sdk.String()}
	}
	space, err := ask.space(ctx, dir, argv, show)
	if err != nil {
		return "", err
	}
	s, err := space.Scenario(r.seed)
	if err != nil {
		return "", err
	}
	show.say("seed %d draws: %s", r.seed, s.Title)
	file := filepath.Join(dir, "random", fmt.Sprintf("random-%d.md", r.seed))
	err = os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(s.Text), 0o644)
	}
	if err != nil {
		return "", fmt.Errorf("write the scenario of seed %d: %w", r.seed, err)
	}
	r.cluster, r.sdk, r.protocol = ask.cluster, "", "" // the scenario says them
	return file, nil
}

// command is the one that asks for the same campaign again.
func (ask campaignAsk) command(seed int64) string {
	words := []string{"rmq-mcp campaign", "--flavor", ask.cluster.Flavor, "--for", ask.within.String(), "--seed", fmt.Sprint(seed)}
	flag := func(name, value string) {
		if value != "" {
			words = append(words, "--"+name, value)
		}
	}
	number := func(name string, n int) {
		if n > 0 {
			flag(name, fmt.Sprint(n))
		}
	}
	number("runs", ask.runs)
	number("nodes", ask.cluster.Nodes)
	flag("sdk", strings.Join(ask.sdks, ","))
	flag("protocol", ask.protocol)
	flag("runtime", ask.cluster.Runtime)
	flag("broker-version", ask.cluster.Version)
	flag("profile", ask.cluster.Profile)
	flag("arm", strings.Join(ask.cluster.Arm, ","))
	flag("plant", ask.cluster.Plant)
	for _, key := range slices.Sorted(maps.Keys(ask.cluster.Settings)) {
		flag("set", fmt.Sprintf("%s=%v", key, ask.cluster.Settings[key]))
	}
	flag("envelope", ask.envelope)
	if ask.keep != "all" {
		flag("keep", ask.keep)
	}
	if ask.reduce {
		words = append(words, "--reduce", "--fails", fmt.Sprint(ask.small.Rule.K), "--of", fmt.Sprint(ask.small.Rule.N),
			"--reduce-runs", fmt.Sprint(ask.small.Runs), "--reduce-for", ask.small.Within.String())
	}
	return strings.Join(words, " ")
}
