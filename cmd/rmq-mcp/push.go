package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

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
	over, err := overviewOf(ask.Runs)
	if err != nil {
		return out, err
	}
	var pages []publish.Folder
	states := byState(ask.Runs)
	for _, dir := range slices.Sorted(maps.Keys(states)) {
		b, err := newBeside(dir, states[dir], to)
		if err != nil {
			return out, fmt.Errorf("make the pages beside the runs of %s: %w", dir, err)
		}
		pages, out.LeftOut = append(pages, b.folders...), append(out.LeftOut, b.leftOut...)
	}
	push := func() (publish.Pushed, error) { return publish.Push(ctx, ask.Runs, to, ask.Words, over, pages...) }
	if ask.DryRun {
		push = func() (publish.Pushed, error) { return publish.Preview(ask.Runs, to, ask.Words, over, pages...) }
	}
	pushed, err := push()
	if err != nil {
		return out, err
	}
	out.Location, out.Commit, out.Pages, out.Files, out.Bytes = pushed.URL, pushed.Commit, pushed.Pages, len(pushed.Paths), pushed.Bytes
	if ask.DryRun {
		return out, nil
	}
	for dir, runs := range states {
		err = errors.Join(err, publish.Remember(dir, to, runs, out.Roots))
	}
	return out, err
}

// byState are runs by the directory that their findings, matrices and campaigns are in.
func byState(runs []string) map[string][]string {
	states := map[string][]string{}
	for _, run := range runs {
		dir := filepath.Dir(run)
		if filepath.Base(dir) == reports.RunsDir {
			dir = filepath.Dir(dir)
		}
		states[dir] = append(states[dir], run)
	}
	return states
}

// overviewOf is the page over several runs; nil for one.
func overviewOf(runs []string) (*publish.Overview, error) {
	if len(runs) < 2 {
		return nil, nil
	}
	c, err := compareRuns(runs)
	return &publish.Overview{Headline: c.Headline, Table: c.Table, Attributions: c.Attributions, Notes: c.Notes}, err
}
