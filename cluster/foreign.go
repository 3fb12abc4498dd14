package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
)

// Theirs is how external nodes are named for faults to act on them, one for each endpoint, in
// their order. The kind is "" if they are not.
func (c Config) Theirs() (kind string, names []string) {
	for _, pid := range c.PIDs {
		kind, names = history.AsProcess, append(names, strconv.Itoa(pid))
	}
	if len(c.Containers) > 0 {
		kind, names = history.AsContainer, c.Containers
	}
	if len(c.Pods) > 0 {
		kind, names = history.AsPod, c.Pods
	}
	return kind, names
}

// checkForeign checks how external brokers are named, beside
// their endpoints and in their order.
func checkForeign(c Config) error {
	kind, names := c.Theirs()
	switch {
	case c.Protocol != "" && !c.Foreign():
		return fmt.Errorf("protocol is of external brokers; nodes of %s listen for all that it speaks; leave protocol out", c.Flavor)
	case kind == "":
		return nil
	case !c.Foreign():
		return fmt.Errorf("containers, pids and pods are of external brokers; %s starts its own; set flavor external, or leave them out", c.Flavor)
	case len(names) != len(c.Containers)+len(c.PIDs)+len(c.Pods):
		return errors.New("external: name containers, pids or pods, not two of them")
	case len(names) != len(c.Endpoints):
		return fmt.Errorf("external: %d %ss for %d endpoints; name one for each, in their order", len(names), kind, len(c.Endpoints))
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("external: %s %s is named twice", kind, name)
		}
		if name == "" {
			return fmt.Errorf("external: a %s without a name", kind)
		}
		if _, _, ok := strings.Cut(name, "/"); kind == history.AsPod && !ok {
			return fmt.Errorf("external: pod %q is not namespace/name", name)
		}
	}
	for _, pid := range c.PIDs {
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
		case len(c.Pods) > 0:
			if err := n.adoptPod(c.Pods[i]); err != nil {
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

// Can is nil if the node can be brought into the state and back again. Beside states it takes
// [history.EndRestarted].
func (n *Node) Can(want string) error {
	if p, ok := n.process().(*managed); ok {
		return p.can(want)
	}
	ends := want == history.EndKilled || want == history.EndStopped || want == history.EndRestarted
	if n.immortal != "" && ends {
		return fmt.Errorf("%w: %s", ErrUnsupported, n.immortal)
	}
	if _, ok := n.process().(*process); ok && n.foreign && ends {
		return fmt.Errorf("%w: %s of %s was not started by rmq-mcp, which cannot start it again; use pause, or run it in a container and name the container", ErrUnsupported, n.process(), n.name)
	}
	return nil
}
