package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/broker/mq9"
	embedded "github.com/robustmq/rmq-mcp/internal/broker/reference"
	"github.com/robustmq/rmq-mcp/internal/certificate"
)

// DefaultFlavor is the name of the embedded broker, which any host can start.
const DefaultFlavor = "reference"

// referenceFlavor is nats-server, replicated by JetStream: messages of QoS 1 and 2 and
// sessions outlive a node.
func referenceFlavor() Flavor {
	return Flavor{
		Name: DefaultFlavor, Title: "the embedded broker (flavor reference)",
		About:     "three nodes of nats-server, inside this binary; MQTT 3.1.1",
		Protocols: []string{contract.MQTT3, contract.MQ9}, // server/README-MQTT.md
		NoSharing: "the embedded broker (flavor reference) has no shared subscriptions: nats-server takes $share for a topic like any other (nats-io/nats-server issue 2386); choose flavor mosquitto or robustmq",
		Reorders:  true, // server/README-MQTT.md, known issues
		Control:   []string{contract.MQTT3, contract.MQ9},
		Pace:      Pace{SettleS: 8, SteadyS: 4, AfterS: 4, DrainS: 40, RecoveryS: 45},
		Embedded:  true,
		image: func(c *Config) error {
			if c.Image != "" {
				return errors.New("the image of reference is made of this program; leave image out")
			}
			return nil
		},
		broker: reference{},
	}
}

// reference is the embedded broker: this very binary, started again.
type reference struct{}

// Defaults of the tested profile. The vendor repeats a delivery after 30 s,
// which would be most of a short run.
const referenceAckWaitMS = 5000

func (r reference) check(config Config) (Config, error) {
	if err := checkNodes(&config, mostNodes); err != nil {
		return config, err
	}
	if config.Binary != "" {
		return config, errors.New("reference is part of this program and takes no binary; leave binary out")
	}
	_, err := r.effective(config)
	return config, err
}

func (r reference) plan(opts Options) (*plan, error) {
	if len(opts.Self) == 0 {
		return nil, errors.New("the command that runs a node is not given")
	}
	p := &plan{
		version:    "nats-server " + embedded.Version,
		binary:     lookSelf(opts.Self[0]),
		startBound: time.Minute, leaderBound: time.Minute,
		differs: map[string]string{},
	}
	node, err := r.node(opts, p)
	if err != nil {
		return nil, err
	}
	configs := make([]embedded.Config, opts.Config.Nodes)
	var routes []string
	for i, name := range nodeNames(opts.Config.Nodes) {
		n, c, err := r.place(opts, name, node)
		if err != nil {
			return nil, err
		}
		p.nodes, configs[i] = append(p.nodes, n), c
		routes = append(routes, net.JoinHostPort(n.Address(), strconv.Itoa(c.ClusterPort)))
	}
	var certs certificate.Files
	if opts.Config.secure() {
		if certs, err = p.certify(opts); err != nil {
			return nil, err
		}
	}
	for i, n := range p.nodes {
		if len(routes) > 1 {
			configs[i].Routes = routes
		}
		configs[i].Cert, configs[i].Key = certs.Cert, certs.Key
		n.setup = func(binary string, settings map[string]any) error {
			n.from(cmp.Or(binary, opts.Self[0]))
			return r.write(n, configs[i], settings)
		}
		n.ask = func(ctx context.Context) (map[string]string, error) { return r.ask(ctx, n) }
		if err := n.setup("", nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// write writes a node's configuration, with settings of its own.
func (reference) write(n *Node, c embedded.Config, settings map[string]any) error {
	if err := overlay(&c, settings); err != nil {
		return err
	}
	return writeJSON(filepath.Join(n.dir, "node.json"), c)
}

// ask reads what a node says of itself.
func (reference) ask(ctx context.Context, n *Node) (map[string]string, error) {
	var s embedded.Status
	if err := getJSON(ctx, n.http, "/status", &s); err != nil {
		return nil, err
	}
	word := map[string]string{"version": strings.TrimSpace("nats-server " + s.Version + " " + s.Build), "members": strings.Join(s.Members, ", ")}
	for key, value := range s.Config {
		word["setting."+key] = value
	}
	return word, nil
}

// settings are those of nats-server that its MQTT sessions depend on. An
// int of 0 is the vendor's value.
func (reference) settings() flavorSettings {
	return flavorSettings{
		"ack_wait_ms": count(30000, 0, math.MaxInt32), "max_ack_pending": count(1024, 0, math.MaxUint16), "sync_always": flag(false),
	}
}

// overlay lays settings over a configuration, whose keys they have.
func overlay(c *embedded.Config, settings map[string]any) error {
	b, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, c); err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	return nil
}

// node is the part of the configuration that all nodes share.
func (r reference) node(opts Options, p *plan) (embedded.Config, error) {
	c, err := r.shared(opts.Config)
	if err != nil {
		return c, err
	}
	p.config = referenceConfig(c)
	differs(p.differs, p.config, r.settings().vendors())
	p.promises = referencePromises()
	return c, nil
}

// shared is what all nodes have of a configuration: its settings over the profile.
func (reference) shared(config Config) (embedded.Config, error) {
	c := embedded.Config{Cluster: "rmq-mcp", Replicas: min(config.Nodes, 3)}
	if config.Profile == ProfileTested {
		c.AckWaitMS = referenceAckWaitMS
	}
	if strings.HasPrefix(config.Plant, mq9.PlantPrefix) || strings.HasPrefix(config.Plant, embedded.LeakPrefix) {
		c.Plant = config.Plant
	}
	return c, overlay(&c, config.Settings)
}

func (r reference) effective(config Config) (map[string]any, error) {
	if err := checkNodes(&config, mostNodes); err != nil {
		return nil, err
	}
	c, err := r.shared(config)
	return referenceConfig(c), err
}

// referenceConfig is a node's configuration by the names of its settings.
func referenceConfig(c embedded.Config) map[string]any {
	return map[string]any{
		"jetstream": true, "replicas": c.Replicas, "sync_always": c.SyncAlways,
		"ack_wait_ms": cmp.Or(c.AckWaitMS, 30000), "max_ack_pending": cmp.Or(c.MaxAckPending, 1024),
	}
}

// place makes one node: its host, ports and directory.
func (reference) place(opts Options, name string, c embedded.Config) (*Node, embedded.Config, error) {
	host, err := opts.Network.Host(name)
	if err != nil {
		return nil, c, err
	}
	want := opts.Config.listeners(map[string]int{"mqtt": 1883, "nats": 4222, "cluster": 6222, "http": 8222})
	if _, secure := want["wss"]; secure {
		want["ws"] = servicePorts()["ws"] // where it leads
	}
	ports, err := portsOf(host, want)
	if err != nil {
		return nil, c, err
	}
	n, err := newNode(opts, host, ports)
	if err != nil {
		return nil, c, err
	}
	n.data = filepath.Join(n.dir, "data")
	c.Name, c.Host, c.Dir = name, bind(host), n.data
	c.TLSPort, c.WSPort, c.WSSPort = ports["mqtts"], ports["ws"], ports["wss"]
	c.MQTTPort, c.NATSPort, c.ClusterPort, c.HTTPPort = ports["mqtt"], ports["nats"], ports["cluster"], ports["http"]
	c.StdinGuard = !slices.Contains([]string{"namespaces", "pods"}, opts.Network.Isolation())
	n.guarded = c.StdinGuard
	n.version = "nats-server " + embedded.Version
	n.argv = append(append(n.argv, opts.Self...), "-config", filepath.Join(n.dir, "node.json"))
	n.restartBound, n.stopBound = time.Minute, 30*time.Second
	return n, c, nil
}

func (reference) ready(ctx context.Context, p *plan, n *Node, first bool) error {
	var s embedded.Status
	if err := getJSON(ctx, n.http, "/status", &s); err != nil {
		return err
	}
	if !s.Ready {
		return fmt.Errorf("it follows no leader yet (meta leader %q)", s.Meta)
	}
	if first && s.Peers < len(p.nodes) {
		return fmt.Errorf("it is connected with %d of %d nodes", s.Peers, len(p.nodes))
	}
	if first && n != p.nodes[0] {
		// The first MQTT client of a cluster makes it create its streams. Nodes
		// that do so at the same time stand in each other's way for seconds.
		if _, err := p.nodes[0].Probe(ctx); err != nil {
			return err
		}
	}
	_, err := n.Probe(ctx)
	return err
}

// leader returns the node that most nodes name as the leader of the stream of all
// messages. A node that was cut off may still name itself.
func (reference) leader(ctx context.Context, p *plan, _ string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	voters := running(ctx, p.nodes)
	said := make(chan string, len(voters))
	for _, n := range voters {
		go func() {
			var s embedded.Status
			getJSON(ctx, n.http, "/status", &s) // no answer is no vote
			said <- s.Streams[embedded.MessageStream]
		}()
	}
	votes, best := map[string]int{}, ""
	for range voters {
		name := <-said
		if name == "" {
			continue
		}
		if votes[name]++; votes[name] > votes[best] {
			best = name
		}
		if votes[best] > len(p.nodes)/2 {
			return best, nil
		}
	}
	if best == "" {
		return "", fmt.Errorf("no node names a leader of %s", embedded.MessageStream)
	}
	return best, nil
}

// lookSelf is the file that will run, for its hash.
func lookSelf(name string) string {
	if path, err := os.Readlink(name); err == nil {
		return path
	}
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return name
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write node configuration: %w", err)
	}
	return nil
}

// referencePromises are those of NATS with JetStream replicated: messages of
// QoS 1 and 2 and sessions outlive a node. That redelivery keeps the order it
// does not promise (server/README-MQTT.md, known issues). Neither does it promise that
// retained messages are registers across nodes: each node learns of them from a consumer
// of its own, behind the acknowledgement (the same, Retained messages).
func referencePromises() []string {
	return []string{
		history.PromiseProtocol, history.PromiseDurability, history.PromiseSessions,
		history.PromiseProgress, history.PromiseRecovery, history.PromiseMailboxes,
	}
}

// The embedded broker's page is as RobustMQ documents its own.
func (reference) mailboxes(ctx context.Context, n *Node, page string, into any) error {
	return robustmqCall(ctx, n.http, page, "", nil, into)
}
