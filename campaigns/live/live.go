// Package live finds what is live in a state directory, and how its runs ended.
package live

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Status is the live experiments and jobs of a state directory, and how its runs ended.
type Status struct {
	Experiments []Experiment  `json:"experiments"`
	Jobs        []Job         `json:"jobs"`           // with a process, and with Since those begun since then
	Since       *time.Time    `json:"since,omitzero"` // of the runs; nil: none is listed
	Runs        []reports.Row `json:"runs"`
}

// An Experiment is a live one.
type Experiment struct {
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
	Ended   bool   `json:"ended"`  // otherwise it is live, or was stopped, or its process died
	Unmade  int    `json:"unmade"` // runs that could not be made
	Session string `json:"session,omitempty"`
}

func (e Experiment) String() string {
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

// answerBound is how long a keeper may take to answer.
const answerBound = 5 * time.Second

// Look returns the status of a state directory. It has the runs since a time; nil for none.
func Look(ctx context.Context, dir string, since *time.Time) (s Status, err error) {
	s.Since = since
	live, err := keeper.List(dir)
	if err != nil {
		return s, err
	}
	running := map[string]bool{}
	for _, info := range live {
		running[info.ID] = true
		s.Experiments = append(s.Experiments, ask(ctx, dir, info))
	}
	if s.Jobs, err = jobsSince(dir, s.Since); err != nil || since == nil {
		return s, err
	}
	rows, err := reports.List(dir, reports.Filter{})
	for _, r := range rows {
		if !running[r.ID] && !r.Started.Before(*since) {
			s.Runs = append(s.Runs, r)
		}
	}
	return s, err
}

// ask asks an experiment for its status. An experiment without an answer still runs.
func ask(ctx context.Context, dir string, info keeper.Info) Experiment {
	e := Experiment{RunID: info.ID, Scenario: info.Scenario, Phase: "does not answer", Faults: []string{}, Session: info.Session}
	ctx, cancel := context.WithTimeout(ctx, answerBound)
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

// jobsSince are the jobs with a process, and those begun since a time; nil for none.
func jobsSince(dir string, since *time.Time) (list []Job, err error) {
	dirs, err := filepath.Glob(filepath.Join(dir, campaigns.JobsDir, "*"))
	for _, d := range dirs {
		job, err := campaigns.OpenJobDir(d)
		if err != nil { // it begins now, or is of another version
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

// Session returns what a session of a host began.
func (s Status) Session(session string) (own Status) {
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

// Lines names what is live, a line each.
func (s Status) Lines() (lines []string) {
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

// State is the worst of the runs; "" if none are asked for.
func (s Status) State() verdict.State {
	if s.Since == nil {
		return ""
	}
	states := []verdict.State{}
	for _, r := range s.Runs {
		states = append(states, r.State)
	}
	return verdict.Worst(states)
}

// Hook is the answer of a Stop hook of Claude Code: a decision with its reason, or nothing.
func (s Status) Hook() map[string]string {
	lines := s.Lines()
	if len(lines) == 0 {
		return map[string]string{}
	}
	return map[string]string{"decision": "block", "reason": "Before you end: " + strings.Join(lines, "; ") +
		". Wait for runs with get_run, heal and stop clusters with cluster_stop, and then conclude."}
}
