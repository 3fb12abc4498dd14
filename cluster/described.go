package cluster

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/broker/registry"
	"github.com/robustmq/rmq-mcp/internal/environ"
)

// CommandFlavor may stand for the flavor of a document that is given with it.
const CommandFlavor = "command"

//go:embed brokers/*.yaml
var documents embed.FS

// shipped are the flavors of the documents that come with the program, in the order of
// their names. They are read once.
func shipped() []Flavor {
	shippedOnce.Do(func() {
		files, _ := documents.ReadDir("brokers")
		for _, file := range files {
			text, err := documents.ReadFile(path.Join("brokers", file.Name()))
			if err != nil {
				panic(err)
			}
			d, err := parseDocument(text)
			if err != nil {
				panic(fmt.Sprintf("brokers/%s: %v", file.Name(), err)) // every test that uses a flavor finds this
			}
			shippedFlavors = append(shippedFlavors, d.flavor())
		}
	})
	return shippedFlavors
}

var (
	shippedOnce    sync.Once
	shippedFlavors []Flavor
)

// described are the flavors of the documents that this process has loaded, by name.
var described sync.Map

// flavor is the flavor that a document describes.
func (d *Document) flavor() Flavor {
	b := commanded{d}
	f := Flavor{
		Name: d.Name, Title: cmp.Or(d.Title, d.Name), About: d.About, Protocols: d.Protocols,
		NoSharing: d.NoSharing, Reorders: d.Reorders, Forgets: d.NotPromised[history.PromiseDurability] != "",
		Queue:   b.queue,
		Pace:    Pace{SettleS: 5, SteadyS: 4, AfterS: 5, DrainS: 40, RecoveryS: 60},
		OwnSize: d.most() == 1, Most: d.most(), Leaderless: true, SameAs: d.SameAs,
		Program: d.Program, Install: d.Install, Versions: d.Package != registry.Package{}, BinaryEnv: "RMQ_" + strings.ToUpper(strings.ReplaceAll(d.Name, "-", "_")) + "_BIN",
		Unsaid: map[string]string{}, Document: d, broker: b,
	}
	if l := d.Limits; l.Queue == "" || l.SessionS == "" || l.MessageS == "" {
		f.Unsaid[history.LacksLimits] = "how many messages this broker keeps for a session, and for how long, is not in its document"
	}
	if unsaid := d.unsaid(); len(unsaid) > 0 {
		f.Unsaid[history.LacksPromises] = "the document of this broker does not say whether it promises " + strings.Join(unsaid, ", ")
	}
	return f
}

// commanded is the flavor of brokers that a document describes: a command for each node.
type commanded struct{ doc *Document }

func (b commanded) settings() flavorSettings { return b.doc.settings() }

func (b commanded) effective(c Config) (map[string]any, error) {
	if err := b.sized(&c); err != nil {
		return nil, err
	}
	return b.doc.effective(c.Profile, c.Settings), nil
}

// sized fills in the number of nodes.
func (b commanded) sized(c *Config) error {
	c.Nodes = cmp.Or(c.Nodes, min(b.doc.most(), usualNodes))
	return checkNodes(c, b.doc.most())
}

func (b commanded) check(c Config) (Config, error) {
	if err := b.sized(&c); err != nil {
		return c, err
	}
	for _, t := range c.Transports {
		if b.doc.Ports[service(t)] == 0 {
			return c, fmt.Errorf("transport %s: the document of %s has no port %s", t, b.doc.Name, service(t))
		}
	}
	if c.Beyond() {
		return c, fmt.Errorf("runtime %s: %w: a document describes a broker of this machine or its docker engine; use runtime process or docker", c.Runtime, ErrUnsupported)
	}
	if c.Imaged() {
		return c, nil
	}
	err := b.find(&c)
	return c, err
}

// find fills in the path of the broker's program. A path need not be executable, or a
// file: the command may hand it to an interpreter. A mere name is looked for in PATH.
func (b commanded) find(c *Config) error {
	f := b.doc.flavor()
	if c.Version != "" && c.Binary == "" {
		return fmt.Errorf("version %s of %s is not installed yet", c.Version, b.doc.Name)
	}
	wanted := cmp.Or(c.Binary, os.Getenv(f.BinaryEnv))
	if wanted == "" && filepath.Base(b.doc.Program) != b.doc.Program {
		wanted = b.doc.Program
		if !filepath.IsAbs(wanted) {
			wanted = filepath.Join(filepath.Dir(b.doc.file), wanted)
		}
	}
	if wanted != "" && filepath.Base(wanted) != wanted {
		full, err := filepath.Abs(wanted)
		if err == nil {
			_, err = os.Stat(full)
		}
		if err != nil {
			return fmt.Errorf("find the program of %s: %w", b.doc.Name, err)
		}
		c.Binary = full
		return nil
	}
	name := cmp.Or(wanted, b.doc.Program)
	c.Binary = ""
	if err := findBinary(c, "", name, "/usr/sbin/"+name); err != nil {
		next := "set binary or " + f.BinaryEnv
		if f.Install != "" {
			next = "install it (" + f.Install + "), or " + next
		}
		return fmt.Errorf("%w; %s", err, next)
	}
	return nil
}

// queue is the limit of a session's queue for a configuration that [Check] takes.
func (b commanded) queue(c Config) int {
	_, c, err := named(c)
	if err != nil {
		return usualQueue
	}
	values := map[string]any{"set": b.doc.effective(c.Profile, c.Settings)}
	if n, known, err := (limit{"queue", b.doc.Limits.Queue}).number(values); known && err == nil {
		return n
	}
	return usualQueue
}

func (b commanded) plan(opts Options) (*plan, error) {
	set, err := b.effective(opts.Config)
	if err != nil {
		return nil, err
	}
	p := &plan{
		binary: opts.Config.Binary, leaderBound: time.Second, config: set, differs: map[string]string{},
		startBound: time.Duration(opts.Config.Nodes) * b.within(), promises: slices.Sorted(maps.Keys(b.doc.Promises)),
	}
	differs(p.differs, p.config, b.doc.settings().vendors())
	if err := b.limit(p); err != nil {
		return nil, err
	}
	var peers []map[string]any
	for i, name := range nodeNames(opts.Config.Nodes) {
		n, of, err := b.place(opts, name, i+1)
		if err != nil {
			return nil, err
		}
		p.nodes, peers = append(p.nodes, n), append(peers, of)
	}
	tls := map[string]any{}
	if opts.Config.secure() {
		certs, err := p.certify(opts)
		if err != nil {
			return nil, err
		}
		tls = map[string]any{"cert": certs.Cert, "key": certs.Key, "ca": certs.CA}
	}
	for i, n := range p.nodes {
		n.setup = func(binary string, settings map[string]any) error {
			values := b.doc.values(peers[i], peers, n.dir, cmp.Or(binary, opts.Config.Binary), merged(p.config, settings))
			return b.write(n, merged(values, tls))
		}
		if err := n.setup("", nil); err != nil {
			return nil, err
		}
	}
	if !opts.Config.Imaged() { // there its log says
		p.version, err = b.version(p.nodes[0], merged(b.doc.values(peers[0], peers, p.nodes[0].dir, opts.Config.Binary, set), tls))
	}
	for _, n := range p.nodes {
		n.version = p.version
	}
	return p, err
}

// limit notes what the nodes keep.
func (b commanded) limit(p *plan) error {
	values := map[string]any{"set": p.config}
	var numbers [4]int
	for i, l := range b.doc.Limits.byName() {
		n, known, err := l.number(values)
		if err != nil {
			return err
		}
		if numbers[i] = n; !known && i == 0 {
			numbers[i] = usualQueue
		}
	}
	p.queue, p.inFlight = numbers[0], numbers[1]
	p.session, p.wait = time.Duration(numbers[2])*time.Second, time.Duration(numbers[3])*time.Second
	return nil
}

func (b commanded) within() time.Duration { return orUsual(b.doc.Ready.WithinS, time.Minute) }

func orUsual(s float64, usual time.Duration) time.Duration {
	if s == 0 {
		return usual
	}
	return time.Duration(s * float64(time.Second))
}

// place makes a node, and what templates know of it.
func (b commanded) place(opts Options, name string, number int) (*Node, map[string]any, error) {
	host, err := opts.Network.Host(name)
	if err != nil {
		return nil, nil, err
	}
	ports, err := portsOf(host, b.doc.listeners(opts.Config.Transports))
	if err != nil {
		return nil, nil, err
	}
	n, err := newNode(opts, host, ports)
	if err != nil {
		return nil, nil, err
	}
	n.data = filepath.Join(n.dir, "data")
	if err := os.MkdirAll(n.data, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the data directory of %s: %w", n.name, err)
	}
	n.folder = n.data // what it writes beside a path of its own stays with its data
	n.restartBound, n.stopBound = b.within(), orUsual(b.doc.StopS, 30*time.Second)
	return n, peer(name, number, n.Address(), ports), nil
}

// write writes the files of a node, and has it started by its command line.
func (b commanded) write(n *Node, values map[string]any) error {
	for name, text := range b.doc.Files {
		text, err := render(text, values)
		if err != nil {
			return fmt.Errorf("files: %s: %w", name, err)
		}
		file := filepath.Join(n.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("write node configuration: %w", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write node configuration: %w", err)
		}
	}
	argv, err := renderWords(b.doc.Command, values)
	if err != nil {
		return fmt.Errorf("command: %w", err)
	}
	env := []string{"HOME=" + n.folder}
	for _, key := range slices.Sorted(maps.Keys(b.doc.Environment)) {
		value, err := render(b.doc.Environment[key], values)
		if err != nil {
			return fmt.Errorf("environment: %s: %w", key, err)
		}
		env = append(env, key+"="+value)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.argv, n.env = argv, env
	return nil
}

// versionBound is how long a program may take to say its version.
const versionBound = 30 * time.Second

// version asks the program, as a node would run it.
func (b commanded) version(n *Node, values map[string]any) (string, error) {
	if len(b.doc.Version.Command) == 0 {
		return "", nil
	}
	argv, err := renderWords(b.doc.Version.Command, values)
	if err != nil {
		return "", fmt.Errorf("version: command: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = n.dir, append(environ.Bare(), n.env...), time.Second
	out, err := cmd.CombinedOutput()
	version := b.named(out)
	if version == "" {
		return "", fmt.Errorf("%s does not say its version (%v): version.match of the document finds nothing in %.200q", strings.Join(argv, " "), err, out)
	}
	return version, nil
}

// named finds the version in what the broker wrote; "" if it does not say.
func (b commanded) named(text []byte) string {
	if b.doc.Version.Match == "" {
		return ""
	}
	match := regexp.MustCompile(b.doc.Version.Match).FindSubmatch(text)
	if match == nil {
		return ""
	}
	return b.doc.Name + " " + string(match[1])
}

func (b commanded) ready(ctx context.Context, _ *plan, n *Node, first bool) error {
	if b.doc.Ready.Page != "" {
		if _, err := call(ctx, n.http, b.doc.Ready.Page, "", nil); err != nil {
			return err
		}
	}
	if _, err := n.Probe(ctx); err != nil {
		return err
	}
	if n.Version() == "" {
		var log []byte
		if len(b.doc.Version.Command) == 0 { // its output has another form than the log
			log, _ = os.ReadFile(n.log)
		}
		n.setVersion(cmp.Or(b.named(log), history.UnknownVersion))
	}
	if p, ok := n.process().(*process); ok && first {
		if err := listens(p.pid, n.mqtt); err != nil {
			return hopeless{fmt.Errorf("%w; faults act on the process of command, so the broker must be that process: in a script use exec, and do not let the broker become a daemon", err)}
		}
	}
	return nil
}

func (b commanded) leader(_ context.Context, p *plan, _ string) (string, error) {
	if len(p.nodes) > 1 {
		return "", fmt.Errorf("ask a broker that a document describes: %w", ErrUnsupported)
	}
	return p.nodes[0].name, nil
}
