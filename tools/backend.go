package tools

import (
	"context"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/code"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/campaigns/jobs"
	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/campaigns/publication"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// An Experiment is a live one, as its keeper answers for it.
type Experiment interface {
	keeper.Calls
	Status(ctx context.Context) (keeper.Status, error)
	Wait(ctx context.Context, atMost time.Duration) (keeper.Status, error)
	Watch(ctx context.Context, line func(keeper.Progress)) error
	Info() keeper.Info
	// Gone is closed when the experiment's keeper is gone.
	Gone() <-chan struct{}
}

// A Backend is all that the tools act through. Its fields are functions so
// that a test can put any of them in place of the real one.
type Backend struct {
	// Start starts an experiment in a keeper of its own and returns once the
	// keeper answers; the cluster may still be coming up.
	Start func(ctx context.Context, ask keeper.Start) (Experiment, error)
	// Connect reaches a live experiment.
	Connect func(id string) (Experiment, error)
	// Live lists the live experiments, oldest first.
	Live func() ([]keeper.Info, error)
	// Find answers the directory of a run, live or finished, by its id or
	// "latest". An error lists what there is.
	Find func(id string) (dir string, err error)
	// Runs are the stored runs that a filter takes, the newest first.
	Runs func(reports.Filter) ([]reports.Row, error)
	// Findings are those of all stored runs.
	Findings func() (finding.Findings, error)
	// Code maps a run, or the newest run of a finding, to places in the broker's source.
	// It is nil where the operator named no source.
	Code func(ctx context.Context, ask CodeAsk) (code.Places, error)
	// Scenarios are those of the library that a query describes; Scenario is one of
	// them, whole.
	Scenarios func(scenarios.Query) ([]ScenarioLine, error)
	Scenario  func(name string) (ScenarioText, error)
	// Faults, Library and SDKs are the names of the fault types, of the library's
	// scenarios and of the client libraries there are: LANGUAGE/LIBRARY@VERSION.
	Faults  []string
	Library []string
	SDKs    []string
	// Preflight looks at the host.
	Preflight func(ctx context.Context) (experiment.Preflight, error)
	// Series judges runs as repetitions of one experiment, from their records.
	Series func(dirs []string) (verdict.Verdict, error)
	// Compare judges runs again and says what their differences come from.
	Compare func(dirs []string) (campaigns.Comparison, error)
	// FreezePlan lints and freezes a test plan within an envelope; Plan is what
	// became of a frozen one, by its name, its hash or latest.
	FreezePlan func(ctx context.Context, text string, limits envelope.Envelope, by keeper.Caller) (plan.Status, error)
	Plan       func(ref string) (plan.Status, error)
	// BeginJob begins a job in a process of its own, or joins the same one that did not
	// end. Job finds a job by its id; ResumeJob resumes a job without a process.
	BeginJob  func(ask jobs.Ask) (*campaigns.JobDir, error)
	Job       func(id string) (*campaigns.JobDir, bool)
	ResumeJob func(jobDir *campaigns.JobDir, by jobs.Ask) error
	// Push publishes runs with the agent's words beside them.
	Push func(ctx context.Context, ask publication.Ask) (publication.Published, error)
}

// languages are those of the SDKs, in their order.
func (b Backend) languages() (list []string) {
	for _, sdk := range b.SDKs {
		if lang, _, _ := strings.Cut(sdk, "/"); !contains(list, lang) {
			list = append(list, lang)
		}
	}
	return list
}

// A ScenarioLine is one scenario of the library.
type ScenarioLine struct {
	Name     string  `json:"name"`
	Protocol string  `json:"protocol"`
	Type     string  `json:"type"`
	Summary  string  `json:"summary"`
	Expected float64 `json:"expected_s"`
}

// A ScenarioText is one scenario whole.
type ScenarioText struct {
	ScenarioLine
	Text string `json:"text"` // as written: what is executed, and the prose to read
}
