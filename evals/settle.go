package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

// settleBound is how long jobs and experiments have to heal, judge and end.
const settleBound = 5 * time.Minute

// settle stops what an agent left running and waits for its end. The runs of one task are
// neither made beside the next one nor cut off when the stage is removed.
func (s *Stage) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleBound)
	defer cancel()
	err := errors.Join(s.stopJobs(ctx), s.stopExperiments(ctx))
	if err != nil {
		return fmt.Errorf("stop what the agent left running: %w", err)
	}
	return nil
}

func (s *Stage) stopJobs(ctx context.Context) error {
	for {
		busy, err := campaigns.BusyJobs(s.State)
		if err != nil || len(busy) == 0 {
			return err
		}
		for _, job := range busy {
			if err := job.AskStop(); err != nil {
				return fmt.Errorf("%s: %w", job.ID(), err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", busy[0].ID(), context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *Stage) stopExperiments(ctx context.Context) (err error) {
	live, err := keeper.List(s.State)
	for _, info := range live {
		c, failed := keeper.Connect(s.State, info.ID)
		if failed == nil {
			_, failed = c.Stop(ctx, keeper.Caller{Via: "evals"})
		}
		if settled := keeper.Settled(ctx, s.State, info.ID); settled != nil { // it may have ended by itself meanwhile
			err = errors.Join(err, fmt.Errorf("%s: %w", info.ID, errors.Join(failed, settled)))
		}
	}
	return err
}
