package faults

import (
	"context"
	"fmt"
	"runtime"
)

// A signal is what kill, stop and pause have in common: one signal to every
// node of the target, and the state that follows from it.
type signal struct {
	mechanism string
	want      ProcessState
	expect    string              // State of a node that took it
	reading   func(string) string // from the node's own word to that State; nil: as it is
}

// plan looks whether the nodes can be read, and plans to bring each into the
// state.
func (s signal) plan(ctx context.Context, target Target) (*Injection, error) {
	if missing := s.missing(); missing != "" {
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, missing)
	}
	in := &Injection{Mechanism: s.means(target.Nodes)}
	for _, n := range target.Nodes {
		if _, err := n.State(ctx); err != nil {
			return nil, fmt.Errorf("read the state of %s: %w", n.Name(), err)
		}
		if err := can(n, s.want); err != nil {
			return nil, err
		}
		in.Entries = append(in.Entries, Entry{Layer: processLayerOf(n), Want: s.want})
		in.Proofs = append(in.Proofs, stateIs(n, s.expect, s.reading), unreachable(n))
	}
	in.Proofs = append(in.Proofs, untouched(target.Control)...)
	return in, nil
}

// can is nil if a node can be brought into a state and back again: of somebody else's it
// may not be.
func can(n Node, want ProcessState) error {
	if c, ok := n.(interface{ Can(want string) error }); ok {
		return c.Can(want)
	}
	return nil
}

// means is how the nodes are brought into the state, in their own words where
// they have any: those of a container are the engine's.
func (s signal) means(nodes []Node) string {
	for _, n := range nodes {
		if own, ok := n.(interface{ Mechanism(want string) string }); ok && own.Mechanism(s.want) != "" {
			return own.Mechanism(s.want)
		}
	}
	return s.mechanism
}

// available answers the mechanism, and what the host lacks for it.
func (s signal) available(context.Context) (mechanism, missing string) {
	return s.mechanism, s.missing()
}

func (s signal) missing() string {
	if runtime.GOOS == "windows" && s.want != Killed {
		return s.mechanism + " needs signals, which Windows does not have; use kill"
	}
	return ""
}

// processTargets are the targets of a fault that acts on processes.
func processTargets() []string {
	return []string{"node-N", "leader", "follower", "any", "majority", "minority", "all"}
}
