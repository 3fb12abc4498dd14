package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/code"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/campaigns/jobs"
	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/campaigns/publication"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// fake is an experiment in memory.
type fake struct {
	keeper.Calls // those that no tool makes

	mu       sync.Mutex
	status   keeper.Status
	injected []keeper.Inject
	healed   []keeper.Heal
	clients  []keeper.RunClient
	noted    []any
	stopped  bool
	gone     chan struct{}
	progress []keeper.Progress
	held     <-chan struct{} // Stop returns after it is closed; nil: at once
	logs     keeper.LogLines
	metrics  keeper.MetricsAnswer
}

var _ Experiment = (*fake)(nil)

func newFake(id, scenario string) *fake {
	return &fake{gone: make(chan struct{}), status: keeper.Status{ID: id, Dir: "/state/runs/" + id, Scenario: scenario, Phase: history.PhaseReady, Live: true,
		Nodes: []keeper.NodeStatus{{Name: "node-1", State: "running"}, {Name: "node-2", State: "running"}}}}
}

func (f *fake) Status(context.Context) (keeper.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status, nil
}

// Wait answers at once when it is over or ready, like a keeper.
func (f *fake) Wait(ctx context.Context, d time.Duration) (keeper.Status, error) {
	deadline := time.Now().Add(d)
	for {
		s, _ := f.Status(ctx)
		if s.Phase == history.PhaseDone || s.Scenario == "" && s.Phase != history.PhaseStarting || !time.Now().Before(deadline) {
			return s, ctx.Err()
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func (f *fake) Watch(ctx context.Context, see func(keeper.Progress)) error {
	for _, p := range f.progress {
		see(p)
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f *fake) Inject(_ context.Context, ask keeper.Inject) (keeper.FaultStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.injected = append(f.injected, ask)
	return keeper.FaultStatus{ID: "f1", Type: ask.Type, Target: ask.Target, Nodes: []string{"node-2"}, State: history.Landed, Healed: history.HealPending, HealsIn: 10}, nil
}

func (f *fake) Heal(_ context.Context, ask keeper.Heal) (keeper.FaultStatus, error) {
	if ask.Fault != "f1" {
		return keeper.FaultStatus{}, errors.New("no such fault")
	}
	f.healed = append(f.healed, ask)
	return keeper.FaultStatus{ID: "f1", State: history.Landed, Healed: history.HealVerified}, nil
}

func (f *fake) RunClient(_ context.Context, ask keeper.RunClient) (keeper.ClientStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clients = append(f.clients, ask)
	c := keeper.ClientStatus{Number: 1, SDK: ask.SDK, State: "done", Counts: keeper.Counts{Sent: 10, Acked: 10, Received: 10}}
	f.status.Clients = append(f.status.Clients, c)
	return c, nil
}

func (f *fake) Logs(context.Context, keeper.Logs) (keeper.LogLines, error) { return f.logs, nil }

func (f *fake) Metrics(context.Context, keeper.Metrics) (keeper.MetricsAnswer, error) {
	return f.metrics, nil
}

func (f *fake) Stop(context.Context, keeper.Caller) (keeper.Status, error) {
	if f.held != nil {
		<-f.held
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	f.status.Phase, f.status.Live, f.status.Root = history.PhaseDone, false, "abc"
	f.status.Verdict = &verdict.Verdict{State: verdict.PassSmoke, Headline: "nothing was lost"}
	return f.status, nil
}

func (f *fake) Journal(_ context.Context, _ keeper.Caller, answer any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noted = append(f.noted, answer)
	return nil
}

func (f *fake) Info() keeper.Info {
	return keeper.Info{ID: f.status.ID, Scenario: f.status.Scenario, Started: time.Now()}
}

func (f *fake) Gone() <-chan struct{} { return f.gone }

// host is a backend whose experiments are fakes.
type host struct {
	live    []*fake
	started []keeper.Start
	pushed  []publication.Ask
	runs    string // directory of run directories

	preflight experiment.Preflight
	asked     []scenarios.Query
	compared  campaigns.Comparison
	planned   plan.Status
	jobDirs   map[string]*campaigns.JobDir // jobs
	began     []jobs.Ask
	rows      []reports.Row
	found     finding.Findings
	filtered  reports.Filter
	resumed   []string
}

func (h *host) backend() Backend {
	return Backend{
		Start: func(_ context.Context, ask keeper.Start) (Experiment, error) {
			h.started = append(h.started, ask)
			f := newFake("run-new", ask.Scenario)
			h.live = append(h.live, f)
			return f, nil
		},
		Connect: func(id string) (Experiment, error) {
			for _, f := range h.live {
				if f.status.ID == id {
					return f, nil
				}
			}
			return nil, errors.New("not live")
		},
		Live: func() ([]keeper.Info, error) {
			var list []keeper.Info
			for _, f := range h.live {
				list = append(list, f.Info())
			}
			return list, nil
		},
		Find: func(id string) (string, error) {
			dir := filepath.Join(h.runs, id)
			if _, err := os.Stat(dir); err != nil {
				return "", errors.New("no run " + id + "; there are none")
			}
			return dir, nil
		},
		Scenarios: func(q scenarios.Query) ([]ScenarioLine, error) {
			h.asked = append(h.asked, q)
			if q.Claim != "" {
				return []ScenarioLine{}, nil
			}
			if q.Limits != nil && q.Limits.AllowedFaults != nil {
				return []ScenarioLine{{Name: "mqtt/qos-roundtrip", Protocol: "mqtt3", Type: "basic", Summary: "there and back"}}, nil
			}
			return []ScenarioLine{{Name: "mqtt/broker-kill-9", Protocol: "mqtt3", Type: "fault", Summary: "kill -9"},
				{Name: "mqtt/qos-roundtrip", Protocol: "mqtt3", Type: "basic", Summary: "there and back"}}, nil
		},
		Scenario: func(name string) (ScenarioText, error) {
			return ScenarioText{ScenarioLine: ScenarioLine{Name: name}, Text: "# Kill"}, nil
		},
		Faults:  []string{"kill", "pause", "stop"},
		Library: []string{"mqtt/broker-kill-9", "mqtt/qos-roundtrip"},
		SDKs:    []string{"go/paho.mqtt.golang@1.5.1", "python/aiomqtt@2.4.0", "python/paho-mqtt@2.1.0"},
		Preflight: func(context.Context) (experiment.Preflight, error) {
			return h.preflight, nil
		},
		Findings: func() (finding.Findings, error) { return h.found, nil },
		Code: func(_ context.Context, ask CodeAsk) (code.Places, error) {
			return code.Places{Tree: "robustmq at v0.4.11", Places: []code.Place{{File: "src/a.rs", Line: 7, Function: "f", Kind: code.Panic, Around: []code.Line{{Number: 7, Text: "x.unwrap()"}}}}[:min(1, ask.Most)]}, nil
		},
		Compare: func([]string) (campaigns.Comparison, error) {
			if h.compared.Headline == "" {
				return campaigns.Compare(nil), nil
			}
			return h.compared, nil
		},
		Series: func(dirs []string) (verdict.Verdict, error) {
			return verdict.Verdict{State: verdict.FailReproducible, Headline: fmt.Sprintf("FAIL-reproducible: %d runs", len(dirs)), Runs: []string{"abc"}}, nil
		},
		FreezePlan: func(_ context.Context, text string, limits envelope.Envelope, _ keeper.Caller) (plan.Status, error) {
			p, err := plan.Parse([]byte(text))
			if err == nil {
				_, err = plan.SiteOf("", &limits).Lint(p)
			}
			return h.planned, err
		},
		Plan: func(ref string) (plan.Status, error) {
			if ref != "latest" {
				return plan.Status{}, errors.New("no frozen plan " + ref)
			}
			if h.planned.Headline == "" {
				h.planned.Headline = "BLOCKED: nothing of the plan was run"
			}
			return h.planned, nil
		},
		Runs: func(f reports.Filter) ([]reports.Row, error) { h.filtered = f; return h.rows, nil },
		BeginJob: func(ask jobs.Ask) (*campaigns.JobDir, error) {
			h.began = append(h.began, ask)
			return h.jobDirs["new"], nil
		},
		Job:       func(id string) (*campaigns.JobDir, bool) { d, ok := h.jobDirs[id]; return d, ok && id != "new" },
		ResumeJob: func(d *campaigns.JobDir, _ jobs.Ask) error { h.resumed = append(h.resumed, d.ID()); return nil },
		Push: func(_ context.Context, ask publication.Ask) (publication.Published, error) {
			h.pushed = append(h.pushed, ask)
			return publication.Published{Location: ask.Destination}, nil
		},
	}
}

func (h *host) server(t testing.TB, o Options) *Server {
	t.Helper()
	o.Backend, o.Version = h.backend(), "test"
	if h.jobDirs == nil {
		h.jobDirs = map[string]*campaigns.JobDir{"new": jobDirOf(t, campaigns.Replay)}
	}
	if o.Envelope.MaxNodes == 0 {
		o.Envelope = envelope.Default("/state")
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
