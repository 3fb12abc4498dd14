package faults

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
)

// Values of Want in entries of a process layer, beside those of [ProcessState].
// The first two happen once, when the entry is first rendered.
const (
	Restarted = "restarted" // ended by Args signal, and started again
	Replaced  = "replaced"  // killed, its data removed, and started again
	Launched  = "launched"  // started from Args binary, or with Args settings
)

// launchArgs are how an entry of a process layer wants the process ended and started.
type launchArgs struct {
	Signal   string         `json:"signal,omitempty"`   // of Restarted
	Binary   string         `json:"binary,omitempty"`   // of Launched
	Settings map[string]any `json:"settings,omitempty"` // of Launched
	Member   string         `json:"member,omitempty"`   // of Replaced
}

// A Member is a node whose process can be started otherwise than planned, and
// which can be asked about itself.
type Member interface {
	Node
	// Process says which process it is now: its number and when it started. One
	// that is gone is an error.
	Process() (string, error)
	// Ask answers what the node says of itself over its own pages: version,
	// members, and its settings as setting.<name>.
	Ask(ctx context.Context) (map[string]string, error)
	// Launch sets how its process is started from the next time on: from
	// another binary, with other settings than the cluster's. Zero values
	// mean as planned. An impossible launch is an error and changes nothing.
	Launch(binary string, settings map[string]any) error
	// Launchable is nil where Launch would do that. It changes nothing.
	Launchable(binary string, settings map[string]any) error
	// Wipe removes its data. The process must be gone.
	Wipe() error
	// Wiped is how many files Wipe has removed so far.
	Wiped() int
}

// member answers the node with these abilities.
func member(n Node) (Member, error) {
	m, ok := n.(Member)
	if !ok {
		return nil, fmt.Errorf("%w: %s cannot be started otherwise; it is not ours", ErrUnsupported, n.Name())
	}
	return m, nil
}

// members answers all of them.
func members(nodes []Node) ([]Member, error) {
	var out []Member
	for _, n := range nodes {
		m, err := member(n)
		if err != nil {
			return nil, err
		}
		if _, err := m.State(context.Background()); err != nil {
			return nil, fmt.Errorf("read the state of %s: %w", n.Name(), err)
		}
		out = append(out, m)
	}
	return out, nil
}

// launch is how a node's process was started last, and which restarts that
// entries want were done.
type launch struct {
	binary   string
	settings map[string]any
	done     map[string]bool // by fault
}

// A notBackError means: the process was ended as wanted, but does not serve
// again. The heal has to settle that.
type notBackError struct{ error }

func (e notBackError) Unwrap() error { return e.error }

// relaunch ends the process where entries want it started again, or otherwise
// than it was, and prepares that. It reports whether it did.
func (l *processLayer) relaunch(ctx context.Context, active []Entry) (bool, error) {
	wanted, todo, err := l.wanted(active)
	if err != nil {
		return false, err
	}
	other := wanted.binary != l.binary || len(wanted.settings)+len(l.settings) > 0 && !reflect.DeepEqual(wanted.settings, l.settings)
	if len(todo) == 0 && !other {
		l.launch = wanted
		return false, nil
	}
	m, err := member(l.node)
	if err != nil {
		return false, err
	}
	if err := l.show(ctx, ending(todo)); err != nil {
		return false, fmt.Errorf("end %s: %w", m.Name(), err)
	}
	for _, e := range todo {
		if e.Want != Replaced {
			continue
		}
		if err := m.Wipe(); err != nil {
			return false, fmt.Errorf("remove the data of %s: %w", m.Name(), err)
		}
	}
	if other {
		if err := m.Launch(wanted.binary, wanted.settings); err != nil {
			return false, fmt.Errorf("prepare %s: %w", m.Name(), err)
		}
	}
	l.launch = wanted
	return true, nil
}

// wanted is how the process should be started by these entries, the last one
// deciding, and which of them are still to be done once.
func (l *processLayer) wanted(active []Entry) (w launch, todo []Entry, err error) {
	w.done = map[string]bool{}
	for _, e := range active {
		args, err := argsOf[launchArgs](e)
		if err != nil {
			return w, nil, err
		}
		switch e.Want {
		case Launched:
			w.binary = cmp.Or(args.Binary, w.binary)
			if args.Settings != nil && w.settings == nil {
				w.settings = map[string]any{}
			}
			maps.Copy(w.settings, args.Settings)
		case Restarted, Replaced:
			w.done[e.Fault] = true
			if !l.done[e.Fault] {
				todo = append(todo, e)
			}
		}
	}
	return w, todo, nil
}

// ending is how the process is ended: as an operator does, unless one of the
// entries asks for the kill.
func ending(todo []Entry) ProcessState {
	for _, e := range todo {
		args, _ := argsOf[launchArgs](e) // wanted has read them
		if e.Want == Replaced || args.Signal == sigKill {
			return Killed
		}
	}
	return Stopped
}

// Values of the parameter signal.
const (
	sigKill = "SIGKILL"
	sigTerm = "SIGTERM"
)

// signalParam is how a process is ended.
func signalParam(usual string) Param {
	return Param{Name: "signal", Doc: "how its process is ended", Default: usual, OneOf: []string{sigTerm, sigKill}}
}

// hasEnded reports whether a state is that of a process that is gone.
func hasEnded(state string) bool { return strings.HasPrefix(state, history.StateExited) }
