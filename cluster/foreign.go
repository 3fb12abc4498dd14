package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
)

// checkForeign checks how external brokers are named, beside
// their endpoints and in their order.
func checkForeign(c Config) error {
	switch {
	case c.Protocol != "" && !c.Foreign():
		return fmt.Errorf("protocol is of external brokers; nodes of %s listen for all that it speaks; leave protocol out", c.Flavor)
	case len(c.Containers) == 0 && len(c.PIDs) == 0:
		return nil
	case !c.Foreign():
		return fmt.Errorf("containers and pids are of external brokers; %s starts its own; set flavor external, or leave them out", c.Flavor)
	case len(c.Containers) > 0 && len(c.PIDs) > 0:
		return errors.New("external: name containers or pids, not both")
	case len(c.Containers) > 0 && len(c.Containers) != len(c.Endpoints):
		return fmt.Errorf("external: %d containers for %d endpoints; name one for each, in their order", len(c.Containers), len(c.Endpoints))
	case len(c.PIDs) > 0 && len(c.PIDs) != len(c.Endpoints):
		return fmt.Errorf("external: %d pids for %d endpoints; name one for each, in their order", len(c.PIDs), len(c.Endpoints))
	}
	for i, name := range c.Containers {
		for _, other := range c.Containers[:i] {
			if name == other {
				return fmt.Errorf("external: container %s is named twice", name)
			}
		}
		if name == "" {
			return errors.New("external: a container without a name")
		}
	}
	for i, pid := range c.PIDs {
		for _, other := range c.PIDs[:i] {
			if pid == other {
				return fmt.Errorf("external: pid %d is named twice", pid)
			}
		}
		if pid < 2 {
			return fmt.Errorf("external: %d is no broker's pid", pid)
		}
	}
	return nil
}

// Vanishing returns the first of the containers of a configuration that its engine removes
// when it ends (--rm), "" where none is. A container that is not there is for the start to report.
func Vanishing(ctx context.Context, c Config) string {
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	if len(c.Containers) == 0 {
		return ""
	}
	engine, err := docker.Open(ctx, "")
	if err != nil {
		return ""
	}
	for _, name := range c.Containers {
		if c, err := engine.Find(ctx, name); err == nil {
			if s, err := c.State(ctx); err == nil && s.Vanishes {
				return name
			}
		}
	}
	return ""
}

// adopt gives the nodes of external brokers what faults can
// act on. It changes nothing about them.
func adopt(p *plan, c Config) error {
	for i, n := range p.nodes {
		n.foreign, n.launcher = true, gone{}
		n.restartBound, n.stopBound = time.Minute, 30*time.Second
		n.ready = func(ctx context.Context) error { _, err := n.Probe(ctx); return err }
		switch {
		case len(c.PIDs) > 0:
			p, err := adoptProcess(c.PIDs[i], n.listener())
			if err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
			n.proc, n.theirs = p, map[string]any{"pid": float64(p.pid), "start": float64(p.born), "boot": bootID()} // as the journal reads them
		case len(c.Containers) > 0:
			if err := n.adoptContainer(c.Containers[i]); err != nil {
				return fmt.Errorf("%s: %w", n.name, err)
			}
		}
	}
	return nil
}

// gone launches brokers that somebody else started as processes: it cannot.
type gone struct{ processes }

func (gone) launch(_ context.Context, n *Node) (instance, error) {
	return nil, fmt.Errorf("start %s: it is gone, and only who started it knows how: %w", n.name, ErrUnsupported)
}

func (n *Node) adoptContainer(name string) error {
	ctx := context.Background() // each call is bounded by itself
	engine, err := docker.Open(ctx, "")
	if err != nil {
		return err
	}
	c, err := engine.Find(ctx, name)
	if err != nil {
		return err
	}
	s, err := c.State(ctx)
	if err != nil {
		return err
	}
	if !s.Running || s.Paused {
		return fmt.Errorf("container %s does not run; start it, or unpause it", name)
	}
	if s.Vanishes {
		n.immortal = fmt.Sprintf("the engine removes container %s when it ends (--rm), and it could not be started again; use pause", name)
	}
	n.launcher, n.proc = &box{c: c}, begun(c, s, nil)
	n.theirs = map[string]any{"engine": engine.Host(), "container": c.ID()}
	return nil
}

// Foreign is how to find the process or container of a broker that somebody
// else started, when this process is dead: what was done to it does not end
// with us. It is nil for a node of ours.
func (n *Node) Foreign() map[string]any { return n.theirs }

// Can is nil if the node can be brought into the state and back again.
func (n *Node) Can(want string) error {
	if n.immortal != "" && (want == history.EndKilled || want == history.EndStopped) {
		return fmt.Errorf("%w: %s", ErrUnsupported, n.immortal)
	}
	if _, ok := n.process().(*process); ok && n.foreign && (want == history.EndKilled || want == history.EndStopped) {
		return fmt.Errorf("%w: %s of %s was not started by rmq-mcp, which cannot start it again; use pause, or run it in a container and name the container", ErrUnsupported, n.process(), n.name)
	}
	return nil
}
