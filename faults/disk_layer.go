package faults

import (
	"context"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// Values of Want in entries of the layer under a data directory.
const (
	wantRule  = "rule"
	wantLimit = "limit"
	wantLoss  = "loss" // the power is lost, or the disk: nothing is to be shown
)

// diskArgs are what an entry wants of a disk, and what is needed to undo it.
type diskArgs struct {
	mounted
	Rule  disk.Rule   `json:"rule,omitzero"`
	Limit disk.Limit  `json:"limit,omitzero"`
	Crash *disk.Crash `json:"crash,omitempty"`
}

// mounted is a disk's mount, and its connection to the kernel. It is all that an undo needs.
type mounted struct {
	Mount      string `json:"mount"`
	Connection uint32 `json:"connection"`
}

// diskLayer is the disk under a node's data directory. It shows every rule of
// its entries, and the smallest of their limits.
type diskLayer struct{ disk Disk }

// NewDiskLayer is the layer disk/<name of the node>.
func NewDiskLayer(d Disk) Layer { return diskLayer{d} }

func (l diskLayer) Render(ctx context.Context, active []Entry) error {
	faults, err := diskFaults(active)
	if err != nil {
		return err
	}
	if err := l.disk.Set(ctx, faults); err != nil {
		return err
	}
	if slices.ContainsFunc(active, func(e Entry) bool { return e.Want == wantLoss }) {
		return nil
	}
	// A power loss that was begun and not gone through with.
	return l.disk.Restore(ctx)
}

// diskFaults is what a disk with these entries shows. A rule is called after
// its fault.
func diskFaults(active []Entry) (disk.Faults, error) {
	var f disk.Faults
	for _, e := range active {
		args, err := argsOf[diskArgs](e)
		if err != nil {
			return f, err
		}
		switch e.Want {
		case wantRule:
			args.Rule.ID = e.Fault
			f.Rules = append(f.Rules, args.Rule)
		case wantLimit:
			f.Limit.Bytes = smaller(f.Limit.Bytes, args.Limit.Bytes)
			f.Limit.Inodes = smaller(f.Limit.Inodes, args.Limit.Inodes)
		case wantLoss:
		default:
			return f, fmt.Errorf("%s wants %q of a disk; valid: %s, %s, %s", e.Fault, e.Want, wantRule, wantLimit, wantLoss)
		}
	}
	return f, f.Check()
}

// smaller of two limits, of which 0 is none.
func smaller(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
