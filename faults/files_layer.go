package faults

import (
	"cmp"
	"context"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/mechanism/limits"
)

// filesArgs are the soft limit that an entry wants.
type filesArgs struct {
	Limit   uint64 `json:"limit"`
	Had     uint64 `json:"had"`     // before
	Process int    `json:"process"` // the node's at the time
	Spare   int    `json:"spare"`   // files that it may open beyond those it has
}

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
	var wanted []filesArgs
	for _, e := range active {
		args, err := argsOf[filesArgs](e)
		if err != nil {
			return err
		}
		wanted = append(wanted, args)
	}
	limit := slices.MinFunc(wanted, func(a, b filesArgs) int { return cmp.Compare(a.Limit, b.Limit) }).Limit
	l.follower.meanwhile = func(number int) { tighten(number, wanted) }
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
		tighten(number, wanted)
		return nil
	})
}

// tighten takes from a process the files that it closed, but for those it may
// have to spare. A process that was started meanwhile has nothing open yet: it may
// open as many as its limit allows.
func tighten(number int, wanted []filesArgs) {
	open, err := limits.OpenFiles(number)
	if err != nil {
		return // it ends
	}
	limit := open.Soft
	for _, w := range wanted {
		if w.Process == number {
			limit = min(limit, open.Hold(w.Spare))
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
