package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
)

// A managed is a node in a pod that we did not make, from one start to its end. A controller,
// such as a StatefulSet, makes a pod of the same name when it is gone.
type managed struct {
	*podInstance
	asked atomic.Bool // we had it deleted
}

// adoptPod finds the pod of a node, namespace/name.
func (n *Node) adoptPod(name string) error {
	ctx := context.Background() // each call is bounded by itself
	api, err := kube.Open(ctx, kube.Target{})
	if err != nil {
		return err
	}
	space, pod, _ := strings.Cut(name, "/")
	found, err := api.In(space).Find(ctx, pod)
	if err != nil {
		return err
	}
	s, err := found.State(ctx)
	if err != nil {
		return err
	}
	if !s.Running {
		return fmt.Errorf("pod %s does not run: %s", name, s.Why)
	}
	p := manage(found, s)
	n.launcher, n.proc = managedLauncher{}, p
	n.stopBound += found.Grace()
	n.theirs = map[string]any{"pod": name, "context": api.String()}
	return nil
}

// lease keeps other runs from the pods of nodes until the cluster is disarmed.
func (c *Cluster) lease(ctx context.Context, opts Options) error {
	if len(opts.Config.Pods) == 0 {
		return nil
	}
	api, err := kube.Open(ctx, kube.Target{})
	if err != nil {
		return err
	}
	holder, err := holderOf(opts.Run)
	if err != nil {
		return err
	}
	held := kube.Held{Target: api.Target(), Pods: opts.Config.Pods, Holder: holder}
	if err := opts.Ledger.Making(kube.LeaseLayer, opts.Run, held); err != nil {
		return err
	}
	all := api.Leases(held)
	kept, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.armed = append(c.armed, func() (err error) {
		stop()
		for _, l := range all {
			err = errors.Join(err, l.Free(context.Background()))
		}
		return cmp.Or(err, opts.Ledger.Gone(kube.LeaseLayer, opts.Run))
	})
	for _, l := range all {
		if err := l.Take(ctx); err != nil {
			return err
		}
		go func() {
			if err := l.Keep(kept); err != nil && kept.Err() == nil {
				opts.Lost(fmt.Errorf("the %s is lost: %w", l, err))
			}
		}()
	}
	return nil
}

// holderOf names who holds leases for a run.
func holderOf(run string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name this machine: %w", err)
	}
	return host + ", run " + run, nil
}

func manage(pod *kube.Pod, s kube.State) *managed {
	return &managed{podInstance: watchPod(pod, s, func() {})}
}

// how it ended is its status, unless the cluster ended it. We may have asked for that.
func (p *managed) how() string {
	if p.last.Ended && p.last.Deleted && p.asked.Load() {
		return exitStatus(p.last.Exit)
	}
	return p.podInstance.how()
}

func (p *managed) state(ctx context.Context) (string, error) {
	if p.exited() {
		return p.how(), nil
	}
	s, err := p.pod.State(ctx)
	switch {
	case err != nil:
		return "", err
	case s.Running:
		return history.StateRunning, nil
	}
	select {
	case <-p.gone:
		return p.how(), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// can is nil for a restart alone: a pod that is gone comes back at once, and no signal reaches
// the first process of its namespace from there.
func (p *managed) can(want string) error {
	if want == history.EndRestarted || want == history.StateRunning {
		return nil
	}
	return fmt.Errorf("%w: the controller of %s starts it again at once; use restart or rolling_restart, by SIGTERM", ErrUnsupported, p)
}

// signal deletes the pod for SIGTERM.
func (p *managed) signal(sig syscall.Signal) error {
	if sig != sigEnd {
		return fmt.Errorf("send signal %d to %s: its deletion sends SIGTERM, and nothing else reaches it: %w", sig, p, ErrUnsupported)
	}
	p.asked.Store(true)
	return p.pod.End(context.Background())
}

// next waits for the pod that the controller makes in its place.
func (p *managed) next(ctx context.Context) instance {
	pod, err := p.pod.Next(ctx)
	if err != nil {
		return nil
	}
	s, err := pod.Await(ctx)
	if err != nil {
		return nil
	}
	return manage(pod, s)
}

// A managedLauncher leaves it to the controller.
type managedLauncher struct{}

func (managedLauncher) launch(ctx context.Context, n *Node) (instance, error) {
	p := n.process().(*managed)
	if next := p.next(ctx); next != nil {
		return next, nil
	}
	return nil, errors.Join(fmt.Errorf("start %s: its controller made no other pod", p), ctx.Err())
}

func (managedLauncher) mechanism(state string) string {
	return map[string]string{history.EndStopped: "deletion of its pod"}[state]
}

func (managedLauncher) beside(thing) error {
	return fmt.Errorf("nothing of this machine reaches a pod: %w", ErrUnsupported)
}
