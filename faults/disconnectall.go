package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// DisconnectAll resets all connections of the target's clients in one instant
// and lets none of them back in until it is healed, when all come at once.
type DisconnectAll struct{}

// Name is disconnect_all.
func (DisconnectAll) Name() string { return "disconnect_all" }

// Plan plans a rule in the tap.
func (DisconnectAll) Plan(_ context.Context, target Target) (*Injection, error) {
	return target.connectionFault(tap.Rule{Do: tap.Refuse}, crowd.ended)
}

func disconnectAll() Kind {
	return connectionKind("disconnect_all",
		"all connections are reset in one instant; none comes back until it is healed, then all do at once",
		nil, func(Params) (Fault, error) { return DisconnectAll{}, nil }).
		drawn(Draw{Silences: true})
}
