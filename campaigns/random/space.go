// Package random draws scenarios: faults one after the other and at once, on a
// workload, with a client library. It is pure. The same seed in the same space
// is the same file, byte for byte; what was covered before decides which seed is
// taken next, and nothing else.
package random

import (
	"slices"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A Space describes a cluster and the faults that can be done to it here.
// Scenarios are drawn from it.
type Space struct {
	Flavor  string             `json:"flavor"` // of the nodes, none of somebody else's
	Nodes   int                `json:"nodes"`
	Pods    bool               `json:"pods,omitempty"`
	Faults  []string           `json:"faults"`  // types that can be done
	Clients []Client           `json:"clients"` // one of them makes the whole workload
	Limits  *envelope.Envelope `json:"limits,omitempty"`
}

// A Client is a library and the protocol that it speaks.
type Client struct {
	SDK      clients.SDK `json:"sdk"`
	Protocol string      `json:"protocol"`
}

// Doable are the types of faults that can be drawn for a cluster, of those that a host can do.
// Network faults need namespaces, of this host or of pods, and nodes made of an image have nothing
// armed beside them (docs/faults.md).
func Doable(namespaces bool, on cluster.Config, can func(faults.Kind) bool) (types []string) {
	for _, k := range faults.Catalog() {
		switch {
		case k.Draw.Never != "" || !can(k):
		case k.Family == "network" && !namespaces && !on.Beyond():
		case k.Family == "network" && slices.Contains(on.Arm, cluster.ArmChaosMesh): // it injects one at a time
		case on.Imaged() && (k.Imaged(on.Beyond()) != "" || k.Draw.NoImage):
		default:
			types = append(types, k.Type)
		}
	}
	return types
}

// setting is that of a workload; the target is not drawn yet.
func (s Space) setting(w load) faults.Setting {
	return faults.Setting{Nodes: s.Nodes, Pods: s.Pods, Registers: w.Registers > 0, QoS: w.QoS}
}

// kinds are those of the space that the envelope allows and that suit a workload.
func (s Space) kinds(w load) (list []kind) {
	for _, k := range faults.Catalog() {
		if !slices.Contains(s.Faults, k.Type) || !k.Suits(s.setting(w)) {
			continue
		}
		one := kind{k, slices.DeleteFunc(k.Roles(s.setting(w)), func(role string) bool { return !s.allows(role) })}
		if s.Limits != nil && (s.Limits.Fault(envelope.Fault{Type: k.Type, Duration: one.least()}) != nil || s.Limits.Together(one.least()) != nil) {
			continue
		}
		if len(one.roles) > 0 {
			list = append(list, one)
		}
	}
	return list
}

func (s Space) allows(role string) bool {
	if s.Limits == nil {
		return true
	}
	many := role == "all" || role == "majority"
	named := s.Limits.AllowedTargets == nil || slices.Contains(s.Limits.AllowedTargets, role)
	return named && (s.Limits.AllowMajority || !many)
}

// Kinds are the types of faults that can be drawn, on one workload or another.
func (s Space) Kinds() (types []string) {
	streams := load{scenarios.Workload{QoS: []uint8{1, 2}}}
	for _, k := range s.kinds(streams) {
		types = append(types, k.Type)
	}
	return types
}
