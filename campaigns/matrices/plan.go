package matrices

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// planOf plans the runs of scenarios.
func planOf(ctx context.Context, r attempt.Runner, names []string, o campaigns.Order) (campaigns.Plan, error) {
	found, err := scenarios.Match(names)
	if err != nil {
		return campaigns.Plan{}, err
	}
	for _, name := range found {
		s, err := scenarios.Load(scenarios.Absolute(name))
		if err != nil {
			return campaigns.Plan{}, err
		}
		o.Scenarios = append(o.Scenarios, campaigns.Scene{
			Name: scenarios.Absolute(name), SHA: s.SHA, Flavor: s.Cluster.Flavor, Protocols: s.Protocols(), Arms: s.Arms(), Shares: s.Shares(),
			Crashes: s.Crashes(), Faults: len(s.Schedule) > 0,
			Default:  func(protocol, flavor string) (clients.SDK, error) { return s.SDKFor("", protocol, flavor) },
			Fits:     func(c cluster.Config) error { return s.On(c).Fits(c) },
			Withheld: s.Withheld,
			Lacks: func(sdk clients.SDK, tier string) error {
				_, err := s.Tier(tier, "")
				return cmp.Or(err, s.Suits(sdk))
			},
		})
	}
	if len(o.Flavors) == 0 && o.Config.Foreign() {
		o.Flavors = cluster.FlavorNames(func(f cluster.Flavor) bool { return f.Foreign })
	}
	if d := o.Config.Document; d != nil && !slices.Contains(o.Flavors, d.Name) {
		o.Flavors = append([]string{d.Name}, o.Flavors...)
	}
	for _, flavor := range o.Flavors {
		config, err := experiment.Fetch(ctx, r.Dir, o.Config.As(flavor), r.Tell)
		if err != nil {
			return campaigns.Plan{}, err
		}
		if _, err := cluster.Check(config); err != nil { // as each cell would be refused
			return campaigns.Plan{}, err
		}
		if err := reachOne(ctx, config, o); err != nil {
			return campaigns.Plan{}, err
		}
	}
	p, err := campaigns.NewPlan(o)
	p.Command = commandOf(names, o)
	return p, err
}

// reachOne is an error if an external broker lets no client of any scenario in.
func reachOne(ctx context.Context, config cluster.Config, o campaigns.Order) (err error) {
	transport := ""
	if len(o.Transports) > 0 {
		transport = o.Transports[0]
	}
	for _, s := range o.Scenarios {
		if err = attempt.Reach(ctx, keeper.Start{Scenario: s.Name, Cluster: config, Transport: transport}, ""); err == nil {
			return nil
		}
	}
	return err
}

// commandOf is the command for the same matrix. It may be published, so paths of this machine and user
// names are left out.
func commandOf(names []string, o campaigns.Order) string {
	command, file := "rmq-mcp matrix", ""
	if d := o.Config.Document; d != nil {
		_, file = cluster.FlavorNamed(d.Name).Flag()
		o.Flavors = slices.DeleteFunc(slices.Clone(o.Flavors), func(name string) bool { return name == d.Name })
	}
	for _, name := range names {
		command += " " + plain.ShellWord(name)
	}
	for _, flag := range []struct{ name, value string }{
		{"sdk", strings.Join(o.SDKs, ",")}, {"broker", file}, {"flavor", strings.Join(o.Flavors, ",")}, {"protocol", strings.Join(o.Protocols, ",")},
		{"transport", strings.Join(o.Transports, ",")}, {"arm", strings.Join(o.Config.Arm, ",")}, {"broker-version", o.Config.Version},
		{"profile", o.Config.Profile}, {"runtime", o.Config.Runtime}, {"tier", o.Tier},
		{"broker-sha256", o.Config.VersionSHA256}, {"image", o.Config.Image}, {"disk-model", o.Config.DiskModel}, {"plant", o.Config.Plant},
		{"pid", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(o.Config.PIDs)), ","), "[]")}, {"container", strings.Join(o.Config.Containers, ",")}, {"pod", strings.Join(o.Config.Pods, ",")},
	} {
		if flag.value != "" {
			command += " --" + flag.name + " " + plain.ShellWord(flag.value)
		}
	}
	if o.NoFaults {
		command += " --no-faults"
	}
	if o.Controls {
		command += " --controls"
	}
	if o.Config.Nodes > 0 {
		command += fmt.Sprintf(" --nodes %d", o.Config.Nodes)
	}
	if o.Config.QueueLimit > 0 {
		command += fmt.Sprintf(" --queue-limit %d", o.Config.QueueLimit)
	}
	if o.Repeat > 1 {
		command += fmt.Sprintf(" --repeat %d", o.Repeat)
	}
	for _, e := range o.Config.Endpoints {
		command += " --endpoint " + plain.ShellWord(e)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Config.Settings)) {
		command += " --set " + plain.ShellWord(fmt.Sprintf("%s=%v", key, o.Config.Settings[key]))
	}
	return command
}
