package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
	"github.com/robustmq/rmq-mcp/internal/offset"
)

// DriverPods are pods beside the nodes, for the drivers that are part of this program.
type DriverPods struct {
	pods *pods
	ca   string
}

// DriverPods returns nil if the drivers run on this machine.
func (c *Cluster) DriverPods() *DriverPods {
	if p, ok := c.runtime.(*pods); ok {
		return &DriverPods{p, c.CA()}
	}
	return nil
}

// A DriverPod is a driver in a pod of its own. It is lost, and killed, when its output cannot be read any
// more, it does not answer, or its clock is not known within [history.ClocksWithin].
type DriverPod struct {
	*podded
	over   chan struct{} // closed when its output has ended
	cancel func()        // ends it
	leave  func()        // removes the pod

	asking    sync.Mutex         // of what follows
	attendant io.ReadWriteCloser // [attend] in the pod; nil for none
	replies   *json.Decoder
	heard     time.Time // the last answer

	mu    sync.Mutex
	clock offset.Estimate
	stood time.Duration
	lost  error
}

const (
	attendBound = 10 * time.Second // for an answer
	silentBound = 30 * time.Second // without any
	greetings   = 20               // round trips that set the clock at the start
	endBound    = 10 * time.Second // how far the end of a driver may be from that of its output
)

// Start starts a command of this program in a pod named after name. In and out become its input and
// output, and are closed at its end, or with an error.
func (d *DriverPods) Start(ctx context.Context, name string, cmd *exec.Cmd, in, out *os.File) (_ *DriverPod, err error) {
	spec := kube.Spec{
		Name: d.next(name), Node: name, Image: d.pods.self, Self: d.pods.self, Stdin: true,
		Command: append([]string{kube.Self}, cmd.Args[len(d.pods.opts.Program):]...),
	}
	whole := context.WithoutCancel(ctx)
	streams, end := context.WithCancel(whole)
	defer func() {
		if err != nil {
			end()
			err = errors.Join(fmt.Errorf("start pod %s: %w", spec.Name, err), in.Close(), out.Close(), d.pods.space.DeletePod(whole, spec.Name))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, podBound)
	defer cancel()
	if d.ca != "" {
		content, err := os.ReadFile(d.ca)
		if err != nil {
			return nil, err
		}
		if err := d.pods.space.Secret(ctx, name, map[string][]byte{"ca": content}); err != nil {
			return nil, err
		}
		spec.Files = map[string]string{d.ca: "ca"}
	}
	pod, err := d.pods.space.Pod(ctx, spec)
	if err != nil {
		return nil, err
	}
	s, err := pod.Await(ctx)
	if err != nil {
		return nil, err
	}
	logged := make(chan struct{})
	close(logged)
	p := &DriverPod{podded: newPodded(pod, s, logged), over: make(chan struct{}), cancel: end, heard: time.Now()}
	if err := p.meet(ctx); err != nil {
		return nil, err
	}
	for range greetings {
		if _, err := p.attended(askState); err != nil {
			return nil, errors.Join(err, p.detach())
		}
	}
	if err := p.uncertain(); err != nil {
		return nil, errors.Join(err, p.detach())
	}
	d.change(func(all []*DriverPod) []*DriverPod { return append(all, p) })
	p.leave = func() {
		d.change(func(all []*DriverPod) []*DriverPod {
			return slices.DeleteFunc(all, func(q *DriverPod) bool { return q == p })
		})
		go pod.Delete(whole) // it goes with the namespace otherwise
	}
	go func() {
		defer close(p.over)
		p.lose(pod.Streams(streams, in, out, cmd.Stderr))
		in.Close()
		out.Close()
	}()
	return p, nil
}

// next is a name for the next pod.
func (d *DriverPods) next(name string) string {
	d.pods.driving.Lock()
	defer d.pods.driving.Unlock()
	d.pods.driven++
	return fmt.Sprintf("%s-%d", name, d.pods.driven)
}

// change changes the list of the pods that run.
func (d *DriverPods) change(how func([]*DriverPod) []*DriverPod) {
	d.pods.driving.Lock()
	defer d.pods.driving.Unlock()
	d.pods.drivers = how(d.pods.drivers)
}

// running are the pods that run, the oldest first.
func (d *DriverPods) running() []*DriverPod {
	d.pods.driving.Lock()
	defer d.pods.driving.Unlock()
	return slices.Clone(d.pods.drivers)
}

// Names are those of the pods that run, the oldest first.
func (d *DriverPods) Names() (names []string) {
	for _, p := range d.running() {
		names = append(names, p.pod.Name())
	}
	return names
}

// Attach is [Node.Attach] of a pod.
func (d *DriverPods) Attach(ctx context.Context, name string, command ...string) (io.ReadWriteCloser, netip.Addr, error) {
	for _, p := range d.running() {
		if p.pod.Name() == name {
			return p.attach(ctx, command...)
		}
	}
	return nil, netip.Addr{}, fmt.Errorf("no driver runs in a pod %s", name)
}

// lose notes the first error by which it is lost, and ends its output.
func (p *DriverPod) lose(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = cmp.Or(p.lost, err)
	p.cancel()
}

// lostBy is why it is lost, nil if it is not.
func (p *DriverPod) lostBy() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Wait returns how the driver ended, as [exec.Cmd.Wait] does.
func (p *DriverPod) Wait() error {
	select {
	case <-p.over:
	case <-p.gone:
	}
	bound := time.After(endBound)
	for _, done := range []<-chan struct{}{p.over, p.gone} {
		if p.lostBy() != nil {
			break
		}
		select {
		case <-done:
		case <-bound:
			p.lose(fmt.Errorf("its end and that of its output are more than %s apart", endBound))
		}
	}
	p.cancel()
	<-p.over
	_ = p.detach()
	p.leave()
	if lost := p.lostBy(); lost != nil {
		return errors.New(history.LostSight + lost.Error())
	}
	return p.end()
}

// end is how the driver ended, by the last state of its pod.
func (p *DriverPod) end() error {
	switch s := p.last; {
	case s.Why != "" || !s.Ended:
		return errors.New(history.LostSight + cmp.Or(s.Why, "its pod was removed"))
	case s.Exit > 128:
		return fmt.Errorf("signal: %s", syscall.Signal(s.Exit-128))
	case s.Exit > 0:
		return fmt.Errorf("exit status %d", s.Exit)
	}
	return nil
}

// Kill ends it by SIGKILL. A driver that cannot be killed is lost, and its pod is removed.
func (p *DriverPod) Kill() error {
	if p.exited() {
		return nil
	}
	err := p.signal(sigKill)
	if err != nil {
		p.lose(err)
	}
	return err
}

// Freeze stops every thread of it, or lets them continue.
func (p *DriverPod) Freeze(stop bool) error {
	if stop {
		return p.signal(sigFreeze)
	}
	return p.signal(sigThaw)
}

// State is running, frozen, or how it ended.
func (p *DriverPod) State() (state string, err error) {
	if !p.exited() {
		seen, failed := p.attended(askState)
		if doubt := p.uncertain(); doubt != nil {
			p.lose(doubt)
		}
		if failed == nil && seen.State != "" {
			return seen.State, nil
		}
		state, err = p.state(context.Background())
	}
	if p.exited() {
		if end := p.end(); end != nil {
			return history.StateExited + end.Error(), nil
		}
		return history.StateExited + "exit status 0", nil
	}
	return state, err
}

// Connections counts its established TCP connections.
func (p *DriverPod) Connections() (int, error) {
	if p.exited() {
		return 0, nil
	}
	seen, err := p.attended(askConnections)
	return seen.Connections, err
}

// Stood is the longest time since the last call for which its machine ran nothing.
func (p *DriverPod) Stood() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	stood := p.stood
	p.stood = 0
	return stood
}

// Ahead is how far CLOCK_MONOTONIC of its machine is ahead of this machine's, and the bound of the error.
func (p *DriverPod) Ahead() (ahead, within time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clock.Ahead(), history.ClocksWithin
}

// attended asks the attendant, and learns of its clock. A pod that does not answer for long is lost.
func (p *DriverPod) attended(ask string) (seen Attended, err error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	if p.attendant == nil {
		p.attendant = p.pod.Attach("inside", "attend", p.broker[0], p.broker[1])
		p.replies = json.NewDecoder(p.attendant)
	}
	attendant := p.attendant
	bound := time.AfterFunc(attendBound, func() { attendant.Close() }) // its machine may hang
	defer bound.Stop()
	sent := time.Duration(history.MonotonicNow())
	if _, err = io.WriteString(attendant, ask+"\n"); err == nil {
		err = p.replies.Decode(&seen)
	}
	back := time.Duration(history.MonotonicNow())
	if err != nil {
		attendant.Close()
		p.attendant = nil
		if silent := time.Since(p.heard); silent > silentBound {
			p.lose(fmt.Errorf("it has not answered for %s: %w", silent.Round(time.Second), err))
		}
		return seen, fmt.Errorf("look at %s: %w", p, err)
	}
	p.heard = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stood = max(p.stood, seen.Stood)
	if ask == askState { // counting connections takes long
		p.clock = p.clock.With(sent, time.Duration(seen.Now), back)
	}
	return seen, nil
}

// detach ends the attendant.
func (p *DriverPod) detach() error {
	p.asking.Lock()
	defer p.asking.Unlock()
	if p.attendant == nil {
		return nil
	}
	defer func() { p.attendant = nil }()
	return p.attendant.Close()
}

// uncertain is an error if its clock is not known well.
func (p *DriverPod) uncertain() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	within := p.clock.Within(time.Duration(history.MonotonicNow()))
	switch {
	case p.clock.Jumped():
		return fmt.Errorf("the clock of the machine of %s, or of this one, was set, or a machine slept", p)
	case within > history.ClocksWithin:
		return fmt.Errorf("the clock of the machine of %s is known within %s, and must be within %s; run rmq-mcp in the cluster", p, within, history.ClocksWithin)
	}
	return nil
}
