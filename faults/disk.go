package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// Disk faults act on the layer under a node's data directory.
func diskKinds() []Kind {
	return []Kind{
		slow(),
		powerLoss(),
		tornWrite(),
		lostRename(),
		bitRot(),
		lostDisk(),
		ioError(),
		full(),
	}
}

// Disks are the layers under the nodes' data directories.
type Disks interface {
	// Disk is the one under a node's; without one, because it was not armed,
	// the error wraps [ErrUnsupported] and names the option.
	Disk(node string) (Disk, error)
	// Beside does what Touch does, in a plain directory of the same file
	// system that belongs to no node.
	Beside(ctx context.Context) (Touched, error)
}

// A Disk is the layer under one node's data directory.
type Disk interface {
	Info() disk.Info
	DiskRules
	DiskPower
	DiskFiles
	DiskProbe
}

// DiskRules are what a disk does to its operations.
type DiskRules interface {
	// Set makes it disturb by exactly these faults.
	Set(ctx context.Context, faults disk.Faults) error
	Stats(ctx context.Context) (disk.Stats, error)
}

// DiskProbe looks at a disk through its mount, as the broker does. It never hangs longer than
// ctx, whatever the mount does.
type DiskProbe interface {
	// Touch does an operation in the data directory until it fails, at most a number of times.
	Touch(ctx context.Context, op disk.Op, times int) (Touched, error)
	// Byte reads one byte of a file.
	Byte(ctx context.Context, path string, offset int64) (byte, error)
	// Count is how many regular files there are.
	Count(ctx context.Context) (int, error)
}

// Touched is what a probe of a disk met.
type Touched struct {
	Took  time.Duration // of the last operation
	Errno string        // of the last operation: ENOSPC; "" if it was done
}

// failed is why it was not done: err, which stood in the probe's way, or what the
// disk said.
func (t Touched) failed(err error) error {
	if err == nil && t.Errno != "" {
		return errors.New(t.Errno)
	}
	return err
}

// diskMargin is how much slower a disk that is a control may get before
// something else is suspected.
const diskMargin = time.Second

// disk answers what lies under a node's data directory, if it answers.
func (t Target) disk(ctx context.Context, n Node) (Disk, error) {
	if err := disk.Available(); err != nil && !t.armed(n) {
		return nil, err
	}
	if t.Site.Disks == nil {
		return nil, fmt.Errorf("%w: nothing of ours lies under the data directory of %s; start the cluster with arm [disk]", ErrUnsupported, n.Name())
	}
	d, err := t.Site.Disks.Disk(n.Name())
	if err != nil {
		return nil, err
	}
	if _, err := d.Stats(ctx); err != nil {
		return nil, fmt.Errorf("look at the disk of %s: %w", n.Name(), err)
	}
	return d, nil
}

// onDisks plans something on the disk of every node, beside what all disk
// faults share.
func (t Target) onDisks(ctx context.Context, plan func(*Injection, Node, Disk) error) (*Injection, error) {
	in := &Injection{Mechanism: "fuse"}
	for _, n := range t.Nodes {
		d, err := t.disk(ctx, n)
		if err != nil {
			return nil, err
		}
		if err := plan(in, n, d); err != nil {
			return nil, err
		}
	}
	in.Proofs = append(in.Proofs, t.diskControls(ctx)...)
	return in, nil
}

// onDisksOfKilled plans what is done to the disks while the nodes are down. Args
// are the disk entry's.
func (t Target) onDisksOfKilled(ctx context.Context, args diskArgs, proofs func(Node, Disk) []Proof) (*Injection, error) {
	return t.onDisks(ctx, func(in *Injection, n Node, d Disk) error {
		if _, err := n.State(ctx); err != nil {
			return fmt.Errorf("read the state of %s: %w", n.Name(), err)
		}
		in.Entries = append(in.Entries, down(n), diskEntry(n, d, wantLoss, args))
		in.Proofs = append(in.Proofs, proofs(n, d)...)
		in.Proofs = append(in.Proofs, killed(n), unreachable(n))
		return nil
	})
}

// armed reports whether something lies under a node's data directory.
func (t Target) armed(n Node) bool {
	if t.Site.Disks == nil {
		return false
	}
	_, err := t.Site.Disks.Disk(n.Name())
	return err == nil
}

// diskControls are the controls of a disk fault: the other nodes run, the
// witness answers, and a write and fsync on the other nodes' disks, and in a
// plain directory beside them, are as fast as before.
func (t Target) diskControls(ctx context.Context) []Proof {
	out := untouched(t.Control)
	for _, n := range t.Control {
		d, err := t.disk(ctx, n)
		if err != nil {
			continue // the witness has none
		}
		out = append(out, steady("disk of "+n.Name(), n.Name(), func(ctx context.Context) (Touched, error) {
			return d.Touch(ctx, disk.Fsync, 1)
		}))
	}
	return append(out, steady("plain directory beside the disks", "", t.Site.Disks.Beside))
}

func steady(name, node string, touch func(context.Context) (Touched, error)) Proof {
	return Proof{
		Name: name, Node: node, Role: history.RoleControl, Want: history.WantStill,
		Margin: float64(diskMargin.Milliseconds()), Unit: "ms",
		Read: func(ctx context.Context) history.Sample {
			got, err := touch(ctx)
			if err := got.failed(err); err != nil {
				return failed(err)
			}
			return history.Sample{OK: true, Value: milliseconds(got.Took)}
		},
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// diskEntry returns a fault's part of the layer under a node's data directory.
// Its arguments get the mount and the connection, which are needed to undo it.
func diskEntry(n Node, d Disk, want string, args diskArgs) Entry {
	info := d.Info()
	args.Mount, args.Connection = info.Mount, info.Connection
	return Entry{Layer: "disk/" + n.Name(), Want: want, Args: args}
}

// diskKind fills in what all disk faults share.
func diskKind(k Kind) Kind {
	k.Arms = "disk"
	k.Targets = processTargets()
	k.Available = func(context.Context) (mechanism, missing string) {
		if err := disk.Available(); err != nil {
			return "fuse", err.Error()
		}
		return "fuse", ""
	}
	return k
}
