package faults

import (
	"context"
	"fmt"
	"runtime"

	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// Network faults act on the router between the hosts of an experiment.
func networkKinds() []Kind {
	return []Kind{
		partition(),
		unreachableKind(),
		reset(),
		loss(),
		delay(),
		duplicate(),
		reorder(),
		corrupt(),
		bandwidth(),
	}
}

// Net is the router between all hosts, as far as network faults need it.
// Hosts are named: node-1, witness, and what drivers run on.
type Net interface {
	Filter
	Prober
	Routes
	Cables
	Connections
}

// Filter is the rules of the router.
type Filter interface {
	// Missing says what this kernel lacks for an action, "" for nothing.
	Missing(router.Action) string
	// Render shows exactly these rules.
	Render(ctx context.Context, rules []router.Rule) error
	// Rules are the rules that are there now.
	Rules() []router.Rule
	// Hits are what a fault's rules met; zero if it has none.
	Hits(fault string) (router.Hits, error)
	// Disturbed reports whether a rule of any other fault than this one is about
	// what one host sends to another.
	Disturbed(from, to, fault string) bool
	// Queue answers a queue number that was not used before.
	Queue() (uint16, error)
}

// network answers the experiment's router.
func (t Target) network() (Net, error) {
	if t.Site.Net == nil {
		return nil, fmt.Errorf("%w: network faults need nodes in network namespaces, and these have none; use runtime process or docker on a host with namespaces, or kubernetes (rmq-mcp doctor)", ErrUnsupported)
	}
	return t.Site.Net, nil
}

// router answers the experiment's router, if it can do an action.
func (t Target) router(action router.Action) (Net, error) {
	net, err := t.network()
	if err != nil {
		return nil, err
	}
	if missing := net.Missing(action); missing != "" {
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, missing)
	}
	return net, nil
}

// networkTargets are the targets of a fault that acts on links.
func networkTargets() []string { return append(processTargets(), bothWays, oneWay) }

// byRouter answers what does it on this system; whether the kernel can is seen
// when a fault is planned.
func byRouter(mechanism string) func(context.Context) (string, string) {
	return func(context.Context) (string, string) {
		if runtime.GOOS != "linux" {
			return mechanism, "network faults need network namespaces, which only Linux has"
		}
		return mechanism, ""
	}
}
