package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/campaigns/jobs"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// ScenariosAnswer is the library, or one scenario of it.
type ScenariosAnswer struct {
	Answer
	Scenarios []ScenarioLine `json:"scenarios"`
	Text      string         `json:"text,omitempty"` // of the one that was named
}

func (a *agent) listScenarios() Tool {
	type args struct {
		Scenario string `json:"scenario"`
		Claim    string `json:"claim"`
		Protocol string `json:"protocol"`
		Flavor   string `json:"flavor"`
		Faults   *bool  `json:"faults"`
	}
	t := Tool{
		Name:        "list_scenarios",
		Description: "The scenario library, or the part that fits. Name one to get it whole: steps, claims, what to vary.",
		Params: []Param{
			{Name: "scenario", Type: String, Example: `"mqtt/broker-kill-9"`},
			{Name: "claim", Type: String, About: "that they judge", Example: `"qos2-exactly-once"`},
			{Name: "protocol", Type: String, Enum: contract.Protocols(), Long: true},
			{Name: "flavor", Type: String, Enum: cluster.FlavorNames(cluster.Any), Long: true},
			{Name: "faults", Type: Boolean, About: "whether they inject any"},
		},
		Example: `{"claim":"qos2-exactly-once","flavor":"external","faults":false}`,
		Hints:   Hints{ReadOnly: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (ScenariosAnswer, error) {
		if in.Scenario != "" {
			if err := a.known(in.Scenario); err != nil {
				return ScenariosAnswer{}, err
			}
			s, err := a.backend.Scenario(in.Scenario)
			if err != nil {
				return ScenariosAnswer{}, err
			}
			return ScenariosAnswer{Answer: answer(s.Name+": "+s.Summary, "run_scenario with scenario "+s.Name),
				Scenarios: []ScenarioLine{s.ScenarioLine}, Text: s.Text}, nil
		}
		query := scenarios.Query{Claim: in.Claim, Protocol: in.Protocol, Flavor: in.Flavor, Faults: in.Faults}
		all, err := a.backend.Scenarios(query)
		if err != nil {
			return ScenariosAnswer{}, fmt.Errorf("find scenarios: %w", err)
		}
		query.Limits = &a.envelope
		found, err := a.backend.Scenarios(query)
		if err != nil {
			return ScenariosAnswer{}, fmt.Errorf("find scenarios: %w", err)
		}
		slices.SortStableFunc(found, func(a, b ScenarioLine) int { return cmp.Compare(faulty(a), faulty(b)) })
		text := plural(len(found), "scenario") + ", each judged by every claim that applies to what it does"
		if slices.ContainsFunc(found, func(s ScenarioLine) bool { return s.Name == broad }) {
			text += "; begin with " + broad + ": loss, duplicates, order and granted QoS of QoS 0, 1 and 2, without a fault"
		}
		if refused := len(all) - len(found); refused > 0 {
			text += fmt.Sprintf("; the operator's limits refuse faults of %d more", refused)
		}
		out := ScenariosAnswer{Answer: answer(text, "run_scenario", "list_scenarios with one's name to read it whole"), Scenarios: found}
		if len(all) == 0 {
			out.Answer = answer("no scenario of the library fits", "list_scenarios with less asked",
				"run_scenario: a run is judged also by claims that its scenario does not ask; with config {arm: [tap]} by those on packets, too")
		}
		return out, nil
	})
}

// broad is the scenario that asks most of a broker without a fault.
const broad = "mqtt/qos-roundtrip"

// faulty puts scenarios without faults before the others.
func faulty(s ScenarioLine) int {
	if s.Type == "basic" {
		return 0
	}
	return 1
}

// runScenarioArgs are what run_scenario takes.
type runScenarioArgs struct {
	Scenario  string         `json:"scenario"`
	Nodes     int            `json:"nodes"`
	Config    cluster.Config `json:"config"`
	SDKs      []string       `json:"sdks"`
	Protocol  string         `json:"protocol"`
	Transport string         `json:"transport"`
	Seed      int64          `json:"seed"`
	Tier      string         `json:"tier"`
	Faults    *bool          `json:"faults"`
	Fault     string         `json:"fault"`
	Target    string         `json:"target"`
	Duration  float64        `json:"duration_s"`
	Repeats   int            `json:"repeats"`
	Blame     bool           `json:"blame"`
	Wait      float64        `json:"wait_s"`
}

func (a *agent) runScenario() Tool {
	t := Tool{
		Name: "run_scenario",
		Description: "A whole experiment: cluster, workload, faults, heal, drain, verdict. With sdks, repeats, blame or a fault of your own: several, and one table of " +
			"claims by SDK, k of n, blame.",
		Params: []Param{
			{Name: "scenario", Type: String, Required: true, Example: `"mqtt/broker-kill-9"`},
			nodesParam(), likeClusterStart(),
			{Name: "sdks", Type: Array, Items: String, About: "as preflight lists them, or a language", Example: `["go","python/paho-mqtt@2.1.0"]`},
			{Name: "protocol", Type: String, Enum: contract.Protocols()},
			{Name: "transport", Type: String, Enum: cluster.Transports()},
			{Name: "seed", Type: Integer, Min: 0, Max: 1 << 53, About: "of all repeats; default: another each", Example: "7"},
			{Name: "tier", Type: String, Enum: []string{"smoke", "hardening", "release"}},
			{Name: "faults", Type: Boolean, About: "false: a control"},
			{Name: "fault", Type: String, Enum: a.backend.Faults, Long: true, About: "this one in place of the scenario's", Example: `"kill"`},
			{Name: "target", Type: String, Example: `"leader"`},
			{Name: "duration_s", Type: Number, Min: 1, Max: 600, Example: "20"},
			{Name: "repeats", Type: Integer, Min: 1, Max: 50, Default: float64(1), Example: "3"},
			{Name: "blame", Type: Boolean, About: "whose doing is a failure?"},
			waitS(),
		},
		Example: `{"scenario":"mqtt/broker-kill-9"}`,
	}
	return handler(t, func(ctx context.Context, call *Call, in runScenarioArgs) (RunView, error) {
		if err := a.known(in.Scenario); err != nil {
			return RunView{}, err
		}
		in.Config.Nodes = in.Nodes
		var err error
		if in.Config, err = a.load(in.Config); err != nil {
			return RunView{}, err
		}
		step, err := in.step()
		if err != nil {
			return RunView{}, err
		}
		ask := keeper.Start{Scenario: in.Scenario, Cluster: in.Config, Protocol: in.Protocol, Transport: in.Transport, Seed: in.Seed, Tier: in.Tier, NoFaults: in.Faults != nil && !*in.Faults, Caller: call.Caller}
		if len(in.SDKs) > 1 || in.Repeats > 1 || in.Blame || step != nil {
			return a.several(ctx, call, jobs.Ask{Times: in.Repeats, Series: &jobs.SeriesAsk{Start: ask, SDKs: in.SDKs, Fault: step, Blame: in.Blame}}, in.Wait)
		}
		if len(in.SDKs) > 0 {
			ask.SDK = in.SDKs[0]
		}
		e, err := a.start(ctx, call, ask)
		if err != nil {
			return RunView{}, err
		}
		run, err := a.finish(ctx, call, e, in.Wait)
		return RunView{Answer: run.Answer, RunID: run.RunID, RunFacts: &run.RunFacts}, err
	})
}

// step is the fault that is asked for in place of the scenario's; nil for none.
func (in runScenarioArgs) step() (*scenarios.Step, error) {
	switch {
	case in.Fault == "" && (in.Target != "" || in.Duration > 0):
		return nil, errors.New(`run_scenario: "target" and "duration_s" are those of "fault"; give it, too. Nothing was changed`)
	case in.Fault == "":
		return nil, nil
	case in.Faults != nil && !*in.Faults:
		return nil, errors.New(`run_scenario: "faults" is false, and "fault" is given; leave one of them out. Nothing was changed`)
	}
	return &scenarios.Step{Fault: in.Fault, Target: cmp.Or(in.Target, "any"), DurationS: in.Duration}, nil
}
