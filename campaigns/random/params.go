package random

import (
	"maps"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
)

// params draws a fault's parameters around those of its example, which lands. A
// parameter that is not drawn keeps the example's value.
func params(d dice, k faults.Kind, role string, nodes int, w load) map[string]any {
	p := map[string]any{}
	maps.Copy(p, k.Example.Params)
	delete(p, "duration_s")
	switch k.Type {
	case "restart", "rolling_restart":
		p["signal"] = pick(d, "SIGTERM", "SIGKILL")
	case "partition":
		partition(d, p, role, nodes)
	case "unreachable":
		p["with"] = with(d, nodes)
	case "reset":
		p["with"] = with(d, nodes)
	case "loss":
		p["percent"], p["burst_packets"] = d.whole(5, 30), pick(d, 0, 0, 4)
	case "delay":
		ms := 10 * d.whole(3, 25)
		p["delay_ms"], p["jitter_ms"] = ms, pick(d, 0, ms/2)
	case "duplicate", "reorder", "corrupt":
		p["percent"] = d.whole(10, 40)
	case "bandwidth":
		p["rate_kbit"] = 100 * d.whole(8, 30)
	case "slow":
		p["delay_ms"], p["op"] = 10*d.whole(3, 20), pick(d, "write", "any")
	case "power_loss":
		p["keep"] = pick(d, "nothing", "prefix", "subset", "entries")
	case "io_error":
		p["errno"], p["every"] = pick(d, "EIO", "ENOSPC", "EROFS"), d.whole(3, 20)
	case "full":
		p["free_kib"] = pick(d, 0, 64)
	case "clock_jump", "clock_strobe": // less than sessions live for
		p["offset_s"] = pick(d, -1, 1) * 60 * d.whole(2, 30)
	case "clock_rate":
		p["factor"] = pick(d, 5, 10, 20)
	case "cpu":
		p["percent"] = d.whole(2, 4)
	case "reconnect_storm":
		p["period_ms"] = 250 * d.whole(2, 8)
	case "packet_drop", "packet_delay", "packet_duplicate", "packet_cut_after":
		packet(d, k.Type, p, role, w)
	case "packet_truncate":
		p["nth"] = d.whole(20, 60)
	case "packet_mutate":
		p["nth"], p["what"] = d.whole(20, 60), pick(d, "qos", "topic", "packet_type", "remaining_length")
	}
	if k.Family == "network" && p["with"] == nil && k.Type != "partition" {
		p["with"] = with(d, nodes)
		if role == "all" { // nobody would be left to compare the links between nodes with
			p["with"] = "clients"
		}
	}
	d.seedOf(k, p)
	return p
}

// with is whose links to a node are meant.
func with(d dice, nodes int) string {
	if nodes == 1 {
		return "clients"
	}
	return pick(d, "nodes", "clients", "all")
}

func partition(d dice, p map[string]any, role string, nodes int) {
	p["mode"] = pick(d, "drop", "reject")
	shapes := []string{"node", "node", "one_way"}
	if nodes > 2 {
		shapes = append(shapes, "minority", "majority")
	}
	if p["shape"] = pick(d, shapes...); p["shape"] == "node" || p["shape"] == "one_way" {
		p["with"] = with(d, nodes)
	}
}

// packet draws a type of packet that the workload has, in the direction in which
// the target gets or sends it.
func packet(d dice, typ string, p map[string]any, role string, w load) {
	type one struct{ packet, direction string }
	sends, gets := []string{}, []string{}
	if w.has(1) {
		gets = append(gets, "puback")
	}
	if w.has(2) {
		gets, sends = append(gets, "pubrec", "pubcomp"), append(sends, "pubrel")
	}
	there, back := "to_broker", "to_client"
	if role == history.TargetSubscribers { // the other end of the same exchange
		there, back = back, there
	}
	all := []one{{"publish", there}}
	for _, packet := range sends {
		all = append(all, one{packet, there})
	}
	for _, packet := range gets {
		all = append(all, one{packet, back})
	}
	if typ == "packet_duplicate" { // it knows what to do with a copy of that alone
		all = all[:1]
	}
	chosen := pick(d, all...)
	p["packet"], p["direction"] = chosen.packet, chosen.direction
	if typ != "packet_delay" {
		p["nth"] = d.whole(3, 12)
	}
	if typ == "packet_cut_after" {
		p["nth"] = d.whole(20, 60)
	}
}
