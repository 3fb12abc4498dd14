package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/keeper"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
	"github.com/robustmq/rmq-mcp/tools"
)

// backendOf is what the tools act through, on one state directory.
func backendOf(dir string) (tools.Backend, error) {
	argv, err := self()
	if err != nil {
		return tools.Backend{}, err
	}
	b := tools.Backend{
		Start: func(ctx context.Context, ask keeper.Start) (tools.Experiment, error) {
			return connected(keeper.Spawn(ctx, keeper.SpawnOptions{StateDir: dir, Self: argv, Start: ask}))
		},
		Connect:   func(id string) (tools.Experiment, error) { return connected(keeper.Connect(dir, id)) },
		Live:      func() ([]keeper.Info, error) { return keeper.List(dir) },
		Find:      func(id string) (string, error) { return reports.Find(dir, id) },
		Scenarios: scenarioLines,
		Scenario:  scenarioText,
		Preflight: func(ctx context.Context) (scenarios.Preflight, error) { return scenarios.Look(ctx, argv), nil },
		Push:      publish,
	}
	for _, k := range faults.Catalog() {
		b.Faults = append(b.Faults, k.Type)
	}
	for _, sdk := range clients.SDKs() {
		if !slices.Contains(b.Languages, sdk.Lang) {
			b.Languages = append(b.Languages, sdk.Lang)
		}
	}
	return b, nil
}

// connected keeps a nil *Client from becoming an Experiment that is not nil.
func connected(c *keeper.Client, err error) (tools.Experiment, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

func scenarioLines() ([]tools.ScenarioLine, error) {
	all, err := scenarios.Library()
	if err != nil {
		return nil, err
	}
	lines := make([]tools.ScenarioLine, len(all))
	for i, s := range all {
		if lines[i], err = scenarioLine(s); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

func scenarioLine(s *scenarios.Scenario) (tools.ScenarioLine, error) {
	tier, err := s.Tier("smoke", s.Cluster.Flavor)
	if err != nil {
		return tools.ScenarioLine{}, err
	}
	return tools.ScenarioLine{Name: s.Name, Protocol: s.Protocol, Type: s.Kind, Summary: s.Title, Expected: s.ExpectedS(tier)}, nil
}

func scenarioText(name string) (tools.ScenarioText, error) {
	s, err := scenarios.Load(name)
	if err != nil {
		return tools.ScenarioText{}, err
	}
	line, err := scenarioLine(s)
	return tools.ScenarioText{ScenarioLine: line, Text: s.Text}, err
}

// publish verifies what it would publish also when nothing is published.
func publish(ctx context.Context, ask tools.Publication) (tools.Published, error) {
	out := tools.Published{Location: ask.Destination}
	for _, dir := range ask.Runs {
		verified, err := reports.Verify(dir)
		if err != nil {
			return out, fmt.Errorf("verify %s before it is published: %w", dir, err)
		}
		out.Roots = append(out.Roots, verified.Seal.Root)
	}
	if ask.DryRun {
		return out, nil
	}
	pushed, err := reports.Push(ctx, ask.Runs, reports.Destination(ask.Destination), ask.Words)
	if err != nil {
		return out, err
	}
	out.Location, out.Commit, out.Files = pushed.URL, pushed.Commit, pushed.Paths
	return out, nil
}
