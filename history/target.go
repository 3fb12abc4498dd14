package history

import (
	"slices"
	"strings"
	"time"
)

// Targets of faults that are clients and not nodes.
const (
	TargetClients     = "clients"
	TargetPublishers  = "publishers"
	TargetSubscribers = "subscribers"
	TargetClient      = "client:" // begins the target that is one client
)

// ClientTarget reports whether a target is clients and not nodes: clients,
// publishers, subscribers, or client:NAME. It returns that NAME, which is a client's
// name (publisher-1) or its number in the run.
func ClientTarget(target string) (name string, ok bool) {
	if name, ok := strings.CutPrefix(target, TargetClient); ok {
		return name, name != ""
	}
	return "", slices.Contains([]string{TargetClients, TargetPublishers, TargetSubscribers}, target)
}

// OnClients reports whether the fault acts on clients alone.
func (l Landing) OnClients() bool {
	_, ok := ClientTarget(l.Target)
	return ok
}

// OnBrokers returns the faults that do not act on clients alone.
func OnBrokers(landings []Landing) []Landing {
	return slices.DeleteFunc(slices.Clone(landings), Landing.OnClients)
}

// Settling is how long before and after the loss of a connection a fault on the
// brokers may be why it was lost, or why a broker could do nothing about it.
const Settling = 5 * time.Second

// Unsettled reports whether a fault on the brokers began or ended within [Settling] of
// a time.
func Unsettled(landings []Landing, at time.Duration) bool {
	near := func(edge time.Duration) bool { return at >= edge-Settling && at <= edge+Settling }
	return slices.ContainsFunc(Windows(OnBrokers(landings)), func(w Window) bool { return near(w.Start) || near(w.End) })
}
