package faults

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// LostDisk takes a node and everything in its data directory: it comes back on
// an empty disk.
type LostDisk struct{}

// Name is lost_disk.
func (LostDisk) Name() string { return "lost_disk" }

// An erased is one node's part of it.
type erased struct {
	node Node
	disk Disk
	lost atomic.Pointer[disk.Loss]
}

// Plan plans the end of every node and of its data.
func (LostDisk) Plan(ctx context.Context, target Target) (*Injection, error) {
	var all []*erased
	in, err := target.onDisksOfKilled(ctx, diskArgs{}, func(n Node, d Disk) []Proof {
		e := &erased{node: n, disk: d}
		all = append(all, e)
		return []Proof{e.mechanism(), e.empty()}
	})
	if err != nil {
		return nil, err
	}
	in.Step = func(ctx context.Context) error {
		for _, e := range all {
			if err := e.erase(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	return in, nil
}

func (e *erased) erase(ctx context.Context) error {
	lost, err := e.disk.Erase(ctx)
	if err != nil {
		return fmt.Errorf("erase the disk of %s: %w", e.node.Name(), err)
	}
	e.lost.Store(&lost)
	return nil
}

func (e *erased) mechanism() Proof {
	return Proof{
		Name: "files taken from " + e.node.Name(), Node: e.node.Name(),
		Role: history.RoleMechanism, Want: history.WantGrows, Unit: "files",
		Read: func(context.Context) history.Sample {
			lost := e.lost.Load()
			if lost == nil {
				return history.Sample{OK: true}
			}
			return history.Sample{OK: true, Value: float64(lost.Files), State: lossText(*lost)}
		},
	}
}

const emptyDisk = "no file"

// empty is the effect, seen through the mount.
func (e *erased) empty() Proof {
	return Proof{
		Name: "data directory of " + e.node.Name(), Node: e.node.Name(),
		Role: history.RoleEffect, Want: history.WantState, Expect: emptyDisk,
		Read: func(ctx context.Context) history.Sample {
			n, err := e.disk.Count(ctx)
			if err != nil {
				return failed(err)
			}
			if n == 0 {
				return history.Sample{OK: true, State: emptyDisk}
			}
			return history.Sample{OK: true, Value: float64(n), State: "files"}
		},
	}
}

func lostDisk() Kind {
	return diskKind(Kind{
		Type:    "lost_disk",
		Draw:    Draw{OneCopy: true},
		Summary: "the node is killed and its data are gone; healing starts it on an empty disk",
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 2.0}},
		New:     func(Params) (Fault, error) { return LostDisk{}, nil },
	})
}
