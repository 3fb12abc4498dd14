package faults

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// A Draw says how a campaign may use a kind of fault. By the zero value it has the
// parameters of its example, and acts on the leader or a follower, or on clients.
type Draw struct {
	Never    string // why a campaign does not draw it; "" if it does
	OneCopy  bool   // it destroys data that a node has rightly stored
	Takes    bool   // it takes a node from the others, as a crash does; faults of processes and of the cluster do so without saying
	Silences bool   // it leaves clients without connections, or without a word
	Several  bool   // with one node it is the same as another kind
	NoImage  bool   // nodes that are made of an image cannot bear it
	Majority bool   // it can act on a majority
	All      bool   // it can act on all nodes

	Suits  func(Setting) bool                  // nil: every workload
	Roles  func(Setting) []string              // nil: those of the family
	Params func(Dice, Setting, map[string]any) // draws parameters around those of the example
}

// A Setting is the cluster and the workload for which a fault is drawn.
type Setting struct {
	Role      string // the target, once it is drawn
	Nodes     int
	Pods      bool // network faults act between nodes alone
	Registers bool // the workload writes and reads registers
	QoS       []uint8
}

func (s Setting) has(qos uint8) bool { return slices.Contains(s.QoS, qos) }

// Dice are the chance in a campaign. The same seed draws the same.
type Dice interface {
	IntN(n int) int // of 0 to n-1
}

// whole is a number of a range, both ends inclusive.
func whole(d Dice, from, to int) int { return from + d.IntN(to-from+1) }

// oneOf takes one of several.
func oneOf[T any](d Dice, list ...T) T { return list[d.IntN(len(list))] }

// Takes reports whether a fault takes a node from the others, as a crash does.
func (k Kind) Takes() bool {
	return k.Draw.Takes || k.Draw.OneCopy || k.Family == "process" || k.Family == "cluster"
}

// Suits reports whether a fault can show something in a setting.
func (k Kind) Suits(s Setting) bool {
	switch {
	case k.Draw.Never != "":
		return false
	case k.Draw.OneCopy && s.Nodes < 3: // that the one copy is gone says nothing
		return false
	case k.Draw.Several && s.Nodes < 2:
		return false
	case s.Pods && s.Nodes < 2 && k.Family == "network":
		return false
	}
	return k.Draw.Suits == nil || k.Draw.Suits(s)
}

// Roles are the targets on which a fault is drawn in a setting.
func (k Kind) Roles(s Setting) []string {
	switch {
	case k.Draw.Roles != nil:
		return k.Draw.Roles(s)
	case k.Family == "protocol" || k.Family == "client":
		if s.Registers { // readers come and go
			return []string{history.TargetPublishers}
		}
		if k.Family == "protocol" {
			return []string{history.TargetPublishers, history.TargetSubscribers}
		}
		return []string{history.TargetClients, history.TargetPublishers, history.TargetSubscribers}
	case s.Nodes == 1:
		return []string{"leader"}
	}
	list := []string{"leader", "follower"}
	if k.Draw.Majority && s.Nodes > 2 {
		list = append(list, "majority")
	}
	if k.Draw.All && !(s.Pods && k.Family == "network") {
		list = append(list, "all")
	}
	return list
}

// allNodes are the roles of a fault that acts on all nodes alone.
func allNodes(Setting) []string { return []string{"all"} }

// publishersAlone are the roles of a fault whose effect a broker has to refuse.
func publishersAlone(Setting) []string { return []string{history.TargetPublishers} }

// drawLinks draws the links of the target that are meant.
func drawLinks(d Dice, s Setting, p map[string]any) {
	p["with"] = linksOf(d, s)
	if s.Role == "all" { // nobody would be left to compare the links between nodes with
		p["with"] = "clients"
	}
}

func linksOf(d Dice, s Setting) string {
	switch {
	case s.Pods:
		return "nodes"
	case s.Nodes == 1:
		return "clients"
	}
	return oneOf(d, "nodes", "clients", "all")
}

// drawn is a kind with how a campaign may use it.
func (k Kind) drawn(d Draw) Kind {
	k.Draw = d
	return k
}

// drawPacket draws a type of packet, and each how many-th of them is meant.
func drawPacket(from, to int) func(Dice, Setting, map[string]any) {
	return func(d Dice, s Setting, p map[string]any) {
		p["packet"], p["direction"] = drawExchange(d, s, false)
		p["nth"] = whole(d, from, to)
	}
}

// drawExchange draws a type of packet that the workload has, in the direction in which
// the target gets or sends it.
func drawExchange(d Dice, s Setting, publishAlone bool) (packet, direction string) {
	sends, gets := []string{}, []string{}
	if s.has(1) {
		gets = append(gets, "puback")
	}
	if s.has(2) {
		gets, sends = append(gets, "pubrec", "pubcomp"), append(sends, "pubrel")
	}
	there, back := "to_broker", "to_client"
	if s.Role == history.TargetSubscribers { // the other end of the same exchange
		there, back = back, there
	}
	type one struct{ packet, direction string }
	all := []one{{"publish", there}}
	for _, packet := range sends {
		all = append(all, one{packet, there})
	}
	for _, packet := range gets {
		all = append(all, one{packet, back})
	}
	if publishAlone {
		all = all[:1]
	}
	chosen := oneOf(d, all...)
	return chosen.packet, chosen.direction
}

// noRegisterOfQoS1 refuses workloads that write registers at QoS 1. A write may then take
// effect twice, the second time after another write, and no register does so.
func noRegisterOfQoS1(s Setting) bool { return !s.Registers || s.has(2) }

// jump draws an offset of a clock that is less than sessions live for.
func jump(d Dice, _ Setting, p map[string]any) {
	p["offset_s"] = oneOf(d, -1, 1) * 60 * whole(d, 2, 30)
}
