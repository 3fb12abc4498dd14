package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// robustmqFlavor is RobustMQ. It sends a NATS client PING before the PONG that nats.go
// waits for, and knows replies by subscription 0 alone, the one used by async-nats
// (src/nats-broker/src/mq9, v0.4.11).
func robustmqFlavor() Flavor {
	return Flavor{
		Name: "robustmq", Title: "robustmq", Protocols: contract.Protocols(),
		SDKs:     map[string]string{contract.MQ9: "rust/async-nats"},
		Pace:     Pace{FeltS: 20, SettleS: 30, SteadyS: 4, AfterS: 15, DrainS: 240, RecoveryS: 90},
		Versions: true, BinaryEnv: robustmqEnv,
		Install: "export " + robustmqEnv + "=/path/to/broker-server, of a release of github.com/robustmq/robustmq",
		Images:  "ghcr.io/robustmq/robustmq",
		image: func(c *Config) error {
			if c.Image == "" && c.Version == "" {
				return errors.New("robustmq needs a version, such as v0.4.11, or an image; set one")
			}
			c.Image = cmp.Or(c.Image, FlavorNamed(c.Flavor).Images+":"+c.Version)
			c.Binary = cmp.Or(c.Binary, "/robustmq/libs/broker-server")
			return nil
		},
		broker: robustmq{},
	}
}

// robustmq is the broker that this program is for, v0.4.10 and later: older
// ones have another configuration, and ignore ours without a word.
//
// Its nodes are started one after the other, as a fresh node that reaches no
// peer makes a cluster of its own. A consequence, seen on v0.4.11: the inner
// topics are made by node-1 while it is alone and stay on it alone, whatever
// the replica count says: retained messages, wills and the state of QoS 2.
type robustmq struct{}

const robustmqEnv = "RMQ_ROBUSTMQ_BIN"

// Bounds for a broker that was built without optimization, on two busy cores.
const (
	robustmqFirst   = 90 * time.Second // per node
	robustmqRestart = 120 * time.Second
	robustmqStop    = 25 * time.Second // its own watchdog ends it after 20 s
	robustmqLeader  = 60 * time.Second // data get another leader 29 s after theirs was killed
)

func (r robustmq) check(config Config) (Config, error) {
	if err := checkNodes(&config, mostNodes); err != nil {
		return config, err
	}
	if !config.Imaged() {
		if err := findBinary(&config, robustmqEnv); err != nil {
			return config, fmt.Errorf("%w; set binary or %s to a broker-server of v0.4.10 or later, or version to one that is to be downloaded", err, robustmqEnv)
		}
	}
	_, err := r.effective(config)
	return config, err
}

func (r robustmq) plan(opts Options) (*plan, error) {
	count := opts.Config.Nodes
	config, err := r.effective(opts.Config)
	if err != nil {
		return nil, err
	}
	p := &plan{
		user: "admin", password: "robustmq", // the vendor's, which the broker makes at its first start
		binary: opts.Config.Binary, sequential: true, startBound: time.Duration(count) * robustmqFirst,
		leaderBound: robustmqLeader, config: config, differs: map[string]string{}, promises: robustmqPromises(),
	}
	differs(p.differs, p.config, r.settings().vendors())
	p.queue, p.session, p.wait = robustmqKeeps(p.config)
	peers := map[string]any{}
	for i, name := range nodeNames(count) {
		n, err := r.place(opts, name)
		if err != nil {
			return nil, err
		}
		p.nodes = append(p.nodes, n)
		peers[strconv.Itoa(i+1)] = fmt.Sprintf("%s:%d", n.Address(), n.ports["grpc"])
	}
	certs, err := p.certify(opts) // it does not start without
	if err != nil {
		return nil, err
	}
	for i, n := range p.nodes {
		n.ask = func(ctx context.Context) (map[string]string, error) { return r.ask(ctx, n) }
		n.setup = func(binary string, settings map[string]any) error {
			n.from(cmp.Or(binary, opts.Config.Binary))
			return writeRobustmq(n, i+1, peers, certs, merged(p.config, settings))
		}
		if err := n.setup("", nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// effective is the vendor's cluster configuration with what the profile and
// the settings change, by dotted key.
func (r robustmq) effective(config Config) (map[string]any, error) {
	if err := checkNodes(&config, mostNodes); err != nil {
		return nil, err
	}
	keys := r.settings().vendors()
	if config.Profile == ProfileTested {
		for key, value := range robustmqTested(config.Nodes) {
			keys[key] = value
		}
	}
	return merged(keys, config.Settings), nil
}

func (robustmq) place(opts Options, name string) (*Node, error) {
	host, err := opts.Network.Host(name)
	if err != nil {
		return nil, err
	}
	ports, err := portsOf(host, robustmqPorts())
	if err != nil {
		return nil, err
	}
	n, err := newNode(opts, host, ports)
	if err != nil {
		return nil, err
	}
	n.user, n.pass = "admin", "robustmq"
	n.program = "a broker-server of RobustMQ v0.4.10 or later"
	n.data = filepath.Join(n.dir, "data")
	n.provoke = func(ctx context.Context) error { return robustmqProvoke(ctx, n) }
	n.argv = []string{opts.Config.Binary, "--conf=" + filepath.Join(n.dir, "server.toml")}
	n.restartBound, n.stopBound = robustmqRestart, robustmqStop
	return n, nil
}

// ready asks the node who is in its cluster and whether its three Raft groups
// have a leader, and logs in over MQTT. The broker's own health page cannot
// say that it is ready: it tries to reach a UDP port by TCP.
func (r robustmq) ready(ctx context.Context, p *plan, n *Node, first bool) error {
	var info robustmqInfo
	if err := robustmqAsk(ctx, n, "/api/info", nil, &info); err != nil {
		return err
	}
	n.setVersion("robustmq " + info.Version)
	for _, group := range []string{"metadata_0", "offset_0", "data_0"} {
		if info.Meta[group].Leader == 0 {
			return fmt.Errorf("its Raft group %s has no leader", group)
		}
	}
	if first {
		if err := info.complete(slices.Index(p.nodes, n) + 1); err != nil {
			return err
		}
	}
	_, err := n.Probe(ctx)
	return err
}

// leader is the node that leads the segment to which the topic's messages are
// written, as most nodes see it. A topic that does not exist yet has none, and neither has
// one without segments; then it is the leader of the Raft group data_0, which decides where
// data go.
func (r robustmq) leader(ctx context.Context, p *plan, topic string) (string, error) {
	ids, errs := map[int]int{}, []error{}
	for _, n := range running(ctx, p.nodes) {
		id, err := segmentLeader(ctx, n, topic)
		if errors.Is(err, errNoTopic) || err == nil && id == 0 {
			id, err = dataLeader(ctx, n)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("ask %s: %w", n.name, err))
			continue
		}
		ids[id]++
	}
	best := 0
	for id, votes := range ids {
		if id != 0 && (best == 0 || votes > ids[best] || votes == ids[best] && id < best) {
			best = id
		}
	}
	if best == 0 {
		return "", errors.Join(append(errs, errors.New("no node names a leader of the data"))...)
	}
	return "node-" + strconv.Itoa(best), nil
}

// robustmqPromises returns the promises of RobustMQ's documentation.
//
// For MQTT (docs/en/RobustMQ-MQTT, docs/en/Architect): the protocol in full, QoS 1 at
// least once, QoS 2 exactly once, sessions and offline messages restored after a
// restart, leader failover without loss, and order in a partition. A message of a
// shared subscription goes to one member, and a member's queue goes to another member
// when its session ends.
//
// For mq9 (protocol.md): messages persist, they are delivered in order of priorities
// and in order within one priority, and messages and mailboxes expire.
func robustmqPromises() []string {
	return []string{
		history.PromiseProtocol, history.PromiseDurability, history.PromiseSessions, history.PromiseRetained,
		history.PromiseProgress, history.PromiseRecovery, history.PromiseMailboxes,
		history.PromiseOrder, history.PromiseExpiry, history.PromiseSharing, history.PromiseHandover, history.PromiseDup,
	}
}
