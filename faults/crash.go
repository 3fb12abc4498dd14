package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// A crash is what power_loss, torn_write and lost_rename have in common: at one
// moment nothing becomes durable any more, the broker is killed, and its data
// directory is left as a disk would be found after that. The node is down until
// the fault is healed; what was lost stays lost.
type crash struct {
	ask disk.Crash
	// took says how much of what this kind is about an outcome took. None is
	// not landed.
	took func(disk.Outcome) (n int, unit string)
}

// DiskPower is the power of a disk. Cut is the moment of a power loss. Restore takes it back as
// long as there was no Crash; without a Cut it does nothing.
type DiskPower interface {
	Cut(ctx context.Context) (disk.Pending, error)
	Restore(ctx context.Context) error
	Crash(ctx context.Context, crash disk.Crash) (disk.Outcome, error)
}

// A blackout is one node's part of a crash.
type blackout struct {
	node Node
	disk Disk

	mu      sync.Mutex
	pending *disk.Pending // at the moment of the crash
	outcome *disk.Outcome
}

// lossDetail is a blackout as a landing keeps it.
type lossDetail struct {
	Node    string        `json:"node"`
	Pending *disk.Pending `json:"pending,omitempty"` // what was not durable
	Outcome *disk.Outcome `json:"outcome,omitempty"` // what became of it
}

func (c crash) plan(ctx context.Context, target Target) (*Injection, error) {
	var all []*blackout
	in, err := target.onDisksOfKilled(ctx, diskArgs{Crash: &c.ask}, func(n Node, d Disk) []Proof {
		l := &blackout{node: n, disk: d}
		all = append(all, l)
		return []Proof{c.lost(l)}
	})
	if err != nil {
		return nil, err
	}
	in.First = func(ctx context.Context) error {
		err := eachBlackout(all, func(l *blackout) error { return l.cut(ctx) })
		if err != nil { // no layer shows the cuts yet, and so the heal takes none of them back
			err = errors.Join(err, eachBlackout(all, func(l *blackout) error { return l.disk.Restore(context.WithoutCancel(ctx)) }))
		}
		return err
	}
	in.Step = func(ctx context.Context) error {
		return eachBlackout(all, func(l *blackout) error { return l.crash(ctx, c.ask) })
	}
	in.Detail = func() any { return details(all) }
	for _, l := range all {
		in.Healed = append(in.Healed, l.healthy())
	}
	return in, nil
}

// down keeps a node's process killed until the fault is healed.
func down(n Node) Entry { return Entry{Layer: "process/" + n.Name(), Want: Killed} }

// killed is that state as an effect, where the mechanism is another.
func killed(n Node) Proof {
	p := stateIs(n, sigkill().expect, nil)
	p.Role = history.RoleEffect
	return p
}

// eachBlackout does something on all nodes at once: power is lost at one moment.
func eachBlackout(all []*blackout, do func(*blackout) error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, l := range all {
		wg.Go(func() { errs[i] = do(l) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (l *blackout) cut(ctx context.Context) error {
	p, err := l.disk.Cut(ctx)
	if err != nil {
		return fmt.Errorf("cut the power of %s: %w", l.node.Name(), err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = &p
	return nil
}

func (l *blackout) crash(ctx context.Context, ask disk.Crash) error {
	o, err := l.disk.Crash(ctx, ask)
	if err != nil {
		return fmt.Errorf("leave on the disk of %s what a power loss leaves: %w", l.node.Name(), err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcome = &o
	return nil
}

// healthy reads back that the disk writes and syncs again.
func (l *blackout) healthy() Check {
	return Check{Name: "fsync on the disk of " + l.node.Name(), Node: l.node.Name(), Unit: "ms", Read: func(ctx context.Context) (float64, error) {
		got, err := l.disk.Touch(ctx, disk.Fsync, 1)
		if err := got.failed(err); err != nil {
			return 0, fmt.Errorf("write on the disk of %s: %w", l.node.Name(), err)
		}
		return milliseconds(got.Took), nil
	}}
}

func details(all []*blackout) (out []lossDetail) {
	for _, l := range all {
		l.mu.Lock()
		out = append(out, lossDetail{l.node.Name(), l.pending, l.outcome})
		l.mu.Unlock()
	}
	return out
}

// lost is the mechanism's own word: what the disk took back.
func (c crash) lost(l *blackout) Proof {
	return Proof{
		Name: "lost on the disk of " + l.node.Name(), Node: l.node.Name(),
		Role: history.RoleMechanism, Want: history.WantGrows,
		Read: func(context.Context) history.Sample {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.outcome == nil {
				return history.Sample{OK: true, State: "nothing"}
			}
			n, unit := c.took(*l.outcome)
			return history.Sample{OK: true, Value: float64(n), State: c.text(n, unit, *l.pending, *l.outcome)}
		},
	}
}

func (c crash) text(n int, unit string, p disk.Pending, o disk.Outcome) string {
	return fmt.Sprintf("%d %s; pending: %s; lost: %s; kept: %s", n, unit, lossText(p.Loss), lossText(o.Dropped), lossText(o.Kept))
}

func lossText(l disk.Loss) string {
	if l.Nothing() {
		return "nothing"
	}
	return fmt.Sprintf("%d bytes of %d files, %d entries", l.Bytes, l.Files, l.Entries)
}
