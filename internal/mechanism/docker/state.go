package docker

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// A State is what the engine says of a container.
type State struct {
	Running   bool // also while it is paused, and while the engine is about to start it again
	Paused    bool
	Exit      int // status, valid once it has ended; 128+n where signal n ended it
	OOMKilled bool
	Started   time.Time
	Removed   bool // the engine has it no more
	Vanishes  bool // the engine removes it when it ends
}

// State asks the engine.
func (c *Container) State(ctx context.Context) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	found, err := c.e.api.ContainerInspect(ctx, c.id, client.ContainerInspectOptions{})
	if gone(err) {
		return State{Removed: true}, nil
	}
	if err != nil || found.Container.State == nil {
		return State{}, fmt.Errorf("read the state of container %s: %w", c.name, err)
	}
	s := found.Container.State
	out := State{Running: s.Running, Paused: s.Paused, Exit: s.ExitCode, OOMKilled: s.OOMKilled}
	out.Started, _ = time.Parse(time.RFC3339Nano, s.StartedAt)
	if host := found.Container.HostConfig; host != nil {
		out.Vanishes = host.AutoRemove
	}
	return out, nil
}

// Wait returns when the container does not run.
func (c *Container) Wait(ctx context.Context) error {
	wait := c.e.api.ContainerWait(ctx, c.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case <-wait.Result:
		return nil
	case err := <-wait.Error:
		if gone(err) {
			return nil
		}
		return fmt.Errorf("wait for container %s: %w", c.name, err)
	}
}

// Follow copies what the container writes to its standard output and error
// since then, until it ends or ctx does.
func (c *Container) Follow(ctx context.Context, since time.Time, to io.Writer) error {
	logs, err := c.e.api.ContainerLogs(ctx, c.id, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Follow: true, Since: since.UTC().Format(time.RFC3339Nano),
	})
	if err != nil {
		return fmt.Errorf("follow the log of container %s: %w", c.name, err)
	}
	defer logs.Close()
	if _, err := stdcopy.StdCopy(to, to, logs); err != nil && ctx.Err() == nil {
		return fmt.Errorf("follow the log of container %s: %w", c.name, err)
	}
	return nil
}
