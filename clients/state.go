package clients

import (
	"context"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// setBound is how long the system gets to stop, continue or end a process.
const setBound = 15 * time.Second

// State is running, frozen, or how the process ended, as in "exited: signal:
// killed".
func (d *Driver) State() (string, error) {
	select {
	case <-d.gone:
		return history.StateExited + d.exit, nil
	default:
	}
	state, err := d.proc.State()
	if err != nil {
		return "", fmt.Errorf("look at driver %s: %w", d.opts.Command, err)
	}
	return state, nil
}

// Connections counts the TCP connections that the process has established. One that has
// ended has none.
func (d *Driver) Connections() (int, error) {
	select {
	case <-d.gone:
		return 0, nil
	default:
	}
	n, err := d.proc.Connections()
	if err != nil {
		return 0, fmt.Errorf("count the connections of driver %s: %w", d.opts.Command, err)
	}
	return n, nil
}

// Set brings the process into a state: running, frozen, or killed. One that is
// gone stays so. A driver that was killed by Set broke no contract: it ended
// because of us, and Shot says so.
func (d *Driver) Set(ctx context.Context, want string) error {
	state, err := d.State()
	if err != nil {
		return err
	}
	if state != history.StateRunning && state != history.StateFrozen {
		return nil
	}
	switch want {
	case history.EndKilled:
		d.shot.Store(true)
		if err := d.proc.Kill(); err != nil {
			return fmt.Errorf("kill driver %s: %w", d.opts.Command, err)
		}
		select {
		case <-d.gone:
			return nil
		case <-time.After(setBound):
			return fmt.Errorf("kill driver %s: it is there %s after SIGKILL", d.opts.Command, setBound)
		}
	case history.StateFrozen:
		d.held.Store(true) // before anybody sees it stopped
		return d.turn(ctx, state, want)
	case history.StateRunning:
		if err := d.turn(ctx, state, want); err != nil {
			return err
		}
		d.held.Store(false)
		return nil
	}
	return fmt.Errorf("set driver %s %q: no such state; choose running, frozen or killed", d.opts.Command, want)
}

// turn stops the process or lets it go on.
func (d *Driver) turn(ctx context.Context, state, want string) error {
	if want == state {
		return nil
	}
	if err := d.proc.Freeze(want == history.StateFrozen); err != nil {
		return fmt.Errorf("set driver %s %s: %w", d.opts.Command, want, err)
	}
	return d.reach(ctx, want)
}

func (d *Driver) reach(ctx context.Context, want string) error {
	ctx, cancel := context.WithTimeout(ctx, setBound)
	defer cancel()
	for {
		state, err := d.State()
		if err != nil || state == want {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("driver %s is still %s: %w", d.opts.Command, state, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

// Shot reports whether Set killed it.
func (d *Driver) Shot() bool { return d.shot.Load() }

// Lines counts the lines that arrived so far.
func (d *Driver) Lines() int64 { return d.lines.Load() }
