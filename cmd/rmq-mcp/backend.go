package main

import (
	"context"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/campaigns/catalog"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/campaigns/jobs"
	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/campaigns/publication"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
	"github.com/robustmq/rmq-mcp/tools"
)

// backendOf is what the tools act through, on one state directory. Grace is
// how long a cluster explored by hand outlives who uses it.
func backendOf(dir string, grace time.Duration) (tools.Backend, error) {
	argv, err := self()
	if err != nil {
		return tools.Backend{}, err
	}
	b := tools.Backend{
		Start: func(ctx context.Context, ask keeper.Start) (tools.Experiment, error) {
			if err := attempt.Reach(ctx, ask, ""); err != nil {
				return nil, err
			}
			ask.GraceS = int(grace.Seconds())
			return connected(dir, argv)(runner(dir, argv, nil).Start(ctx, ask))
		},
		Connect:   func(id string) (tools.Experiment, error) { return connected(dir, argv)(keeper.Connect(dir, id)) },
		Live:      func() ([]keeper.Info, error) { return keeper.List(dir) },
		Find:      func(id string) (string, error) { healDead(dir); return reports.FindID(dir, id) },
		Runs:      func(f reports.Filter) ([]reports.Row, error) { healDead(dir); return reports.List(dir, f) },
		Findings:  func() (finding.Findings, error) { healDead(dir); return finding.Load(dir) },
		Scenarios: scenarioLines,
		Scenario:  scenarioText,
		Preflight: func(ctx context.Context) (experiment.Preflight, error) { return experiment.Look(ctx, argv), nil },
		Push:      publication.Push,
		Series:    campaigns.JudgeSeries,
		Compare:   campaigns.CompareRuns,
		FreezePlan: func(ctx context.Context, text string, limits envelope.Envelope, by keeper.Caller) (plan.Status, error) {
			return looked(dir)(plan.SiteOf("", &limits).Freeze(ctx, dir, []byte(text), "", by))
		},
		Plan:      func(ref string) (plan.Status, error) { return looked(dir)(plan.Find(dir, ref)) },
		BeginJob:  func(ask jobs.Ask) (*campaigns.JobDir, error) { return jobs.Begin(dir, argv, ask) },
		Job:       func(id string) (*campaigns.JobDir, bool) { return campaigns.FindJob(dir, id) },
		ResumeJob: func(d *campaigns.JobDir, by jobs.Ask) error { return jobs.Resume(dir, argv, d, by) },
	}
	if b.Library, err = scenarios.Names(); err != nil {
		return tools.Backend{}, err
	}
	for _, f := range catalog.Faults() {
		b.Faults = append(b.Faults, f.Type)
	}
	for _, sdk := range clients.SDKs() {
		b.SDKs = append(b.SDKs, sdk.String())
	}
	return b, nil
}

// A provisioned experiment is a keeper's client that fetches a driver's
// dependencies before it asks the keeper to start the driver. The keeper's
// network has no way out.
type provisioned struct {
	*keeper.Client
	dir  string
	argv []string
}

// RunClient provisions the SDK, then asks the keeper.
func (e *provisioned) RunClient(ctx context.Context, ask keeper.RunClient) (keeper.ClientStatus, error) {
	start := keeper.Start{Scenario: ask.Scenario, SDK: ask.SDK, Protocol: ask.Protocol}
	start.Cluster.Flavor = e.Info().Flavor
	if err := experiment.Provision(ctx, e.dir, e.argv, start, nil); err != nil {
		return keeper.ClientStatus{}, err
	}
	return e.Client.RunClient(ctx, ask)
}

// connected wraps a client; on an error there is none to wrap.
func connected(dir string, argv []string) func(*keeper.Client, error) (tools.Experiment, error) {
	return func(c *keeper.Client, err error) (tools.Experiment, error) {
		if err != nil {
			return nil, err
		}
		return &provisioned{c, dir, argv}, nil
	}
}

// looked answers what became of a plan; on an error there is none to look at.
func looked(dir string) func(*plan.Record, error) (plan.Status, error) {
	return func(r *plan.Record, err error) (plan.Status, error) {
		if err != nil {
			return plan.Status{}, err
		}
		healDead(dir)
		return r.Look(dir)
	}
}

func scenarioLines(q scenarios.Query) ([]tools.ScenarioLine, error) {
	found, err := q.Find()
	if err != nil {
		return nil, err
	}
	lines := make([]tools.ScenarioLine, len(found))
	for i, s := range found {
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
