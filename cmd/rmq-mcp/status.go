package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/live"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/reports"
)

// A statusAsk are the flags of status.
type statusAsk struct {
	since        string
	hook, asJSON bool
}

func (a *app) status() *cobra.Command {
	var ask statusAsk
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show live experiments, and how the runs since a time ended",
		Long: "Lists live experiments, their faults in place and live series, and with --since the runs begun since then. It is\n" +
			"the end of a session without a person (docs/headless.md): the words of an agent count for nothing in it.\n" +
			"Exit status: 0 nothing is live, and every run since then passes; 1 a run fails; 2 a run is undecided, or there is none;\n" +
			"3 an experiment or series is live, a series did not end, or a run was not judged.",
		Example: "  rmq-mcp status\n  rmq-mcp status --since 2026-11-26T18:00:00Z",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.statusNow(cmd.Context(), ask.since)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			switch {
			case ask.hook:
				var of struct { // the session that wants to end
					ID string `json:"session_id"`
				}
				if err := json.NewDecoder(cmd.InOrStdin()).Decode(&of); err != nil {
					return fmt.Errorf("status --hook: read what Claude Code says of the session: %w", err)
				}
				return writeJSON(out, s.Session(of.ID).Hook())
			case ask.asJSON:
				err = writeJSON(out, s)
			default:
				err = printStatus(out, s)
			}
			if code := statusExit(s); err == nil && code != 0 {
				return exit(code)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&ask.since, "since", "", "`time` since when runs count, such as 2026-11-26T18:00:00Z")
	f.BoolVar(&ask.hook, "hook", false, "be a Stop hook of Claude Code: read the session from the input, and print a reason to continue while an experiment of it is live")
	f.BoolVar(&ask.asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) statusNow(ctx context.Context, since string) (live.Status, error) {
	var from *time.Time
	if since != "" {
		at, err := time.Parse(time.RFC3339, since)
		if err != nil {
			return live.Status{}, fmt.Errorf("status: --since is %q, expected a time such as 2026-11-26T18:00:00Z", since)
		}
		from = &at
	}
	dir, err := a.reading()
	if err != nil {
		return live.Status{}, err
	}
	return live.Look(ctx, dir, from)
}

func statusExit(s live.Status) int {
	left, unmade := len(s.Lines()) > 0, false
	for _, r := range s.Runs {
		left = left || r.State == reports.Unfinished
	}
	for _, j := range s.Jobs {
		left, unmade = left || !j.Ended, unmade || j.Unmade > 0
	}
	switch code := s.State().ExitCode(); {
	case left:
		return exitHarness
	case s.Since == nil:
		return 0
	case len(s.Runs) == 0 || unmade && code == 0:
		return exitUndecided
	default:
		return code
	}
}

func printStatus(out io.Writer, s live.Status) error {
	lines := s.Lines()
	if len(lines) == 0 {
		lines = []string{"nothing is live"}
	}
	for _, line := range lines {
		fmt.Fprintln(out, plain.Line(line))
	}
	if s.Since == nil {
		return nil
	}
	table := [][]string{{"RUN", "SCENARIO", "SDK", "BROKER", "STATE", "ROOT"}}
	for _, r := range s.Runs {
		table = append(table, []string{r.ID, r.Name(), r.SDK, r.Version, string(r.State), fmt.Sprintf("%.12s", r.Root)})
	}
	for _, j := range s.Jobs {
		if !j.Ended && !j.Working {
			fmt.Fprintf(out, "%s has not ended, and no process works on it\n", j.ID)
		}
		if j.Unmade > 0 {
			fmt.Fprintf(out, "%s: %d runs could not be made\n", j.ID, j.Unmade)
		}
	}
	fmt.Fprintf(out, "%d runs since %s\n", len(s.Runs), s.Since.Format(time.RFC3339))
	return printTable(out, table)
}
