package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/campaigns/issues"
	"github.com/robustmq/rmq-mcp/campaigns/matrices"
	"github.com/robustmq/rmq-mcp/campaigns/rounds"
	"github.com/robustmq/rmq-mcp/campaigns/searches"
	"github.com/robustmq/rmq-mcp/campaigns/subject"
	"github.com/robustmq/rmq-mcp/campaigns/watch"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// A watchAsk are the flags of watch.
type watchAsk struct {
	rounds.Ask
	every, again         time.Duration
	once, status, asJSON bool
}

func (a *app) watch() *cobra.Command {
	var ask watchAsk
	cmd := &cobra.Command{
		Use:   "watch [OWNER/REPO | DIRECTORY]",
		Short: "Test each new release of a broker",
		Long: "Looks for new releases on GitHub, or in a directory of programs and archives, and takes each through a round of steps, within a\n" +
			"budget of time: " + strings.Join(rounds.Steps(), ", ") + ". At the first look the newest release has a round.\n" +
			"Each decision is a line of watch/NAME/journal.jsonl in the state directory. There is one watch of a state directory at a time; one that\n" +
			"was stopped or killed resumes when it is started again (docs/watch.md).\n" +
			"Exit status of --once: 0 all steps are done or left out, 2 some are left for the next look, 3 one was given up, or there was no look.",
		Example: "  rmq-mcp watch --issues robustmq/robustmq --publish github:me/reports\n  rmq-mcp watch --once --for 2h ./builds --flavor mosquitto\n  rmq-mcp watch --status",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ask.status {
				return a.watchStatus(cmd.OutOrStdout(), ask.asJSON)
			}
			return a.runWatch(cmd.Context(), cmd.OutOrStdout(), slices.Concat(args, []string{rounds.From})[0], ask)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&ask.once, "once", false, "look once, end the rounds there are, and return: for cron and CI")
	f.DurationVar(&ask.every, "every", time.Hour, "how long it waits between two looks")
	f.DurationVar(&ask.Within, "for", 8*time.Hour, "how long the steps of a round may take together; what publishes is done after it, too")
	f.DurationVar(&ask.again, "again", 0, "after so long the newest release has another round (default: never)")
	f.StringSliceVar(&ask.Skip, "skip", nil, "`steps` to leave out")
	f.StringSliceVar(&ask.Library, "library", []string{"all"}, "`scenarios` of the step library, without and with their faults")
	f.StringSliceVar(&ask.Matrix, "matrix", []string{"mqtt/qos-roundtrip"}, "`scenarios` of the step matrix, with each client library")
	f.StringSliceVar(&ask.SDKs, "sdk", nil, "client `libraries` of the step matrix (default: all)")
	f.StringSliceVar(&ask.Protocols, "protocol", nil, "mqtt3, mqtt5, mq9, of the steps library and matrix (default: all that SDK and scenario share)")
	f.StringVar(&ask.Issues, "issues", "", "`OWNER/REPO` in which each finding has an issue")
	f.StringVar(&ask.Publish, "publish", "", "`destination` of the runs that show findings: github:OWNER/REPO, a git remote or a directory")
	f.StringVar(&ask.Links, "links", "", "`address` of the published runs, for issues")
	f.StringVar(&ask.Source, "source", "", "git `directory` of the broker's source, for the places in the code of issues")
	f.StringVar(&ask.Cluster.Flavor, "flavor", "robustmq", "the `broker` that the releases are of")
	f.IntVar(&ask.Cluster.Nodes, "nodes", 0, "how many nodes, 1 to 5 (default: the scenario's)")
	subject.Settings(f, &ask.Cluster)
	f.BoolVar(&ask.status, "status", false, "show the rounds so far, and watch nothing")
	f.BoolVar(&ask.asJSON, "json", false, "with --status: print JSON")
	return cmd
}

// check refuses what cannot be, before anything is begun.
func (ask watchAsk) check() error {
	switch {
	case ask.every < time.Minute:
		return fmt.Errorf("watch: --every is %s, expected 1m or more", ask.every)
	case ask.Within <= 0 || ask.again < 0:
		return fmt.Errorf("watch: --for is %s and --again %s, expected more than 0, and 0 or more", ask.Within, ask.again)
	case ask.asJSON:
		return errors.New("watch: --json is for --status")
	}
	return ask.Check()
}

func (a *app) runWatch(ctx context.Context, out io.Writer, from string, ask watchAsk) error {
	if err := ask.check(); err != nil {
		return err
	}
	source, name, err := ask.Releases(from)
	if err != nil {
		return err
	}
	dir, err := a.state()
	if err != nil {
		return err
	}
	journal, err := watch.OpenJournal(dir, name)
	if err != nil {
		return err
	}
	defer journal.Close()
	argv, err := self()
	if err != nil {
		return err
	}
	ctx, stop := interrupted(ctx)
	defer stop()
	p := paintTo(out)
	say := func(line string) { fmt.Fprintln(out, line) }
	w := &watch.Watch{
		Source: source, Steps: rounds.New(dir, argv, journal, ask.Ask, a.roundCommands(dir, out), say), Journal: journal, Budget: ask.Within, Again: ask.again,
		Tell: func(line string) {
			fmt.Fprintf(out, "%s %s\n", p.faint(time.Now().Format("01-02 15:04")), p.bold(plain.Line(line)))
		},
	}
	began := time.Now()
	switch err = settleRuns(ctx, dir, w.Tell); {
	case err != nil:
	case !ask.once:
		err = w.Run(ctx, ask.every)
	default:
		if err = w.Look(ctx); err == nil {
			err = endOfLook(journal, began)
		}
	}
	if ctx.Err() != nil {
		fmt.Fprintln(out, "stopped; the same command resumes")
		return exit(exitUndecided)
	}
	return err
}

// roundCommands are the commands that steps of a round consist of.
func (a *app) roundCommands(dir string, out io.Writer) rounds.Commands {
	return rounds.Commands{
		Replay: func(ctx context.Context, chosen []finding.Finding, on campaigns.Another, round string) ([]finding.Finding, error) {
			return a.replayAll(ctx, out, dir, chosen, on, 0, round)
		},
		Matrix: func(ctx context.Context, ask matrices.Ask) (campaigns.Comparison, error) {
			c, err := a.runMatrix(ctx, out, ask)
			return c, decided(err)
		},
		Campaign: func(ctx context.Context, ask searches.Ask) (campaigns.SearchSummary, error) {
			sum, _, err := a.runCampaign(ctx, out, campaignAsk{Ask: ask})
			return sum, decided(err)
		},
		Issues: func(ctx context.Context, repo string, ask issues.Ask) ([]issues.Change, error) {
			return a.keepIssues(ctx, repo, ask, func(line string) { fmt.Fprintln(out, line) })
		},
	}
}

// decided is nil for an error that says what a command found.
func decided(err error) error {
	if code := exit(0); errors.As(err, &code) && int(code) != exitHarness {
		return nil
	}
	return err
}

// settleRuns waits for the runs that are live, but for explorations by hand, which have no end of
// their own. A watch that was killed leaves one, and another one beside it would disturb both.
func settleRuns(ctx context.Context, dir string, tell func(line string)) error {
	live, err := keeper.List(dir)
	for _, run := range live {
		if err != nil {
			break
		}
		if run.Scenario != "" {
			tell(fmt.Sprintf("waits for the end of run %s (%s)", run.ID, run.Scenario))
			err = keeper.Settled(ctx, dir, run.ID)
		}
	}
	return err
}

// endOfLook is the exit of one look: an error where steps are left for the next one, or where
// one was given up since it began.
func endOfLook(journal *watch.Journal, began time.Time) error {
	for _, r := range journal.Rounds {
		for _, s := range r.Steps {
			if s.Unfinished() && r.Ended.After(began) {
				return exit(exitHarness)
			}
		}
	}
	if len(journal.Open()) > 0 {
		return exit(exitUndecided)
	}
	return nil
}

// watchStatus shows the rounds there were.
func (a *app) watchStatus(out io.Writer, asJSON bool) error {
	dir, err := a.reading()
	if err != nil {
		return err
	}
	journals, err := watch.Journals(dir)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(out, journals)
	}
	if len(journals) == 0 {
		fmt.Fprintln(out, "nothing was watched yet")
	}
	for _, name := range slices.Sorted(maps.Keys(journals)) {
		fmt.Fprintf(out, "%s, rounds: %d\n", name, len(journals[name].Rounds))
		for _, r := range journals[name].Rounds {
			printRound(out, r)
		}
	}
	return nil
}

func printRound(out io.Writer, r *watch.Progress) {
	state := "goes on"
	if !r.Ended.IsZero() {
		state = "ended " + r.Ended.Local().Format("2006-01-02 15:04")
	}
	fmt.Fprintf(out, "  %s: %s, begun %s for %s, %s so far\n", r.ID, state, r.Begun.Local().Format("2006-01-02 15:04"), plain.Line(r.Why), time.Duration(r.SpentS*float64(time.Second)).Round(time.Second))
	for _, s := range r.Steps {
		fmt.Fprintf(out, "    %-12s %s\n", s.Name, plain.Line(s.String()))
	}
}
