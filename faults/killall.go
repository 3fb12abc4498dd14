package faults

import (
	"context"
	"fmt"
)

// KillAll ends every node of the cluster by SIGKILL in one instant, and keeps
// them down until it is healed: what no node had on its disk is gone.
type KillAll struct{}

// Name is kill_all.
func (KillAll) Name() string { return "kill_all" }

// Plan plans a SIGKILL of every node.
func (KillAll) Plan(ctx context.Context, target Target) (*Injection, error) {
	if len(target.Peers) > 0 {
		return nil, fmt.Errorf("kill_all ends every node, and %s leaves out %s; target all, or use kill", target.Asked, target.Peers[0].Name())
	}
	return sigkill().plan(ctx, target)
}

func killAll() Kind {
	return Kind{
		Type:      "kill_all",
		Ends:      true,
		Draw:      Draw{Several: true, Roles: allNodes},
		Summary:   "SIGKILL to every node in one instant, as when a site loses its power; healing starts them again on their data",
		Targets:   []string{"all"},
		Example:   Example{Target: "all", Params: map[string]any{"duration_s": 2.0}},
		New:       func(Params) (Fault, error) { return KillAll{}, nil },
		Available: sigkill().available,
	}
}
