package faults

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
)

// A Client is one that a driver runs.
type Client struct {
	Name   string // publisher-1
	ID     string // its MQTT client id
	Driver string // the name of the driver process that runs it
}

// clientTargets are those of a fault that acts on clients.
func clientTargets() []string {
	return []string{history.TargetClients, history.TargetPublishers, history.TargetSubscribers, history.TargetClient + "NAME"}
}

// tapTargets are those of a fault on connections: clients', or those to nodes.
func tapTargets() []string { return append(clientTargets(), processTargets()...) }

// checkClients refuses clients as the target of a fault on nodes, and nodes as
// that of one on clients.
func checkClients(k Kind, target string) error {
	_, clients := history.ClientTarget(target)
	switch {
	case clients && !slices.Contains(k.Targets, history.TargetClients):
		return fmt.Errorf("%s acts on nodes, not on %s; valid: %s", k.Type, target, strings.Join(k.Targets, ", "))
	case !clients && !slices.ContainsFunc(k.Targets, func(t string) bool { _, of := history.ClientTarget(t); return !of }):
		return fmt.Errorf("%s acts on clients, not on %s; valid: %s", k.Type, target, strings.Join(k.Targets, ", "))
	}
	return nil
}
