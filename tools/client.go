package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/near"
)

// ClientAnswer is one client run as it is now.
type ClientAnswer struct {
	Answer
	RunID  string     `json:"run_id"`
	Client ClientLine `json:"client"`
	Counts Counts     `json:"counts"` // of all client runs of the experiment so far
}

func (a *agent) runClient() Tool {
	type args struct {
		Protocol   string  `json:"protocol"`
		Transport  string  `json:"transport"`
		Lang       string  `json:"sdk_lang"`
		Version    string  `json:"sdk_version"`
		Scenario   string  `json:"scenario"`
		Duration   float64 `json:"duration_s"`
		Experiment string  `json:"experiment"`
		Wait       float64 `json:"wait_s"`
	}
	t := Tool{
		Name: "run_client",
		Description: "Runs a scenario's workload with one SDK on the live cluster and counts what was sent, acknowledged and received. " +
			"With wait_s 0 traffic lasts for duration_s while you inject_fault.",
		Params: []Param{
			{Name: "protocol", Type: String, Enum: contract.Protocols()},
			{Name: "transport", Type: String, Enum: cluster.Transports(), Long: true},
			{Name: "sdk_lang", Type: String, Required: true, Enum: a.backend.languages(), Example: `"go"`},
			{Name: "sdk_version", Type: String, Example: `"1.5.1"`},
			{Name: "scenario", Type: String, Required: true, Example: `"mqtt/qos-roundtrip"`},
			{Name: "duration_s", Type: Number, Min: 5, Max: 600, Default: 60.0, Example: "60"},
			experimentParam(), waitS(),
		},
		Example: `{"sdk_lang":"go","scenario":"mqtt/qos-roundtrip"}`,
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (ClientAnswer, error) {
		if err := a.known(in.Scenario); err != nil {
			return ClientAnswer{}, err
		}
		e, err := a.experiment(call, in.Experiment)
		if err != nil {
			return ClientAnswer{}, err
		}
		ask := keeper.RunClient{Scenario: in.Scenario, SDK: sdkName(in.Lang, in.Version), Protocol: in.Protocol, Transport: in.Transport, DurationS: in.Duration, Caller: call.Caller, Envelope: a.limits()}
		started, err := e.RunClient(context.WithoutCancel(ctx), ask)
		if err != nil {
			return ClientAnswer{}, err
		}
		s, err := await(ctx, call, e, in.Wait, func(s keeper.Status) bool { return clientEnded(s, started.Number) || ended(s) })
		if err != nil {
			return ClientAnswer{}, err
		}
		if now := clientOf(s, started.Number); now != nil {
			started = *now
		}
		return ClientAnswer{Answer: clientSummary(s, started), RunID: s.ID, Client: clientLine(started), Counts: soFar(s.Counts)}, nil
	})
}

// known refuses what is not in the library. A person may run a file of their
// own; what an agent names is never read from disk.
func (a *agent) known(scenario string) error {
	if slices.Contains(a.backend.Library, scenario) {
		return nil
	}
	return fmt.Errorf("no scenario %q%s. Call list_scenarios for what each does. Nothing was changed", scenario, near.Hint(scenario, a.backend.Library, "; there are: "+joined(a.backend.Library)))
}

// sdkName is an SDK as people write it. The version may be as preflight prints it, with
// its library: paho-mqtt@2.1.0.
func sdkName(lang, version string) string {
	switch {
	case lang == "" || version == "":
		return lang
	case strings.Contains(version, "@"):
		return lang + "/" + version
	}
	return lang + "@" + version
}

func clientOf(s keeper.Status, number int) *keeper.ClientStatus {
	for i := range s.Clients {
		if s.Clients[i].Number == number {
			return &s.Clients[i]
		}
	}
	return nil
}

func clientEnded(s keeper.Status, number int) bool {
	c := clientOf(s, number)
	return c != nil && (c.State == "done" || c.State == "failed")
}

func clientSummary(s keeper.Status, c keeper.ClientStatus) Answer {
	text := fmt.Sprintf("client run %d (%s) %s; so far %d sent, %d acknowledged, %d of unknown outcome, %d received",
		c.Number, c.SDK, c.State, s.Counts.Sent, s.Counts.Acked, s.Counts.Unknown, s.Counts.Received)
	if len(s.Clients) > 1 {
		text += fmt.Sprintf(" over all %d client runs", len(s.Clients))
	}
	switch c.State {
	case "done":
		return answer(text+"; what was lost is judged at cluster_stop", "cluster_stop to judge what happened", "run_client with another SDK to compare")
	case "failed":
		return answer(text+": "+c.Error, "get_logs to see what the broker says", "run_client with another SDK to compare")
	}
	return answer(text, "inject_fault while traffic flows", "cluster_status to see the counts move")
}
