// Package trials uses the drivers of client libraries for real, on brokers of this machine: a check of
// what they can do, and a measurement of how fast they publish.
package trials

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// Options are what drivers are tried, and how.
type Options struct {
	Cache string   // the directory of drivers
	Self  []string // the command line of rmq-mcp
	SDKs  []clients.SDK
}

// A Row is what became of one SDK on one protocol.
type Row struct {
	SDK      string  `json:"sdk"`
	Protocol string  `json:"protocol,omitempty"`
	State    string  `json:"state"` // OK, Failed, NotChecked, or why it is not there: clients.StateNotInstalled, clients.StateUnsupported
	Reason   string  `json:"reason,omitempty"`
	TookS    float64 `json:"took_s"`
}

// States of a Row, besides those of a [clients.Status].
const (
	OK         = "ok"
	Failed     = "FAILED"
	NotChecked = "not checked"
)

// A Speed is how fast one SDK publishes on one protocol.
type Speed struct {
	Row
	Broker string `json:"broker,omitempty"`
	*clients.Performance
}

// Check tries drivers, as many at a time as there are processors, and tells each row as it is known.
func Check(ctx context.Context, o Options, tell func(Row)) ([]Row, error) {
	b, err := start(ctx, o, nil)
	if err != nil {
		return nil, err
	}
	defer b.Close()

	var mu sync.Mutex
	var rows []Row
	add := func(r Row) {
		mu.Lock()
		defer mu.Unlock()
		rows = append(rows, r)
		tell(r)
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range clients.Look(ctx, o.Cache, o.SDKs) {
		if !s.Ready() {
			add(Row{SDK: s.String(), State: s.State, Reason: s.Missing})
			continue
		}
		for _, protocol := range s.Protocols {
			g.Go(func() error {
				add(b.try(ctx, o, s.SDK, protocol, func(try clients.Trial) error { return clients.Check(ctx, try) }))
				return nil
			})
		}
	}
	g.Wait()
	return rows, ctx.Err()
}

// Bench measures drivers, one after the other. If it is interrupted, it returns the rows measured so
// far with the error. Say says what is measured now, tell tells each row.
func Bench(ctx context.Context, o Options, runFor time.Duration, say func(string), tell func(Speed)) (rows []Speed, err error) {
	// By default mosquitto takes 20 messages at once.
	b, err := start(ctx, o, map[string]any{"max_inflight_messages": 0, "set_tcp_nodelay": true})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if b.missing[contract.MQTT5] == "" { // one for both, so that rows compare
		b.targets[contract.MQTT3], b.names[contract.MQTT3] = b.targets[contract.MQTT5], b.names[contract.MQTT5]
	}
	add := func(s Speed) {
		rows = append(rows, s)
		tell(s)
	}
	drivers := clients.Look(ctx, o.Cache, o.SDKs)
	for i, s := range drivers {
		switch {
		case !s.Ready():
			add(Speed{Row: Row{SDK: s.String(), State: s.State, Reason: s.Missing}})
			continue
		case slices.Contains(s.Cannot, contract.CannotProtocol):
			add(Speed{Row: Row{SDK: s.String(), State: clients.StateUnsupported, Reason: "it speaks an earlier version of its protocol, which brokers refuse"}})
			continue
		}
		for _, protocol := range s.Protocols {
			row := b.measure(ctx, o, s.SDK, protocol, runFor, func(text string) {
				say(fmt.Sprintf("%d of %d, %s %s: %s", i+1, len(drivers), s.SDK, protocol, text))
			})
			if ctx.Err() != nil {
				return rows, ctx.Err()
			}
			add(row)
		}
	}
	return rows, nil
}

// witness records what passes the tap, as in an experiment.
func witness(rec *history.Recorder, clock history.Clock, run string) func(tap.Hello) tap.Witness {
	return experiment.Observe(rec, clock, run)
}

// measure measures one driver on one protocol.
func (b *brokers) measure(ctx context.Context, o Options, sdk clients.SDK, protocol string, runFor time.Duration, say func(string)) Speed {
	speed := Speed{Broker: b.names[protocol]}
	speed.Row = b.try(ctx, o, sdk, protocol, func(try clients.Trial) error {
		p, err := clients.Bench(ctx, clients.Benchmark{Trial: try, For: runFor, Progress: say, Observe: witness})
		if p.Full.Direct.PerS > 0 {
			speed.Performance = &p
		}
		return err
	})
	return speed
}

// try uses one driver on one protocol, and answers what became of it.
func (b *brokers) try(ctx context.Context, o Options, sdk clients.SDK, protocol string, use func(clients.Trial) error) Row {
	row := Row{SDK: sdk.String(), Protocol: protocol, State: OK}
	at, ok := b.targets[protocol]
	if !ok {
		row.State, row.Reason = NotChecked, b.missing[protocol]
		return row
	}
	began := time.Now()
	program, err := clients.Provision(ctx, o.Cache, o.Self, sdk, nil)
	if err == nil {
		err = use(clients.Trial{Program: program, SDK: sdk, Protocol: protocol, Target: at})
	}
	row.TookS = time.Since(began).Seconds()
	if err != nil {
		row.State, row.Reason = Failed, err.Error()
	}
	return row
}

// brokers are the embedded broker, and mosquitto for MQTT 5, which the embedded one does not speak.
type brokers struct {
	*cluster.Local
	targets map[string]clients.Target // by protocol
	names   map[string]string         // by protocol: what the target is
	missing map[string]string         // by protocol: why there is none
}

// start starts the brokers. settings are mosquitto's.
func start(ctx context.Context, o Options, settings map[string]any) (*brokers, error) {
	local, err := cluster.NewLocal(o.Self)
	if err != nil {
		return nil, err
	}
	b := &brokers{local, map[string]clients.Target{}, map[string]string{}, map[string]string{}}
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
func (b *brokers) add(n *cluster.Node, protocol, endpoint string) {
	b.targets[protocol], b.names[protocol] = clients.Target{Endpoint: endpoint}, n.Version()
}
