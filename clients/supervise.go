package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/environ"
)

const (
	handshakeWait = time.Minute // from the start of a driver to its hello
	commandWait   = time.Minute // for a driver to read a command; a busy machine takes long
	byeWait       = time.Minute // beyond the waits of the specification, from the last "end" to bye
	maxLine       = 64 << 10    // bytes
	maxProblems   = 20          // recorded of one driver
)

// A Recorder writes the history. *[history.Recorder] is one.
type Recorder interface {
	Record(history.Event) int64
	Tables() history.Tables
}

// Options of a driver. Command, Spec, Recorder and Clock are needed.
type Options struct {
	Place    Place         // nil: this machine, as it is
	Command  Program       // from [Provision]
	Spec     contract.Spec // Contract is filled in; processes and streams are those of the Recorder's tables
	Recorder Recorder
	Clock    history.Clock
	Node     func(endpoint string) int16 // nil: every node is unknown
	Stderr   io.Writer                   // what the driver and its SDK print; nil: nowhere
	OnError  func(error)                 // called once, with what Err will answer, as soon as it is known
	ByeWait  time.Duration               // for bye, beyond the waits of the specification; 0: a minute
}

// A Driver is a driver process that runs, and what it says is being recorded.
// It may crash, hang, print rubbish or lie: then a point of kind KindDriver is
// in the history, Err says so, its processes have no KindEnd, and nothing else
// of the harness is touched.
type Driver struct {
	opts  Options
	proc  Process
	stdin *os.File
	tail  *tail
	tr    *translator

	greeted chan struct{} // closed when hello was read
	failed  chan struct{} // closed when Err is not nil any more
	gone    chan struct{} // closed when the process is gone, exit says how
	watched chan struct{} // closed when all times are recorded for which it was stopped
	done    chan struct{} // closed when it is gone and all it said is recorded
	exit    string
	shot    atomic.Bool
	held    atomic.Bool // stopped by Set
	closed  atomic.Bool // killed by Close
	lines   atomic.Int64

	writing sync.Mutex // of a line to stdin

	mu       sync.Mutex
	hello    contract.Line
	err      error
	problems int
	ended    map[int32]bool // processes that were told to end
	bound    *time.Timer    // from the last end to bye
}

// Start starts a driver, hands it the specification and waits for its hello. The
// hello has to agree with the catalogue's entry of the SDK, because a run is planned
// and judged by that entry. From then on everything it writes is recorded until
// Done. The driver is killed when ctx ends.
func Start(ctx context.Context, opts Options) (*Driver, error) {
	if len(opts.Command.Argv) == 0 {
		return nil, errors.New("start driver: no command; get one from Provision")
	}
	opts.Spec.Contract = contract.Version
	d := &Driver{
		opts:    opts,
		tail:    &tail{next: opts.Stderr, secrets: passwords(opts.Spec)},
		greeted: make(chan struct{}),
		failed:  make(chan struct{}),
		gone:    make(chan struct{}),
		watched: make(chan struct{}),
		done:    make(chan struct{}),
		ended:   map[int32]bool{},
	}
	d.tr = newTranslator(opts, history.MonotonicNow())
	release, err := opts.Command.take(ctx)
	if err != nil {
		return nil, fmt.Errorf("start driver %s: %w", opts.Command, err)
	}
	stdout, err := d.start()
	if err != nil {
		release()
		return nil, fmt.Errorf("start driver %s: %w", opts.Command, err)
	}
	go d.read(stdout)
	go d.watch()
	if err := d.handshake(ctx); err != nil {
		d.Close()
		<-d.done
		release()
		return nil, fmt.Errorf("start driver %s: %w%s", opts.Command, err, d.tail)
	}
	stop := context.AfterFunc(ctx, func() {
		d.fail(fmt.Errorf("killed: %w", context.Cause(ctx)))
		d.Close()
	})
	go func() { <-d.done; stop(); release() }()
	return d, nil
}

// start starts the process with a pipe at each end.
func (d *Driver) start() (*os.File, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), stdin.Close())
	}
	d.stdin = stdin
	cmd := exec.Command(d.opts.Command.Argv[0], d.opts.Command.Argv[1:]...)
	cmd.Env = append(environ.Bare(), d.opts.Command.Env...)
	cmd.Stderr = d.tail
	cmd.WaitDelay = time.Second // a grandchild may hold the pipes
	place := d.opts.Place
	if place == nil {
		place = Here(nil)
	}
	d.proc, err = place.Start(cmd, childIn, childOut)
	if err != nil {
		stdin.Close()
		stdout.Close()
		return nil, err
	}
	d.tr.ahead = d.proc.Ahead
	d.say("started " + d.opts.Command.String())
	return stdout, nil
}

// handshake writes the specification and waits for hello.
func (d *Driver) handshake(ctx context.Context) error {
	timeout := time.NewTimer(handshakeWait)
	defer timeout.Stop()
	if err := d.write(d.opts.Spec); err != nil {
		return fmt.Errorf("write the specification: %w", err)
	}
	select {
	case <-d.greeted:
		return unlike(d.Hello(), d.opts.Command.SDK)
	case <-d.failed:
		return d.Err()
	case <-timeout.C:
		return fmt.Errorf("no hello within %s", handshakeWait)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// unlike says where a driver's hello is not what the catalogue says of its SDK.
func unlike(hello contract.Line, sdk SDK) error {
	said, known := slices.Sorted(slices.Values(hello.Cannot)), slices.Sorted(slices.Values(sdk.Cannot))
	switch {
	case sdk.Package == "":
		return nil
	case hello.SDK != sdk.Package || hello.Version != sdk.Version:
		return fmt.Errorf("the driver says that it drives %s %s, and was made for %s", hello.SDK, hello.Version, sdk)
	case hello.Dedupes != sdk.Dedupes:
		return fmt.Errorf("the driver says dedupes: %v, the catalogue %v", hello.Dedupes, sdk.Dedupes)
	case !slices.Equal(said, known):
		return fmt.Errorf("the driver says that it cannot %q, the catalogue %q", said, known)
	}
	return nil
}

// write writes one JSON line to the driver, within commandWait.
func (d *Driver) write(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	// Without deadlines on pipes (Windows) a driver that does not read is only
	// noticed once the pipe is full.
	d.writing.Lock()
	defer d.writing.Unlock()
	_ = d.stdin.SetWriteDeadline(time.Now().Add(commandWait))
	_, err = d.stdin.Write(append(data, '\n'))
	return err
}

// Do sends a command. After "end" for all its clients the driver has the waits
// of the specification and ByeWait to say bye; then it is killed.
func (d *Driver) Do(c contract.Command) error {
	select {
	case <-d.done:
		return d.refused(c, errors.New("it has ended"))
	default:
	}
	if c.Do == "end" {
		d.expectBye(c)
	}
	if err := d.write(c); err != nil {
		return d.refused(c, err)
	}
	return nil
}

// refused is why a command did not get through: how the driver ended, where it
// did. A pipe that nobody reads any more is noticed before the exit status is.
func (d *Driver) refused(c contract.Command, err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) { // it runs, and does not read
		select {
		case <-d.done:
		case <-time.After(commandWait):
		}
	}
	return fmt.Errorf("%s driver %s: %w", c.Do, d.opts.Command, cmp.Or(d.Err(), err))
}

// expectBye starts the time in which the driver must say bye, once all its
// clients were told to end.
func (d *Driver) expectBye(c contract.Command) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, client := range d.opts.Spec.Clients {
		if c.Process == contract.All || c.Process == client.Process {
			d.ended[client.Process] = true
		}
	}
	if len(d.ended) == len(d.opts.Spec.Clients) && d.bound == nil {
		wait := d.opts.ByeWait
		if wait == 0 {
			wait = byeWait
		}
		wait += 2 * time.Duration(d.opts.Spec.AckWaitMS) * time.Millisecond
		d.bound = time.AfterFunc(wait, func() {
			d.fail(fmt.Errorf("driver broke the contract: no bye within %s of end", wait))
			d.Close()
		})
	}
}

// Done is closed when the driver is gone and all that it wrote is recorded.
func (d *Driver) Done() <-chan struct{} { return d.done }

// Err is the first thing that went wrong: the history of this driver's
// processes is not complete then. It is nil while all is well, and after an
// end in order.
func (d *Driver) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// Hello is the driver's first line: the SDK it drives and what that can show.
func (d *Driver) Hello() contract.Line {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hello
}

// Close kills the driver if it still runs. The lines that it had written are
// recorded before Done is closed.
func (d *Driver) Close() error {
	select {
	case <-d.gone:
		return nil
	default:
	}
	d.closed.Store(true)
	return d.proc.Kill()
}

func exitText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}
