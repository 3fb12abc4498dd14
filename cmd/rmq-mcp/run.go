package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// running are the flags of run.
type running struct {
	cluster   cluster.Config
	sdk       string
	protocol  string
	transport string
	seed      int64
	repeat    int
	noRepeat  bool
	verbose   bool
	noFaults  bool
	tier      string
	asJSON    bool
	set       map[string]string // the flavor's own keys, as words
}

func (a *app) runScenario() *cobra.Command {
	var r running
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Run one experiment, from cluster to verdict",
		Long: "Runs a scenario of the library, a .md file of one's own, or mqtt/random, which --seed draws, and prints the verdict.\n" +
			"Ctrl-C heals, ends and judges what happened until then; a second one leaves the run to its keeper.\n" +
			"Exit status: 0 PASS, 1 FAIL (an expected one, too), 2 could not be told, 3 the harness could not do its job.",
		Example: "  rmq-mcp run mqtt/broker-kill-9\n  rmq-mcp run mqtt/broker-kill-9 --flavor mosquitto --repeat 3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.cluster.Settings = settings(r.set)
			return a.runAll(cmd.Context(), cmd.OutOrStdout(), args[0], r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.cluster.Flavor, "flavor", "", "what the nodes are: "+strings.Join(cluster.FlavorNames(cluster.Any), ", ")+" (default: the scenario's)")
	clusterFlags(f, &r.cluster, &r.set)
	f.StringVar(&r.sdk, "sdk", "", "`LANG@VERSION` of the client library (default: the scenario's)")
	f.StringVar(&r.protocol, "protocol", "", "mqtt3 or mqtt5 (default: the scenario's)")
	f.StringVar(&r.transport, "transport", "", "how clients speak to nodes: tcp, tls, ws, wss (default tcp)")
	f.Int64Var(&r.seed, "seed", 0, "repeat the schedule of an earlier run")
	f.IntVar(&r.repeat, "repeat", 1, "attempts, one after the other; the verdict is the series'")
	f.BoolVar(&r.noRepeat, "no-repeat", false, "do not repeat a failure; by default a failure is repeated twice with its seed, unless it was expected")
	f.BoolVarP(&r.verbose, "verbose", "v", false, "print every claim and every reason")
	f.BoolVar(&r.noFaults, "no-faults", false, "the scenario's workload alone, as a control for what its faults show")
	f.StringVar(&r.tier, "tier", "", "smoke or hardening, and release if a scenario has it (default smoke)")
	f.BoolVar(&r.asJSON, "json", false, "print one JSON on stdout and nothing else there: report.json, or of a series its verdict and the report of each run")
	return cmd
}

// clusterFlags are those of what is under test, beside its flavor.
func clusterFlags(f *pflag.FlagSet, c *cluster.Config, set *map[string]string) {
	f.StringVar(&c.Runtime, "runtime", "", "where the nodes run: "+strings.Join(cluster.RuntimeNames(), ", ")+" (default "+cluster.RuntimeProcess+")")
	f.StringVar(&c.Image, "image", "", "docker: what the containers are made of (default: this program, or the vendor's image of --broker-version)")
	f.StringVar(&c.Version, "broker-version", "", "of RobustMQ, such as v0.4.11, to be downloaded")
	f.StringVar(&c.VersionSHA256, "broker-sha256", "", "of the archive of --broker-version (default: what is published with it)")
	foreignFlags(f, c)
	f.IntSliceVar(&c.PIDs, "pid", nil, "of each --endpoint: the `number` of its process on this machine, for faults of nodes")
	f.StringSliceVar(&c.Containers, "container", nil, "of each --endpoint: the `name` of its container on this machine, for faults of nodes")
	setGroup(f, foreignGroup, "pid", "container")
	f.StringVar(&c.Binary, "binary", "", "`path` of the broker (default: RMQ_ROBUSTMQ_BIN, or mosquitto in PATH)")
	f.StringVar(&c.Profile, "profile", "", "tested, or as-shipped: the vendor's own defaults")
	f.StringSliceVar(&c.Arm, "arm", nil, "disk, clock, tap: put in place before the nodes start, beside what the scenario's faults need")
	f.StringToStringVar(set, "set", nil, "`key=value` of the broker's own configuration, on top of the profile; repeat it for more")
	f.StringVar(&c.DiskModel, "disk-model", "", "what an armed disk takes for durable: ext4 (default), xfs, strict")
	f.IntVar(&c.Nodes, "nodes", 0, "how many nodes, 1 to 5 (default: the scenario's)")
	f.StringVar(&c.Plant, "plant", "", "plant a `defect` before the nodes, or in the embedded broker, to test a client library or the judge; an unknown name lists them all")
}

// foreignFlags are how clients reach external brokers.
func foreignFlags(f *pflag.FlagSet, c *cluster.Config) {
	f.StringArrayVar(&c.Endpoints, "endpoint", nil, "`host:port` of an external broker; repeat it for each of its nodes")
	f.StringVar(&c.Username, "username", "", "with --endpoint: who the clients log in as; the password is in "+attempt.PasswordEnv)
	f.StringVar(&c.CA, "ca", "", "`file` of the certificate that clients trust, for --endpoint with tls or wss")
	f.IntVar(&c.QueueLimit, "queue-limit", 0, "with --endpoint: the `number` of messages that the broker keeps for a session, by its settings (default: not known)")
	setGroup(f, foreignGroup, "endpoint", "username", "ca", "queue-limit")
}

// foreignGroup is the heading of the flags about an external broker.
const foreignGroup = "Flags for a broker that is already running"

// settings are words as the values they stand for: 1 is a number, true a
// boolean, and what is neither stays a word.
func settings(words map[string]string) map[string]any {
	if len(words) == 0 {
		return nil
	}
	out := map[string]any{}
	for key, word := range words {
		out[key] = word
		var value any
		if json.Unmarshal([]byte(word), &value) == nil && value != nil {
			out[key] = value
		}
	}
	return out
}

// runAll runs the attempts and judges them together. The exit code is that of
// the series.
func (a *app) runAll(ctx context.Context, out io.Writer, scenario string, r running) error {
	if r.repeat < 1 {
		return fmt.Errorf("run: --repeat is %d, expected 1 or more", r.repeat)
	}
	dir, err := a.state()
	if err != nil {
		return err
	}
	if len(r.cluster.Endpoints) > 0 && r.cluster.Flavor == "" {
		r.cluster.Flavor = "external"
	}
	// Everything but the answer goes to a place where it does not disturb the
	// answer.
	say := sayTo(out, r.asJSON)
	if scenario == randomScenario {
		runner, err := a.runner()
		if err == nil {
			scenario, err = r.draw(ctx, runner, newMatrixDisplay(say))
		}
		if err != nil {
			return err
		}
	}
	if err := attempt.Reach(ctx, keeper.Start{Scenario: scenario, Cluster: r.cluster, Transport: r.transport}, ""); err != nil {
		return err
	}
	lasts, err := r.lasts(scenario)
	if err != nil {
		return err
	}
	fmt.Fprintln(say, lasts)
	var runs []string
	var cells []campaigns.Cell
	var attempts []verdict.Attempt
	for n := r.repeat; len(runs) < n; {
		if n > 1 {
			fmt.Fprintf(say, "attempt %d of %d\n", len(runs)+1, n)
		}
		run, stopped, err := a.attempt(ctx, say, dir, scenario, r)
		if err != nil && len(runs) < r.repeat {
			return err
		}
		if err != nil { // what was found stands
			fmt.Fprintf(say, "it could not be repeated: %v\n", err)
			break
		}
		cell, err := campaigns.ReadUnsealed(run.Dir)
		if err != nil {
			return err
		}
		cells, attempts = append(cells, cell), append(attempts, cell.Attempt())
		if runs = append(runs, run.Dir); stopped {
			break
		}
		if n == 1 && run.Verdict.State.Failed() && run.Verdict.Severity != verdict.Expected && !r.noRepeat {
			n, r.seed = 1+repetitions, run.Seed
			fmt.Fprintf(say, "\nit is repeated %d times with seed %d, to see whether it fails again; Ctrl-C, or --no-repeat, leaves it at that\n", repetitions, run.Seed)
		}
	}
	series := verdict.Series(attempts)
	if len(runs) > 1 {
		fmt.Fprintf(say, "\nseries of %d\n", len(runs))
		if s := sheetFor(say); r.verbose {
			s.whole(series)
		} else {
			s.brief(series, nil)
		}
		if err := together(say, runs, cells); err != nil { // what was found stands
			fmt.Fprintf(say, "%v\n", err)
		}
	}
	if len(runs) > 0 {
		a.next(say, series, runs[0])
	}
	if r.asJSON {
		if err := printReports(out, runs, series); err != nil {
			return err
		}
	}
	return exitFor(series.State)
}

// lasts says how long a run takes: if it passes, and if it fails, is drained to the end and repeated.
func (r running) lasts(scenario string) (string, error) {
	s, err := scenarios.Load(scenario)
	if err != nil {
		return "", err
	}
	tier, err := s.Tier(r.tier, cmp.Or(r.cluster.Flavor, s.Cluster.Flavor))
	if err != nil {
		return "", err
	}
	passes, fails := experiment.Lasts(s, tier)
	if r.repeat > 1 {
		passes, fails = passes*time.Duration(r.repeat), fails*time.Duration(r.repeat)
	} else if !r.noRepeat {
		fails *= 1 + repetitions
	}
	return fmt.Sprintf("%s takes about %s, up to %s if it fails", s.Name, about(passes), about(fails)), nil
}

// about is a duration in seconds, or in minutes if it has two.
func about(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// together prints the table of runs that repeat each other, and tells the report of
// each of the others.
func together(say io.Writer, runs []string, cells []campaigns.Cell) error {
	if table := campaigns.Compare(cells).Table.String(); table != "" {
		fmt.Fprintf(say, "\n%s", table)
	}
	series := campaigns.SeriesOf(cells)
	for _, run := range runs {
		if err := reports.JoinSeries(run, series); err != nil {
			return fmt.Errorf("note in the report of %s that it was repeated: %w", run, err)
		}
	}
	return nil
}

// repetitions of a run that failed: how often it fails is said of three.
const repetitions = 2

// A SeriesReport is what several runs of one scenario show together.
type SeriesReport struct {
	Verdict verdict.Verdict   `json:"verdict"`
	Runs    []json.RawMessage `json:"runs"` // report.json of each
}

// printReports prints the report of a run, or of a series.
func printReports(out io.Writer, runs []string, series verdict.Verdict) error {
	all := SeriesReport{Verdict: series}
	for _, run := range runs {
		text, err := stored.ReadFile(filepath.Join(run, reports.ReportFile), stored.MostJSON)
		if err != nil {
			return fmt.Errorf("read the report: %w", err)
		}
		all.Runs = append(all.Runs, text)
	}
	if len(runs) == 1 {
		_, err := out.Write(all.Runs[0])
		return err
	}
	return writeJSON(out, all)
}

// attempt is one run, from start to printed verdict, and whether a person
// stopped it.
func (a *app) attempt(ctx context.Context, say io.Writer, dir, scenario string, r running) (run *reports.Summary, stopped bool, err error) {
	argv, err := self()
	if err != nil {
		return nil, false, err
	}
	caller := keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "run", Args: map[string]any{"scenario": scenario}}
	start := keeper.Start{
		Scenario: scenarios.Absolute(scenario), Cluster: r.cluster, SDK: r.sdk, Protocol: r.protocol, Transport: r.transport, Seed: r.seed, Tier: r.tier, NoFaults: r.noFaults, Caller: caller,
	}
	tell := func(line string) { fmt.Fprintln(say, line) }
	client, err := runner(dir, argv, tell).Start(ctx, start)
	if err != nil {
		return nil, false, err
	}
	defer client.Close()
	show := newDisplay(say)
	stopped, err = follow(ctx, client, show, caller)
	show.close()
	if err != nil {
		return nil, false, err
	}
	run, err = conclude(say, client.Info().Dir, stopped, r.verbose)
	return run, stopped, errors.Join(err, attempt.Settled(ctx, dir, client.Info().ID))
}

// follow shows a run until it is over, and says whether it was stopped. The
// first interrupt stops it, the second leaves it.
func follow(ctx context.Context, client *keeper.Client, show *display, caller keeper.Caller) (stopped bool, err error) {
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go client.Watch(ctx, show.progress) // a run that cannot be watched is still waited for
	over := make(chan error, 1)
	go func() { over <- attempt.Wait(ctx, client) }()
	for {
		select {
		case err := <-over:
			return stopped, err
		case <-interrupts:
			if stopped {
				return true, left(client)
			}
			stopped = true
			show.say("stopping: heals, drains and judges what happened; interrupt again to leave it to its keeper")
			go client.Stop(ctx, caller)
		}
	}
}

// left explains a run that goes on without us.
func left(client *keeper.Client) error {
	fmt.Fprintf(os.Stderr, "rmq-mcp: run %s continues; see it with: rmq-mcp status\n", client.Info().ID)
	return exit(exitUndecided)
}

// conclude prints the findings of a run from disk. A run that the harness
// spoiled says nothing about the broker and is an error. A run that a person
// stopped is merely undecided.
func conclude(say io.Writer, run string, stopped, verbose bool) (*reports.Summary, error) {
	summary, err := attempt.AwaitSummary(run)
	if err != nil {
		return nil, fmt.Errorf("the run was not judged: %w; `rmq-mcp heal` seals and judges what it recorded in %s", err, run)
	}
	v := summary.Verdict
	v.Runs = []string{summary.Root}
	d, err := reports.Open(run)
	if err != nil {
		return nil, err
	}
	s := sheetFor(say)
	if verbose {
		s.whole(v)
	} else {
		s.brief(v, d.Processes())
	}
	s.row(s.faint, labels, "report", filepath.Join(run, reports.MarkdownFile))
	if !stopped && len(d.Harness) > 0 && v.State.ExitCode() == exitUndecided {
		return nil, fmt.Errorf("%s; logs and record are in %s", strings.Join(d.Harness, "; "), run)
	}
	return summary, nil
}

// next names the commands that lead on from runs, the newest last.
func (a *app) next(say io.Writer, v verdict.Verdict, run string) {
	program := "rmq-mcp "
	if a.dir != defaultDir() {
		program += "--dir " + a.dir + " "
	}
	id := filepath.Base(run)
	commands := [][2]string{{"judge " + id, "every claim, with its reasons"}}
	switch {
	case v.State.Failed() && v.Severity != verdict.Expected:
		commands = append(commands, [2]string{"blame " + id, "broker or client library?"}, [2]string{"reduce " + id, "the smallest scenario that still fails"})
	case v.State.ExitCode() == 0:
		commands = append(commands, [2]string{"dashboard --serve 127.0.0.1:8090", "all runs in a browser"})
	}
	width := 0
	for _, c := range commands {
		width = max(width, len(c[0]))
	}
	s := sheetFor(say)
	for i, c := range commands {
		label := ""
		if i == 0 {
			label = "next"
		}
		s.row(s.faint, labels, label, fmt.Sprintf("%s%-*s  %s", program, width, c[0], c[1]))
	}
}

// paintTo colours what goes to a terminal.
func paintTo(w io.Writer) paint {
	if f, ok := w.(*os.File); ok {
		return paintFor(f)
	}
	return false
}
