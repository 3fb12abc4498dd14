package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/campaigns/publication"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/reports/publish"
	"github.com/robustmq/rmq-mcp/tools"
)

// pushReport verifies the runs also where nothing is published.
func pushReport(ctx context.Context, ask tools.Publication) (tools.Published, error) {
	out := tools.Published{Location: ask.Destination, Roots: map[string]string{}}
	for _, dir := range ask.Runs {
		verified, err := reports.Verify(dir)
		if err != nil {
			return out, fmt.Errorf("verify %s before it is published: %w", dir, err)
		}
		out.Roots[filepath.Base(dir)] = verified.Seal.Root
	}
	to := publish.Destination(ask.Destination)
	over, err := overviewOf(ask.Runs, ask.Notes)
	if err != nil {
		return out, err
	}
	state, err := stateDirOf(ask.Runs)
	if err != nil {
		return out, err
	}
	pages, leftOut, err := publication.Pages(state, ask.Runs, to)
	if err != nil {
		return out, fmt.Errorf("make the pages beside the runs of %s: %w", state, err)
	}
	out.LeftOut = leftOut
	push := func() (publish.Pushed, error) {
		return publish.Push(ctx, ask.Runs, to, ask.Words, over, pages...)
	}
	if ask.DryRun {
		push = func() (publish.Pushed, error) {
			return publish.Preview(ask.Runs, to, ask.Words, over, pages...)
		}
	}
	pushed, err := push()
	if err != nil {
		return out, err
	}
	out.Location, out.Commit, out.Pages, out.Files, out.Bytes = pushed.URL, pushed.Commit, pushed.Pages, len(pushed.Paths), pushed.Bytes
	if ask.DryRun {
		return out, nil
	}
	return out, publish.Remember(state, to, ask.Runs, out.Roots)
}

// stateDirOf is the directory that the findings, matrices, campaigns and plans of runs are in.
func stateDirOf(runs []string) (string, error) {
	within := filepath.Dir(runs[0])
	for _, run := range runs {
		if filepath.Dir(run) != within {
			return "", fmt.Errorf("publish %s and %s: they are in two directories; publish those of one after those of the other", runs[0], run)
		}
	}
	if filepath.Base(within) == reports.RunsDir {
		return filepath.Dir(within), nil
	}
	return within, nil
}

// overviewOf is the page over several runs, with further notes; nil for one.
func overviewOf(runs, notes []string) (*publish.Overview, error) {
	if len(runs) < 2 {
		return nil, nil
	}
	c, err := compareRuns(runs)
	return &publish.Overview{Headline: c.Headline, Table: c.Table, Attributions: c.Attributions, Notes: append(c.Notes, notes...)}, err
}
