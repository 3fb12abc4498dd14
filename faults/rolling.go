package faults

import "context"

// RollingRestart restarts the target's nodes one after the other, each once
// the one before it serves again. It heals itself when the last one does.
type RollingRestart struct{ Signal string }

// Name is rolling_restart.
func (RollingRestart) Name() string { return "rolling_restart" }

// Plan plans to restart every node.
func (f RollingRestart) Plan(_ context.Context, target Target) (*Injection, error) {
	in, err := relaunched(target, "restart by "+f.Signal+", one by one", Entry{Want: Restarted, Args: launchArgs{Signal: f.Signal}})
	if err != nil {
		return nil, err
	}
	in.Rolling = true
	return in, nil
}

func rollingRestart() Kind {
	return Kind{
		Type:    "rolling_restart",
		Ends:    true,
		Again:   true,
		Draw:    Draw{Several: true, Roles: allNodes, Params: func(d Dice, _ Setting, p map[string]any) { p["signal"] = oneOf(d, "SIGTERM", "SIGKILL") }},
		Summary: "every node is restarted, one after the other, each once the one before it serves; over when the last one does",
		Params:  []Param{signalParam(sigTerm)},
		Targets: processTargets(),
		Example: Example{Target: "all", Params: map[string]any{"duration_s": 2.0}},
		New: func(p Params) (Fault, error) {
			signal := p.text("signal")
			return RollingRestart{Signal: signal}, nil
		},
		Available: startsAgain,
	}
}
