package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// matrixReferees is how many runs more decide what deviates, by default.
const matrixReferees = 12

// A matrixAsk are the flags of matrix.
type matrixAsk struct {
	order  campaigns.Order
	limits campaigns.Limits
	set    map[string]string
	resume bool
	fresh  bool
	once   bool // one of the same seed that ended is not made again
	out    string
}

func (a *app) matrix() *cobra.Command {
	var ask matrixAsk
	cmd := &cobra.Command{
		Use:   "matrix [SCENARIO...]",
		Args:  cobra.ArbitraryArgs,
		Short: "Run scenarios with several client libraries, and attribute the differences",
		Long: "Runs scenarios with every SDK that shares a protocol with them and the broker, all with one seed, and says what each\n" +
			"deviation comes from. Deviations are run again with the tap armed, on a control broker and with the same seed.\n" +
			"SCENARIO is a name, a pattern like 'mqtt/*', or all.\n" +
			"Ctrl-C stops in order; the same command resumes.\n" +
			"Exit status: 0 nothing deviates, 1 something is broken, 2 that could not be told, 3 the harness could not do its job.",
		Example: "  rmq-mcp matrix mqtt/qos-roundtrip\n  rmq-mcp matrix mqtt/broker-kill-9 --flavor robustmq --sdk go,python@2.x --arm tap\n" +
			"  rmq-mcp matrix all --sdk default --controls --flavor robustmq\n  rmq-mcp matrix --resume",
		RunE: func(cmd *cobra.Command, args []string) error {
			ask.order.Config.Settings = settings(ask.set)
			c, err := a.runMatrix(cmd.Context(), cmd.OutOrStdout(), args, ask)
			if err != nil {
				return err
			}
			if code := c.ExitCode(); code != 0 {
				return exit(code)
			}
			return nil
		},
	}
	f, o := cmd.Flags(), &ask.order
	f.StringSliceVar(&o.SDKs, "sdk", nil, "client libraries: go, python@2.x, js/mqtt@latest; default is the scenario's (default: all)")
	f.StringSliceVar(&o.Flavors, "flavor", nil, "what the nodes are: "+strings.Join(cluster.FlavorNames(cluster.Any), ", ")+" (default: the scenario's)")
	f.StringSliceVar(&o.Protocols, "protocol", nil, "mqtt3, mqtt5, mq9 (default: all that the SDK and the scenario share)")
	f.StringSliceVar(&o.Transports, "transport", nil, "tcp, tls, ws, wss (default tcp)")
	f.StringVar(&o.Tier, "tier", "", "smoke or hardening, and release if a scenario has it (default smoke)")
	f.Int64Var(&o.Seed, "seed", 0, "of every cell (default: of the clock)")
	f.IntVar(&o.Repeat, "repeat", 1, "runs of each cell")
	f.BoolVar(&o.NoFaults, "no-faults", false, "the scenarios' workloads alone")
	f.BoolVar(&o.Controls, "controls", false, "each scenario without its faults as well, before all others: a failure there needs no fault")
	f.IntVar(&ask.limits.Jobs, "jobs", 0, "runs at the same time (default: what the processors are idle for)")
	f.IntVar(&ask.limits.Referees, "referees", matrixReferees, "how many runs more may be made to decide what deviates")
	f.BoolVar(&ask.resume, "resume", false, "go on with the newest matrix that did not end")
	f.BoolVar(&ask.fresh, "fresh", false, "start over, even if the same matrix did not end")
	f.StringVar(&ask.out, "out", "", "`directory` for matrix.json, matrix.md and matrix.html as well")
	clusterFlags(f, &o.Config, &ask.set)
	return cmd
}

// runMatrix makes the runs of a matrix, prints what they show together and returns it.
func (a *app) runMatrix(ctx context.Context, out io.Writer, names []string, ask matrixAsk) (c campaigns.Comparison, err error) {
	switch {
	case len(names) == 0 && !ask.resume:
		return c, errors.New("matrix: name a scenario, or give --resume; `rmq-mcp list scenarios` shows them")
	case ask.order.Repeat < 1 || ask.limits.Jobs < 0 || ask.limits.Referees < 0:
		return c, errors.New("matrix: --repeat is 1 or more, --jobs and --referees are 0 or more")
	case ask.order.NoFaults && ask.order.Controls:
		return c, errors.New("matrix: give --no-faults or --controls, not both")
	case ask.resume && ask.fresh:
		return c, errors.New("matrix: give --resume or --fresh, not both")
	}
	dir, err := a.state()
	if err != nil {
		return c, err
	}
	store, err := a.matrixStore(ctx, out, dir, names, ask)
	if err != nil {
		return c, err
	}
	unlock, err := store.Lock()
	if err != nil {
		return c, err
	}
	defer unlock()
	argv, err := self()
	if err != nil {
		return c, err
	}
	if ask.limits.Jobs, err = jobsOf(ctx, store.Plan, ask.limits.Jobs); err != nil {
		return c, err
	}
	show := newMatrixDisplay(out)
	show.many = len(store.Plan.Scenarios) > 1
	show.say("%s: %d cells, seed %d, %d at a time, in %s", titleOf(store.Plan), len(store.Plan.Entries), store.Plan.Seed, ask.limits.Jobs, store.Dir)
	ctx, stop := interrupted(ctx)
	defer stop()
	began := time.Now()
	c, err = campaigns.NewMatrix(store, a.matrixWork(dir, argv, store, ask.out, show), ask.limits).Run(ctx)
	show.close()
	if ctx.Err() != nil {
		fmt.Fprintf(out, "stopped; `rmq-mcp matrix --resume` resumes it\n")
		return c, exit(exitUndecided)
	}
	if err != nil {
		return c, err
	}
	if err := joinMatrix(dir, store); err != nil {
		return c, err
	}
	fmt.Fprintln(out)
	printComparison(paintTo(out), out, c)
	fmt.Fprintf(out, "\n%s, report %s\n", time.Since(began).Round(time.Second), filepath.Join(store.Dir, "matrix.md"))
	return c, nil
}

// matrixStore is a matrix that goes on where it stopped, or a new one.
func (a *app) matrixStore(ctx context.Context, out io.Writer, dir string, names []string, ask matrixAsk) (*campaigns.Store, error) {
	var plan campaigns.Plan
	if len(names) > 0 {
		var err error
		if plan, err = planMatrix(ctx, out, dir, names, ask.order); err != nil {
			return nil, err
		}
		if ask.fresh {
			return newMatrix(dir, plan)
		}
		s, err := campaigns.Unfinished(dir, &plan)
		if ask.once {
			s, err = campaigns.Begun(dir, plan)
		}
		if err != nil {
			return nil, err
		}
		if s != nil {
			fmt.Fprintf(out, "resuming %s, begun %s; --fresh starts over\n", s.ID(), s.Started.Local().Format("01-02 15:04"))
			return s, nil
		}
		return newMatrix(dir, plan)
	}
	s, err := campaigns.Unfinished(dir, nil)
	if err == nil && s == nil {
		err = fmt.Errorf("matrix: every matrix in %s has ended; name a scenario to begin one", dir)
	}
	return s, err
}

func newMatrix(dir string, plan campaigns.Plan) (*campaigns.Store, error) {
	if plan.Seed == 0 {
		plan.Seed = rand.Int64N(1 << 31)
	}
	plan.Command += fmt.Sprintf(" --seed %d", plan.Seed)
	return campaigns.Create(dir, plan, time.Now())
}

// planMatrix plans after the broker is at hand, whose version is part of the
// plan.
func planMatrix(ctx context.Context, out io.Writer, dir string, names []string, o campaigns.Order) (campaigns.Plan, error) {
	found, err := scenarios.Match(names)
	if err != nil {
		return campaigns.Plan{}, err
	}
	for _, name := range found {
		s, err := scenarios.Load(absolute(name))
		if err != nil {
			return campaigns.Plan{}, err
		}
		o.Scenarios = append(o.Scenarios, campaigns.Scene{
			Name: absolute(name), SHA: s.SHA, Flavor: s.Cluster.Flavor, Protocols: s.Protocols(), Arms: s.Arms(), Shares: s.Shares(),
			Crashes: s.Crashes(), Faults: len(s.Schedule) > 0,
			Default:  func(protocol, flavor string) (clients.SDK, error) { return s.SDKFor("", protocol, flavor) },
			Fits:     func(c cluster.Config) error { return s.On(c).Fits(c.Nodes) },
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
	for _, flavor := range o.Flavors {
		config := o.Config
		config.Flavor = flavor
		config, err := experiment.Fetch(ctx, dir, config, func(line string) { fmt.Fprintln(out, line) })
		if err != nil {
			return campaigns.Plan{}, err
		}
		if _, err := cluster.Check(config); err != nil { // what one cell would be refused for, all would
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
	for _, s := range o.Scenarios {
		if err = attempt.Reach(ctx, keeper.Start{Scenario: s.Name, Cluster: config, Transport: first(o.Transports)}, ""); err == nil {
			return nil
		}
	}
	return err
}

// commandOf is the command that asks for the same again. Paths of this machine and who logs
// in are left out: it may be published.
func commandOf(names []string, o campaigns.Order) string {
	command := "rmq-mcp matrix"
	for _, name := range names {
		command += " " + quoted(name)
	}
	for _, flag := range []struct{ name, value string }{
		{"sdk", strings.Join(o.SDKs, ",")}, {"flavor", strings.Join(o.Flavors, ",")}, {"protocol", strings.Join(o.Protocols, ",")},
		{"transport", strings.Join(o.Transports, ",")}, {"arm", strings.Join(o.Config.Arm, ",")}, {"broker-version", o.Config.Version},
		{"profile", o.Config.Profile}, {"runtime", o.Config.Runtime}, {"tier", o.Tier},
		{"broker-sha256", o.Config.VersionSHA256}, {"image", o.Config.Image}, {"disk-model", o.Config.DiskModel}, {"plant", o.Config.Plant},
		{"pid", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(o.Config.PIDs)), ","), "[]")}, {"container", strings.Join(o.Config.Containers, ",")},
	} {
		if flag.value != "" {
			command += " --" + flag.name + " " + quoted(flag.value)
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
		command += " --endpoint " + quoted(e)
	}
	for _, key := range slices.Sorted(maps.Keys(o.Config.Settings)) {
		command += " --set " + quoted(fmt.Sprintf("%s=%v", key, o.Config.Settings[key]))
	}
	return command
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,@=+") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// titleOf names the scenarios of a plan, or says how many there are.
func titleOf(p campaigns.Plan) string {
	var m reports.Matrix
	for _, s := range p.Scenarios {
		m.Scenarios = append(m.Scenarios, s.Name)
	}
	return m.Title()
}

// saveMatrix writes what people read into the matrix's directory, and to where
// they asked for it.
func saveMatrix(dir, out string, store *campaigns.Store, m reports.Matrix) error {
	m.Tool = build.Version()
	if err := reports.WriteMatrix(store.Dir, "../../"+reports.RunsDir, m); err != nil {
		return err
	}
	if out == "" {
		return nil
	}
	to, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	runs := filepath.Join(dir, reports.RunsDir)
	if rel, err := filepath.Rel(to, runs); err == nil {
		runs = rel
	}
	return reports.WriteMatrix(to, filepath.ToSlash(runs), m)
}

// joinMatrix writes into the report of each run what the matrix says of it.
func joinMatrix(dir string, store *campaigns.Store) error {
	m, err := reports.ReadMatrix(store.Dir)
	if err != nil {
		return err
	}
	for _, o := range store.Done {
		if o.RunID == "" {
			continue
		}
		if err := reports.JoinMatrix(filepath.Join(dir, reports.RunsDir, o.RunID), m); err != nil {
			return fmt.Errorf("note the matrix in the report of %s: %w", o.RunID, err)
		}
	}
	return nil
}

// jobsOf returns how many runs of a plan are made at the same time, where so many were asked
// for; 0 leaves it to the machine. Brokers that somebody else runs are the same for all runs.
// They have one at a time, and more only if no run has faults that another would feel.
func jobsOf(ctx context.Context, p campaigns.Plan, asked int) (int, error) {
	same := slices.ContainsFunc(p.Entries, func(e campaigns.Entry) bool { return cluster.FlavorNamed(e.Flavor).Foreign })
	felt := func(e campaigns.Entry) bool {
		alone, err := experiment.Alone(cellStart(p, e))
		return err == nil && alone // a cell that cannot be run says so later
	}
	switch {
	case same && asked > 1 && slices.ContainsFunc(p.Entries, felt):
		return 0, fmt.Errorf("matrix: --jobs %d has runs at one broker at the same time, and faults of one that another would feel; leave it out", asked)
	case asked > 0:
		return asked, nil
	case same:
		return 1, nil
	}
	return idleJobs(ctx), nil
}

// idleJobs is how many runs this machine can make at the same time without
// keeping any of them waiting: a run is idle for most of its time.
func idleJobs(ctx context.Context) int {
	const perProcessor = 1.5
	idle := campaigns.IdleProcessors(ctx, 500*time.Millisecond)
	return max(1, int(idle*perProcessor))
}
