package faults

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/internal/disk"
	"github.com/robustmq/rmq-mcp/internal/history"
)

// A diskLimit is what full and inodes have in common: room for a little more
// than there is, and ENOSPC for what goes beyond.
type diskLimit struct {
	unit  string // bytes, files
	spare int64
	used  func(disk.Usage) int64
	of    func(*disk.Limit) *int64 // the bound meant, where 0 is none
	hits  func(disk.Stats) disk.RuleHits
	op    disk.Op // a probe of it gets ENOSPC
}

func (l diskLimit) plan(ctx context.Context, target Target) (*Injection, error) {
	bounds := map[Disk]int64{}
	in, err := target.onDisks(ctx, func(in *Injection, n Node, d Disk) error {
		s, err := d.Stats(ctx)
		if err != nil {
			return fmt.Errorf("see how many %s the disk of %s holds: %w", l.unit, n.Name(), err)
		}
		bounds[d] = 1 // no more at all, also where the broker removes some first
		if l.spare > 0 {
			bounds[d] = l.used(s.Usage) + l.spare
		}
		var limit disk.Limit
		*l.of(&limit) = bounds[d]
		in.Entries = append(in.Entries, diskEntry(n, d, wantLimit, map[string]any{"limit": limit}))
		in.Proofs = append(in.Proofs, l.refused(n, d, bounds[d]), answersErrno(n, d, l.op, 1, "ENOSPC"))
		return nil
	})
	if err != nil {
		return nil, err
	}
	in.Healed = func(ctx context.Context) error {
		for d, bound := range bounds {
			s, err := d.Stats(ctx)
			if err != nil {
				return err
			}
			if *l.of(&s.Faults.Limit) == bound {
				return fmt.Errorf("the limit of %d %s is still on %s", bound, l.unit, d.Info().Mount)
			}
		}
		return nil
	}
	return in, nil
}

// refused counts what the broker did that the limit answered with ENOSPC, as
// long as none of another fault's is lower: what that refuses is its own.
func (l diskLimit) refused(n Node, d Disk, bound int64) Proof {
	return Proof{
		Name: "operations refused on " + n.Name(), Node: n.Name(),
		Role: history.RoleMechanism, Want: history.WantGrows, Unit: "operations",
		Read: func(ctx context.Context) history.Sample {
			s, err := d.Stats(ctx)
			if err != nil {
				return history.Sample{Error: err.Error()}
			}
			if *l.of(&s.Faults.Limit) != bound {
				return history.Sample{OK: true}
			}
			return hitsSample(l.hits(s))
		},
	}
}
