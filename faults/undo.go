package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
)

// A Line is one line of a run's journal, as far as undoing needs it.
type Line struct {
	Kind string
	Data json.RawMessage
}

// Pending are the entries that may still be in place after the journal's last
// line, newest first: planned, applied or not, and not healed. Lines of other
// kinds are skipped.
func Pending(lines []Line) ([]Entry, error) {
	var open []Planned
	for i, line := range lines {
		switch line.Kind {
		case KindPlan, KindMade:
			var p Planned
			if err := json.Unmarshal(line.Data, &p); err != nil {
				return nil, fmt.Errorf("read the planned fault in line %d of the journal: %w", i+1, err)
			}
			open = append(open, p)
		case KindHealed:
			var h Healed
			if err := json.Unmarshal(line.Data, &h); err != nil {
				return nil, fmt.Errorf("read the healed fault in line %d of the journal: %w", i+1, err)
			}
			open = slices.DeleteFunc(open, func(p Planned) bool { return p.Fault == h.Fault })
		}
	}
	var entries []Entry
	for _, p := range slices.Backward(open) {
		entries = append(entries, p.Entries...)
	}
	return entries, nil
}

// An Undo makes one layer healthy and says what it did. The entries are those
// that may be in it. It may be called again after it succeeded.
type Undo func(ctx context.Context, layer string, entries []Entry) (did string, err error)

// Undoers are how to undo each kind of layer after the death of its keeper, by
// what the layer's name begins with.
func Undoers() map[string]Undo {
	return map[string]Undo{
		"process":       undoProcess,
		"limits":        undoLimits,
		"files":         undoFiles,
		"clock":         undoClock,
		"net":           undoNamespace,
		"queue":         undoNamespace,
		"shape":         undoNamespace,
		"route":         undoNamespace,
		docker.Layer:    undoContainers,
		kube.Layer:      undoPods,
		kube.LeaseLayer: undoLeases,
		"driver":        undoProcess,
		"tap":           undoTap,
		"disk":          undoDisk,
		foreignLayer:    undoForeign,
		"hostile":       undoHostile,
	}
}

// undoProcess has nothing to do on Linux, where the kernel ends every process
// of the experiment with its keeper, frozen ones too. Elsewhere they end with
// their input, which a frozen one does not notice; and a process that we did
// not start ourselves is not ours to signal.
func undoProcess(_ context.Context, layer string, entries []Entry) (string, error) {
	frozen := slices.ContainsFunc(entries, func(e Entry) bool { return e.Want == Frozen })
	if frozen && runtime.GOOS != "linux" {
		return "", fmt.Errorf("its process may still be frozen, and nothing on %s ends it with its keeper; look for a stopped broker with ps and end it", runtime.GOOS)
	}
	return "nothing to undo: " + layer + " ended with its keeper", nil
}

// undoTap has nothing to do: the tap is in the keeper's own process.
func undoTap(context.Context, string, []Entry) (string, error) {
	return "nothing to undo: the tap ended with its keeper", nil
}

// undoNamespace has nothing to do: what was in a network namespace of the
// experiment is gone with it.
func undoNamespace(_ context.Context, layer string, _ []Entry) (string, error) {
	return "nothing to undo: " + layer + " was in network namespaces that ended with their keeper", nil
}

// Recover makes the layers of all pending entries healthy. It answers one
// [Healed] for each fault that is undone altogether, to be appended to the
// journal as [KindHealed], and what could not be undone as the error. Calling
// it again is harmless.
func Recover(ctx context.Context, pending []Entry, undoers map[string]Undo) ([]Healed, error) {
	did := map[string]string{}
	failed := map[string]bool{}
	var errs []error
	for _, layer := range touched(pending) {
		kind, _, _ := strings.Cut(layer, "/")
		undo, ok := undoers[kind]
		if !ok {
			undo = func(context.Context, string, []Entry) (string, error) {
				return "", fmt.Errorf("the layer of kind %q cannot be undone by this version; a newer rmq-mcp may", kind)
			}
		}
		text, err := undo(ctx, layer, of(layer, pending))
		if err != nil {
			failed[layer] = true
			errs = append(errs, fmt.Errorf("undo %s: %w", layer, err))
		}
		did[layer] = text
	}
	return undone(pending, did, failed), errors.Join(errs...)
}

func of(layer string, entries []Entry) (out []Entry) {
	for _, e := range entries {
		if e.Layer == layer {
			out = append(out, e)
		}
	}
	return out
}

// undone are the faults none of whose layers failed, in the order of pending.
func undone(pending []Entry, did map[string]string, failed map[string]bool) []Healed {
	var out []Healed
	for _, e := range pending {
		if slices.ContainsFunc(out, func(h Healed) bool { return h.Fault == e.Fault }) {
			continue
		}
		var texts []string
		ok := true
		for _, other := range pending {
			if other.Fault == e.Fault {
				ok = ok && !failed[other.Layer]
				texts = append(texts, did[other.Layer])
			}
		}
		if ok {
			out = append(out, Healed{Fault: e.Fault, Did: strings.Join(texts, "; ")})
		}
	}
	return out
}
