package disk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v3/process"
)

// Patience is how long a call waits whose context has no deadline, and how long a
// process that is to end may do nothing.
const Patience = 10 * time.Second

// endBound is how long a process that is to end may take in all.
const endBound = 5 * time.Minute

// Options are how the process of a layer is run.
type Options struct {
	Command []string  // what serves a layer, before its arguments; empty: this program with "disk"
	Log     io.Writer // what it says; nil: nothing
	// Start starts the process; nil: it is started as it is. Nobody else may
	// wait for it.
	Start func(*exec.Cmd) error
}

// A Client talks to the process of one layer. All methods can be called at the
// same time. A process that does not answer, because it was stopped or hangs,
// costs the caller its deadline, and [Client.Abort] frees whoever waits for
// the file system.
type Client struct {
	info  Info
	cmd   *exec.Cmd
	stdin io.WriteCloser
	gone  chan struct{} // closed when the process ended
	err   error         // how; after gone

	mu      sync.Mutex
	n       uint64
	waiting map[uint64]chan answer
}

// Start runs a process that takes over what is in config.Mount, mounts the
// layer there and serves it. It returns when the mount can be used. An error
// wraps errors.ErrUnsupported where this host cannot have a layer.
func Start(ctx context.Context, config Config, options Options) (*Client, error) {
	config, err := config.check()
	if err != nil {
		return nil, err
	}
	if err := Available(); err != nil {
		return nil, err
	}
	if err := vacant(config.Mount); err != nil {
		return nil, fmt.Errorf("start the disk layer of %s: %w", config.Mount, err)
	}
	c := &Client{gone: make(chan struct{}), waiting: map[uint64]chan answer{}}
	ready := c.expect(0)
	if err := c.run(config, options); err != nil {
		return nil, fmt.Errorf("start the disk layer of %s: %w", config.Mount, err)
	}
	ctx, cancel := c.patient(ctx)
	defer cancel()
	if err := c.receive(ctx, 0, ready, &c.info); err != nil {
		return nil, fmt.Errorf("start the disk layer of %s: %w", config.Mount, errors.Join(err, c.Abort()))
	}
	return c, nil
}

func (c *Client) run(config Config, options Options) error {
	argv := options.Command
	if len(argv) == 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		argv = []string{self, "disk"}
	}
	arg, err := json.Marshal(config)
	if err != nil {
		return err
	}
	c.cmd = exec.Command(argv[0], append(argv[1:], string(arg))...)
	c.cmd.Stderr = options.Log
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	start := options.Start
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if err := start(c.cmd); err != nil {
		return err
	}
	c.info = Info{PID: c.cmd.Process.Pid, Mount: config.Mount, Backing: config.Backing}
	go c.read(stdout)
	return nil
}

// read delivers the answers until the process ends.
func (c *Client) read(stdout io.Reader) {
	for in := bufio.NewReader(stdout); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var a answer
		if json.Unmarshal(line, &a) != nil {
			continue
		}
		c.mu.Lock()
		if to, ok := c.waiting[a.N]; ok {
			delete(c.waiting, a.N)
			to <- a
		}
		c.mu.Unlock()
	}
	c.err = c.cmd.Wait()
	close(c.gone)
}

func (c *Client) expect(n uint64) chan answer {
	to := make(chan answer, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[n] = to
	return to
}

func (c *Client) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, Patience)
}

// ask sends one request and decodes the answer into result, unless it is nil.
func (c *Client) ask(ctx context.Context, do string, args, result any) error {
	body, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("ask the disk of %s to %s: %w", c.info.Mount, do, err)
	}
	c.mu.Lock()
	c.n++
	n := c.n
	c.mu.Unlock()
	to := c.expect(n)
	line, err := json.Marshal(request{N: n, Do: do, Args: body})
	if err != nil {
		return fmt.Errorf("ask the disk of %s to %s: %w", c.info.Mount, do, err)
	}
	ctx, cancel := c.patient(ctx)
	defer cancel()
	go c.send(append(line, '\n')) // a stopped process reads nothing; the deadline is the caller's
	if err := c.receive(ctx, n, to, result); err != nil {
		return fmt.Errorf("disk of %s: %s: %w", c.info.Mount, do, err)
	}
	return nil
}

// send writes a line at once, as long as a pipe's buffer: never half of two.
func (c *Client) send(line []byte) {
	_, _ = c.stdin.Write(line) // a process that is gone says so by gone
}

func (c *Client) receive(ctx context.Context, n uint64, from chan answer, result any) error {
	defer func() {
		c.mu.Lock()
		delete(c.waiting, n)
		c.mu.Unlock()
	}()
	select {
	case a := <-from:
		return a.decode(result)
	case <-c.gone:
	case <-ctx.Done():
		return fmt.Errorf("no answer from process %d; it may be stopped, Abort frees whoever waits for the mount: %w", c.info.PID, ctx.Err())
	}
	select {
	case a := <-from: // its last words
		return a.decode(result)
	default:
		return fmt.Errorf("its process %d is gone (%v); stop the cluster and start it again", c.info.PID, c.err)
	}
}

func (a answer) decode(result any) error {
	if a.Error != "" {
		return errors.New(a.Error)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(a.Result, result)
}

// Used is the processor time that the process has used, 0 where that cannot be
// read. Where it does not grow, the process hangs, however busy the machine is.
func (c *Client) Used() time.Duration {
	p := process.Process{Pid: int32(c.info.PID)}
	t, err := p.Times()
	if err != nil {
		return 0
	}
	return time.Duration((t.User + t.System) * float64(time.Second))
}

// Info says what runs where.
func (c *Client) Info() Info { return c.info }

// Ended is how the layer's process ended, once Gone is closed.
func (c *Client) Ended() string {
	if c.cmd.ProcessState == nil {
		return "the reason is not known"
	}
	return c.cmd.ProcessState.String()
}

// Gone is closed when the layer's process has ended.
func (c *Client) Gone() <-chan struct{} { return c.gone }
