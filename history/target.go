package history

import (
	"slices"
	"strconv"
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

// Means reports whether a target means a client of a run. Clients of the harness itself
// belong to no group of targets but to all clients.
func Means(target string, process int32, client Process) bool {
	switch target {
	case TargetClients:
		return true
	case TargetPublishers:
		return client.Group == GroupPublisher
	case TargetSubscribers:
		return !slices.Contains([]string{GroupPublisher, GroupProbe, GroupWill}, client.Group)
	}
	name, ok := ClientTarget(target)
	return ok && (name == client.Name || name == strconv.Itoa(int(process)))
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

// Noticing is how long a client may take to notice that its connection is gone: two of
// its keep-alive intervals.
const Noticing = 20 * time.Second

// Concerning returns the faults that concern a client: those on the brokers, and those
// on clients that mean it.
func Concerning(landings []Landing, process int32, client Process) []Landing {
	return slices.DeleteFunc(slices.Clone(landings), func(l Landing) bool {
		return l.OnClients() && !Means(l.Target, process, client)
	})
}

// Unsettled reports whether a fault on the brokers began or ended within [Settling] of
// a client's notice that its connection was lost. It reports a fault within [Noticing]
// before, too, unless a fault on the client began within Settling before the notice and
// so says when that was.
func Unsettled(landings []Landing, process int32, client Process, at time.Duration) bool {
	before := Noticing
	own := slices.DeleteFunc(Concerning(landings, process, client), func(l Landing) bool { return !l.OnClients() })
	if slices.ContainsFunc(Windows(own), func(w Window) bool { return w.Start <= at && at <= w.Start+Settling }) {
		before = Settling
	}
	near := func(edge time.Duration) bool { return at >= edge-Settling && at <= edge+before }
	return slices.ContainsFunc(Windows(OnBrokers(landings)), func(w Window) bool { return near(w.Start) || near(w.End) })
}
