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
		Description: "The scenario library, or those of it that fit. Name one to get it whole: steps, claims, what to vary.",
		Params: []Param{
			{Name: "scenario", Type: String, Example: `"mqtt/broker-kill-9"`},
			{Name: "claim", Type: String, About: "that they judge", Example: `"qos2-exactly-once"`},
			{Name: "protocol", Type: String, Enum: contract.Protocols()},
			{Name: "flavor", Type: String, Enum: cluster.FlavorNames(cluster.Any)},
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
		Name: "run_scenario",
		Description: "A whole experiment: its own cluster, workload, faults, heal, drain, verdict. " +
			"Returns run_id and running while it lasts: get_run waits on. It goes on if you stop waiting.",
		Params: []Param{
			{Name: "scenario", Type: String, Required: true, Example: `"mqtt/broker-kill-9"`},
			nodesParam(), likeClusterStart(),
			{Name: "sdk_lang", Type: String, Enum: a.backend.Languages},
			{Name: "sdk_version", Type: String},
			{Name: "protocol", Type: String, Enum: contract.Protocols()},
			{Name: "transport", Type: String, Enum: cluster.Transports()},
			{Name: "seed", Type: Integer, Min: 0, Max: 1 << 53, Example: "7"},
			{Name: "tier", Type: String, Enum: []string{"smoke", "hardening", "release"}},
			{Name: "faults", Type: Boolean, About: "false: a control"},
			waitS(),
		},
		Example: `{"scenario":"mqtt/broker-kill-9"}`,
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
