package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// externalFlavor is brokers of which nothing is known but a listener, of MQTT or of mq9: both
// versions of MQTT and shared subscriptions are tried, and they are taken to keep as many
// messages of a session as many do. The default library for mq9 is one that RobustMQ lets in.
func externalFlavor() Flavor {
	return Flavor{
		Name: "external", Title: "external", Protocols: []string{contract.MQTT3, contract.MQTT5, contract.MQ9},
		SDKs:    map[string]string{contract.MQ9: "rust/async-nats"},
		About:   "external brokers; faults on those whose container or pid the envelope allows",
		Queue:   queueOf,
		Foreign: true, OwnSize: true, Leaderless: true,
		broker: external{},
	}
}

// external is the flavor of running brokers: clients can use them, and faults
// reach those whose container or process is named.
type external struct{}

func (external) check(config Config) (Config, error) {
	if len(config.Endpoints) == 0 {
		return config, errors.New("external needs endpoints, host:port of each broker's listener: give --endpoint, or endpoints of the config")
	}
	if config.Nodes != 0 && config.Nodes != len(config.Endpoints) {
		return config, fmt.Errorf("%d nodes but %d endpoints; leave nodes out", config.Nodes, len(config.Endpoints))
	}
	config.Nodes = len(config.Endpoints)
	for i, e := range config.Endpoints {
		if slices.Contains(config.Endpoints[:i], e) {
			return config, fmt.Errorf("endpoint %s is named twice; name the listener of each broker itself: behind one address nodes cannot be told apart", e)
		}
		if _, port, err := net.SplitHostPort(e); err != nil || port == "" {
			return config, fmt.Errorf("endpoint %q is not host:port, as in broker.example:1883", e)
		}
	}
	if config.Binary != "" {
		return config, errors.New("external starts nothing; leave binary out")
	}
	return config, checkProtocol(config)
}

// checkProtocol checks what endpoints of mq9 go without: nothing but NATS over TCP is
// spoken there, and nothing of ours reads that.
func checkProtocol(c Config) error {
	switch {
	case c.Protocol == "":
		return nil
	case c.Protocol != contract.MQ9:
		return fmt.Errorf("protocol %q: valid is %s, if the endpoints are NATS listeners; leave it out for MQTT", c.Protocol, contract.MQ9)
	case len(c.Transports) > 0:
		return fmt.Errorf("transports %s: clients of %s use NATS over TCP; leave them out", strings.Join(c.Transports, ", "), c.Protocol)
	case slices.Contains(c.Arm, ArmTap):
		return fmt.Errorf("arm %s: it reads MQTT, and these endpoints speak %s; leave it out", ArmTap, c.Protocol)
	}
	return nil
}

// queueOf is how many messages the brokers are taken to keep for a session: mq9 has none.
func queueOf(c Config) int {
	if c.Protocol == contract.MQ9 {
		return 0
	}
	return cmp.Or(c.QueueLimit, usualQueue)
}

// Reach connects to external brokers, as a new client, of MQTT over a transport; "" is that of
// the configuration. An MQTT client also sends itself a message of so many bytes. The error names
// the first endpoint that accepts no client within three seconds, or does not deliver the message.
// There is none for brokers that are still to be started.
func Reach(ctx context.Context, config Config, transport string, bytes int) error {
	if !config.Foreign() {
		return nil
	}
	_, config, err := check(config)
	if err != nil {
		return err
	}
	transport = cmp.Or(transport, strings.Join(config.Transports, ""))
	for _, endpoint := range config.Endpoints {
		n := outside(config, endpoint, endpoint, transport)
		if err := n.admits(ctx); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return fmt.Errorf("reach the broker: %w; see that it runs, listens there and admits this login, then ask again", err)
		}
		if n.mqtt == "" {
			continue
		}
		if err := n.echo(ctx, bytes); err != nil {
			return fmt.Errorf("try a message: %w", err)
		}
	}
	return nil
}

// outside is an external node.
func outside(c Config, name, endpoint, transport string) *Node {
	n := &Node{name: name, spoken: transport, user: c.Username, pass: c.Password.Reveal()}
	if c.Protocol == contract.MQ9 {
		n.nats = endpoint
	} else {
		n.mqtt = endpoint
	}
	return n
}

// admits waits until a node accepts a client.
func (n *Node) admits(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	return n.await(ctx, func(ctx context.Context) error { _, err := n.Probe(ctx); return err })
}

func (external) settings() flavorSettings { return nil }

func (external) effective(Config) (map[string]any, error) { return nil, nil }

func (external) plan(opts Options) (*plan, error) {
	p := &plan{
		version: history.UnknownVersion, user: opts.Config.Username, password: opts.Config.Password.Reveal(),
		promises: externalPromises(opts.Config.Protocol), queue: queueOf(opts.Config),
		ca: opts.Config.CA, startBound: 15 * time.Second, leaderBound: time.Second, config: map[string]any{"endpoints": opts.Config.Endpoints},
	}
	for i, name := range nodeNames(len(opts.Config.Endpoints)) {
		p.nodes = append(p.nodes, outside(opts.Config, name, opts.Config.Endpoints[i], strings.Join(opts.Config.Transports, "")))
	}
	return p, adopt(p, opts.Config)
}

// lacksOf leaves out what can be had of those that are named.
func lacksOf(c Config) map[string]string {
	lacks := history.LacksOfExternal()
	if kind, _ := c.Theirs(); kind != "" {
		delete(lacks, history.LacksProcesses)
	}
	if c.Protocol == contract.MQ9 {
		delete(lacks, history.LacksLimits)
	}
	return lacks
}

func (external) ready(ctx context.Context, _ *plan, n *Node, _ bool) error {
	_, err := n.Probe(ctx)
	return err
}

func (external) leader(context.Context, *plan, string) (string, error) {
	return "", fmt.Errorf("ask an external broker: %w", ErrUnsupported)
}

// externalPromises are those that any broker makes by speaking a protocol.
func externalPromises(protocol string) []string {
	if protocol == contract.MQ9 {
		return []string{history.PromiseProtocol, history.PromiseMailboxes}
	}
	return []string{history.PromiseProtocol}
}
