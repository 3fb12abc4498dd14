package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// A held operation is one that a disk's rule holds until its process is gone.
type holder interface {
	Wait(ctx context.Context, rule string) (disk.Hit, error)
}

// trap is the rule that holds the file operation waited for, before it is
// done.
func (f CrashAt) trap() (disk.Rule, error) {
	if f.Op == "" {
		return disk.Rule{}, errors.New("trigger file takes op too, as fsync")
	}
	ops, err := parseOps(f.Op)
	if err != nil {
		return disk.Rule{}, err
	}
	rule := disk.Rule{Path: f.Pattern, Ops: ops, Skip: max(0, f.Nth-1), Max: 1, Hold: disk.HoldBefore}
	return rule, checkRule(rule)
}

// setTrap plans the rule, which is in place before the wait begins, and the
// proof that it held an operation of the broker.
func (f CrashAt) setTrap(ctx context.Context, in *Injection, target Target) error {
	n := target.Nodes[0]
	d, err := target.disk(ctx, n)
	if err != nil {
		return err
	}
	rule, err := f.trap()
	if err != nil {
		return err
	}
	in.Traps = []Entry{diskEntry(n, d, wantRule, diskArgs{Rule: rule})}
	in.Proofs = append([]Proof{{
		Name: "operations held on " + n.Name(), Node: n.Name(),
		Role: history.RoleMechanism, Want: history.WantGrows, Unit: "operations",
		Read: func(ctx context.Context) history.Sample {
			s, err := d.Stats(ctx)
			if err != nil {
				return failed(err)
			}
			return hitsSample(s.Rules[in.Traps[0].Fault])
		},
	}}, in.Proofs...)
	in.Healed = append(in.Healed, unheld(n, d, in.id))
	return nil
}

// trapped returns when the rule holds an operation.
func (f CrashAt) trapped(in *Injection, target Target) (func(context.Context) error, error) {
	n := target.Nodes[0]
	d, err := target.Site.Disks.Disk(n.Name())
	if err != nil {
		return nil, err
	}
	h, ok := d.(holder)
	if !ok {
		return nil, fmt.Errorf("%w: the disk of %s holds no operations", ErrUnsupported, n.Name())
	}
	return func(ctx context.Context) error {
		if _, err := h.Wait(ctx, in.Traps[0].Fault); err != nil {
			return fmt.Errorf("wait for a file operation of %s: %w", n.Name(), err)
		}
		return nil
	}, nil
}
