package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// processLayer is a node's process. It shows the worst of what its entries
// want: a node that is both paused and killed is killed, and when the kill is
// healed first it is started and paused.
type processLayer struct{ node Node }

// NewProcessLayer is the layer process/<name of the node>.
func NewProcessLayer(node Node) Layer { return processLayer{node} }

func (l processLayer) Render(ctx context.Context, active []Entry) error {
	want, err := worst(active)
	if err != nil {
		return err
	}
	have, err := l.node.State(ctx)
	if err != nil {
		return fmt.Errorf("read the state of %s: %w", l.node.Name(), err)
	}
	down := strings.HasPrefix(have, exited)
	if down && (want == Killed || want == Stopped) {
		return nil
	}
	// What is gone can only be frozen once it runs, and what is frozen only
	// shuts itself down once it is thawed.
	if down && want == Frozen || have == Frozen && want == Stopped {
		if err := l.node.Set(ctx, Running); err != nil {
			return fmt.Errorf("bring back %s: %w", l.node.Name(), err)
		}
	}
	return l.set(ctx, want)
}

// set brings the process into a state. One that has to be ended by force does
// end: that it took force is for the proof to say.
func (l processLayer) set(ctx context.Context, want ProcessState) error {
	err := l.node.Set(ctx, want)
	if err != nil && want == Stopped {
		if state, _ := l.node.State(ctx); strings.HasPrefix(state, exited) {
			return nil
		}
	}
	return err
}

// exited begins the state of a process that is gone.
const exited = "exited: "

// worst is what a process with these entries should be.
func worst(active []Entry) (ProcessState, error) {
	severity := []ProcessState{Running, Frozen, Stopped, Killed}
	top := 0
	for _, e := range active {
		rank := slices.Index(severity, e.Want)
		if rank < 0 {
			return "", fmt.Errorf("%s wants %q of a process; valid: %s", e.Fault, e.Want, strings.Join(severity, ", "))
		}
		top = max(top, rank)
	}
	return severity[top], nil
}
