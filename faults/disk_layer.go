package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// Values of Want in entries of the layer under a data directory.
const (
	wantRule  = "rule"  // Args: rule, a [disk.Rule]
	wantLimit = "limit" // Args: limit, a [disk.Limit]
	wantLoss  = "loss"  // the power is lost, or the disk: nothing is to be shown
)

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
		switch e.Want {
		case wantRule:
			var r disk.Rule
			if err := argument(e, "rule", &r); err != nil {
				return f, err
			}
			r.ID = e.Fault
			f.Rules = append(f.Rules, r)
		case wantLimit:
			var l disk.Limit
			if err := argument(e, "limit", &l); err != nil {
				return f, err
			}
			f.Limit.Bytes = smaller(f.Limit.Bytes, l.Bytes)
			f.Limit.Inodes = smaller(f.Limit.Inodes, l.Inodes)
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

// argument reads one of an entry's arguments, which may have been in a journal
// since it was written.
func argument(e Entry, name string, into any) error {
	raw, err := json.Marshal(e.Args[name])
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("read %s of %s in %s: %w", name, e.Fault, e.Layer, err)
	}
	return nil
}
