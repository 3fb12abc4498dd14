package faults

import (
	"context"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// ReplaceNode kills the target's nodes, removes their data, and starts them
// again as the same members, as if their machines had been replaced. There is
// no way back: it heals itself when they serve.
type ReplaceNode struct{}

// Name is replace_node.
func (ReplaceNode) Name() string { return "replace_node" }

// Plan plans to replace every node. Beside the new process, its data must have
// gone, and the others must still count it among their members.
func (ReplaceNode) Plan(ctx context.Context, target Target) (*Injection, error) {
	for _, n := range target.Nodes {
		if f, ok := n.(foreigner); ok && f.Foreign() != nil {
			return nil, fmt.Errorf("%w: the data of %s are not ours, and none of them are removed", ErrUnsupported, n.Name())
		}
	}
	in, err := relaunched(target, "kill, wipe, start", Entry{Want: Replaced})
	if err != nil {
		return nil, err
	}
	for i, n := range target.Nodes {
		m, err := member(n)
		if err != nil {
			return nil, err
		}
		in.Entries[i].Args = launchArgs{Member: m.Name()}
		in.Proofs = append(in.Proofs, wiped(m))
	}
	for _, n := range target.Peers {
		m, err := member(n)
		if err != nil || !slices.Contains(target.Control, n) {
			continue
		}
		if word, err := m.Ask(ctx); err == nil && word["members"] != "" {
			in.Proofs = append([]Proof{says(m, "members", history.RoleControl, history.WantSame)}, in.Proofs...)
		}
	}
	return in, nil
}

// wiped is the mechanism's proof that the data went: it counts the files that
// were removed.
func wiped(m Member) Proof {
	return Proof{
		Name: "files removed from " + m.Name(), Node: m.Name(),
		Role: history.RoleMechanism, Want: history.WantGrows, Unit: "files",
		Read: func(context.Context) history.Sample {
			return history.Sample{OK: true, Value: float64(m.Wiped())}
		},
	}
}

func replaceNode() Kind {
	return Kind{
		Type:      "replace_node",
		Ours:      true,
		Draw:      Draw{OneCopy: true, NoImage: true},
		Summary:   "SIGKILL, all its data removed, started again empty as the same member; over when it serves",
		Targets:   processTargets(),
		Example:   Example{Target: "follower", Params: map[string]any{"duration_s": 2.0}},
		New:       func(Params) (Fault, error) { return ReplaceNode{}, nil },
		Available: startsAgain,
	}
}
