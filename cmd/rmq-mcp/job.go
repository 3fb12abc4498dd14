package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/environ"
	"github.com/robustmq/rmq-mcp/reports"
)

// workOn carries a job out, or goes on with it, and calls begun once nobody else
// can. An interrupt, and a request to stop from elsewhere, end it in order; the
// error then is [context.Canceled].
func workOn(ctx context.Context, dir string, desk *campaigns.Desk, begun func(), say func(string)) (campaigns.Result, error) {
	unlock, err := desk.Begin()
	if err != nil {
		return campaigns.Result{}, err
	}
	defer unlock()
	begun()
	ctx, stop := interrupted(ctx)
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if desk.Stopped() {
				stop()
			}
			time.Sleep(stopEvery)
		}
	}()
	r, err := carryOut(ctx, dir, desk, say)
	if err != nil {
		r.Error = err.Error()
		if ctx.Err() != nil {
			err, r.Error = context.Canceled, "it was stopped; the same again goes on"
		}
		err = errors.Join(err, desk.Save(r))
	}
	return r, err
}

// stopEvery is how often a job looks whether it was asked to stop.
const stopEvery = 300 * time.Millisecond

func carryOut(ctx context.Context, dir string, desk *campaigns.Desk, say func(string)) (campaigns.Result, error) {
	argv, err := self()
	if err != nil {
		return desk.SoFar(), err
	}
	start := desk.Job.Start
	if err := experiment.Provision(ctx, dir, argv, desk.Scenario(), start.Cluster.Flavor, start.SDK, start.Protocol, say); err != nil {
		return desk.SoFar(), err
	}
	if start.Cluster, err = experiment.Fetch(ctx, dir, start.Cluster, say); err != nil {
		return desk.SoFar(), err
	}
	lab := campaigns.Lab{
		Run: func(ctx context.Context, scenario string, as campaigns.Variation) (string, error) {
			start := as.Apply(start)
			start.Scenario = scenario
			if as.SDK != "" {
				if err := experiment.Provision(ctx, dir, argv, scenario, start.Cluster.Flavor, start.SDK, start.Protocol, say); err != nil {
					return "", err
				}
			}
			if desk.Job.Kind == campaigns.Reduce { // what a candidate is, it says itself
				start.Cluster.Nodes, start.Tier = 0, ""
			}
			return runOnce(ctx, dir, argv, start)
		},
		Read: func(run string) (campaigns.Judged, error) {
			if !filepath.IsAbs(run) {
				run = filepath.Join(dir, reports.RunsDir, run)
			}
			return campaigns.ReadJudged(run)
		},
		Join: reports.JoinBlame,
		Tell: say,
	}
	switch desk.Job.Kind {
	case campaigns.Reduce:
		return desk.Reduce(ctx, lab)
	case campaigns.Blame:
		return desk.Blame(ctx, lab)
	}
	return desk.Replay(ctx, lab)
}

// jobMain is the hidden command job: it carries a job out for a server, whose end
// it outlives. Its first line is how that began.
func jobMain(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("job: this command is rmq-mcp's own; run `rmq-mcp replay`, `rmq-mcp blame` or `rmq-mcp reduce` instead")
	}
	dir, id := args[0], args[1]
	desk, err := campaigns.OpenDesk(filepath.Join(dir, campaigns.JobsDir, id))
	if err == nil {
		begun := func() { fmt.Println(jobBegun) }
		_, err = workOn(ctx, dir, desk, begun, func(line string) { fmt.Fprintln(os.Stderr, line) })
	}
	if err != nil {
		fmt.Println(err)
	}
	return err
}

const jobBegun = "begun"

// spawnJob has a process of its own work on a job, and returns once it does.
func spawnJob(dir string, argv []string, desk *campaigns.Desk) error {
	log, err := os.OpenFile(filepath.Join(desk.Dir, campaigns.JobLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("begin %s: %w", desk.ID(), err)
	}
	defer log.Close()
	cmd := exec.Command(argv[0], append(slices.Clone(argv[1:]), "job", dir, desk.ID())...)
	cmd.Stderr = log
	cmd.Env = environ.Own()
	keeper.Detach(cmd)
	heard, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("begin %s: %w", desk.ID(), err)
	}
	said := bufio.NewScanner(heard)
	said.Scan()
	word := said.Text()
	go func() {
		for said.Scan() { // it must not wait for us, nor end because of us
		}
		cmd.Wait()
	}()
	if word != jobBegun {
		return fmt.Errorf("begin %s: %s; see %s", desk.ID(), cmp.Or(word, "its process ended"), log.Name())
	}
	return nil
}
