package cluster

import (
	"bufio"
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

	psnet "github.com/shirou/gopsutil/v3/net"

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
// more, or its clock is not known within [history.ClocksWithin].
type DriverPod struct {
	*podded
	over   chan struct{} // closed when its output has ended
	cancel func()        // ends it
	leave  func() error  // removes the pod

	asking sync.Mutex // of attendant
	attendant

	mu    sync.Mutex
	clock offset.Estimate
	lost  error
}

// An attendant is a command in the pod that answers each line by an [Attended].
type attendant struct {
	io.ReadWriteCloser
	replies *json.Decoder
}

// Attended is what an attendant sees of a process.
type Attended struct {
	Now         int64  `json:"now"`   // CLOCK_MONOTONIC there, nanoseconds
	State       string `json:"state"` // running or frozen; "": it has ended
	Connections int    `json:"connections"`
}

const (
	attendBound = 10 * time.Second // for an answer
	greetings   = 20               // round trips that set the clock at the start
)

// Start starts a command of this program in a pod named after name. In and out become its input and
// output, and are closed at its end, or with an error.
func (d *DriverPods) Start(ctx context.Context, name string, cmd *exec.Cmd, in, out *os.File) (_ *DriverPod, err error) {
	streams, end := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			end()
			err = errors.Join(fmt.Errorf("start %s in a pod: %w", name, err), in.Close(), out.Close(), d.pods.space.DeletePod(context.WithoutCancel(ctx), name))
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, podBound)
	defer cancel()
	node := name
	name = d.next(node)
	spec := kube.Spec{
		Name: name, Node: node, Image: d.pods.self, Self: d.pods.self, Stdin: true,
		Command: append([]string{kube.Self}, cmd.Args[len(d.pods.opts.Program):]...),
	}
	if d.ca != "" {
		content, err := os.ReadFile(d.ca)
		if err != nil {
			return nil, err
		}
		if err := d.pods.space.Secret(ctx, node, map[string][]byte{"ca": content}); err != nil {
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
	p := &DriverPod{podded: newPodded(pod, s, logged), over: make(chan struct{}), cancel: end}
	if err := p.meet(ctx); err != nil {
		return nil, err
	}
	p.attendant.ReadWriteCloser = pod.Attach("inside", "attend", p.broker[0], p.broker[1])
	p.replies = json.NewDecoder(p.attendant)
	for range greetings {
		if _, err = p.attended(); err != nil {
			break
		}
	}
	if err = cmp.Or(err, p.uncertain()); err != nil {
		p.attendant.Close()
		return nil, err
	}
	d.change(func(all []*DriverPod) []*DriverPod { return append(all, p) })
	p.leave = func() error {
		d.change(func(all []*DriverPod) []*DriverPod {
			return slices.DeleteFunc(all, func(q *DriverPod) bool { return q == p })
		})
		return pod.Delete(context.WithoutCancel(ctx))
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

// Names are those of the pods that run, the oldest first.
func (d *DriverPods) Names() (names []string) {
	d.change(func(all []*DriverPod) []*DriverPod {
		for _, p := range all {
			names = append(names, p.pod.Name())
		}
		return all
	})
	return names
}

// Attach is [Node.Attach] of a pod.
func (d *DriverPods) Attach(ctx context.Context, name string, command ...string) (io.ReadWriteCloser, netip.Addr, error) {
	d.pods.driving.Lock()
	at := slices.IndexFunc(d.pods.drivers, func(p *DriverPod) bool { return p.pod.Name() == name })
	if at < 0 {
		d.pods.driving.Unlock()
		return nil, netip.Addr{}, fmt.Errorf("no driver runs in a pod %s", name)
	}
	p := d.pods.drivers[at]
	d.pods.driving.Unlock()
	return p.attach(ctx, command...)
}

// lose notes the first error by which it is lost.
func (p *DriverPod) lose(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = cmp.Or(p.lost, err)
	p.cancel()
}

// endBound is how long a driver may take to end after its output.
const endBound = 10 * time.Second

// Wait returns how the driver ended, as [exec.Cmd.Wait] does.
func (p *DriverPod) Wait() error {
	defer p.attendant.Close()
	<-p.over
	p.mu.Lock()
	lost := p.lost
	p.mu.Unlock()
	if lost == nil {
		select {
		case <-p.gone:
		case <-time.After(endBound):
			lost = fmt.Errorf("it did not end within %s of its output", endBound)
		}
	}
	if lost != nil {
		return errors.Join(errors.New(history.LostSight+lost.Error()), p.leave())
	}
	_ = p.leave() // it goes with the namespace otherwise
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

// Kill ends it by SIGKILL.
func (p *DriverPod) Kill() error {
	if p.exited() {
		return nil
	}
	return p.signal(sigKill)
}

// Freeze stops every thread of it, or lets them continue.
func (p *DriverPod) Freeze(stop bool) error {
	if stop {
		return p.signal(sigFreeze)
	}
	return p.signal(sigThaw)
}

// State is running, frozen, or how it ended.
func (p *DriverPod) State() (string, error) {
	seen, err := p.attended()
	if doubt := p.uncertain(); doubt != nil {
		p.lose(doubt)
	}
	if err == nil && seen.State != "" {
		return seen.State, nil
	}
	return p.state(context.Background())
}

// Connections counts its established TCP connections.
func (p *DriverPod) Connections() (int, error) {
	seen, err := p.attended()
	return seen.Connections, err
}

// Ahead is how far CLOCK_MONOTONIC of its machine is ahead of this machine's, and the bound of the error.
func (p *DriverPod) Ahead() (ahead, within time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clock.Ahead(), history.ClocksWithin
}

// attended asks the attendant, and learns of its clock.
func (p *DriverPod) attended() (seen Attended, err error) {
	p.asking.Lock()
	defer p.asking.Unlock()
	bound := time.AfterFunc(attendBound, func() { p.attendant.Close() }) // its machine may hang
	defer bound.Stop()
	sent := time.Duration(history.MonotonicNow())
	if _, err = io.WriteString(p.attendant, "\n"); err == nil {
		err = p.replies.Decode(&seen)
	}
	if err != nil {
		return seen, fmt.Errorf("look at %s: %w", p, err)
	}
	back := time.Duration(history.MonotonicNow())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock = p.clock.With(sent, time.Duration(seen.Now), back)
	return seen, nil
}

// uncertain is an error if its clock is not known well.
func (p *DriverPod) uncertain() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if within := p.clock.Within(time.Duration(history.MonotonicNow())); within > history.ClocksWithin {
		return fmt.Errorf("the clock of %s is known within %s, and is to be within %s", p, within, history.ClocksWithin)
	}
	return nil
}

// attend answers every line by what is to be seen of a process.
func attend(number, born string, in io.Reader, out io.Writer) error {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		seen := Attended{Now: history.MonotonicNow()}
		if pid, err := sameProcess(number, born); err == nil {
			if seen.State, err = osState(pid); err != nil {
				return err
			}
			all, err := psnet.ConnectionsPid("tcp", int32(pid))
			if err != nil && seen.State != "" {
				return fmt.Errorf("count the connections of process %s: %w", number, err)
			}
			seen.Connections = len(slices.DeleteFunc(all, func(c psnet.ConnectionStat) bool { return c.Status != "ESTABLISHED" }))
		}
		if err := json.NewEncoder(out).Encode(seen); err != nil {
			return err
		}
	}
	return nil
}
