package main

import (
	"fmt"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/tools"
)

// beginJob begins a replay or a reduction for an agent, or joins the same one
// that did not end.
func beginJob(dir string, argv []string) func(tools.JobAsk) (*campaigns.JobDir, error) {
	return func(ask tools.JobAsk) (jobDir *campaigns.JobDir, err error) {
		var job campaigns.Job
		var scenario string
		switch ask.Kind {
		case campaigns.Replay:
			job, scenario, err = replayJob(ask.Run, "", ask.Times)
		case campaigns.Blame:
			job, scenario, err = blameJob(ask.Run, "", "")
		default:
			want := defaultReduce()
			want.claims, want.within = ask.Claims, ask.Within
			job, scenario, err = reduceJob(ask.Run, "", want)
		}
		if err != nil {
			return nil, err
		}
		job.Start.Caller, job.Start.Envelope = ask.Caller, &ask.Envelope
		if err := ask.Envelope.Cluster(job.Start.Cluster); err != nil {
			return nil, fmt.Errorf("%s run %s: %w", job.Kind, job.RunID, err)
		}
		if jobDir, err = openJobDir(dir, job, scenario, false); err != nil || jobDir.Busy() {
			return jobDir, err
		}
		return jobDir, spawnJob(dir, argv, jobDir)
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
		if err := jobDir.Admit(start); err != nil {
			return err
		}
		return spawnJob(dir, argv, jobDir)
	}
}
