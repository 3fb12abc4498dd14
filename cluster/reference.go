package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	embedded "github.com/robustmq/rmq-mcp/internal/reference"
)

// reference is the embedded broker: this very binary, started again.
type reference struct{}

// Defaults of the tested profile. The vendor repeats a delivery after 30 s,
// which would be most of a short run.
const referenceAckWaitMS = 5000

func (reference) check(config Config) (Config, error) {
	if err := checkNodes(&config, 3, 5); err != nil {
		return config, err
	}
	if config.Binary != "" {
		return config, errors.New("reference is part of this program and takes no binary; leave binary out")
	}
	return config, checkSettings(config, []string{"ack_wait_ms", "max_ack_pending", "sync_always"})
}

func (r reference) plan(opts Options) (*plan, error) {
	if len(opts.Self) == 0 {
		return nil, errors.New("the command that runs a node is not given")
	}
	p := &plan{
		version:    "nats-server " + embedded.Version,
		binary:     lookSelf(opts.Self[0]),
		startBound: 30 * time.Second, leaderBound: 30 * time.Second,
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
		routes = append(routes, net.JoinHostPort(c.Host, strconv.Itoa(c.ClusterPort)))
	}
	for i, n := range p.nodes {
		if len(routes) > 1 {
			configs[i].Routes = routes
		}
		if err := writeJSON(filepath.Join(n.dir, "node.json"), configs[i]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// node is the part of the configuration that all nodes share.
func (reference) node(opts Options, p *plan) (embedded.Config, error) {
	c := embedded.Config{Cluster: "rmq-mcp", Replicas: min(opts.Config.Nodes, 3)}
	if opts.Config.Profile == ProfileTested {
		c.AckWaitMS = referenceAckWaitMS
	}
	b, err := json.Marshal(opts.Config.Settings)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("read settings: %w", err)
	}
	if c.AckWaitMS < 0 || c.MaxAckPending < 0 || c.MaxAckPending > 65535 {
		return c, errors.New("ack_wait_ms cannot be negative, and max_ack_pending goes from 0 to 65535")
	}
	p.config = map[string]any{
		"jetstream": true, "replicas": c.Replicas, "sync_always": c.SyncAlways,
		"ack_wait_ms": cmp.Or(c.AckWaitMS, 30000), "max_ack_pending": cmp.Or(c.MaxAckPending, 1024),
	}
	differs(p.differs, p.config, map[string]any{"ack_wait_ms": 30000, "max_ack_pending": 1024, "sync_always": false})
	p.promises = referencePromises()
	return c, nil
}

// place makes one node: its host, ports and directory.
func (reference) place(opts Options, name string, c embedded.Config) (*Node, embedded.Config, error) {
	host, err := opts.Network.Host(name)
	if err != nil {
		return nil, c, err
	}
	ports, err := portsOf(host, map[string]int{"mqtt": 1883, "nats": 4222, "cluster": 6222, "http": 8222})
	if err != nil {
		return nil, c, err
	}
	n, err := newNode(opts, host, ports)
	if err != nil {
		return nil, c, err
	}
	c.Name, c.Host, c.Dir = name, host.Address(), filepath.Join(n.dir, "data")
	c.MQTTPort, c.NATSPort, c.ClusterPort, c.HTTPPort = ports["mqtt"], ports["nats"], ports["cluster"], ports["http"]
	c.StdinGuard = opts.Network.Isolation() != "namespaces"
	n.guarded = c.StdinGuard
	n.version = "nats-server " + embedded.Version
	n.argv = append(append(n.argv, opts.Self...), "-config", filepath.Join(n.dir, "node.json"))
	n.restartBound, n.stopBound = 30*time.Second, 10*time.Second
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

// leader is the node that most nodes name as the leader of the stream that
// holds all messages; a node that was cut off may still name itself.
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
