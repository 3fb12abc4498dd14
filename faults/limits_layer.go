package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/limits"
)

// limitArgs are the limits that an entry wants of one controller, in a group.
type limitArgs struct {
	group
	Percent     float64 `json:"percent,omitempty"`
	HeadroomMiB float64 `json:"headroom_mib,omitempty"`
	OOM         bool    `json:"oom,omitempty"`
	Tasks       int     `json:"tasks,omitempty"`
}

// A group is a control group. It is all that an undo needs.
type group struct {
	Dir  string `json:"dir"`
	Back string `json:"back"` // the group that its processes come from
}

// limitsLayer is the control groups around a node's process: one, or in
// version 1 one for each controller. Each shows the strictest limit that its
// entries want, and is there only while there are some.
type limitsLayer struct {
	node Node
	made map[string]string // directory of each group that may be there, and where its processes came from
	follower
}

// NewLimitsLayer is the layer limits/<name of the node>.
func NewLimitsLayer(node Node) Layer {
	return &limitsLayer{node: node, made: map[string]string{}}
}

func (l *limitsLayer) Render(ctx context.Context, active []Entry) error {
	l.follower.stop()
	groups, err := grouped(active)
	if err != nil {
		return err
	}
	var errs []error
	for dir, back := range l.made {
		if _, wanted := groups[dir]; wanted {
			continue
		}
		if err := limits.Take(dir, back); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(l.made, dir)
	}
	for _, e := range active {
		args, err := argsOf[limitArgs](e)
		if err != nil {
			return err
		}
		l.made[args.Dir] = cmp.Or(l.made[args.Dir], args.Back)
	}
	put := func(number int) error {
		for _, dir := range slices.Sorted(maps.Keys(groups)) {
			if err := limits.Put(dir, groups[dir], number); err != nil {
				return err
			}
		}
		return nil
	}
	if len(groups) > 0 {
		errs = append(errs, l.follower.follow(ctx, l.node, put))
	}
	return errors.Join(errs...)
}

// grouped are the limits of every group. A process is in one group of version
// 2 only: a second one would take it out of the first.
func grouped(active []Entry) (map[string]limits.Limits, error) {
	groups := map[string]limits.Limits{}
	by := map[string]string{}
	for _, e := range active {
		args, err := argsOf[limitArgs](e)
		if err != nil {
			return nil, err
		}
		if other, ok := by[e.Want]; ok && other != args.Dir {
			return nil, fmt.Errorf("%s wants a %s limit in %s, while there is one in %s; heal that one first", e.Fault, e.Want, args.Dir, other)
		}
		by[e.Want] = args.Dir
		if groups[args.Dir], err = stricter(groups[args.Dir], e, args); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// stricter adds what an entry wants.
func stricter(l limits.Limits, e Entry, args limitArgs) (limits.Limits, error) {
	switch limits.Controller(e.Want) {
	case limits.CPU:
		if p := args.Percent; l.CPUPercent == nil || p < *l.CPUPercent {
			l.CPUPercent = &p
		}
	case limits.Memory:
		m := limits.MemoryLimit{Bytes: int64(args.HeadroomMiB * mebibyte), Stall: !args.OOM}
		if l.Memory == nil || m.Bytes < l.Memory.Bytes {
			l.Memory = &m
		}
	case limits.Pids:
		if n := args.Tasks; l.Tasks == nil || n < *l.Tasks {
			l.Tasks = &n
		}
	default:
		return l, fmt.Errorf("%s wants a limit of %q; valid: cpu, memory, pids", e.Fault, e.Want)
	}
	return l, nil
}

// A follower does something to a node's process, and again to every process
// that the node is after it: another fault may start it again meanwhile.
type follower struct {
	meanwhile func(pid int) // what is done all the time; may be nil
	cancel    context.CancelFunc
	done      sync.WaitGroup
}

// followEvery is how long a new process may be without what is done to it.
const followEvery = 50 * time.Millisecond

// follow does it now and watches. A node that is down has it done when it is
// back.
func (f *follower) follow(ctx context.Context, n Node, do func(pid int) error) error {
	last, err := pid(ctx, n)
	if err == nil {
		err = do(last)
	} else if state, _ := n.State(ctx); hasEnded(state) {
		err = nil
	}
	if err != nil {
		return err
	}
	watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.cancel = cancel
	f.done.Go(func() {
		tick := time.NewTicker(followEvery)
		defer tick.Stop()
		for {
			select {
			case <-watch.Done():
				return
			case <-tick.C:
			}
			now, err := pid(watch, n)
			if err != nil {
				continue
			}
			// A failed do is tried again at the next tick. Until then the proofs
			// do not show the limit.
			if now != last && do(now) == nil {
				last = now
			}
			if now == last && f.meanwhile != nil {
				f.meanwhile(now)
			}
		}
	})
	return nil
}

func (f *follower) stop() {
	if f.cancel != nil {
		f.cancel()
	}
	f.done.Wait()
}

// undoLimits removes the control groups of a node whose keeper is gone, and
// with it the node. Where the processes outlived it they are moved back.
func undoLimits(_ context.Context, layer string, entries []Entry) (string, error) {
	backs := map[string]string{}
	var errs []error
	for _, e := range entries {
		args, err := argsOf[group](e)
		errs = append(errs, err)
		if args.Dir != "" {
			backs[args.Dir] = cmp.Or(backs[args.Dir], args.Back)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(backs)) {
		errs = append(errs, limits.Take(dir, backs[dir]))
	}
	return "removed the control groups of " + layer, errors.Join(errs...)
}
