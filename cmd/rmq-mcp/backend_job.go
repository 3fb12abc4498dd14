package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/jobs"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/scenarios"
	"github.com/robustmq/rmq-mcp/tools"
)

// beginJob begins a replay or a reduction for an agent, or joins the same one
// that did not end.
func beginJob(dir string, argv []string) func(tools.JobAsk) (*campaigns.JobDir, error) {
	return func(ask tools.JobAsk) (jobDir *campaigns.JobDir, err error) {
		var job campaigns.Job
		var scenario string
		switch ask.Kind {
		case campaigns.Series:
			job, scenario, err = seriesJob(ask)
		case campaigns.Replay:
			job, scenario, err = jobs.Replay(dir, ask.Run, "", ask.Times)
		case campaigns.Blame:
			job, scenario, err = jobs.Blame(dir, ask.Run, "", "", ask.Times)
		default:
			want := jobs.DefaultReduction()
			want.Claims, want.Within = ask.Claims, ask.Within
			job, scenario, err = jobs.Reduce(dir, ask.Run, "", want)
		}
		if err != nil {
			return nil, err
		}
		job.Start.Caller, job.Start.Envelope = ask.Caller, &ask.Envelope
		if err := ask.Envelope.Cluster(job.Start.Cluster); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", job.Kind, job.RunID, err)
		}
		if jobDir, err = campaigns.Unended(dir, job); err != nil || jobDir != nil && jobDir.Busy() {
			return jobDir, err
		}
		if err := roomForJob(dir, ask.Envelope); err != nil {
			return nil, err
		}
		if err := reach(context.Background(), job.Start, scenario); err != nil {
			return nil, err
		}
		if jobDir, err = jobs.Open(dir, job, scenario, false); err != nil || jobDir.Busy() {
			return jobDir, err
		}
		return jobDir, jobs.Spawn(dir, argv, jobDir)
	}
}

// resumeJob goes on with a job that somebody stopped, or whose process died.
func resumeJob(dir string, argv []string) func(*campaigns.JobDir, tools.JobAsk) error {
	return func(jobDir *campaigns.JobDir, by tools.JobAsk) error {
		start := jobDir.Job.Start
		start.Caller, start.Envelope = by.Caller, &by.Envelope
		if err := by.Envelope.Cluster(start.Cluster); err != nil {
			return fmt.Errorf("go on with %s: %w", jobDir.ID(), err)
		}
		if err := roomForJob(dir, by.Envelope); err != nil {
			return fmt.Errorf("go on with %s: %w", jobDir.ID(), err)
		}
		if err := jobDir.Admit(start); err != nil {
			return err
		}
		return jobs.Spawn(dir, argv, jobDir)
	}
}

// roomForJob is nil where the limits let one job more begin.
func roomForJob(dir string, limits envelope.Envelope) error {
	busy, err := campaigns.BusyJobs(dir)
	if err != nil {
		return err
	}
	return limits.Job(len(busy))
}

// seriesJob is a scenario that is to be run several times, and its text. A scenario
// that cannot be run is refused here, before anything is started.
func seriesJob(ask tools.JobAsk) (campaigns.Job, string, error) {
	start := ask.Series.Start
	s, err := scenarios.Load(start.Scenario)
	if err != nil {
		return campaigns.Job{}, "", err
	}
	on := start.Cluster
	on.Flavor = cmp.Or(on.Flavor, s.Cluster.Flavor)
	text := s.Text
	if ask.Series.Fault != nil {
		if s, text, err = withFault(s, *ask.Series.Fault, start.Tier, on); err != nil {
			return campaigns.Job{}, "", fmt.Errorf("run %s with %s: %w", start.Scenario, ask.Series.Fault.Fault, err)
		}
		start.Scenario, start.Tier = s.Name, ""
	}
	if err := s.Speak(start.Protocol, on.Flavor); err != nil {
		return campaigns.Job{}, "", err
	}
	t, err := s.Tier(start.Tier, on.Flavor)
	if err == nil && !start.NoFaults {
		err = s.On(on).Within(ask.Envelope, t)
	}
	if err != nil {
		return campaigns.Job{}, "", err
	}
	sdks := ask.Series.SDKs
	if len(sdks) == 0 {
		sdks = []string{""}
	}
	var found []string
	for _, name := range sdks {
		sdk, err := s.SDKFor(name, s.Protocol, on.Flavor)
		if err != nil {
			return campaigns.Job{}, "", err
		}
		if err := sdk.Carry(start.Transport); err != nil {
			return campaigns.Job{}, "", err
		}
		found = append(found, sdk.String())
	}
	start.Cluster.Arm = seriesArms(s, start)
	return campaigns.NewSeries(stored.Slug(s.Name), start, found, ask.Times, ask.Series.Blame), text, nil
}

func withFault(s *scenarios.Scenario, step scenarios.Step, tier string, on cluster.Config) (*scenarios.Scenario, string, error) {
	with, err := s.With(step, tier, on)
	if err != nil {
		return nil, "", err
	}
	text, err := with.Markdown()
	return with, string(text), err
}

// seriesArms are the things asked for and the tap: the wire decides who is to blame for a
// failure.
func seriesArms(s *scenarios.Scenario, start keeper.Start) []string {
	plain := start.Transport == "" || start.Transport == "tcp"
	if s.Protocol == contract.MQ9 || !plain {
		return start.Cluster.Arm
	}
	return cluster.WithArms(start.Cluster.Arm, cluster.ArmTap)
}
