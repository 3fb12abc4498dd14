package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"syscall"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
)

// A podded is a node in its pod, from one start to its end. Commands of this program in the
// pod signal it and look at it.
type podded struct {
	pod   *kube.Pod
	began time.Time
	gone  chan struct{}
	exit  string
	oom   bool // its machine says that there was no memory for it
}

// watchPod watches a pod that runs until it and its log end.
func watchPod(pod *kube.Pod, s kube.State, followed <-chan struct{}) *podded {
	p := &podded{pod: pod, began: s.Started, gone: make(chan struct{})}
	go func() {
		defer close(p.gone)
		s, _ := pod.Wait(context.Background())
		p.exit, p.oom = endOfPod(s), s.OOMKilled
		select {
		case <-followed:
		case <-time.After(lastLines):
		}
	}()
	return p
}

// endOfPod says how a pod's broker ended.
func endOfPod(s kube.State) string {
	switch {
	case s.Removed:
		return history.StateExited + "removed from the cluster"
	case s.Waiting != "":
		return history.StateExited + s.Waiting
	}
	return exitStatus(s.Exit)
}

func (p *podded) String() string { return "pod " + p.pod.Name() }

func (p *podded) identity() (string, error) {
	return fmt.Sprintf("pod %s, started at %s", p.pod.UID(), p.began.Format(time.RFC3339)), nil
}

func (p *podded) number() int                   { return 0 }
func (p *podded) ended() <-chan struct{}        { return p.gone }
func (p *podded) how() string                   { return p.exit }
func (p *podded) starved() bool                 { return p.oom }
func (p *podded) next(context.Context) instance { return nil }

func (p *podded) exited() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

func (p *podded) state() (string, error) {
	if p.exited() {
		return p.exit, nil
	}
	seen, err := p.look(context.Background())
	if err == nil && seen.State != "" {
		return seen.State, nil
	}
	// A command in a pod fails when its broker has ended, which the API server learns later.
	s, asked := p.pod.State(context.Background())
	if asked == nil && s.Running && err != nil {
		select {
		case <-p.gone:
			return p.exit, nil
		case <-time.After(3 * time.Second):
			return "", err
		}
	}
	select {
	case <-p.gone:
		return p.exit, nil
	case <-time.After(changeBound):
		return "", fmt.Errorf("%s does not run, and its exit status is not known", p)
	}
}

// look runs a command in the pod that looks at the broker.
func (p *podded) look(ctx context.Context) (seen Inside, err error) {
	text, err := p.pod.Exec(ctx, kube.Self, "inside", "look")
	if err == nil {
		err = json.Unmarshal(text, &seen)
	}
	return seen, err
}

func (p *podded) signal(sig syscall.Signal) error {
	_, err := p.pod.Exec(context.Background(), kube.Self, "inside", "signal", strconv.Itoa(int(sig)))
	return err
}

// metrics are those of a process, as its machine counts them.
func (p *podded) metrics(ctx context.Context, into map[string]float64) error {
	seen, err := p.look(ctx)
	maps.Copy(into, seen.Metrics)
	return err
}
