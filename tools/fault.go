package tools

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
)

// FaultAnswer is one injection as it is now.
type FaultAnswer struct {
	Answer
	RunID string             `json:"run_id"`
	Fault keeper.FaultStatus `json:"fault"`
}

const defaultFaultS = 10

func (a *agent) injectFault() Tool {
	type args struct {
		Type       string         `json:"type"`
		Target     string         `json:"target"`
		Params     map[string]any `json:"params"`
		Experiment string         `json:"experiment"`
	}
	t := Tool{
		Name: "inject_fault",
		Description: "Puts one bounded fault on a node and proves whether it landed: by the mechanism, by its effect, and by a control that stays still. " +
			"Have traffic flow first (run_client).",
		Params: []Param{
			{Name: "type", Type: String, Required: true, Enum: a.backend.Faults, Long: true, About: "as preflight lists them", Example: `"kill"`},
			{Name: "target", Type: String, Required: true, About: "node-2, leader, follower, any; of the network also leader~clients, or one way node-1>node-2", Example: `"leader"`},
			{Name: "params", Type: Object, About: fmt.Sprintf("duration_s (default %d), and its own; preflight with fault shows them", defaultFaultS), Example: `{"duration_s":10}`},
			experimentParam(),
		},
		Example: `{"type":"kill","target":"leader","params":{"duration_s":10}}`,
		Hints:   Hints{Destructive: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (FaultAnswer, error) {
		duration, err := faultDuration(in.Params)
		if err != nil {
			return FaultAnswer{}, err
		}
		e, err := a.experiment(call, in.Experiment)
		if err != nil {
			return FaultAnswer{}, err
		}
		s, err := e.Status(ctx)
		if err != nil {
			return FaultAnswer{}, err
		}
		ask := envelope.Fault{Type: in.Type, Targets: []string{in.Target}, Duration: seconds(duration), Params: in.Params}
		if _, _, _, link := faults.SplitLink(in.Target); link {
			ask.Targets = nil // its two sides are for the keeper to see
		}
		if err := a.envelope.Fault(ask); err != nil {
			return FaultAnswer{}, err
		}
		if err := a.envelope.Load(envelope.Load{Concurrent: len(inPlace(s)) + 1, Nodes: len(s.Nodes)}); err != nil {
			return FaultAnswer{}, err
		}
		params := map[string]any{}
		for key, value := range in.Params {
			params[key] = value
		}
		params["duration_s"] = duration
		// A caller that gives up does not leave half a fault.
		f, err := e.Inject(context.WithoutCancel(ctx), keeper.Inject{Type: in.Type, Target: in.Target, Params: params, Caller: call.Caller, Envelope: a.limits()})
		if err != nil {
			return FaultAnswer{}, err
		}
		return FaultAnswer{Answer: faultSummary(f), RunID: s.ID, Fault: f}, nil
	})
}

// faultDuration is the bound every fault has.
func faultDuration(params map[string]any) (float64, error) {
	value, given := params["duration_s"]
	if !given {
		return defaultFaultS, nil
	}
	n, ok := coerceNumber(Number, value)
	if !ok || n.(float64) <= 0 {
		return 0, fmt.Errorf("inject_fault: \"params.duration_s\" is %s, expected a number of seconds above 0, such as 10. Nothing was changed", describe(value))
	}
	return n.(float64), nil
}

func faultSummary(f keeper.FaultStatus) Answer {
	where := f.Target
	if len(f.Nodes) > 0 {
		where = fmt.Sprintf("%s (%s)", f.Target, joined(f.Nodes))
	}
	summary := fmt.Sprintf("%s: %s on %s: %s, %s", f.ID, f.Type, where, f.State, healOf(f))
	if f.HealsIn > 0 {
		summary += fmt.Sprintf(", heals itself in %.0f s", f.HealsIn)
	}
	if f.State == history.Unsupported {
		return answer(summary, "preflight to see what is missing", "another fault type")
	}
	if f.Healed == "" {
		return answer(summary, "cluster_status to see what there is to act on", "inject_fault on another target", "cluster_stop to judge what happened")
	}
	if f.Healed == history.HealVerified {
		return answer(summary, "cluster_status to see the cluster recovered", "get_logs around the fault", "cluster_stop to judge what happened")
	}
	return answer(summary, "cluster_status to see roles move", "get_logs around the fault", "heal_fault to heal now")
}

// healOf is the heal of a fault in words.
func healOf(f keeper.FaultStatus) string {
	switch {
	case f.Healed == "":
		return "never in place"
	case f.State == history.NotLanded && f.Healed == history.HealVerified:
		return "nothing of it is left"
	}
	return "heal " + string(f.Healed)
}

func (a *agent) healFault() Tool {
	type args struct {
		Fault      string `json:"fault_id"`
		Experiment string `json:"experiment"`
	}
	t := Tool{
		Name:        "heal_fault",
		Description: "Heals a fault before its time is over, reads back that it is healed, and returns its final landing.",
		Params:      []Param{{Name: "fault_id", Type: String, Required: true, Example: `"f1"`}, experimentParam()},
		Example:     `{"fault_id":"f1"}`,
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (FaultAnswer, error) {
		e, err := a.experiment(call, in.Experiment)
		if err != nil {
			return FaultAnswer{}, err
		}
		s, err := e.Status(ctx)
		if err != nil {
			return FaultAnswer{}, err
		}
		f, err := e.Heal(context.WithoutCancel(ctx), keeper.Heal{Fault: in.Fault, Caller: call.Caller})
		if err != nil {
			return FaultAnswer{}, fmt.Errorf("heal %s: %w; faults of %s: %s", in.Fault, err, s.ID, faultIDs(s.Faults))
		}
		return FaultAnswer{Answer: faultSummary(f), RunID: s.ID, Fault: f}, nil
	})
}

func faultIDs(list []keeper.FaultStatus) string {
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = fmt.Sprintf("%s (%s %s, %s)", f.ID, f.Type, f.Target, healOf(f))
	}
	return joined(ids)
}
