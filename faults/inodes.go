package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// Inodes leaves a disk with room for so many files and directories: making
// more is answered with ENOSPC, while those that are there can grow. A node
// that makes none meanwhile is not disturbed, and the fault did not land.
type Inodes struct{ Spare int }

// Name is inodes.
func (Inodes) Name() string { return "inodes" }

// Plan plans a limit on every node's disk, above what is on it now.
func (f Inodes) Plan(ctx context.Context, target Target) (*Injection, error) {
	return diskLimit{
		unit: "files", spare: int64(f.Spare), op: disk.Create,
		used: func(u disk.Usage) int64 { return u.Inodes },
		of:   func(l *disk.Limit) *int64 { return &l.Inodes },
		hits: func(s disk.Stats) disk.RuleHits { return s.FullFiles },
	}.plan(ctx, target)
}

func inodes() Kind {
	return diskKind(Kind{
		Type:         "inodes",
		NeedsRestart: true,
		Summary:      "the disk takes no more files: making one gets ENOSPC, while those that are there can grow",
		Example:      Example{Target: "follower", Params: map[string]any{"duration_s": 12.0}},
		Params: []Param{{
			Name: "spare", Doc: "files and directories that still fit; 0: none, even if some are removed", Default: 0.0, Min: 0, Max: 1e6,
		}},
		New: func(p Params) (Fault, error) {
			spare, err := p.whole("spare")
			return Inodes{Spare: spare}, err
		},
	})
}
