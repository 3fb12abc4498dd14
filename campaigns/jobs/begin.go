package jobs

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// An Ask asks for a job on a run, or for a series.
type Ask struct {
	Kind     campaigns.Kind
	Run      string        // directory
	Times    int           // runs of a replay
	Claims   []string      // of a reduction: to fail; none: all failed ones
	Within   time.Duration // of a reduction
	Series   *SeriesAsk    // in place of a run
	Envelope envelope.Envelope
	Caller   keeper.Caller
}

// A SeriesAsk asks for a scenario to be run several times.
type SeriesAsk struct {
	Start keeper.Start // of every run
	SDKs  []string     // none: the scenario's
	Fault *scenarios.Step
	Blame bool
}

// Begin begins a job in a process of its own, or joins the same one that did not end. Dir is the state
// directory, argv the command line of rmq-mcp.
func Begin(dir string, argv []string, ask Ask) (jobDir *campaigns.JobDir, err error) {
	var job campaigns.Job
	var scenario string
	switch ask.Kind {
	case campaigns.Series:
		job, scenario, err = series(ask)
	case campaigns.Replay:
		job, scenario, err = Replay(dir, ask.Run, "", ask.Times)
	case campaigns.Blame:
		job, scenario, err = Blame(dir, ask.Run, "", "", ask.Times)
	default:
		want := DefaultReduction()
		want.Claims, want.Within = ask.Claims, ask.Within
		job, scenario, err = Reduce(dir, ask.Run, "", want)
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
	if err := room(dir, ask.Envelope); err != nil {
		return nil, err
	}
	if err := attempt.Reach(context.Background(), job.Start, scenario); err != nil {
		return nil, err
	}
	if jobDir, err = Open(dir, job, scenario, false); err != nil || jobDir.Busy() {
		return jobDir, err
	}
	return jobDir, Spawn(dir, argv, jobDir)
}

// Resume continues a job after a stop, or after the death of its process.
func Resume(dir string, argv []string, jobDir *campaigns.JobDir, by Ask) error {
	start := jobDir.Job.Start
	start.Caller, start.Envelope = by.Caller, &by.Envelope
	if err := by.Envelope.Cluster(start.Cluster); err != nil {
		return fmt.Errorf("resume %s: %w", jobDir.ID(), err)
	}
	if err := room(dir, by.Envelope); err != nil {
		return fmt.Errorf("resume %s: %w", jobDir.ID(), err)
	}
	if err := jobDir.Admit(start); err != nil {
		return err
	}
	return Spawn(dir, argv, jobDir)
}

// room returns an error if the limits let no further job begin.
func room(dir string, limits envelope.Envelope) error {
	busy, err := campaigns.BusyJobs(dir)
	if err != nil {
		return err
	}
	return limits.Job(len(busy))
}

// series returns the job that runs a scenario several times, and the scenario's text. A scenario that
// cannot run is refused here, before anything starts.
func series(ask Ask) (campaigns.Job, string, error) {
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
	start.Cluster.Arm = arms(s, start)
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

// arms are those asked for and the tap: the wire decides who is to blame for a failure.
func arms(s *scenarios.Scenario, start keeper.Start) []string {
	plain := start.Transport == "" || start.Transport == "tcp"
	if s.Protocol == contract.MQ9 || !plain {
		return start.Cluster.Arm
	}
	return cluster.WithArms(start.Cluster.Arm, cluster.ArmTap)
}
