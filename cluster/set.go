package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// changeBound is how long the kernel gets to stop, continue or end a process.
const changeBound = time.Minute

// holdBound is after how long a process that does not end is looked for at its disk.
const holdBound = 5 * time.Second

// Set brings the process into a state and returns when it is in it:
//
//	running  started, or thawed, and serving again
//	frozen   every thread stopped, by SIGSTOP
//	killed   gone, by SIGKILL
//	stopped  gone, by SIGTERM and in its own time; one that has to be killed
//	         after all is an error
func (n *Node) Set(ctx context.Context, want string) error {
	if n.process() == nil {
		return fmt.Errorf("set %s %s: it was not started by us: %w", n.name, want, ErrUnsupported)
	}
	need := want
	if want == history.EndStopped { // whether it stays down is for the caller to know
		need = history.EndRestarted
	}
	if err := n.Can(need); err != nil {
		return fmt.Errorf("set %s %s: %w", n.name, want, err)
	}
	n.setting.Lock()
	defer n.setting.Unlock()
	var err error
	switch want {
	case history.StateRunning:
		err = n.bringBack(ctx)
	case history.StateFrozen:
		err = n.freeze(ctx)
	case history.EndKilled:
		err = n.shoot()
	case history.EndStopped:
		err = n.terminate(ctx)
	default:
		return fmt.Errorf("set %s %q: no such state; choose running, frozen, killed or stopped", n.name, want)
	}
	if err != nil {
		return fmt.Errorf("set %s %s: %w", n.name, want, err)
	}
	return nil
}

func (n *Node) bringBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.restartBound)
	defer cancel()
	state, err := n.State(ctx)
	if err != nil {
		return err
	}
	switch {
	case state == history.StateFrozen:
		err = n.thaw(ctx)
	case strings.HasPrefix(state, history.StateExited):
		err = n.launch(ctx)
	}
	if err != nil {
		return err
	}
	return n.await(ctx, n.ready)
}

func (n *Node) freeze(ctx context.Context) error {
	if n.process().exited() {
		return fmt.Errorf("it is not running: %s", n.process().how())
	}
	if err := n.process().signal(sigFreeze); err != nil {
		return err
	}
	return n.reach(ctx, history.StateFrozen)
}

func (n *Node) thaw(ctx context.Context) error {
	if err := n.process().signal(sigThaw); err != nil {
		return err
	}
	return n.reach(ctx, history.StateRunning)
}

// reach returns when the kernel shows the state.
func (n *Node) reach(ctx context.Context, want string) error {
	ctx, cancel := context.WithTimeout(ctx, changeBound)
	defer cancel()
	for {
		state, err := n.process().state(ctx)
		if err != nil {
			return err
		}
		if state == want {
			return nil
		}
		if strings.HasPrefix(state, history.StateExited) {
			return fmt.Errorf("it is gone: %s", state)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is still %s: %w", n.process(), state, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// shoot kills, and is content with a process that was killed before.
func (n *Node) shoot() error {
	p := n.process()
	if p.exited() {
		if p.how() == history.StateKilled {
			return nil
		}
		return fmt.Errorf("it is not running: %s", p.how())
	}
	return n.kill()
}

// kill sends SIGKILL and returns when the process is gone.
func (n *Node) kill() error {
	p := n.process()
	if p == nil || p.exited() {
		return nil
	}
	n.condemn(p)
	if err := p.signal(sigKill); err != nil && !p.exited() {
		return err
	}
	bound := time.After(changeBound)
	select {
	case <-p.ended():
		return nil
	case <-time.After(holdBound):
	}
	if d := n.Disk(); d != nil && d.hangs() { // there it waits where no signal reaches it
		if err := d.Abort(); err != nil {
			return fmt.Errorf("kill %s: its disk hangs and does not let go of it: %w", p, err)
		}
	}
	select {
	case <-p.ended():
		return nil
	case <-bound:
		return fmt.Errorf("%s is there %v after SIGKILL", p, changeBound)
	}
}

// terminate ends a process by SIGTERM; a frozen one is thawed first, or it
// would not hear it.
func (n *Node) terminate(ctx context.Context) error {
	p := n.process()
	if p.exited() {
		return nil
	}
	if state, err := p.state(ctx); err == nil && state == history.StateFrozen {
		if err := n.thaw(ctx); err != nil {
			return err
		}
	}
	n.condemn(p)
	if err := p.signal(sigEnd); err != nil {
		return err
	}
	began := time.Now()
	select {
	case <-p.ended():
		return nil
	case <-ctx.Done():
	case <-time.After(n.stopBound):
	}
	if err := n.kill(); err != nil {
		return err
	}
	return fmt.Errorf("it did not end within %.1f s of SIGTERM and was killed", time.Since(began).Seconds())
}

// end is what happens to a node when its cluster stops.
func (n *Node) end(ctx context.Context) error {
	if n.process() == nil || n.foreign {
		return nil
	}
	return n.Set(ctx, "stopped")
}
