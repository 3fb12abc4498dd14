package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// A diskRig is a rig whose nodes have disks.
type diskRig struct {
	*rig
	disks map[string]*fakeDisk
}

func newDiskRig(nodes int) *diskRig {
	r := &diskRig{rig: newRig(nodes), disks: map[string]*fakeDisk{}}
	for _, n := range r.nodes {
		r.disks[n.name] = &fakeDisk{
			name: n.name, tell: r.note, ops: 5,
			pending: disk.Loss{Files: 2, Bytes: 9000, Entries: 1},
			files:   []disk.File{{Path: "a.db", Size: 100}, {Path: "log/b.blk", Size: 900}},
		}
	}
	process := r.layers.open
	r.layers.open = func(name string) (Layer, error) {
		node, ok := strings.CutPrefix(name, "disk/")
		if !ok {
			return process(name)
		}
		d, err := r.Disk(node)
		return NewDiskLayer(d), err
	}
	return r
}

func (r *diskRig) Disk(node string) (Disk, error) {
	d, ok := r.disks[node]
	if !ok {
		return nil, fmt.Errorf("%w: %s has none; start the cluster with arm [disk]", ErrUnsupported, node)
	}
	return d, nil
}

func (r *diskRig) Beside(context.Context) (Touched, error) {
	return Touched{Took: time.Millisecond}, nil
}

func (r *diskRig) on(numbers ...int) Target {
	t := r.rig.on(numbers...)
	t.Site.Disks = r
	return t
}

// A fakeDisk counts as many operations of its broker as it is told.
type fakeDisk struct {
	name string
	tell func(string, ...any)

	ops     int64 // of the broker, that any rule or limit meets
	numb    bool  // probes feel nothing
	lag     time.Duration
	broken  error // every answer
	fails   error // Crash's
	whole   error // Cut's
	stuck   error // Set's, of no rules
	pending disk.Loss
	files   []disk.File

	mu     sync.Mutex
	faults disk.Faults
	usage  int64
	cut    bool
	rots   []disk.Rot
}

func (d *fakeDisk) Info() disk.Info {
	return disk.Info{PID: 7, Connection: 52, Mount: "/" + d.name}
}

func (d *fakeDisk) Set(_ context.Context, f disk.Faults) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tell("disk of %s: %d rules, limit %d", d.name, len(f.Rules), f.Limit.Bytes)
	if len(f.Rules) == 0 && d.stuck != nil {
		return d.stuck
	}
	d.faults = f
	return errors.Join(d.broken, f.Check())
}

// Wait is for an operation that never comes.
func (d *fakeDisk) Wait(context.Context, string) (disk.Hit, error) {
	return disk.Hit{}, errors.New("no such operation came")
}

func (d *fakeDisk) Stats(context.Context) (disk.Stats, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := disk.Stats{Rules: map[string]disk.RuleHits{}, Faults: d.faults, Usage: disk.Usage{Bytes: d.usage}}
	hits := disk.RuleHits{Matched: d.ops, Hits: d.ops, Last: []disk.Hit{{Op: disk.Write, Path: "a.db"}}}
	for _, r := range d.faults.Rules {
		s.Rules[r.ID] = hits
	}
	if d.faults.Limit.Bytes > 0 {
		s.Full = hits
	}
	if d.faults.Limit.Inodes > 0 {
		s.FullFiles = hits
	}
	return s, d.broken
}

func (d *fakeDisk) Cut(context.Context) (disk.Pending, error) {
	if d.whole != nil {
		return disk.Pending{}, d.whole
	}
	d.tell("cut %s", d.name)
	d.cut = true
	return disk.Pending{Loss: d.pending}, d.broken
}

func (d *fakeDisk) Restore(context.Context) error {
	if d.cut {
		d.tell("restore %s", d.name)
	}
	d.cut = false
	return d.broken
}

func (d *fakeDisk) Crash(_ context.Context, c disk.Crash) (disk.Outcome, error) {
	if d.fails != nil {
		return disk.Outcome{}, d.fails
	}
	d.tell("crash %s", d.name)
	d.cut = false
	o := disk.Outcome{Crash: c, Dropped: d.pending}
	if c.Policy == disk.Torn && d.pending.Bytes > 0 {
		o.Torn = &disk.Tear{Path: "a.db", Length: 9000, Kept: 4096}
	}
	if c.Policy == disk.LostRename {
		o.Dropped = disk.Loss{Entries: d.pending.Entries}
	}
	return o, d.broken
}

func (d *fakeDisk) Files(context.Context) ([]disk.File, error) { return d.files, d.broken }

func (d *fakeDisk) Rot(_ context.Context, r disk.Rot) (disk.Rotten, error) {
	d.rots = append(d.rots, r)
	return disk.Rotten{Rot: r, From: 1, To: 1 ^ 1<<r.Bit}, d.broken
}

func (d *fakeDisk) Erase(context.Context, ...string) (disk.Loss, error) {
	lost := disk.Loss{Files: len(d.files)}
	d.files = nil
	return lost, d.broken
}

func (d *fakeDisk) Touch(_ context.Context, op disk.Op, times int) (Touched, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := Touched{Took: time.Millisecond + d.lag}
	if d.numb {
		return out, d.broken
	}
	for _, r := range d.faults.Rules {
		out.Took += r.Delay
		if times >= max(1, r.Every) {
			out.Errno = r.Errno
		}
	}
	if d.faults.Limit != (disk.Limit{}) {
		out.Errno = "ENOSPC"
	}
	return out, d.broken
}

func (d *fakeDisk) Byte(_ context.Context, path string, offset int64) (byte, error) {
	for _, r := range d.rots {
		if r.Path == path && r.Offset == offset && !d.numb {
			return 1 ^ 1<<r.Bit, nil
		}
	}
	return 1, d.broken
}

func (d *fakeDisk) Count(context.Context) (int, error) {
	if d.numb {
		return 2, nil
	}
	return len(d.files), d.broken
}
