package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// processLayer is a node's process. It shows the worst of what its entries
// want: a node that is both paused and killed is killed, and when the kill is
// healed first it is started and paused.
type processLayer struct {
	node  Node
	shown ProcessState // by the last rendering, if it succeeded or may have done half of it
	launch
}

// NewProcessLayer is the layer process/<name of the node>.
func NewProcessLayer(node Node) Layer { return &processLayer{node: node} }

func (l *processLayer) Render(ctx context.Context, active []Entry) error {
	want, err := worst(active)
	if err != nil {
		return err
	}
	relaunched, err := l.relaunch(ctx, active)
	if err != nil {
		return err
	}
	if want != Doomed || relaunched || l.disturbed() {
		err = l.show(ctx, want)
	}
	if err == nil || want != Running && want != Doomed {
		l.shown = want
	}
	if err != nil && relaunched {
		return notBackError{err}
	}
	return err
}

// disturbed reports whether the process was last brought into a state that it
// would not get out of by itself.
func (l *processLayer) disturbed() bool {
	return l.shown != "" && l.shown != Running && l.shown != Doomed
}

func (l *processLayer) show(ctx context.Context, want ProcessState) error {
	if want == Doomed {
		want = Running // a pause or a kill was healed, and this fault was not
	}
	have, err := l.node.State(ctx)
	if err != nil {
		return fmt.Errorf("read the state of %s: %w", l.node.Name(), err)
	}
	if want == Running && have == Running && l.shown == Doomed {
		if have, err = l.lastBreath(ctx); err != nil || have == Running {
			return err // it lived through it; whether it serves is for the heal to read back
		}
	}
	down := hasEnded(have)
	if down && (want == Killed || want == Stopped) {
		return nil
	}
	// A process that has ended must run before it can be frozen, and a frozen
	// one must be thawed before it can shut itself down.
	if down && want == Frozen || have == Frozen && want == Stopped {
		if err := l.node.Set(ctx, Running); err != nil {
			return fmt.Errorf("bring back %s: %w", l.node.Name(), err)
		}
	}
	return l.set(ctx, want)
}

// breaths are how often, and how far apart, a process that a fault may have
// ended is looked at before it counts as alive, and breathless for how long one
// that answers nobody.
const (
	breaths    = 3
	breath     = 100 * time.Millisecond
	breathless = 3 * time.Second
)

// lastBreath is the state of a process that runs, once it is known whether it
// is about to end: one that was refused a thread is still there while it writes
// down why it ends.
func (l *processLayer) lastBreath(ctx context.Context) (ProcessState, error) {
	ctx, cancel := context.WithTimeout(ctx, breathless)
	defer cancel()
	for alive := 0; ; {
		have, err := l.node.State(ctx)
		if err != nil {
			return have, fmt.Errorf("read the state of %s: %w", l.node.Name(), err)
		}
		if have != Running || alive == breaths {
			return have, nil
		}
		if _, err := l.node.Probe(ctx); err == nil {
			alive++
		}
		select {
		case <-ctx.Done():
			return have, nil
		case <-time.After(breath):
		}
	}
}

// set brings the process into a state. One that has to be ended by force does
// end: that it took force is for the proof to say.
func (l *processLayer) set(ctx context.Context, want ProcessState) error {
	err := l.node.Set(ctx, want)
	if err != nil && want == Stopped {
		if state, _ := l.node.State(ctx); hasEnded(state) {
			return nil
		}
	}
	return err
}

// processLayerOf is the name of a node's layer.
func processLayerOf(n Node) string { return "process/" + n.Name() }

// worst is what a process with these entries should be.
func worst(active []Entry) (ProcessState, error) {
	severity := []ProcessState{Running, Doomed, Frozen, Stopped, Killed}
	top := 0
	for _, e := range active {
		if slices.Contains([]string{Restarted, Replaced, Launched}, e.Want) {
			continue // it runs as soon as that is done
		}
		rank := slices.Index(severity, e.Want)
		if rank < 0 {
			return "", fmt.Errorf("%s wants %q of a process; valid: %s", e.Fault, e.Want, strings.Join(severity, ", "))
		}
		top = max(top, rank)
	}
	return severity[top], nil
}
