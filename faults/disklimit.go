package faults

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
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
	return target.onDisks(ctx, func(in *Injection, n Node, d Disk) error {
		s, err := d.Stats(ctx)
		if err != nil {
			return fmt.Errorf("see how many %s the disk of %s holds: %w", l.unit, n.Name(), err)
		}
		bound := int64(1) // no more at all, also where the broker removes some first
		if l.spare > 0 {
			bound = l.used(s.Usage) + l.spare
		}
		var limit disk.Limit
		*l.of(&limit) = bound
		in.Entries = append(in.Entries, diskEntry(n, d, wantLimit, diskArgs{Limit: limit}))
		in.Proofs = append(in.Proofs, l.refused(n, d, bound), answersErrno(n, d, l.op, 1, "ENOSPC"))
		in.Healed = append(in.Healed, l.lifted(n, d, bound))
		return nil
	})
}

// lifted reads back that a disk has no limit of ours.
func (l diskLimit) lifted(n Node, d Disk, bound int64) Check {
	return unnumbered("limit on the disk of "+n.Name(), func(ctx context.Context) error {
		s, err := d.Stats(ctx)
		if err == nil && *l.of(&s.Faults.Limit) == bound {
			err = fmt.Errorf("the limit of %d %s is still on %s", bound, l.unit, d.Info().Mount)
		}
		return err
	})
}

// refused counts the broker's operations that the limit answered with ENOSPC.
// It counts nothing while another fault's limit is lower: operations refused
// by that limit belong to the other fault.
func (l diskLimit) refused(n Node, d DiskRules, bound int64) Proof {
	return Proof{
		Name: "operations refused on " + n.Name(), Node: n.Name(),
		Role: history.RoleMechanism, Want: history.WantGrows, Unit: "operations",
		Read: func(ctx context.Context) history.Sample {
			s, err := d.Stats(ctx)
			if err != nil {
				return failed(err)
			}
			if *l.of(&s.Faults.Limit) != bound {
				return history.Sample{OK: true}
			}
			return hitsSample(l.hits(s))
		},
	}
}
