package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	psutil "github.com/shirou/gopsutil/v3/process"

	"github.com/robustmq/rmq-mcp/history"
)

// A Witness is a peer of our own in the experiment: a process on a host of its
// own that no fault touches. Where nothing of the cluster is left untouched,
// it is the control.
type Witness struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	addr  string
	done  chan struct{}
	over  context.Context // until it is to end
	end   context.CancelFunc
}

const (
	witnessPort  = 7
	witnessBound = 3 * time.Second
)

// StartWitness starts the witness. Self is the argv that runs [ServeWitness]
// in this binary. Gone is told once, how, where the witness ends or is stopped unasked.
func StartWitness(network Network, self []string, gone func(how string)) (*Witness, error) {
	host, err := network.Host("witness")
	if err != nil {
		return nil, fmt.Errorf("make a host for the witness: %w", err)
	}
	port, err := host.Port("echo", witnessPort)
	if err != nil {
		return nil, fmt.Errorf("find a port for the witness: %w", err)
	}
	w := &Witness{addr: net.JoinHostPort(host.Address(), strconv.Itoa(port)), done: make(chan struct{})}
	w.over, w.end = context.WithCancel(context.Background())
	w.cmd = exec.Command(self[0], append(self[1:], w.addr)...)
	w.cmd.Stderr = os.Stderr
	if w.input, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := host.Start(w.cmd); err != nil {
		return nil, fmt.Errorf("start the witness: %w", err)
	}
	go func() {
		w.cmd.Wait()
		close(w.done)
	}()
	if err := w.await(); err != nil {
		return w, err
	}
	go w.watch(gone)
	return w, nil
}

// watch looks every second whether the witness is there.
func (w *Witness) watch(gone func(how string)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-w.over.Done():
			return
		case <-w.done:
			gone(fmt.Sprintf("ended unasked (%s)", w.cmd.ProcessState))
			return
		case <-tick.C:
			if w.stopped() {
				gone("was stopped by another process")
				return
			}
		}
	}
}

// stopped reports whether a signal keeps the process from running.
func (w *Witness) stopped() bool {
	p, err := psutil.NewProcess(int32(w.cmd.Process.Pid))
	if err != nil {
		return false
	}
	status, err := p.Status()
	return err == nil && slices.Contains(status, psutil.Stop)
}

func (w *Witness) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		_, err := w.Probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-w.done:
			return fmt.Errorf("the witness ended at once: %s", w.cmd.ProcessState)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the witness at %s does not answer: %w", w.addr, err), w.Close())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Name is witness.
func (w *Witness) Name() string { return "witness" }

// State is running, or how it exited.
func (w *Witness) State(context.Context) (string, error) {
	select {
	case <-w.done:
		return history.StateExited + w.cmd.ProcessState.String(), nil
	default:
		return history.StateRunning, nil
	}
}

// Probe connects and waits for the greeting.
func (w *Witness) Probe(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	d := net.Dialer{Timeout: witnessBound}
	conn, err := d.DialContext(ctx, "tcp", w.addr)
	if err != nil {
		return 0, fmt.Errorf("connect to the witness: %w", err)
	}
	defer conn.Close()
	conn.SetDeadline(began.Add(witnessBound))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		return 0, fmt.Errorf("read from the witness: %w", err)
	}
	return time.Since(began), nil
}

// Set answers an error: nothing is ever done to the witness.
func (w *Witness) Set(_ context.Context, want string) error {
	return fmt.Errorf("bring the witness into state %s: it is the control, and no fault touches it", want)
}

// Close ends the witness. One that ended before or was stopped is an error: whatever it
// was the control of has none.
func (w *Witness) Close() error {
	w.end()
	select {
	case <-w.done:
		return fmt.Errorf("it had ended before, unasked (%s)", w.cmd.ProcessState)
	default:
	}
	stopped := w.stopped()
	w.input.Close()
	select {
	case <-w.done:
		return nil
	case <-time.After(witnessBound):
		w.cmd.Process.Kill()
		<-w.done
		if stopped {
			return errors.New("it had been stopped before, by another process")
		}
		return nil
	}
}

// ServeWitness is the witness's own process: it greets whoever connects to
// addr, until its input ends.
func ServeWitness(addr string, input io.Reader) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("witness: %w", err)
	}
	go func() {
		io.Copy(io.Discard, input)
		l.Close()
	}()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("witness: %w", err)
		}
		conn.Write([]byte{'.'})
		conn.Close()
	}
}
