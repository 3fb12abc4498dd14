package faults

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/limits"
)

// Resource faults take from a process what it needs to run.
func resourceKinds() []Kind {
	return []Kind{
		cpu(),
		memory(),
		fds(),
		pids(),
		inodes(),
	}
}

// A numbered node can say which process it is. The number changes when the
// node is started again.
type numbered interface {
	PID() int // 0 where no process of ours runs
}

// pid is the process of a node that runs, frozen ones included.
func pid(ctx context.Context, n Node) (int, error) {
	state, err := n.State(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the state of %s: %w", n.Name(), err)
	}
	process, ok := n.(numbered)
	if !ok || process.PID() == 0 {
		return 0, fmt.Errorf("%w: %s is no process that we started on this host", ErrUnsupported, n.Name())
	}
	if state != Running && state != Frozen {
		return 0, fmt.Errorf("%s is not running: %s", n.Name(), state)
	}
	return process.PID(), nil
}

// A quota is the common part of the faults by control group: one limit on the
// group of every node, and as proofs the kernel's own count of its actions and
// their effect.
type quota struct {
	controller limits.Controller
	args       limitArgs
	limit      string // as [shown] reads it back: "cpu at most 20 % of a core"
	// doomed: the node may end by it, and is started again at the heal.
	doomed bool
	proofs func(n, witness Node, dir string) []Proof // of a node in its group
}

// plan finds out where each node's group would be.
func (q quota) plan(ctx context.Context, target Target) (*Injection, error) {
	in := &Injection{Mechanism: q.mechanism()}
	for _, n := range target.Nodes {
		number, err := pid(ctx, n)
		if err != nil {
			return nil, err
		}
		if err := can(n, Killed); q.doomed && err != nil {
			return nil, fmt.Errorf("limit the %s of %s: %w", q.controller, n.Name(), err)
		}
		place, err := limits.Find(number, q.controller, limits.Name(target.Site.Run, n.Name()))
		if err != nil {
			return nil, fmt.Errorf("limit the %s of %s: %w", q.controller, n.Name(), err)
		}
		args := q.args
		args.Dir, args.Back = place.Dir, place.Back
		in.Entries = append(in.Entries, Entry{Layer: "limits/" + n.Name(), Want: string(q.controller), Args: args})
		if q.doomed {
			in.Entries = append(in.Entries, Entry{Layer: "process/" + n.Name(), Want: Doomed})
		}
		in.Proofs = append(in.Proofs, q.readBack(n, place.Dir))
		in.Proofs = append(in.Proofs, q.proofs(n, target.witness(), place.Dir)...)
		in.Healed = append(in.Healed, ungrouped(n, place.Dir))
	}
	in.Proofs = append(in.Proofs, untouched(target.Control)...)
	return in, nil
}

func (q quota) mechanism() string { return "cgroup " + string(q.controller) }

// available answers for a process of ours, which a node would be too.
func (q quota) available(context.Context) (mechanism, missing string) {
	_, err := limits.Find(os.Getpid(), q.controller, limits.Name("preflight", "node"))
	if err != nil {
		missing = err.Error()
	}
	return q.mechanism(), missing
}

// readBack is the first half of the mechanism: the limit as the kernel shows
// it, of the group that the node is in, or was when it ended.
func (q quota) readBack(n Node, dir string) Proof {
	return Proof{
		Name: string(q.controller) + " limit of " + n.Name(), Node: n.Name(),
		Role: history.RoleMechanism, Want: history.WantState, Expect: q.limit,
		Read: func(ctx context.Context) history.Sample {
			l, err := limits.Shown(dir)
			if err != nil {
				return failed(err)
			}
			state := shown(l, q.controller)
			if state != noLimit && outside(ctx, n, dir) {
				state = noLimit
			}
			return history.Sample{OK: true, State: state}
		},
	}
}

// outside reports whether a node's process runs, and not in that group. One that
// ends leaves its group a moment before anybody sees it gone.
func outside(ctx context.Context, n Node, dir string) bool {
	for range 2 {
		number, err := pid(ctx, n)
		if err != nil {
			return false
		}
		if in, _ := limits.Holds(dir, number); in {
			return false
		}
		select {
		case <-ctx.Done():
			return true
		case <-time.After(breath):
		}
	}
	return true
}

// ungrouped reads back that no group of ours is left.
func ungrouped(n Node, dir string) Check {
	return unnumbered("control group of "+n.Name(), func(context.Context) error {
		members, err := limits.Members(dir)
		if err == nil && members != nil {
			err = fmt.Errorf("the control group %s is still there, with processes %v", dir, members)
		}
		return err
	})
}

const noLimit = "no limit"

// shown is one limit in words.
func shown(l limits.Limits, c limits.Controller) string {
	switch {
	case c == limits.CPU && l.CPUPercent != nil:
		return percentOfCore(*l.CPUPercent)
	case c == limits.Memory && l.Memory != nil:
		return mebibytesMore(float64(l.Memory.Bytes)/mebibyte, l.Memory.Stall)
	case c == limits.Pids && l.Tasks != nil:
		return atMostTasks(*l.Tasks)
	}
	return noLimit
}

const mebibyte = 1 << 20

func percentOfCore(p float64) string { return fmt.Sprintf("at most %g %% of a core", p) }
func atMostTasks(n int) string       { return fmt.Sprintf("at most %d threads", n) }

// mebibytesMore is the limit as the kernel keeps it: in whole pages.
func mebibytesMore(n float64, stall bool) string {
	page := float64(os.Getpagesize()) / mebibyte
	n = math.Floor(n/page) * page
	then := "then killed"
	if stall {
		then = "then held up"
	}
	return fmt.Sprintf("%g MiB more, %s", n, then)
}
