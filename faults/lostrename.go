package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// LostRename is a power loss that spares all written bytes and takes names:
// every create, rename, link and removal is undone unless a sync covers it.
type LostRename struct{ Seed uint64 }

// Name is lost_rename.
func (LostRename) Name() string { return "lost_rename" }

// Plan plans the end of every node and of its directory entries.
func (f LostRename) Plan(ctx context.Context, target Target) (*Injection, error) {
	return crash{
		ask: disk.Crash{Policy: disk.LostRename, Seed: f.Seed},
		took: func(o disk.Outcome) (int, string) {
			return o.Dropped.Entries, "directory entries lost"
		},
	}.plan(ctx, target)
}

func lostRename() Kind {
	return diskKind(Kind{
		Type:    "lost_rename",
		Draw:    Draw{Takes: true},
		Summary: "as power_loss, but only directory entries are lost: creates, renames and removals that no sync covered",
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 2.0}},
		Params:  []Param{seedParam()},
		New:     func(p Params) (Fault, error) { return LostRename{Seed: p.seed()}, nil },
	})
}
