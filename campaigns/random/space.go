// Package random draws scenarios: faults one after the other and at once, on a
// workload, with a client library. It is pure. The same seed in the same space
// is the same file, byte for byte; what was covered before decides which seed is
// taken next, and nothing else.
package random

import (
	"slices"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A Space describes a cluster and the faults that can be done to it here.
// Scenarios are drawn from it.
type Space struct {
	Flavor  string             `json:"flavor"` // reference, robustmq, mosquitto
	Nodes   int                `json:"nodes"`
	Faults  []string           `json:"faults"`  // types that can be done
	Clients []Client           `json:"clients"` // one of them makes the whole workload
	Limits  *envelope.Envelope `json:"limits,omitempty"`
}

// A Client is a library and the protocol that it speaks.
type Client struct {
	SDK      clients.SDK `json:"sdk"`
	Protocol string      `json:"protocol"`
}

// drawn are the kinds of a catalogue of which something can be drawn. Upgrade and
// config_divergence need a value that nobody can guess, and after kill_client no
// loss can be proven.
func drawn(k faults.Kind) bool {
	return !slices.Contains([]string{"upgrade", "config_divergence", "kill_client"}, k.Type)
}

// Doable are the types of faults that can be drawn for nodes of a runtime on a
// network of a kind, of those that a host can do. Network faults need namespaces,
// and containers have nothing armed beside them (docs/faults.md).
func Doable(namespaces, docker bool, can func(faults.Kind) bool) (types []string) {
	for _, k := range faults.Catalog() {
		beside := slices.Contains([]string{"disk", "time", "resource"}, k.Family) || k.Arms == "disk"
		switch {
		case !drawn(k) || !can(k):
		case k.Family == "network" && !namespaces:
		case docker && (beside || k.Type == "replace_node"):
		default:
			types = append(types, k.Type)
		}
	}
	return types
}

// kinds are those of the space that the envelope allows and the cluster is large
// enough for, on a workload.
func (s Space) kinds(w load) (list []kind) {
	for _, k := range faults.Catalog() {
		if !slices.Contains(s.Faults, k.Type) || !drawn(k) {
			continue
		}
		one := kind{k, s.roles(k, w)}
		switch {
		case s.Nodes < 3 && spoils(k.Type), s.Nodes < 2 && slices.Contains([]string{"kill_all", "rolling_restart"}, k.Type):
			// One copy of the data: that it is gone says nothing. One node: the same as another kind.
		case k.Type == "slow_reader" && w.Registers > 0: // readers do not stay long enough
		case w.Registers > 0 && !w.has(2) && slices.Contains([]string{"packet_drop", "packet_duplicate"}, k.Type):
			// A write that QoS 1 lets take effect twice, the second time after another one, is no register's.
		case s.Limits != nil && s.Limits.Fault(envelope.Fault{Type: k.Type, Duration: one.least()}) != nil:
		case len(one.roles) > 0:
			list = append(list, one)
		}
	}
	return list
}

// roles are the targets of a kind here.
func (s Space) roles(k faults.Kind, w load) (list []string) {
	switch {
	case k.Family == "protocol", k.Family == "client":
		list = []string{history.TargetClients, history.TargetPublishers, history.TargetSubscribers}
		if k.Type == "slow_reader" {
			list = list[2:]
		} else if w.Registers > 0 || slices.Contains([]string{"packet_mutate", "packet_truncate"}, k.Type) || k.Type == "packet_duplicate" && !w.has(1) {
			list = list[1:2] // readers come and go; what is spoiled is what a broker has to refuse; of QoS 2 it alone knows a copy
		} else if k.Family == "protocol" {
			list = list[1:]
		}
	case k.Type == "kill_all", k.Type == "rolling_restart":
		list = []string{"all"}
	case s.Nodes == 1:
		list = []string{"leader"}
	default:
		list = []string{"leader", "follower"}
		if slices.Contains([]string{"kill", "stop", "pause"}, k.Type) && s.Nodes > 2 {
			list = append(list, "majority")
		}
		if slices.Contains([]string{"loss", "delay", "duplicate", "reorder", "corrupt", "bandwidth", "clock_jump"}, k.Type) {
			list = append(list, "all")
		}
	}
	return slices.DeleteFunc(list, func(role string) bool { return !s.allows(role) })
}

func (s Space) allows(role string) bool {
	if s.Limits == nil {
		return true
	}
	many := role == "all" || role == "majority"
	named := s.Limits.AllowedTargets == nil || slices.Contains(s.Limits.AllowedTargets, role)
	return named && (s.Limits.AllowMajority || !many)
}

// takes reports whether a fault takes a node from the others, as a crash does.
func takes(k faults.Kind) bool {
	return k.Family == "process" || k.Family == "cluster" || spoils(k.Type) ||
		slices.Contains([]string{"power_loss", "torn_write", "lost_rename", "memory", "partition", "unreachable"}, k.Type)
}

// spoils reports whether a fault destroys what a node has rightly stored.
func spoils(typ string) bool {
	return slices.Contains([]string{"lost_disk", "bit_rot", "replace_node"}, typ)
}

// Kinds are the types of faults that can be drawn, on one workload or another.
func (s Space) Kinds() (types []string) {
	streams := load{scenarios.Workload{QoS: []uint8{1, 2}}}
	for _, k := range s.kinds(streams) {
		types = append(types, k.Type)
	}
	return types
}
