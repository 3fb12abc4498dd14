package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
)

// A podInstance is a node in a pod, from one start to its end, of any maker.
type podInstance struct {
	pod   *kube.Pod
	began time.Time
	gone  chan struct{}
	last  kube.State // valid after gone
}

// watchPod watches a running pod to its end, and calls after.
func watchPod(pod *kube.Pod, s kube.State, after func()) *podInstance {
	p := &podInstance{pod: pod, began: s.Started, gone: make(chan struct{})}
	go func() {
		defer close(p.gone)
		p.last, _ = pod.Wait(context.Background())
		after()
	}()
	return p
}

func (p *podInstance) String() string { return "pod " + p.pod.Name() }

func (p *podInstance) identity() (string, error) {
	return fmt.Sprintf("pod %s, started at %s", p.pod.UID(), p.began.Format(time.RFC3339)), nil
}

func (p *podInstance) number() int            { return 0 }
func (p *podInstance) ended() <-chan struct{} { return p.gone }
func (p *podInstance) how() string            { return endOfPod(p.last) }
func (p *podInstance) starved() bool          { return p.last.OOMKilled }

func (p *podInstance) exited() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// A podded is a node in its pod. Commands of this program in the pod signal it and look at it.
type podded struct {
	*podInstance
	broker   [2]string // process in the pod: its number, and its start as the kernel counts it
	followed <-chan struct{}
}

func newPodded(pod *kube.Pod, s kube.State, followed <-chan struct{}) *podded {
	p := &podded{followed: followed}
	p.podInstance = watchPod(pod, s, func() { p.readToEnd(lastLines) })
	return p
}

// readToEnd waits for the end of the log.
func (p *podded) readToEnd(bound time.Duration) {
	select {
	case <-p.followed:
	case <-time.After(bound):
	}
}

// endOfPod says how a pod's broker ended. An end by the cluster's doing, or one whose status is
// not known, is not by signal or status.
func endOfPod(s kube.State) string {
	switch {
	case s.Why != "":
		return history.StateExited + s.Why
	case s.Ended:
		return exitStatus(s.Exit)
	}
	return history.StateExited + "removed from the cluster"
}

func (p *podded) next(context.Context) instance { return nil }

func (p *podded) state(ctx context.Context) (string, error) {
	if p.exited() {
		return p.how(), nil
	}
	seen, err := p.look(ctx)
	if err == nil && seen.State != "" {
		return seen.State, nil
	}
	// A command in a pod fails when its broker has ended, which the API server learns later.
	bound := changeBound
	if s, asked := p.pod.State(ctx); asked != nil || s.Running {
		bound = learnBound
	}
	select {
	case <-p.gone:
		return p.how(), nil
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), err)
	case <-time.After(bound):
		return "", errors.Join(fmt.Errorf("%s does not answer, and its end is not known", p), err)
	}
}

// learnBound is how long an API server may take to learn of an end.
const learnBound = 3 * time.Second

// meet notes which process is the broker. A broker that has ended already is none.
func (p *podded) meet(ctx context.Context) error {
	seen, err := p.look(ctx)
	switch {
	case err != nil:
		_, err = p.state(ctx)
		return err
	case seen.Build != build.Version():
		return fmt.Errorf("start %s: the image in %s is rmq-mcp %s, and this is %s; use the image of this version", p, PodsImageEnv, seen.Build, build.Version())
	}
	p.broker = [2]string{strconv.Itoa(seen.PID), strconv.FormatUint(seen.Born, 10)}
	return nil
}

// look runs a command in the pod that looks at the broker.
func (p *podded) look(ctx context.Context) (seen Inside, err error) {
	text, err := p.run(ctx, "look")
	if err == nil {
		err = json.Unmarshal(text, &seen)
	}
	return seen, err
}

// run runs a command of this program on the broker's process.
func (p *podded) run(ctx context.Context, command ...string) ([]byte, error) {
	if p.broker[0] != "" {
		command = append(command, p.broker[:]...)
	}
	return p.pod.Exec(ctx, append([]string{kube.Self, "inside"}, command...)...)
}

// signal sends it. The command may end with the broker, whose container it is in.
func (p *podded) signal(sig syscall.Signal) error {
	_, err := p.run(context.Background(), "signal", strconv.Itoa(int(sig)))
	if err == nil || sig != sigKill {
		return err
	}
	select {
	case <-p.gone:
		return nil
	case <-time.After(learnBound):
		return err
	}
}

// attach runs a command of this program in the network of the pod, and returns the pod's address. A
// pod outlives its broker.
func (p *podded) attach(ctx context.Context, command ...string) (io.ReadWriteCloser, netip.Addr, error) {
	s, err := p.pod.State(ctx)
	if err != nil {
		return nil, netip.Addr{}, err
	}
	own, err := netip.ParseAddr(s.Address)
	if err != nil {
		return nil, own, fmt.Errorf("%s has no address: %w", p, err)
	}
	return p.pod.Attach(command...), own, nil
}

// metrics are those of a process, as its machine counts them.
func (p *podded) metrics(ctx context.Context, into map[string]float64) error {
	seen, err := p.look(ctx)
	maps.Copy(into, seen.Metrics)
	return err
}
