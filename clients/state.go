package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	psutil "github.com/shirou/gopsutil/v3/process"
)

// States of a driver's process, for faults. One that is gone says how it ended.
const (
	stateRunning = "running"
	stateFrozen  = "frozen"
	stateKilled  = "killed"
	stateExited  = "exited: "
)

// setBound is how long the system gets to stop, continue or end a process.
const setBound = 5 * time.Second

// State is running, frozen, or how the process ended, as in "exited: signal:
// killed".
func (d *Driver) State() (string, error) {
	select {
	case <-d.gone:
		return stateExited + d.exit, nil
	default:
	}
	p, err := psutil.NewProcess(int32(d.Pid()))
	if err != nil {
		return "", fmt.Errorf("look at driver %s: %w", d.opts.Command, err)
	}
	status, err := p.Status()
	if err != nil {
		return "", fmt.Errorf("look at driver %s: %w", d.opts.Command, err)
	}
	if slices.Contains(status, psutil.Stop) {
		return stateFrozen, nil
	}
	return stateRunning, nil
}

// Set brings the process into a state: running, frozen, or killed. One that is
// gone stays so. A driver that was killed by Set broke no contract: it ended
// because of us, and Shot says so.
func (d *Driver) Set(ctx context.Context, want string) error {
	state, err := d.State()
	if err != nil {
		return err
	}
	if state != stateRunning && state != stateFrozen {
		return nil
	}
	switch want {
	case stateKilled:
		d.shot.Store(true)
		if err := d.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("kill driver %s: %w", d.opts.Command, err)
		}
		select {
		case <-d.gone:
			return nil
		case <-time.After(setBound):
			return fmt.Errorf("kill driver %s: it is there %s after SIGKILL", d.opts.Command, setBound)
		}
	case stateRunning, stateFrozen:
		if want == state {
			return nil
		}
		if err := freeze(d.cmd.Process, want == stateFrozen); err != nil {
			return fmt.Errorf("set driver %s %s: %w", d.opts.Command, want, err)
		}
		return d.reach(ctx, want)
	}
	return fmt.Errorf("set driver %s %q: no such state; choose running, frozen or killed", d.opts.Command, want)
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
