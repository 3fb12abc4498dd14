package main

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
)

// A trial is what it takes to use the drivers of SDKs for real.
type trial struct {
	cache   string
	argv    []string // of this program
	drivers []clients.Status
	brokers *trialBrokers
}

// openTrial finds drivers and starts brokers for them. settings are mosquitto's.
func (a *app) openTrial(ctx context.Context, names []string, settings map[string]any) (*trial, error) {
	sdks, err := sdksNamed(names)
	if err != nil {
		return nil, err
	}
	t := &trial{}
	if t.cache, err = a.cache(); err != nil {
		return nil, err
	}
	if t.argv, err = self(); err != nil {
		return nil, err
	}
	t.drivers = clients.Look(ctx, t.cache, sdks)
	t.brokers, err = startTrialBrokers(ctx, t.argv, settings)
	return t, err
}

// trialBrokers are the brokers that drivers are tried on: the embedded one,
// and mosquitto for MQTT 5, which the embedded one does not speak.
type trialBrokers struct {
	*cluster.Local
	targets map[string]clients.Target // by protocol
	names   map[string]string         // by protocol: what the target is
	missing map[string]string         // by protocol: why there is none
}

func startTrialBrokers(ctx context.Context, argv []string, settings map[string]any) (*trialBrokers, error) {
	local, err := cluster.NewLocal(argv)
	if err != nil {
		return nil, err
	}
	b := &trialBrokers{local, map[string]clients.Target{}, map[string]string{}, map[string]string{}}
	reference, err := b.Start(ctx, cluster.Config{Flavor: "reference"})
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("start the embedded broker: %w", err)
	}
	node := reference.Nodes()[0]
	b.add(node, contract.MQTT3, node.MQTT())
	b.add(node, contract.MQ9, node.NATS())
	config := cluster.Config{Flavor: "mosquitto", Settings: settings}
	if _, err := cluster.Check(config); err != nil {
		b.missing[contract.MQTT5] = err.Error()
		return b, nil
	}
	mosquitto, err := b.Start(ctx, config)
	if err != nil {
		b.Close()
		return nil, err
	}
	node = mosquitto.Nodes()[0]
	b.add(node, contract.MQTT5, node.MQTT())
	return b, nil
}

// add adds a node as the target of a protocol.
func (b *trialBrokers) add(n *cluster.Node, protocol, endpoint string) {
	b.targets[protocol], b.names[protocol] = clients.Target{Endpoint: endpoint}, n.Version()
}
