package faults

import (
	"context"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/mechanism/limits"
)

// filesLayer is the soft limit of open files of a node's process. It shows the
// lowest that its entries want, and else what the process had.
type filesLayer struct {
	node Node
	had  map[int]uint64 // the soft limit by process, before ours
	follower
}

// NewFilesLayer is the layer files/<name of the node>.
func NewFilesLayer(node Node) Layer {
	return &filesLayer{node: node, had: map[int]uint64{}}
}

func (l *filesLayer) Render(ctx context.Context, active []Entry) error {
	l.follower.stop()
	if len(active) == 0 {
		return l.restore(ctx)
	}
	var wanted []uint64
	for _, e := range active {
		wanted = append(wanted, uint64(numberArg(e, "limit")))
	}
	limit := slices.Min(wanted)
	l.follower.meanwhile = func(number int) { tighten(number, active) }
	return l.follower.follow(ctx, l.node, func(number int) error {
		if _, known := l.had[number]; !known {
			open, err := limits.OpenFiles(number)
			if err != nil {
				return err
			}
			l.had[number] = open.Soft
		}
		if err := limits.SetSoftFiles(number, limit); err != nil {
			return err
		}
		tighten(number, active)
		return nil
	})
}

// tighten takes from a process the files that it closed, but for those it may
// have to spare. A process that was started meanwhile has nothing open yet: it may
// open as many as its limit allows.
func tighten(number int, active []Entry) {
	open, err := limits.OpenFiles(number)
	if err != nil {
		return // it ends
	}
	limit := open.Soft
	for _, e := range active {
		if int(numberArg(e, "process")) == number {
			limit = min(limit, open.Hold(int(numberArg(e, "spare"))))
		}
	}
	if limit < open.Soft {
		_ = limits.SetSoftFiles(number, limit) // what cannot be done the proofs do not show
	}
}

func (l *filesLayer) restore(ctx context.Context) error {
	number, err := pid(ctx, l.node)
	if err != nil {
		return nil // it took its limit with it
	}
	soft, ours := l.had[number]
	if !ours {
		return nil
	}
	if err := limits.SetSoftFiles(number, soft); err != nil {
		return err
	}
	clear(l.had)
	return nil
}

// undoFiles has nothing to do: a limit ends with its process, and that ended
// with its keeper.
func undoFiles(_ context.Context, layer string, _ []Entry) (string, error) {
	return "nothing to undo: " + layer + " ended with its keeper", nil
}
