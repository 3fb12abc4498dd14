package random

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A load is a workload, and what follows from it.
type load struct{ scenarios.Workload }

// workload draws anew where no fault suits what it drew. After so many draws none ever does.
func (s Space) workload(d dice, c Client) (w load) {
	for range 20 {
		if w = workload(d, c, s.Flavor); len(s.kinds(w)) > 0 {
			break
		}
	}
	return w
}

// workload draws who publishes and subscribes what, and how fast. Rates are
// those of the library: a broker that cannot keep them up is another question.
func workload(d dice, c Client, flavor string) load {
	if d.chance(12) {
		return registers(d)
	}
	w := scenarios.Workload{
		Publishers: d.whole(1, 4), Streams: d.whole(1, 3),
		QoS:          pick(d, []uint8{1}, []uint8{1}, []uint8{2}, []uint8{1, 2}, []uint8{0, 1}, []uint8{0, 1, 2}),
		RatePerS:     float64(10 * d.whole(4, 15)),
		PayloadBytes: pick(d, 128, 256, 256, 1024, 4096), MaxInflight: pick(d, 5, 10, 20),
		Subscribers: scenarios.Subscribers{Online: d.whole(1, 3)},
	}
	shared := 10
	if cluster.Shares(flavor) != nil {
		shared = 0
	}
	switch d.weighted(35, 40, 15, shared) {
	case 1:
		w.Subscribers.Offline = d.whole(1, 2)
		if !slices.Contains(c.SDK.Cannot, contract.CannotPauseConnected) && d.chance(50) {
			w.Subscribers.Paused = 1
		}
	case 2:
		w.Subscribers.Slow, w.SlowMS = 1, d.whole(4, 8)
	case 3:
		w.Subscribers.Shared = scenarios.Shared{Groups: d.whole(1, 2), Members: d.whole(2, 3)}
	}
	return load{w}
}

// registers draws retained messages, written one at a time so that porcupine
// can search them.
func registers(d dice) load {
	return load{scenarios.Workload{
		Publishers: 2, Registers: d.whole(1, 3), QoS: []uint8{uint8(d.whole(1, 2))}, RatePerS: 20, PayloadBytes: 128, MaxInflight: 1,
		Subscribers: scenarios.Subscribers{Readers: d.whole(1, 3)},
	}}
}

// Shape is what a workload is called in a table of coverage: what is sent, and
// how it is read.
func Shape(w scenarios.Workload) string {
	var parts []string
	for _, q := range w.QoS {
		parts = append(parts, fmt.Sprint(q))
	}
	text := "QoS " + strings.Join(parts, "+")
	if w.Registers > 0 {
		text = "registers"
	}
	if w.Subscribers.Offline+w.Subscribers.Paused > 0 {
		text += " away"
	}
	if w.Subscribers.Slow > 0 {
		text += " slow"
	}
	if w.Subscribers.Shared.Groups > 0 {
		text += " shared"
	}
	return text
}

// has reports whether a QoS is published.
func (w load) has(qos uint8) bool { return slices.Contains(w.QoS, qos) }

// claims are those that can be judged of a workload with a library under
// faults. Progress is not: how long a silence may be is a question of the fault,
// which a scenario of the library answers.
func (w load) claims(c Client, flavor string, schedule []scenarios.Step) []string {
	faulted := func(types ...string) bool {
		return slices.ContainsFunc(schedule, func(s scenarios.Step) bool { return slices.Contains(types, s.Fault) })
	}
	list := []string{"recovery"}
	if !faulted("memory", "pids") { // a process that gets no memory or no thread may end
		list = append(list, "no-panic", "no-exit")
	}
	if !faulted("bit_rot") { // it is our doing
		list = append(list, "no-corruption")
	}
	if w.Registers > 0 {
		return append(list, "retained-register")
	}
	list = append(list, "no-unexpected")
	if w.has(1) {
		list = append(list, "qos1-no-loss")
	}
	if w.has(2) {
		list = append(list, "qos2-no-loss")
	}
	// With a library that passes every copy on, a duplicate says nothing about
	// the broker.
	if w.has(2) && c.SDK.Dedupes && !slices.Contains(c.SDK.Cannot, contract.CannotExactlyOnce) {
		list = append(list, "qos2-exactly-once")
	}
	if w.Subscribers.Shared.Groups > 0 {
		list = append(list, "shared-no-loss", "shared-one-member")
	}
	if w.has(0) && !faulted("packet_duplicate") {
		list = append(list, "qos0-at-most-once")
	}
	// The embedded broker redelivers out of order, by its own documentation; and
	// who never got a packet, or got it twice, gets it out of order from us.
	if !cluster.FlavorNamed(flavor).Reorders && !faulted("packet_drop", "packet_duplicate") {
		list = append(list, "order-per-stream")
	}
	if w.Subscribers.Offline > 0 && !slices.Contains(c.SDK.Cannot, contract.CannotSessionPresent) { // else maybe nobody comes back
		list = append(list, "session-kept", "session-fresh")
	}
	return list
}
