package main

import (
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

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/campaigns/series"
	"github.com/robustmq/rmq-mcp/campaigns/subject"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// running are the flags of run.
type running struct {
	series.Ask
	verbose, asJSON bool
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
			r.Scenario = args[0]
			return a.runAll(cmd.Context(), cmd.OutOrStdout(), r)
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Cluster.Flavor, "flavor", "", "what the nodes are: "+subject.Flavors()+" (default: the scenario's)")
	subject.Flags(f, &r.Cluster)
	f.StringVar(&r.SDK, "sdk", "", "`LANG@VERSION` of the client library (default: the scenario's)")
	f.StringVar(&r.Protocol, "protocol", "", "mqtt3 or mqtt5 (default: the scenario's)")
	f.StringVar(&r.Transport, "transport", "", "how clients speak to nodes: tcp, tls, ws, wss (default tcp)")
	f.Int64Var(&r.Seed, "seed", 0, "repeat the schedule of an earlier run")
	f.IntVar(&r.Repeat, "repeat", 1, "attempts, one after the other; the verdict is the series'")
	f.BoolVar(&r.NoRepeat, "no-repeat", false, "do not repeat a failure; by default a failure is repeated twice with its seed, unless it was expected")
	f.BoolVarP(&r.verbose, "verbose", "v", false, "print every claim and every reason")
	f.BoolVar(&r.NoFaults, "no-faults", false, "the scenario's workload alone, as a control for what its faults show")
	f.IntVar(&r.Drivers, "drivers", 0, "processes that the publishers are spread over, and the subscribers; with runtime kubernetes each is a pod (default 1)")
	f.StringVar(&r.Tier, "tier", "", "smoke or hardening, and release if a scenario has it (default smoke)")
	f.BoolVar(&r.asJSON, "json", false, "print one JSON on stdout and nothing else there: report.json, or of a series its verdict and the report of each run")
	return cmd
}

// runAll runs the attempts and judges them together. The exit code is that of
// the series.
func (a *app) runAll(ctx context.Context, out io.Writer, r running) error {
	if err := r.Check(); err != nil {
		return err
	}
	runs, err := a.runner()
	if err != nil {
		return err
	}
	// Everything but the answer goes to a place where it does not disturb the
	// answer.
	say := sayTo(out, r.asJSON)
	if len(r.Cluster.Endpoints) > 0 && r.Cluster.Flavor == "" {
		r.Cluster.Flavor = "external"
	}
	if r.Scenario == randomScenario {
		if err := draw(ctx, runs, &r.Start, newMatrixDisplay(say)); err != nil {
			return err
		}
	}
	made, err := r.Make(ctx, one(runs, say, r.verbose), sayLine(say))
	if err != nil {
		return err
	}
	v := made.Verdict()
	if len(made.Dirs) > 1 {
		fmt.Fprintf(say, "\nseries of %d\n", len(made.Dirs))
		if s := sheetFor(say); r.verbose {
			s.whole(v)
		} else {
			s.brief(v, nil)
		}
		table, err := made.Join()
		if table != "" {
			fmt.Fprintf(say, "\n%s", table)
		}
		if err != nil { // what was found stands
			fmt.Fprintf(say, "%v\n", err)
		}
	}
	a.next(say, v, made.Dirs[0])
	if r.asJSON {
		if err := printReports(out, made.Dirs, v); err != nil {
			return err
		}
	}
	return exitFor(v.State)
}

// sayLine prints lines.
func sayLine(say io.Writer) series.Say {
	return func(format string, args ...any) { fmt.Fprintf(say, format+"\n", args...) }
}

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

// one makes a run, from start to printed verdict.
func one(runs attempt.Runner, say io.Writer, verbose bool) series.Runner {
	runs.Tell = func(line string) { fmt.Fprintln(say, line) }
	return func(ctx context.Context, start keeper.Start, several bool) (run *reports.Summary, stopped bool, err error) {
		client, err := runs.Start(ctx, start)
		if err != nil {
			return nil, false, err
		}
		defer client.Close()
		show := newDisplay(say)
		stopped, err = follow(ctx, client, show, start.Caller)
		show.close()
		if err != nil {
			return nil, false, err
		}
		run, err = conclude(say, client.Info().Dir, stopped, verbose, several)
		return run, stopped, errors.Join(err, attempt.Settled(ctx, runs.Dir, client.Info().ID))
	}
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
func conclude(say io.Writer, run string, stopped, verbose, several bool) (*reports.Summary, error) {
	summary, err := attempt.AwaitSummary(run)
	if err != nil {
		return nil, fmt.Errorf("the run was not judged: %w; `rmq-mcp heal` seals and judges what it recorded in %s", err, run)
	}
	v := summary.Verdict
	v.Runs = []string{summary.Root}
	if several { // the series says how often
		v.Headline = strings.Replace(v.Headline, verdict.NotRepeated+": ", "", 1)
	}
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
