package docker

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
)

// NetworkNone is the network of a container that has none.
const NetworkNone = "none"

// NetworkOf is the network of a container that shares the one of another.
func NetworkOf(id string) string { return "container:" + id }

// A Spec is a container to be made.
type Spec struct {
	Name       string
	Run, Node  string // of its labels
	Labels     map[string]string
	Image      string   // an identifier, or a name that the engine has
	Entrypoint []string // the image's own is not used
	Env        []string // NAME=value, beside the image's
	Dir        string   // working directory
	User       string   // uid:gid
	Network    string   // NetworkNone or NetworkOf
	Binds      []Bind
}

// A Bind is a directory of this machine in a container.
type Bind struct{ From, To string }

// A Container is one that exists, running or not.
type Container struct {
	e        *Engine
	id, name string
}

// ID is the engine's.
func (c *Container) ID() string { return c.id }

// Name is what it was made as, or asked for by.
func (c *Container) Name() string { return c.name }

// Create makes a container and does not start it.
func (e *Engine) Create(ctx context.Context, s Spec) (*Container, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	labels := map[string]string{LabelRun: s.Run, LabelNode: s.Node}
	maps.Copy(labels, s.Labels)
	var mounts []mount.Mount
	for _, b := range s.Binds {
		mounts = append(mounts, mount.Mount{Type: mount.TypeBind, Source: b.From, Target: b.To})
	}
	made, err := e.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: s.Name,
		Config: &container.Config{
			Image: s.Image, Entrypoint: s.Entrypoint, Cmd: []string{}, Env: s.Env, WorkingDir: s.Dir, User: s.User, Labels: labels,
			// A check of the image's own would run programs in the broker's container.
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
		},
		HostConfig: &container.HostConfig{
			NetworkMode:   container.NetworkMode(s.Network),
			RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled}, // what is killed stays down
			LogConfig:     container.LogConfig{Type: "json-file"},                         // can be read back, whatever the engine's default
			Mounts:        mounts,
			SecurityOpt:   []string{"label=disable"}, // or the binds could not be used where SELinux labels files
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make container %s: %w", s.Name, err)
	}
	return &Container{e: e, id: made.ID, name: s.Name}, nil
}

// Find answers the container of that name or identifier.
func (e *Engine) Find(ctx context.Context, name string) (*Container, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	found, err := e.api.ContainerInspect(ctx, name, client.ContainerInspectOptions{})
	if gone(err) {
		return nil, fmt.Errorf("the docker engine at %s has no container %q; see docker ps", e.host, name)
	}
	if err != nil {
		return nil, fmt.Errorf("look for container %s: %w", name, err)
	}
	return &Container{e: e, id: found.Container.ID, name: name}, nil
}

// Start starts it, for the first time or again.
func (c *Container) Start(ctx context.Context) error {
	return c.do(ctx, "start", func(ctx context.Context) error {
		_, err := c.e.api.ContainerStart(ctx, c.id, client.ContainerStartOptions{})
		return err
	})
}

// Signal sends a signal, SIGTERM or SIGKILL, to its first process. SIGKILL
// also ends one that is paused.
func (c *Container) Signal(ctx context.Context, name string) error {
	return c.do(ctx, "send "+name+" to", func(ctx context.Context) error {
		_, err := c.e.api.ContainerKill(ctx, c.id, client.ContainerKillOptions{Signal: name})
		return err
	})
}

// Pause freezes all its processes.
func (c *Container) Pause(ctx context.Context) error {
	return c.do(ctx, "pause", func(ctx context.Context) error {
		_, err := c.e.api.ContainerPause(ctx, c.id, client.ContainerPauseOptions{})
		return err
	})
}

// Unpause thaws them.
func (c *Container) Unpause(ctx context.Context) error {
	return c.do(ctx, "unpause", func(ctx context.Context) error {
		_, err := c.e.api.ContainerUnpause(ctx, c.id, client.ContainerUnpauseOptions{})
		return err
	})
}

// Remove removes it, whatever state it is in, with its unnamed volumes. One
// that is gone is no error.
func (c *Container) Remove(ctx context.Context) error {
	return c.do(ctx, "remove", func(ctx context.Context) error {
		_, err := c.e.api.ContainerRemove(ctx, c.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if !settled(err) {
			return err
		}
		return c.awaitGone(ctx)
	})
}

// awaitGone waits for a removal that somebody else has begun.
func (c *Container) awaitGone(ctx context.Context) error {
	for {
		_, err := c.e.api.ContainerInspect(ctx, c.id, client.ContainerInspectOptions{})
		if gone(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it is still there: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (c *Container) do(ctx context.Context, what string, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	if err := call(ctx); err != nil {
		return fmt.Errorf("%s container %s: %w", what, c.name, err)
	}
	return nil
}

// OfRun are the containers of one run: those with its label, and no others.
func (e *Engine) OfRun(ctx context.Context, run string) ([]*Container, error) {
	if run == "" {
		return nil, fmt.Errorf("list containers: no run is named")
	}
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	list, err := e.api.ContainerList(ctx, client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", LabelRun+"="+run),
	})
	if err != nil {
		return nil, fmt.Errorf("list the containers of run %s: %w", run, err)
	}
	var out []*Container
	for _, found := range list.Items {
		if found.Labels[LabelRun] == run { // the filter's word is not enough to remove something
			out = append(out, &Container{e: e, id: found.ID, name: nameOf(found)})
		}
	}
	return out, nil
}

func nameOf(found container.Summary) string {
	if len(found.Names) == 0 {
		return found.ID
	}
	return found.Names[0][1:] // they begin with a slash
}
