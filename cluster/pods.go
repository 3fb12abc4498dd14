package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
)

// PodsImageEnv names the variable of the environment that has the image of this program, as a
// Kubernetes cluster can pull it.
const PodsImageEnv = "RMQ_MCP_IMAGE"

// volumeBytes is the size of the volume that a node gets for its data.
const volumeBytes = 1 << 30

// podBound is how long a cluster may take to find a machine for a pod, pull its images and
// start it, before the broker's own time begins.
const podBound = 2 * time.Minute

// logBound is how long the last lines of a pod may take to come.
const logBound = 5 * time.Second

// checkPods reports whether an API server answers.
func checkPods(ctx context.Context) error {
	_, err := kube.Open(ctx, kube.Target{})
	return err
}

// pods are a Kubernetes cluster as the runtime of one cluster of brokers: a namespace, with a
// pod, a service and a volume for each node. The service's address and the volume's data
// outlive the pod.
type pods struct {
	opts    Options
	space   *kube.Namespace
	self    string // image of this program
	address map[string]string
	release context.CancelFunc // ends the renewal of the lease

	driving sync.Mutex
	driven  int          // pods of drivers so far
	drivers []*DriverPod // those that run

	mu  sync.Mutex
	sum string // of the nodes' image, once a machine has told it
}

// openPods makes the namespace and the nodes' services.
func openPods(ctx context.Context, opts Options) (_ nodeRuntime, err error) {
	p := &pods{opts: opts, self: os.Getenv(PodsImageEnv), address: map[string]string{}, release: func() {}}
	if p.self == "" {
		return nil, fmt.Errorf("runtime kubernetes: %s is not set; set it to an image of this program that the cluster can pull, as docs/kubernetes.md says", PodsImageEnv)
	}
	if opts.Run == "" || opts.Ledger == nil {
		return nil, errors.New("runtime kubernetes: no run is named that its pods would belong to")
	}
	api, err := kube.Open(ctx, kube.Target{})
	if err != nil {
		return nil, fmt.Errorf("runtime kubernetes: %w", err)
	}
	if slices.Contains(opts.Config.Arm, ArmChaosMesh) {
		if err := api.ChaosMesh(ctx); err != nil {
			return nil, fmt.Errorf("arm %s: %w", ArmChaosMesh, err)
		}
	}
	if err := opts.Ledger.Making(kube.Layer, opts.Run, kube.Made{Target: api.Target(), Run: opts.Run}); err != nil {
		return nil, err
	}
	if p.space, err = api.Make(ctx, opts.Run); err != nil {
		return nil, fmt.Errorf("runtime kubernetes: %w", err)
	}
	opts.Progress(fmt.Sprintf("the nodes are pods of namespace %s in %s", p.space.Name(), api))
	err = p.guard(ctx)
	for _, name := range nodeNames(opts.Config.Nodes) {
		if err == nil {
			p.address[name], err = p.space.Service(ctx, name)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("runtime kubernetes: %w", err), p.close())
	}
	return p, nil
}

// guard has the namespace removed if this machine is gone.
func (p *pods) guard(ctx context.Context) error {
	holder, err := holderOf(p.opts.Run)
	if err != nil {
		return err
	}
	renewed, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.release = cancel
	return p.space.Guard(renewed, p.self, holder, func(err error) {
		p.opts.Lost(fmt.Errorf("the namespace of the nodes is gone, and rmq-mcp did not remove it: %w", err))
	})
}

// network has the nodes at the addresses of their services, and all other hosts as before.
func (p *pods) network(of Network) Network { return podNetwork{of, p.address} }

// put gives every node its pod, which is made at each start.
func (p *pods) put(plan *plan) {
	for _, n := range plan.nodes {
		argv := n.argv
		if FlavorNamed(p.opts.Config.Flavor).Embedded {
			argv = append([]string{kube.Self}, argv[1:]...)
		}
		n.launcher = &podLauncher{pods: p, spec: kube.Spec{
			Node: n.name, Image: cmp.Or(p.opts.Config.Image, p.self), Self: p.self,
			Command: argv, Dir: n.dir, Data: n.data, Grace: n.stopBound,
		}}
		n.data = "" // nothing of it is on this machine
		n.restartBound += podBound
	}
	plan.startBound += podBound
	plan.binary = ""
}

// image is that of the nodes. Its hash is as the machine of the last start told it.
func (p *pods) image() (ref, sum string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return cmp.Or(p.opts.Config.Image, p.self), p.sum
}

func (p *pods) setImage(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, sum, ok := strings.Cut(id, "sha256:"); ok {
		p.sum = sum
	}
}

// Namespace holds the pods of nodes and drivers. It is nil if they are none.
func (c *Cluster) Namespace() *kube.Namespace {
	if p, ok := c.runtime.(*pods); ok {
		return p.space
	}
	return nil
}

// PodOf is the name of the pod of a node, or of a driver, as it is now.
func (c *Cluster) PodOf(host string) (string, error) {
	for _, n := range c.Nodes() {
		if in, ok := n.process().(*podded); ok && n.name == host {
			return in.pod.Name(), nil
		}
	}
	if slices.Contains(c.DriverPods().Names(), host) {
		return host, nil
	}
	return "", fmt.Errorf("%s has no pod", host)
}

// close removes the namespace with all that is in it.
func (p *pods) close() error {
	p.release()
	if _, err := p.space.Remove(context.Background()); err != nil { // it is bounded by itself
		return err
	}
	return p.opts.Ledger.Gone(kube.Layer, p.opts.Run)
}

// files are those that a node reads, by the keys of its secret, and the keys by their paths.
// Directories of other nodes and of logs are not among them.
func (p *pods) files(node string) (contents map[string][]byte, keys map[string]string, err error) {
	root, err := filepath.Abs(p.opts.Dir)
	if err != nil {
		return nil, nil, err
	}
	others := slices.DeleteFunc(append(nodeNames(p.opts.Config.Nodes), "logs"), func(name string) bool { return name == node })
	contents, keys = map[string][]byte{}, map[string]string{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if slices.Contains(others, name) {
				return filepath.SkipDir
			}
			return nil
		}
		key := strings.ReplaceAll(filepath.ToSlash(name), "/", "_")
		keys[path] = key
		contents[key], err = os.ReadFile(path)
		return err
	})
	return contents, keys, err
}

// A podNetwork is a network whose nodes are pods: their addresses are those of their
// services.
type podNetwork struct {
	Network
	address map[string]string
}

func (podNetwork) Isolation() string { return "pods" }

func (n podNetwork) Host(name string) (Host, error) {
	if address, ok := n.address[name]; ok {
		return podHost{name, address}, nil
	}
	return n.Network.Host(name)
}

// A podHost is the host of one node, for its pod alone.
type podHost struct{ name, address string }

func (h podHost) Name() string                         { return h.name }
func (h podHost) Address() string                      { return h.address }
func (h podHost) Bind() string                         { return "$POD_IP" }
func (h podHost) Port(_ string, want int) (int, error) { return want, nil }
func (h podHost) Start(cmd *exec.Cmd) error {
	return fmt.Errorf("start %s in the pod of %s: %w", cmd.Path, h.name, ErrUnsupported)
}

// A podLauncher makes the pods of one node, one after the other.
type podLauncher struct {
	pods *pods
	spec kube.Spec

	mu       sync.Mutex
	tried    int  // pods so far, those that failed too
	prepared bool // the service and the volume are there
	last     *podded
}

// launch removes the pod that has ended, and makes another with the same data.
func (l *podLauncher) launch(ctx context.Context, n *Node) (instance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.prepare(ctx, n); err != nil {
		return nil, err
	}
	l.tried++
	l.spec.Name = fmt.Sprintf("%s-%d", n.name, l.tried)
	p, err := l.start(ctx, n)
	if err != nil { // the pod may be there, although its making failed
		return nil, errors.Join(err, l.pods.space.DeletePod(context.WithoutCancel(ctx), l.spec.Name))
	}
	l.last = p
	return p, nil
}

// prepare makes all that a pod of the node needs, and removes the one before it.
func (l *podLauncher) prepare(ctx context.Context, n *Node) error {
	space := l.pods.space
	if !l.prepared {
		if err := errors.Join(space.Listen(ctx, n.name, n.ports, map[string]int{"probe": l.pods.opts.ProbePort}), space.Volume(ctx, n.name, volumeBytes)); err != nil {
			return err
		}
		l.prepared = true
	}
	contents, keys, err := l.pods.files(n.name)
	if err != nil {
		return fmt.Errorf("read the configuration of %s: %w", n.name, err)
	}
	l.spec.Files = keys
	if l.last != nil {
		l.last.readToEnd(logBound)
		if err := l.last.pod.Delete(ctx); err != nil {
			return err
		}
	}
	return space.Secret(ctx, n.name, contents)
}

// start makes the pod and follows its log.
func (l *podLauncher) start(ctx context.Context, n *Node) (*podded, error) {
	pod, err := l.pods.space.Pod(ctx, l.spec)
	if err != nil {
		return nil, err
	}
	s, err := pod.Await(ctx)
	if err != nil {
		return nil, err
	}
	l.spec.Machine = s.Machine
	l.pods.setImage(s.Image)
	log, err := openLog(n.log, l.last != nil)
	if err != nil {
		return nil, err
	}
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		defer log.Close()
		if err := pod.Follow(context.WithoutCancel(ctx), log); err != nil {
			fmt.Fprintf(log, "rmq-mcp: %v\n", err)
		}
	}()
	p := newPodded(pod, s, followed)
	return p, p.meet(ctx)
}

func (*podLauncher) mechanism(state string) string {
	return map[string]string{history.EndKilled: "SIGKILL in its pod", history.EndStopped: "SIGTERM in its pod", history.StateFrozen: "SIGSTOP in its pod"}[state]
}

func (*podLauncher) beside(thing) error {
	return fmt.Errorf("nothing of this machine reaches a pod: %w; use runtime process", ErrUnsupported)
}
