package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
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
				return writeJSON(out, s.of(of.ID).hook())
			case ask.asJSON:
				err = writeJSON(out, s)
			default:
				err = s.print(out)
			}
			if code := s.exitCode(); err == nil && code != 0 {
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

// A Status is what goes on in a state directory, and how its runs ended.
type Status struct {
	Experiments []LiveExperiment `json:"experiments"`
	Jobs        []Job            `json:"jobs"`           // that are being worked on, and with Since those begun since then
	Since       *time.Time       `json:"since,omitzero"` // of the runs; nil: none is listed
	Runs        []reports.Row    `json:"runs"`
}

// A LiveExperiment is one that runs.
type LiveExperiment struct {
	RunID    string   `json:"run_id"`
	Scenario string   `json:"scenario,omitempty"` // "": driven by hand
	Phase    string   `json:"phase"`
	Faults   []string `json:"faults"` // in place
	Session  string   `json:"session,omitempty"`
}

// A Job is a series, a repetition or a reduction.
type Job struct {
	ID      string `json:"job_id"`
	Working bool   `json:"working"`
	Ended   bool   `json:"ended"`  // else it goes on, or was stopped, or its process died
	Unmade  int    `json:"unmade"` // runs that could not be made
	Session string `json:"session,omitempty"`
}

func (e LiveExperiment) String() string {
	name := e.Scenario
	if name == "" {
		name = "a cluster explored by hand"
	}
	text := fmt.Sprintf("%s (%s), %s", e.RunID, name, e.Phase)
	if len(e.Faults) > 0 {
		text += "; in place: " + strings.Join(e.Faults, ", ")
	}
	return text
}

// statusBound is how long a keeper may take to say how it is.
const statusBound = 5 * time.Second

func (a *app) statusNow(ctx context.Context, since string) (s Status, err error) {
	var from time.Time
	if since != "" {
		if from, err = time.Parse(time.RFC3339, since); err != nil {
			return s, fmt.Errorf("status: --since is %q, expected a time such as 2026-11-26T18:00:00Z", since)
		}
		s.Since = &from
	}
	dir, err := a.reading()
	if err != nil {
		return s, err
	}
	live, err := keeper.List(dir)
	if err != nil {
		return s, err
	}
	running := map[string]bool{}
	for _, info := range live {
		running[info.ID] = true
		s.Experiments = append(s.Experiments, look(ctx, dir, info))
	}
	if s.Jobs, err = jobsSince(dir, s.Since); err != nil || since == "" {
		return s, err
	}
	rows, err := reports.List(dir, reports.Filter{})
	for _, r := range rows {
		if !running[r.ID] && !r.Started.Before(from) {
			s.Runs = append(s.Runs, r)
		}
	}
	return s, err
}

// look asks an experiment how it is. One that does not answer still runs.
func look(ctx context.Context, dir string, info keeper.Info) LiveExperiment {
	e := LiveExperiment{RunID: info.ID, Scenario: info.Scenario, Phase: "does not answer", Faults: []string{}, Session: info.Session}
	ctx, cancel := context.WithTimeout(ctx, statusBound)
	defer cancel()
	c, err := keeper.Connect(dir, info.ID)
	if err != nil {
		return e
	}
	defer c.Close()
	now, err := c.Status(ctx)
	if err != nil {
		return e
	}
	e.Phase = now.Phase
	for _, f := range now.Faults {
		if f.Healed == history.HealPending {
			e.Faults = append(e.Faults, fmt.Sprintf("%s of %s (heals in %.0f s)", f.Type, strings.Join(f.Nodes, ", "), f.HealsIn))
		}
	}
	return e
}

// jobsSince are the jobs that a process works on, and those begun since a time; nil for none.
func jobsSince(dir string, since *time.Time) (list []Job, err error) {
	dirs, err := filepath.Glob(filepath.Join(dir, campaigns.JobsDir, "*"))
	for _, d := range dirs {
		job, err := campaigns.OpenJobDir(d)
		if err != nil { // it is being begun, or is somebody else's
			continue
		}
		result, err := job.Result()
		j := Job{ID: job.ID(), Working: job.Busy(), Ended: err == nil && result.Ended, Session: job.Job.Start.Caller.Session}
		for _, t := range job.Trials {
			if t.State == "" {
				j.Unmade++
			}
		}
		if j.Working || since != nil && !job.Job.Begun.Before(*since) {
			list = append(list, j)
		}
	}
	return list, err
}

// of is what a session of a host began.
func (s Status) of(session string) (own Status) {
	for _, e := range s.Experiments {
		if session != "" && e.Session == session {
			own.Experiments = append(own.Experiments, e)
		}
	}
	for _, j := range s.Jobs {
		if session != "" && j.Session == session {
			own.Jobs = append(own.Jobs, j)
		}
	}
	return own
}

// goesOn are what has not ended, a line each.
func (s Status) goesOn() (lines []string) {
	for _, e := range s.Experiments {
		lines = append(lines, e.String())
	}
	for _, j := range s.Jobs {
		if j.Working {
			lines = append(lines, j.ID+" is being worked on")
		}
	}
	return lines
}

// state is the worst of the runs; "" where none is asked about.
func (s Status) state() verdict.State {
	if s.Since == nil {
		return ""
	}
	states := []verdict.State{}
	for _, r := range s.Runs {
		states = append(states, r.State)
	}
	return verdict.Worst(states)
}

func (s Status) exitCode() int {
	left, unmade := len(s.goesOn()) > 0, false
	for _, r := range s.Runs {
		left = left || r.State == reports.Unfinished
	}
	for _, j := range s.Jobs {
		left, unmade = left || !j.Ended, unmade || j.Unmade > 0
	}
	switch code := s.state().ExitCode(); {
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

func (s Status) print(out io.Writer) error {
	lines := s.goesOn()
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

// hook is what Claude Code wants of a Stop hook: a decision with its reason, or nothing.
func (s Status) hook() map[string]string {
	lines := s.goesOn()
	if len(lines) == 0 {
		return map[string]string{}
	}
	return map[string]string{"decision": "block", "reason": "Before you end: " + strings.Join(lines, "; ") +
		". Wait for runs with get_run, heal and stop clusters with cluster_stop, and then conclude."}
}
