package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// Full leaves a disk with so many free bytes: writes beyond them fail with
// ENOSPC, and statfs reports the same. Overwriting data in place succeeds.
type Full struct{ FreeBytes int64 }

// Name is full.
func (Full) Name() string { return "full" }

// Plan plans a limit on every node's disk, above what it holds now.
func (f Full) Plan(ctx context.Context, target Target) (*Injection, error) {
	return diskLimit{
		unit: "bytes", spare: f.FreeBytes, op: disk.Write,
		used: func(u disk.Usage) int64 { return u.Bytes },
		of:   func(l *disk.Limit) *int64 { return &l.Bytes },
		hits: func(s disk.Stats) disk.RuleHits { return s.Full },
	}.plan(ctx, target)
}

func full() Kind {
	return diskKind(Kind{
		Type:         "full",
		NeedsRestart: true,
		Draw:         Draw{Params: func(d Dice, _ Setting, p map[string]any) { p["free_kib"] = oneOf(d, 0, 64) }},
		Summary:      "the disk is full: writes that need space get ENOSPC; healing makes it as large as it was",
		Example:      Example{Target: "follower", Params: map[string]any{"duration_s": 3.0}},
		Params: []Param{{
			Name: "free_kib", Default: 0.0, Min: 0, Max: 1 << 30,
			Doc: "how much more fits, in KiB, in blocks of 4; 0: nothing, even if something is removed",
		}},
		New: func(p Params) (Fault, error) {
			return Full{FreeBytes: int64(p.number("free_kib") * 1024)}, nil
		},
	})
}
