// Package jobs makes and carries out jobs: a run repeated, its failure attributed or reduced, and a
// series, in this process or in one of their own.
package jobs

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/reports"
)

// Open resumes a job that did not end, or begins it. A job that is part of another is begun once.
// Fresh begins it in any case.
func Open(dir string, job campaigns.Job, scenario string, fresh bool) (*campaigns.JobDir, error) {
	if !fresh {
		find := campaigns.Unended
		if job.For != "" {
			find = campaigns.PartOf
		}
		jobDir, err := find(dir, job)
		if err != nil {
			return nil, err
		}
		if jobDir != nil && !jobDir.Busy() {
			err = jobDir.Admit(job.Start)
		}
		if jobDir != nil {
			return jobDir, err
		}
	}
	return campaigns.NewJobDir(dir, job, scenario, time.Now())
}

// Work carries a job out, or resumes it, and calls begun once no other process can. The end of ctx, and
// a request to stop from elsewhere, end it in order; the error then is [context.Canceled]. The runner
// makes the runs and tells the progress.
func Work(ctx context.Context, r attempt.Runner, jobDir *campaigns.JobDir, begun func()) (campaigns.Result, error) {
	unlock, err := jobDir.Begin()
	if err != nil {
		return campaigns.Result{}, err
	}
	defer unlock()
	begun()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if jobDir.Stopped() {
				stop()
			}
			time.Sleep(stopEvery)
		}
	}()
	result, err := carryOut(ctx, r, jobDir)
	if err != nil {
		result.Error = err.Error()
		if ctx.Err() != nil {
			err, result.Error = context.Canceled, "it was stopped; the same call resumes it"
		}
		err = errors.Join(err, jobDir.Save(result))
	}
	return result, err
}

// stopEvery is how often a job looks whether it was asked to stop.
const stopEvery = 300 * time.Millisecond

func carryOut(ctx context.Context, r attempt.Runner, jobDir *campaigns.JobDir) (campaigns.Result, error) {
	start := jobDir.Job.Start
	if jobDir.Job.Kind != campaigns.Series { // whose runs name their libraries
		start.Scenario = jobDir.Scenario()
		if err := experiment.Provision(ctx, r.Dir, r.Self, start, r.Tell); err != nil {
			return jobDir.SoFar(), err
		}
	}
	if _, err := experiment.Fetch(ctx, r.Dir, start.Cluster, r.Tell); err != nil { // before there is a run to fail of it
		return jobDir.SoFar(), err
	}
	runDir := func(run string) string {
		if filepath.IsAbs(run) {
			return run
		}
		return filepath.Join(r.Dir, reports.RunsDir, run)
	}
	if jobDir.Job.Kind == campaigns.Series && start.Seed == 0 {
		start.Seed = jobDir.Job.Begun.Unix() // of its first round
	}
	backend := campaigns.Backend{
		Run: func(ctx context.Context, scenario string, as campaigns.Variation) (string, error) {
			start := as.Apply(start)
			start.Scenario = scenario
			if jobDir.Job.Kind == campaigns.Reduce { // a candidate says itself what it is
				start.Cluster.Nodes, start.Tier = 0, ""
			}
			return r.Run(ctx, start)
		},
		Read: func(run string) (campaigns.Judged, error) {
			return campaigns.ReadJudged(runDir(run))
		},
		JoinBlame: func(run string, b reports.Blame) error { return reports.JoinBlame(runDir(run), b) },
		Vary: func(run string) ([]campaigns.Variation, error) {
			recipe, err := campaigns.ReadRecipe(r.Dir, runDir(run), "")
			if err != nil {
				return nil, err
			}
			return variationsOf(recipe, "")
		},
		JoinSeries: func(run string, s reports.Series) error { return reports.JoinSeries(runDir(run), s) },
		Tell:       r.Say,
	}
	switch jobDir.Job.Kind {
	case campaigns.Reduce:
		return jobDir.Reduce(ctx, backend)
	case campaigns.Blame:
		return jobDir.Blame(ctx, backend)
	case campaigns.Series:
		return jobDir.Series(ctx, backend)
	}
	return jobDir.Replay(ctx, backend)
}
