package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/environ"
	"github.com/robustmq/rmq-mcp/reports"
)

// workOn carries a job out, or goes on with it, and calls begun once nobody else
// can. An interrupt, and a request to stop from elsewhere, end it in order; the
// error then is [context.Canceled].
func workOn(ctx context.Context, dir string, jobDir *campaigns.JobDir, begun func(), say func(string)) (campaigns.Result, error) {
	unlock, err := jobDir.Begin()
	if err != nil {
		return campaigns.Result{}, err
	}
	defer unlock()
	begun()
	ctx, stop := interrupted(ctx)
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if jobDir.Stopped() {
				stop()
			}
			time.Sleep(stopEvery)
		}
	}()
	r, err := carryOut(ctx, dir, jobDir, say)
	if err != nil {
		r.Error = err.Error()
		if ctx.Err() != nil {
			err, r.Error = context.Canceled, "it was stopped; the same call resumes it"
		}
		err = errors.Join(err, jobDir.Save(r))
	}
	return r, err
}

// stopEvery is how often a job looks whether it was asked to stop.
const stopEvery = 300 * time.Millisecond

func carryOut(ctx context.Context, dir string, jobDir *campaigns.JobDir, say func(string)) (campaigns.Result, error) {
	argv, err := self()
	if err != nil {
		return jobDir.SoFar(), err
	}
	start := jobDir.Job.Start
	if jobDir.Job.Kind != campaigns.Series { // whose runs name their libraries
		start.Scenario = jobDir.Scenario()
		if err := experiment.Provision(ctx, dir, argv, start, say); err != nil {
			return jobDir.SoFar(), err
		}
	}
	if _, err := experiment.Fetch(ctx, dir, start.Cluster, say); err != nil { // before there is a run to fail of it
		return jobDir.SoFar(), err
	}
	runDir := func(run string) string {
		if filepath.IsAbs(run) {
			return run
		}
		return filepath.Join(dir, reports.RunsDir, run)
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
			return runner(dir, argv, say).Run(ctx, start)
		},
		Read: func(run string) (campaigns.Judged, error) {
			return campaigns.ReadJudged(runDir(run))
		},
		JoinBlame: func(run string, b reports.Blame) error { return reports.JoinBlame(runDir(run), b) },
		Vary: func(run string) ([]campaigns.Variation, error) {
			r, err := campaigns.ReadRecipe(dir, runDir(run), "")
			if err != nil {
				return nil, err
			}
			return variationsOf(r, "")
		},
		JoinSeries: func(run string, s reports.Series) error { return reports.JoinSeries(runDir(run), s) },
		Tell:       say,
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

// jobMain is the hidden command job: it carries a job out for a server, whose end
// it outlives. Its standard input is the password of somebody else's broker, its first
// line how it began.
func jobMain(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("job: this command is rmq-mcp's own; run `rmq-mcp replay`, `rmq-mcp blame` or `rmq-mcp reduce` instead")
	}
	dir, id := args[0], args[1]
	password, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fmt.Errorf("read the password for %s: %w", id, err)
	}
	os.Setenv(attempt.PasswordEnv, string(password))
	jobDir, err := campaigns.OpenJobDir(filepath.Join(dir, campaigns.JobsDir, id))
	if err == nil {
		begun := func() { fmt.Println(jobBegun) }
		_, err = workOn(ctx, dir, jobDir, begun, func(line string) { fmt.Fprintln(os.Stderr, line) })
	}
	if err != nil {
		fmt.Println(err)
	}
	return err
}

const jobBegun = "begun"

// spawnJob has a process of its own work on a job, and returns once it does. Its
// environment has no secrets, so the password goes by standard input.
func spawnJob(dir string, argv []string, jobDir *campaigns.JobDir) error {
	log, err := os.OpenFile(filepath.Join(jobDir.Dir, campaigns.JobLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("begin %s: %w", jobDir.ID(), err)
	}
	defer log.Close()
	cmd := exec.Command(argv[0], append(slices.Clone(argv[1:]), "job", dir, jobDir.ID())...)
	cmd.Stderr = log
	cmd.Stdin = strings.NewReader(cmp.Or(jobDir.Job.Start.Cluster.Password.Reveal(), os.Getenv(attempt.PasswordEnv)))
	cmd.Env = environ.Own()
	keeper.Detach(cmd)
	heard, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("begin %s: %w", jobDir.ID(), err)
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
		return fmt.Errorf("begin %s: %s; see %s", jobDir.ID(), cmp.Or(word, "its process ended"), log.Name())
	}
	return nil
}
