package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robustmq/rmq-mcp/internal/environ"
	"github.com/robustmq/rmq-mcp/internal/secret"
)

// A Node is one broker process, with an address that outlives it: killed and
// started again it has the same configuration, data and ports.
type Node struct {
	name   string
	host   Host
	mqtt   string         // host:port; "" where somebody else's serves mq9 alone
	nats   string         // external: host:port where it serves mq9
	spoken string         // external: the transport by which it is spoken to; "" is tcp
	http   string         // host:port of the broker's own pages; "" where it has none
	ports  map[string]int // all it listens on, by service
	user   string
	pass   string

	argv         []string
	env          []string                                           // beside that of every broker
	data         string                                             // directory of all that it stores; "" where that is not known
	wiped        atomic.Int64                                       // files that were
	like         Config                                             // its flavor, and the document of that
	setup        func(binary string, settings map[string]any) error // has it started from a binary, "" is the cluster's, with these settings beside the cluster's
	ask          func(context.Context) (map[string]string, error)   // see Ask
	dir          string                                             // of its configuration
	folder       string                                             // working directory; "" is dir
	log          string                                             // file
	guarded      bool                                               // the process ends when its standard input does
	launcher     launcher                                           // the runtime's
	provoke      func(context.Context) error                        // has it write a line to its log; nil: a new client does
	clock        *nodeClock                                         // what stands between it and its clock; nil: nothing was armed
	program      string                                             // that argv should start; "" if that is not asked
	foreign      bool                                               // somebody else's: faults act on it, nothing else does
	theirs       map[string]any                                     // see Foreign
	immortal     string                                             // why it cannot be killed
	restartBound time.Duration
	stopBound    time.Duration
	ready        func(context.Context) error

	setting   sync.Mutex // one change of state at a time
	mu        sync.Mutex
	version   string
	proc      instance             // nil before the first start
	condemned instance             // the last that we set out to end
	disk      *Disk                // nil where it was not armed
	closed    map[string]time.Time // when each connection that its client closed was first seen so
}

// Name is node-1, node-2, …
func (n *Node) Name() string { return n.name }

// Address is the host of its listeners.
func (n *Node) Address() string {
	host, _, _ := net.SplitHostPort(n.listener())
	return host
}

// listener is where it is known, host:port.
func (n *Node) listener() string { return cmp.Or(n.mqtt, n.nats) }

// MQTT is its MQTT listener, host:port.
func (n *Node) MQTT() string { return n.mqtt }

// NATS is the address at which the node serves mq9, "" where it does not.
func (n *Node) NATS() string {
	port, ok := n.ports["nats"]
	if !ok {
		return n.nats
	}
	return net.JoinHostPort(n.host.Address(), strconv.Itoa(port))
}

// Ports are all it listens on, by service: mqtt, http, cluster, …
func (n *Node) Ports() map[string]int { return n.ports }

// Version is the broker's, as it reports itself.
func (n *Node) Version() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.version
}

func (n *Node) setVersion(version string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.version = secret.New().Text(version) // as a broker printed it
}

// LogPath is the file that holds its standard output and error.
func (n *Node) LogPath() string { return n.log }

// PID is its process, or the last one it had; 0 where nothing was started, or
// in a container.
func (n *Node) PID() int {
	if p := n.process(); p != nil {
		return p.number()
	}
	return 0
}

// State is what the operating system says of its process: running, frozen, or
// how it ended, as in "exited: status 0" or "exited: signal 9 (killed)".
func (n *Node) State(ctx context.Context) (string, error) {
	p := n.process()
	if p == nil {
		return "", fmt.Errorf("read the state of %s: %w", n.name, ErrUnsupported)
	}
	return p.state(ctx)
}

// Probe connects as a new client, of MQTT with an identifier of its own, waits for the
// broker to accept it, and says how long that took. It is bounded by three seconds.
func (n *Node) Probe(ctx context.Context) (took time.Duration, err error) {
	if n.mqtt != "" {
		took, err = probe(ctx, level3, n.spoken, n.mqtt, n.user, n.pass)
	} else {
		began := time.Now()
		_, err = greetNATS(ctx, n.nats, n.user, n.pass)
		took = time.Since(began)
	}
	if err != nil {
		return took, fmt.Errorf("connect to %s: %w", n.name, err)
	}
	return took, nil
}

// Dial opens a connection to it as an MQTT client would, and says nothing.
func (n *Node) Dial(ctx context.Context) (net.Conn, error) {
	if n.mqtt == "" {
		return nil, fmt.Errorf("connect to %s: %s is no listener of MQTT: %w", n.name, n.nats, ErrUnsupported)
	}
	return dial(ctx, n.spoken, n.mqtt)
}

// Attach runs a command of this program in the network namespace of a node on another machine, with
// the right to change it. It returns the command's streams and the node's address.
func (n *Node) Attach(ctx context.Context, command ...string) (io.ReadWriteCloser, netip.Addr, error) {
	p, ok := n.process().(*podded)
	if !ok {
		return nil, netip.Addr{}, fmt.Errorf("attach to the network of %s: %w", n.name, ErrUnsupported)
	}
	return p.attach(ctx, command...)
}

func (n *Node) process() instance {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc
}

// start starts the process and returns when ready says it serves.
func (n *Node) start(ctx context.Context, ready func(context.Context) error) error {
	if n.argv != nil {
		if err := n.launch(ctx); err != nil {
			return err
		}
	}
	return n.await(ctx, ready)
}

func (n *Node) launch(ctx context.Context) error {
	p, err := n.launcher.launch(ctx, n)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.proc, n.closed = p, nil
	return nil
}

// run starts the node as a process of this system.
func (n *Node) run(context.Context) (instance, error) {
	log, err := openLog(n.log, n.process() != nil)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	argv := n.command()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = cmp.Or(n.folder, n.dir), slices.Concat(environ.Bare(), n.env, n.clock.environment())
	cmd.Stdout, cmd.Stderr = log, log
	p, err := startProcess(n.host, cmd, n.guarded)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", argv[0], err)
	}
	return p, nil
}

// hopeless is an error of a node that will never serve.
type hopeless struct{ error }

func (e hopeless) Unwrap() error { return e.error }

// unserved is the error of a process that was started in order and does not
// serve: the broker's doing.
type unserved struct{ error }

// Unserved marks it for those who know errors by what they can do.
func (unserved) Unserved()       {}
func (e unserved) Unwrap() error { return e.error }

// await returns when ready is nil. It does not wait for a process that is gone.
// An error of the broker's making has the method Unserved.
func (n *Node) await(ctx context.Context, ready func(context.Context) error) error {
	began, pause := time.Now(), 20*time.Millisecond
	var gone <-chan struct{}
	if p := n.process(); p != nil {
		gone = p.ended()
	}
	for {
		err := ready(ctx)
		if err == nil {
			n.clock.forget(n.PID())
			return nil
		}
		if h := (hopeless{}); errors.As(err, &h) {
			return err
		}
		select {
		case <-gone:
			state, _ := n.process().state(context.WithoutCancel(ctx))
			return unserved{fmt.Errorf("it ended before it served (%s)%s%s", state, n.doubt(), n.lastWords())}
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
			return unserved{fmt.Errorf("it does not serve after %.0f s: %w%s", time.Since(began).Seconds(), err, n.lastWords())}
		case <-time.After(pause):
			pause = min(2*pause, 300*time.Millisecond)
		}
	}
}

// doubt asks whether the program is the broker that it is taken for, as long as it never served.
func (n *Node) doubt() string {
	if n.program == "" || n.Version() != "" {
		return ""
	}
	return fmt.Sprintf("; is %s %s?", n.argv[0], n.program)
}

// Ended says how a node's process ended, with the last lines of its log; "" while it runs or if its
// state cannot be read.
func (n *Node) Ended(ctx context.Context) string {
	state, err := n.State(ctx)
	if err != nil || !strings.HasPrefix(state, "exited") {
		return ""
	}
	return n.name + " " + state + n.lastWords()
}

// lastWords is the end of a node's log on lines of its own; "" if the log is somebody else's.
func (n *Node) lastWords() string {
	if n.log == "" {
		return ""
	}
	return "\nthe last lines of its log:\n" + tail(n.log)
}

// makeDir makes the directory of a node's configuration and data.
func makeDir(opts Options, node string) (string, error) {
	dir, err := absolute(opts.Dir, node)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory of %s: %w", node, err)
	}
	return dir, nil
}
