package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/diskprobe"
)

// Options say what to start and where.
type Options struct {
	Config   Config
	Network  Network
	Dir      string       // the nodes' configuration and data are made below it
	Logs     string       // directory of the nodes' logs; "": logs, below Dir
	Self     []string     // argv prefix that runs this binary's hidden node command; the reference flavor's nodes
	Program  []string     // argv prefix that runs this binary; what is armed runs its hidden commands
	Seed     int64        // of the choice that the roles any, follower, majority and minority make
	Progress func(string) // told what happens, one line each; may be nil
	DiskGone DiskGone     // told of layers under the nodes' data; may be nil
	Lost     func(error)  // told that the nodes are gone or another run's too, by no doing of theirs; may be nil
	Run      string       // the run's name, which its containers or pods carry
	Ledger   Ledger       // of these

	ProbePort int // UDP port of a pod for probes
}

// DiskGone is told that the layer under a node's data is gone without having been
// asked, how, and for how long that may have been so.
type DiskGone func(n *Node, how string, since time.Duration)

// A Cluster is the brokers of one experiment, running until Stop or Kill.
type Cluster struct {
	flavor  flavor
	plan    *plan
	info    history.ClusterInfo
	armed   []func() error // undo what was armed
	runtime nodeRuntime
	plain   *diskprobe.Probe

	mu    sync.Mutex
	dice  *rand.Rand
	topic string // that a leader was last asked for
}

// Start starts a cluster and returns when every node serves as a member of it.
// That is bounded in time, by the flavor. Errors in the options are returned
// before anything runs. The error of a failed start names the node and shows
// the last lines of its log, and nothing is left running.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	f, config, err := check(opts.Config)
	if err != nil {
		return nil, err
	}
	if opts.Network == nil {
		return nil, errors.New("start cluster: no network given")
	}
	if opts.Progress == nil {
		opts.Progress = func(string) {}
	}
	if opts.DiskGone == nil {
		opts.DiskGone = func(*Node, string, time.Duration) {}
	}
	if opts.Lost == nil {
		opts.Lost = func(error) {}
	}
	opts.Logs = cmp.Or(opts.Logs, filepath.Join(opts.Dir, "logs"))
	if err := os.MkdirAll(opts.Logs, 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of the logs: %w", err)
	}
	if _, err := shareFiles(); err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	opts.Config = config
	kind, err := RuntimeNamed(config.Runtime)
	if err != nil {
		return nil, err
	}
	r, err := kind.open(ctx, opts)
	if err != nil {
		return nil, err
	}
	opts.Network = r.network(opts.Network)
	c, err := startPlanned(ctx, f, opts, r)
	if err != nil {
		err = errors.Join(err, r.close())
	}
	return c, err
}

func startPlanned(ctx context.Context, f flavor, opts Options, r nodeRuntime) (*Cluster, error) {
	p, err := f.plan(opts)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", opts.Config.Flavor, err)
	}
	c := newCluster(f, p, opts.Seed)
	c.runtime = r
	if !opts.Config.Foreign() {
		r.put(p)
	}
	sum := hashLater(p.binary)
	err = c.lease(ctx, opts)
	if err == nil {
		err = c.arm(ctx, opts)
	}
	if err == nil {
		err = c.startAll(ctx, opts.Progress)
	}
	if err != nil {
		return nil, errors.Join(err, c.disarm())
	}
	c.info = c.describe(opts, <-sum)
	return c, nil
}

func newCluster(f flavor, p *plan, seed int64) *Cluster {
	return &Cluster{flavor: f, plan: p, dice: rand.New(rand.NewPCG(uint64(seed), 0))}
}

// startAll starts the nodes, all or none of them.
func (c *Cluster) startAll(ctx context.Context, progress func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, c.plan.startBound)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	if c.plan.sequential {
		group.SetLimit(1)
	}
	for _, n := range c.plan.nodes {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err() // one before it did not start
			}
			return c.startOne(ctx, n, progress)
		})
	}
	if err := group.Wait(); err != nil {
		c.Kill()
		return err
	}
	return nil
}

func (c *Cluster) startOne(ctx context.Context, n *Node, progress func(string)) error {
	n.ready = func(ctx context.Context) error { return c.flavor.ready(ctx, c.plan, n, false) }
	began := time.Now()
	err := n.start(ctx, func(ctx context.Context) error { return c.flavor.ready(ctx, c.plan, n, true) })
	if err != nil {
		return fmt.Errorf("%s %s: %w", verb(n), n.name, err)
	}
	serves := "MQTT"
	if n.mqtt == "" {
		serves = contract.MQ9
	}
	progress(fmt.Sprintf("%s serves %s at %s after %.1f s", n.name, serves, n.listener(), time.Since(began).Seconds()))
	return nil
}

// verb is the thing that is done to have a node.
func verb(n *Node) string {
	if n.foreign {
		return "reach"
	}
	return "start"
}

// Nodes are the brokers, in the order of their names.
func (c *Cluster) Nodes() []*Node { return c.plan.nodes }

// Info is the cluster as it really runs. It holds no password.
func (c *Cluster) Info() history.ClusterInfo { return c.info }

// Credentials are what a client logs in with; empty where none are needed.
func (c *Cluster) Credentials() (user, password string) { return c.plan.user, c.plan.password }

// RestartBound returns how long a node may take at most, once it is started again, until it
// serves.
func (c *Cluster) RestartBound() (longest time.Duration) {
	for _, n := range c.plan.nodes {
		longest = max(longest, n.restartBound)
	}
	return longest
}

// Endpoints are the MQTT listeners of a transport, host:port, one per node, in
// their order. An empty transport is tcp.
func (c *Cluster) Endpoints(transport string) []string {
	var all []string
	for _, n := range c.plan.nodes {
		all = append(all, n.Endpoint(transport))
	}
	return all
}

// Stop ends all nodes in order, at the same time, thawing frozen ones first.
// When it returns none is running; those that had to be killed for it are in
// the error.
func (c *Cluster) Stop(ctx context.Context) error {
	errs := make([]error, len(c.plan.nodes))
	var group sync.WaitGroup
	for i, n := range c.plan.nodes {
		group.Go(func() { errs[i] = n.end(ctx) })
	}
	group.Wait()
	c.Kill()
	errs = append(errs, c.disarm())
	if c.runtime != nil {
		errs = append(errs, c.runtime.close())
		c.runtime = nil
	}
	return errors.Join(errs...)
}

// Kill ends all nodes at once by SIGKILL and returns when they are gone.
func (c *Cluster) Kill() {
	for _, n := range c.plan.nodes {
		if !n.foreign {
			n.kill()
		}
	}
}

// Follow calls fn, from one goroutine, with every line that a node writes to
// its standard output or error, those already written first, until ctx is
// done. At is when the line was read, at most a tenth of a second after it was
// written. The returned channel is closed after the last call.
func (c *Cluster) Follow(ctx context.Context, fn func(node, line string, at time.Time)) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		follow(ctx, c.plan.nodes, fn)
	}()
	return done
}

// node answers the node of that name.
func (c *Cluster) node(name string) (*Node, error) {
	var names []string
	for _, n := range c.plan.nodes {
		if n.name == name {
			return n, nil
		}
		names = append(names, n.name)
	}
	return nil, fmt.Errorf("no node %q; there are %s", name, strings.Join(names, ", "))
}
