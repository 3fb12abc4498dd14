package doctor

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/reports"
)

// Bounds of `doctor --faults`.
const (
	liveBound  = 5 * time.Minute // a cluster comes up, or stops
	flowBound  = 2 * time.Minute
	outBound   = 90 * time.Second // after a fault's own time
	trafficS   = 1800.0
	faultTries = 3 // of a fault whose control was disturbed
)

// traffic is the scenario with the workload of the cluster.
//
//go:embed traffic.md
var traffic []byte

// A liveCluster is an experiment of doctor's own, with traffic.
type liveCluster struct {
	client   *keeper.Client
	flavor   string
	stateDir string
	traffic  string // file of the scenario whose workload flows
	nodes    int
	between  bool // network faults act between nodes alone, as clients connect through a tap on this machine
	caller   keeper.Caller

	upgradeTo string
}

// startLive starts a cluster with a workload. It arms everything that the kinds need, as far as this
// host has it.
func startLive(ctx context.Context, runner attempt.Runner, config cluster.Config, kinds []faults.Kind) (c *liveCluster, err error) {
	c = &liveCluster{flavor: config.Flavor, stateDir: runner.Dir, caller: keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "doctor"}}
	c.traffic = filepath.Join(runner.Dir, "doctor_traffic.md")
	if err := os.WriteFile(c.traffic, traffic, 0o644); err != nil {
		return nil, fmt.Errorf("write the workload: %w", err)
	}
	if err := experiment.Provision(ctx, runner.Dir, runner.Self, keeper.Start{Scenario: c.traffic, Cluster: config}, nil); err != nil {
		return nil, err
	}
	config.Arm = cluster.WithArms(config.Arm, armsOf(ctx, config, kinds)...)
	c.between = config.Beyond() && slices.Contains(config.Arm, cluster.ArmTap)
	c.client, err = runner.Start(ctx, keeper.Start{Cluster: config, GraceS: 1, Caller: c.caller})
	if err != nil {
		return nil, err
	}
	if err := c.load(ctx); err != nil {
		return nil, errors.Join(err, c.stop(ctx))
	}
	return c, nil
}

// armsOf are what the kinds need armed, as far as this host and the runtime can.
func armsOf(ctx context.Context, config cluster.Config, kinds []faults.Kind) []string {
	arms := []string{}
	for _, k := range kinds {
		if config.Imaged() && k.Arms != cluster.ArmTap {
			continue
		}
		if _, missing := k.Available(ctx); k.Arms != "" && missing == "" && !slices.Contains(arms, k.Arms) {
			arms = append(arms, k.Arms)
		}
	}
	return arms
}

// load waits until the cluster serves, and puts traffic on it.
func (c *liveCluster) load(ctx context.Context) error {
	s, err := c.client.Wait(ctx, liveBound)
	switch {
	case err != nil:
		return err
	case s.Phase != history.PhaseReady:
		return fmt.Errorf("start a cluster of %s: %s", c.flavor, s.Error)
	}
	c.nodes = len(s.Nodes)
	_, err = c.client.RunClient(ctx, keeper.RunClient{Scenario: c.traffic, DurationS: trafficS, Caller: c.caller})
	if err != nil {
		return err
	}
	return c.flows(ctx)
}

// renew restarts the nodes of a fault that needs it. Otherwise the broker might write nothing more, and
// the next fault have no effect.
func (c *liveCluster) renew(ctx context.Context, k faults.Kind, nodes []string) error {
	if !k.NeedsRestart {
		return nil
	}
	for _, n := range nodes {
		again, err := c.client.Inject(ctx, keeper.Inject{Type: "restart", Target: n, Params: map[string]any{"duration_s": 1.0}, Caller: c.caller})
		if err != nil {
			return fmt.Errorf("restart %s: %w", n, err)
		}
		if _, err := c.client.Heal(ctx, keeper.Heal{Fault: again.ID, Caller: c.caller}); err != nil {
			return fmt.Errorf("restart %s: %w", n, err)
		}
	}
	return nil
}

// flows waits until every node runs and answers new clients, a node leads, and publishes are
// acknowledged.
func (c *liveCluster) flows(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flowBound)
	defer cancel()
	acked, why := int64(-1), "nothing is known of it"
	for {
		s, err := c.client.Status(ctx)
		if err != nil {
			return fmt.Errorf("the cluster of %s does not serve: %s: %w", c.flavor, why, err)
		}
		why = ""
		for _, n := range s.Nodes {
			if n.State != "running" {
				why = n.Name + " is " + n.State
			} else if err := c.answers(ctx, n); err != nil {
				why = fmt.Sprintf("%s does not answer: %v", n.Name, err)
			}
		}
		led := slices.ContainsFunc(s.Nodes, func(n keeper.NodeStatus) bool { return slices.Contains(n.Roles, "leader") })
		switch {
		case why != "":
		case !led:
			why = "no node leads"
		case acked >= 0 && s.Counts.Acked > acked:
			return nil
		default:
			acked, why = s.Counts.Acked, "no publish is acknowledged"
		}
		if !pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("the cluster of %s does not serve: %s, %v after the last fault", c.flavor, why, flowBound)
		}
	}
}

// check injects one kind after the other. If a control was disturbed, the kind is injected again, and
// its row keeps the reason.
func (c *liveCluster) check(ctx context.Context, kinds []faults.Kind, tell func(Row)) ([]Row, error) {
	var rows []Row
	for _, k := range kinds {
		var disturbed [][]string
		for {
			row, err := c.injectAndRenew(ctx, k)
			if err != nil {
				return rows, err
			}
			if row.Disturbed = disturbed; row.Landing == history.Indeterminate && row.Healed == history.HealVerified && len(disturbed) < faultTries-1 {
				disturbed = append(disturbed, row.Reasons)
				continue
			}
			rows = append(rows, row)
			tell(row)
			break
		}
	}
	return rows, nil
}

// injectAndRenew injects a kind, and leaves a cluster that serves.
func (c *liveCluster) injectAndRenew(ctx context.Context, k faults.Kind) (Row, error) {
	row, err := c.inject(ctx, k)
	if err != nil {
		return row, err
	}
	if err := c.renew(ctx, k, row.Nodes); err != nil {
		return row, fmt.Errorf("after %s: %w", k.Type, err)
	}
	if err := c.flows(ctx); err != nil {
		return row, fmt.Errorf("after %s: %w", k.Type, err)
	}
	return row, nil
}

// inject injects a kind as its example says, heals it once it has landed, and
// waits until that is done. A fault that does not land stays for its time.
func (c *liveCluster) inject(ctx context.Context, k faults.Kind) (Row, error) {
	row := Row{Type: k.Type, Family: k.Family, Flavor: c.flavor, Target: k.Example.Target, Params: maps.Clone(k.Example.Params), Healed: history.HealPending}
	if c.nodes == 1 {
		row.Target = "node-1"
	}
	if row.Params["binary"] == faults.ExampleBinary {
		if c.upgradeTo == "" {
			row.Landing, row.Healed, row.OK = history.Unsupported, "", true
			row.Reasons = []string{"it takes another build of the broker: --upgrade-to PATH"}
			return row, nil
		}
		row.Params["binary"] = c.upgradeTo
	}
	if c.between && slices.ContainsFunc(k.Params, func(p faults.Param) bool { return p.Name == "with" }) {
		row.Params["with"] = "nodes"
	}
	before, err := c.landings()
	if err != nil {
		return row, err
	}
	_, refused := c.client.Inject(ctx, keeper.Inject{Type: k.Type, Target: row.Target, Params: row.Params, Caller: c.caller})
	if refused != nil {
		row.Reasons = []string{refused.Error()}
	}
	lasts := time.Duration(number(k.Example.Params["duration_s"]) * float64(time.Second))
	healing := lasts == 0 // by itself, when it has done its work
	for deadline := time.Now().Add(outBound + lasts); ; {
		all, err := c.landings()
		if err != nil {
			return row, err
		}
		if len(all) > len(before) {
			row.take(k, all[len(before)])
		}
		if row.Landing == history.Landed && row.Healed == history.HealPending && !healing {
			healing = true
			c.client.Heal(ctx, keeper.Heal{Fault: all[len(before)].Fault, Caller: c.caller}) // what it did is in the landing
			continue
		}
		if len(all) == len(before) || row.Healed != history.HealPending || time.Now().After(deadline) {
			return row, nil // one that was refused has no landing
		}
		if !pause(ctx, 100*time.Millisecond) {
			return row, ctx.Err()
		}
	}
}

func number(v any) float64 {
	f, _ := v.(float64)
	return f
}

// landings are the experiment's own record of its faults.
func (c *liveCluster) landings() ([]history.Landing, error) {
	all, err := reports.Dir(c.client.Info().Dir).Recorded()
	if errors.Is(err, fs.ErrNotExist) { // until the first
		return nil, nil
	}
	return all, err
}

// stop ends the experiment.
func (c *liveCluster) stop(ctx context.Context) error {
	defer c.client.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), liveBound)
	defer cancel()
	_, err := c.client.Stop(ctx, c.caller)
	if err != nil && !errors.Is(err, keeper.ErrGone) {
		return fmt.Errorf("stop the cluster of %s: %w", c.flavor, err)
	}
	return keeper.Settled(ctx, c.stateDir, c.client.Info().ID)
}

// pause waits for a time, and reports whether the context lasted.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
