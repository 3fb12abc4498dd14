package tools

import (
	"context"
	"errors"
	"fmt"

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
		Title:       "List the scenarios",
		Description: "The scenario library, one line each, or those that fit. Name one to get it whole: steps, claims, why, hints for variations and failures.",
		Params: []Param{
			{Name: "scenario", Type: String, About: "one to read whole", Example: `"mqtt/broker-kill-9"`},
			{Name: "claim", Type: String, About: "that judges them", Example: `"qos2-exactly-once"`},
			{Name: "protocol", Type: String, Enum: contract.Protocols()},
			{Name: "flavor", Type: String, Enum: cluster.FlavorNames(cluster.Any)},
			{Name: "faults", Type: Boolean, About: "whether they inject any"},
		},
		Example: `{"claim":"qos2-exactly-once","flavor":"external","faults":false}`,
		Hints:   Hints{ReadOnly: true, Idempotent: true},
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
		found, err := a.backend.Scenarios(scenarios.Query{Claim: in.Claim, Protocol: in.Protocol, Flavor: in.Flavor, Faults: in.Faults})
		if err != nil {
			return ScenariosAnswer{}, fmt.Errorf("find scenarios: %w", err)
		}
		out := ScenariosAnswer{Answer: answer(plural(len(found), "scenario"), "list_scenarios with one's name to read it whole", "run_scenario"), Scenarios: found}
		if len(found) == 0 {
			out.Answer = answer("no scenario of the library fits", "list_scenarios with less asked",
				"run_scenario: a run is judged also by claims that its scenario does not ask; with config {arm: [tap]} by those on packets, too")
		}
		return out, nil
	})
}

func (a *agent) runScenario() Tool {
	type args struct {
		Scenario  string         `json:"scenario"`
		Nodes     int            `json:"nodes"`
		Config    cluster.Config `json:"config"`
		Lang      string         `json:"sdk_lang"`
		Version   string         `json:"sdk_version"`
		Protocol  string         `json:"protocol"`
		Transport string         `json:"transport"`
		Seed      int64          `json:"seed"`
		Tier      string         `json:"tier"`
		Faults    *bool          `json:"faults"`
		Wait      float64        `json:"wait_s"`
	}
	t := Tool{
		Name:  "run_scenario",
		Title: "Run a scenario",
		Description: "A whole experiment: starts its own cluster, runs the workload, injects the faults, heals, drains, judges and seals. " +
			"Returns the verdict, or run_id with running while it lasts: then call get_run. It goes on if you stop waiting.",
		Params: []Param{
			{Name: "scenario", Type: String, Required: true, About: "from list_scenarios", Example: `"mqtt/broker-kill-9"`},
			nodesParam(), configParam(),
			{Name: "sdk_lang", Type: String, Enum: a.backend.Languages, About: "default: the scenario's"},
			{Name: "sdk_version", Type: String},
			{Name: "protocol", Type: String, Enum: contract.Protocols(), About: "default: the scenario's"},
			{Name: "transport", Type: String, Enum: cluster.Transports(), About: "default tcp"},
			{Name: "seed", Type: Integer, About: "repeats the schedule of an earlier run", Min: 0, Max: 1 << 53, Example: "7"},
			{Name: "tier", Type: String, Enum: []string{"smoke", "hardening", "release"}, About: "how much; default smoke"},
			{Name: "faults", Type: Boolean, About: "false: a control"},
			waitS(),
		},
		Example: `{"scenario":"mqtt/broker-kill-9"}`,
		Hints:   Hints{},
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (RunAnswer, error) {
		if err := a.known(in.Scenario); err != nil {
			return RunAnswer{}, err
		}
		if in.Version != "" && in.Lang == "" {
			return RunAnswer{}, errors.New(`run_scenario: "sdk_version" is given without "sdk_lang", and does not say whose version it is; give both, or neither. Nothing was changed`)
		}
		in.Config.Nodes = in.Nodes
		if err := a.envelope.Cluster(in.Config); err != nil {
			return RunAnswer{}, err
		}
		ask := keeper.Start{Scenario: in.Scenario, Cluster: in.Config, SDK: sdkName(in.Lang, in.Version), Protocol: in.Protocol, Transport: in.Transport, Seed: in.Seed, Tier: in.Tier, NoFaults: in.Faults != nil && !*in.Faults, Caller: call.Caller}
		e, err := a.start(ctx, call, ask)
		if err != nil {
			return RunAnswer{}, err
		}
		return a.finish(ctx, call, e, in.Wait)
	})
}
