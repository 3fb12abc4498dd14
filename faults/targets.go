package faults

import (
	"fmt"
	"slices"
	"strings"
)

// Targets that are clients and not nodes.
const (
	TargetClients     = "clients"
	TargetPublishers  = "publishers"
	TargetSubscribers = "subscribers"
	clientPrefix      = "client:"
)

// A Client is one that a driver runs.
type Client struct {
	Name   string // publisher-1
	ID     string // its MQTT client id
	Driver string // the name of the driver process that runs it
}

// ClientTarget reports whether a target is clients and not nodes: clients,
// publishers, subscribers, or client:NAME, whose name it answers: its name
// (publisher-1) or its number in the run.
func ClientTarget(target string) (name string, ok bool) {
	if name, ok := strings.CutPrefix(target, clientPrefix); ok {
		return name, name != ""
	}
	return "", slices.Contains([]string{TargetClients, TargetPublishers, TargetSubscribers}, target)
}

// clientTargets are those of a fault that acts on clients.
func clientTargets() []string {
	return []string{TargetClients, TargetPublishers, TargetSubscribers, clientPrefix + "NAME"}
}

// tapTargets are those of a fault on connections: clients', or those to nodes.
func tapTargets() []string { return append(clientTargets(), processTargets()...) }

// checkClients refuses clients as the target of a fault on nodes, and nodes as
// that of one on clients.
func checkClients(k Kind, target string) error {
	_, clients := ClientTarget(target)
	switch {
	case clients && !slices.Contains(k.Targets, TargetClients):
		return fmt.Errorf("%s acts on nodes, not on %s; valid: %s", k.Type, target, strings.Join(k.Targets, ", "))
	case !clients && !slices.ContainsFunc(k.Targets, func(t string) bool { _, of := ClientTarget(t); return !of }):
		return fmt.Errorf("%s acts on clients, not on %s; valid: %s", k.Type, target, strings.Join(k.Targets, ", "))
	}
	return nil
}
