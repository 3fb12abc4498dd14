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

// externalFlavor is brokers of which nothing is known but an MQTT listener: both versions
// and shared subscriptions are tried, and they are taken to keep as many messages as many do.
func externalFlavor() Flavor {
	return Flavor{
		Name: "external", Title: "external", Protocols: []string{contract.MQTT3, contract.MQTT5},
		About:   "brokers that somebody else runs; faults on those whose container or pid the envelope allows",
		Queue:   func(Config) int { return usualQueue },
		Foreign: true, OwnSize: true,
		broker: external{},
	}
}

// external is brokers that somebody else runs: clients can use them, and faults
// reach those whose container or process is named.
type external struct{}

func (external) check(config Config) (Config, error) {
	if len(config.Endpoints) == 0 {
		return config, errors.New("external needs endpoints, host:port of each broker's MQTT listener: give --endpoint, or endpoints of the config")
	}
	if config.Nodes != 0 && config.Nodes != len(config.Endpoints) {
		return config, fmt.Errorf("%d nodes but %d endpoints; leave nodes out", config.Nodes, len(config.Endpoints))
	}
	config.Nodes = len(config.Endpoints)
	for i, e := range config.Endpoints {
		if slices.Contains(config.Endpoints[:i], e) {
			return config, fmt.Errorf("endpoint %s is named twice; name the listener of each broker itself: behind one address nobody can tell nodes apart", e)
		}
		if _, port, err := net.SplitHostPort(e); err != nil || port == "" {
			return config, fmt.Errorf("endpoint %q is not host:port, as in broker.example:1883", e)
		}
	}
	if config.Binary != "" {
		return config, errors.New("external starts nothing; leave binary out")
	}
	return config, nil
}

// Reach connects to brokers that somebody else runs, as a new MQTT client over a
// transport, that of the configuration where it is "". The error names the first endpoint
// where no client is accepted within three seconds, in which a broker may still come up.
// There is none for brokers that are still to be started.
func Reach(ctx context.Context, config Config, transport string) error {
	if !config.Foreign() {
		return nil
	}
	_, config, err := check(config)
	if err != nil {
		return err
	}
	transport = cmp.Or(transport, strings.Join(config.Transports, ""))
	for _, endpoint := range config.Endpoints {
		n := &Node{name: endpoint, mqtt: endpoint, spoken: transport, user: config.Username, pass: config.Password.Reveal()}
		if err := n.admits(ctx); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return fmt.Errorf("reach the broker: %w; see that it runs, listens there and admits this login, then ask again", err)
		}
	}
	return nil
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
		promises: externalPromises(), queue: usualQueue,
		ca: opts.Config.CA, startBound: 15 * time.Second, leaderBound: time.Second, config: map[string]any{"endpoints": opts.Config.Endpoints},
	}
	for i, name := range nodeNames(len(opts.Config.Endpoints)) {
		p.nodes = append(p.nodes, &Node{name: name, mqtt: opts.Config.Endpoints[i], spoken: strings.Join(opts.Config.Transports, ""), user: p.user, pass: p.password})
	}
	return p, adopt(p, opts.Config)
}

// lacksOf leaves out what can be had of those that are named.
func lacksOf(c Config) map[string]string {
	lacks := history.LacksOfExternal()
	if len(c.PIDs)+len(c.Containers) > 0 {
		delete(lacks, history.LacksProcesses)
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
