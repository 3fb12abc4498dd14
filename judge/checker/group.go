package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// A group is one shared subscription: the processes whose filter is the same,
// with the share name in it (MQTT 5.0 section 4.8.2). One of them is to have
// each message.
type group struct {
	filter  string // $share/NAME/FILTER
	members []int32
}

// join returns the group of a process's filter, or None where the filter is not shared.
func (r *route) join(process int32, f history.Filter) int32 {
	if _, _, shared := history.CutShare(f.Filter); !shared {
		return history.None
	}
	i := slices.IndexFunc(r.groups, func(g group) bool { return g.filter == f.Filter })
	if i < 0 {
		i = len(r.groups)
		r.groups = append(r.groups, group{filter: f.Filter})
	}
	if g := &r.groups[i]; !slices.Contains(g.members, process) {
		g.members = append(g.members, process)
	}
	return int32(i)
}

// members returns the members of a group that ever tried to connect.
func (l *ledger) members(g int32) (list []int32) {
	for _, p := range l.route.groups[g].members {
		if l.sessions.of[p].tried {
			list = append(list, p)
		}
	}
	return list
}

// dueTo is the time from which on acknowledged messages must reach a group, or
// never. Where the session of a member ends as it may, or has its messages at
// QoS 0, what the broker chose that member for may end with it: at QoS 2 it must
// not go to another [MQTT-4.8.2-5], at QoS 1 it only should. Nothing is owed to
// such a group.
func (l *ledger) dueTo(g int32) int64 {
	from, filter := int64(never), l.route.groups[g].filter
	for _, p := range l.members(g) {
		s := &l.sessions.of[p]
		if s.over || s.grantOf(filter) == 0 || !l.sessions.persistent(p) || l.asked(p, filter) == 0 {
			return never
		}
		from = min(from, s.subscribedAt(filter))
	}
	return from
}

// asked is the QoS that a process asks for with a filter.
func (l *ledger) asked(process int32, filter string) (qos uint8) {
	for _, f := range l.tables.Processes[process].Filters {
		if f.Filter == filter {
			qos = max(qos, f.QoS)
		}
	}
	return qos
}

// grantOf is the lowest QoS that a filter was granted, 2 before it was.
func (p *session) grantOf(filter string) uint8 {
	for _, u := range p.subscribed {
		if u.filter == filter {
			return u.grant
		}
	}
	return 2
}

// subscribedAt is the time of a filter's first SUBACK, or never.
func (p *session) subscribedAt(filter string) int64 {
	for _, u := range p.subscribed {
		if u.filter == filter {
			return u.from
		}
	}
	return never
}

// shares calls f for each group and stream whose messages the group is owed,
// with the time from which on.
func (l *ledger) shares(f func(group, stream int32, from int64)) {
	for g := range l.route.groups {
		from := l.dueTo(int32(g))
		for s, row := range l.tables.Streams {
			if from != never && l.lasts(int32(s)) && history.Matches(l.route.groups[g].filter, row.Topic) {
				f(int32(g), int32(s), from)
			}
		}
	}
}

// union is which messages of a stream reached any member of a group.
func (r *receipts) union(members []int32, stream int32) *bitmap {
	var all bitmap
	for _, p := range members {
		for i, word := range r.got(p, stream).words {
			if i == len(all.words) {
				all.words = append(all.words, 0)
			}
			all.words[i] |= word
		}
	}
	return &all
}
