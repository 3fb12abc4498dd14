package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/history"
)

// Restart ends the target's processes and starts them again at once. It heals
// itself as soon as they serve.
type Restart struct{ Signal string }

// Name is restart.
func (Restart) Name() string { return "restart" }

// Plan plans to restart every node, all at the same time.
func (f Restart) Plan(_ context.Context, target Target) (*Injection, error) {
	return relaunched(target, "restart by "+f.Signal, Entry{Want: Restarted, Args: launchArgs{Signal: f.Signal}})
}

// relaunched plans to start every node's process again, as the entry says.
// That a process is another one and that new clients were turned away
// meanwhile proves it.
func relaunched(target Target, mechanism string, entry Entry) (*Injection, error) {
	nodes, err := members(target.Nodes)
	if err != nil {
		return nil, err
	}
	need := history.EndRestarted
	if ending([]Entry{entry}) == Killed {
		need = history.EndKilled
	}
	away := newOutages(target.Nodes)
	in := &Injection{Mechanism: mechanism, Brief: true, Watch: away.watch}
	for _, m := range nodes {
		if err := can(m, need); err != nil {
			return nil, err
		}
		entry.Layer = processLayerOf(m)
		in.Entries = append(in.Entries, entry)
		in.Proofs = append(in.Proofs, anotherProcess(m), away.proof(m))
	}
	in.Proofs = append(in.Proofs, untouched(target.Control)...)
	return in, nil
}

func restart() Kind {
	return Kind{
		Type:    "restart",
		Ends:    true,
		Again:   true,
		Draw:    Draw{Params: func(d Dice, _ Setting, p map[string]any) { p["signal"] = oneOf(d, "SIGTERM", "SIGKILL") }},
		Summary: "the process is ended and started again at once, on its data; over as soon as it serves",
		Params:  []Param{signalParam(sigTerm)},
		Targets: processTargets(),
		Example: Example{Target: "leader", Params: map[string]any{"duration_s": 2.0, "signal": sigKill}},
		New: func(p Params) (Fault, error) {
			signal := p.text("signal")
			return Restart{Signal: signal}, nil
		},
		Available: startsAgain,
	}
}

// startsAgain is the mechanism of all that starts processes again.
func startsAgain(context.Context) (mechanism, missing string) {
	return "restart", sigterm().missing()
}
