package cluster

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
)

// lastLines is how long a log may lag behind the end of its container.
const lastLines = time.Second

// A box is the container of one node. It is made once and started again and
// again, so that what the broker wrote into it is kept.
type box struct {
	log  string                                           // file; "": not followed
	make func(context.Context) (*docker.Container, error) // the first time
	mu   sync.Mutex
	c    *docker.Container
}

// launch starts the container and follows it to its end.
func (b *box) launch(ctx context.Context, _ *Node) (instance, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	again := b.c != nil
	if !again {
		c, err := b.make(ctx)
		if err != nil {
			return nil, err
		}
		b.c = c
	}
	since := time.Now()
	if err := b.c.Start(ctx); err != nil {
		return nil, err
	}
	s, err := b.c.State(ctx)
	if err != nil {
		return nil, err
	}
	if b.log == "" {
		return begun(b.c, s, nil), nil
	}
	log, err := openLog(b.log, again)
	if err != nil {
		return nil, err
	}
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		defer log.Close()
		if err := b.c.Follow(context.WithoutCancel(ctx), since, log); err != nil {
			fmt.Fprintf(log, "rmq-mcp: %v\n", err)
		}
	}()
	return begun(b.c, s, followed), nil
}

// A boxed is a container from one start to its end.
type boxed struct {
	c     *docker.Container
	began time.Time
	gone  chan struct{}
	exit  string
	oom   bool // the engine says that there was no memory for it
	again bool // its engine starts it again
}

// begun watches a container that runs, by its state, until it and its log end.
func begun(c *docker.Container, s docker.State, followed <-chan struct{}) *boxed {
	r := &boxed{c: c, began: s.Started, gone: make(chan struct{})}
	go r.watch(followed)
	return r
}

// watch waits for the end of the container, and of its log.
func (r *boxed) watch(followed <-chan struct{}) {
	defer close(r.gone)
	ctx := context.Background()
	for r.exit == "" {
		err := r.c.Wait(ctx)
		s, asked := r.c.State(ctx)
		switch {
		case asked == nil && (!s.Running || s.Removed):
			r.exit, r.oom = endOf(s), s.OOMKilled
		case asked == nil && !s.Started.Equal(r.began):
			r.exit, r.again = history.StateExited+"its engine has started it again", true
		case asked == nil && err == nil: // its engine is about to start it again
			r.exit, r.oom, r.again = endOf(s), s.OOMKilled, true
		default: // the engine itself is not there; the container may be
			time.Sleep(followEvery)
		}
	}
	if followed == nil {
		return
	}
	select {
	case <-followed:
	case <-time.After(lastLines):
	}
}

// next waits for the same container, if its engine starts it again by itself. An engine
// takes up to a minute after many ends in a row.
func (r *boxed) next(ctx context.Context) instance {
	for r.again {
		s, err := r.c.State(ctx)
		switch {
		case err == nil && !s.Running:
			return nil
		case err == nil && !s.Started.Equal(r.began):
			return begun(r.c, s, nil)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
	return nil
}

// endOf says how a container ended.
func endOf(s docker.State) string {
	if s.Removed {
		return history.StateExited + "removed from the engine"
	}
	return exitStatus(s.Exit)
}

// exitStatus is an end by its status, which is 128+n for an end by signal n.
func exitStatus(status int) string {
	if status > 128 && status < 128+32 {
		n := syscall.Signal(status - 128)
		return fmt.Sprintf("%ssignal %d (%s)", history.StateExited, n, n)
	}
	return fmt.Sprintf("%sstatus %d", history.StateExited, status)
}

func (r *boxed) String() string { return "container " + r.c.Name() }
func (r *boxed) identity() (string, error) {
	s, err := r.c.State(context.Background())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("container %.12s, started at %s", r.c.ID(), s.Started.Format(time.RFC3339Nano)), nil
}

func (r *boxed) number() int            { return 0 }
func (r *boxed) ended() <-chan struct{} { return r.gone }
func (r *boxed) how() string            { return r.exit }
func (r *boxed) starved() bool          { return r.oom }

func (r *boxed) exited() bool {
	select {
	case <-r.gone:
		return true
	default:
		return false
	}
}

func (r *boxed) state(context.Context) (string, error) {
	if r.exited() {
		return r.exit, nil
	}
	s, err := r.c.State(context.Background())
	switch {
	case err != nil:
		return "", err
	case s.Paused:
		return history.StateFrozen, nil
	case s.Running:
		return history.StateRunning, nil
	}
	select { // it ended and is about to be noticed
	case <-r.gone:
		return r.exit, nil
	case <-time.After(changeBound):
		return "", fmt.Errorf("%s does not run, and its exit status is not known", r)
	}
}

func (r *boxed) signal(sig syscall.Signal) error {
	ctx := context.Background() // each call is bounded by itself
	switch sig {
	case sigFreeze:
		return r.c.Pause(ctx)
	case sigThaw:
		return r.c.Unpause(ctx)
	case sigEnd:
		return r.c.Signal(ctx, "SIGTERM")
	case sigKill:
		return r.c.Signal(ctx, "SIGKILL")
	}
	return fmt.Errorf("send signal %d to %s: %w", sig, r, ErrUnsupported)
}

// metrics are those of a process, as the engine counts them.
func (r *boxed) metrics(ctx context.Context, into map[string]float64) error {
	u, err := r.c.Usage(ctx)
	if err != nil {
		return err
	}
	into[history.ObserveMemory] = float64(u.MemoryBytes)
	into["process_threads"] = float64(u.Threads)
	into["process_cpu_s"] = u.CPUSeconds
	return nil
}

// mechanism names the engine's command for a state.
func (*box) mechanism(state string) string {
	return map[string]string{history.EndKilled: "docker kill", history.EndStopped: "docker kill -s TERM", history.StateFrozen: "docker pause"}[state]
}

func (*box) beside(t thing) error {
	return map[thing]error{
		diskLayer:    fmt.Errorf("a container does not see what is mounted here: %w; use runtime process", ErrUnsupported),
		clockLibrary: fmt.Errorf("the clock of a container: %w; use the runtime process", ErrUnsupported),
		otherBinary:  fmt.Errorf("its container runs what its image holds: %w; use runtime process", ErrUnsupported),
	}[t]
}

// userOf is who owns the files that a node's container works on.
func userOf() string { return fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid()) }
