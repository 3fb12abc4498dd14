package checker

import (
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// A ledger is the common ground of all checkers: the messages published, and the
// subscriptions of every process. It is ahead of the checkers by the batch they are
// about to see. Canaries share it too: they mutate only the batches.
type ledger struct {
	tables    *history.Tables
	tested    []bool // whether a process is of the SDK that the run is about
	windows   []history.Window
	landings  []history.Landing
	sends     *sends
	sessions  *sessions
	route     *route
	wire      *wire
	wills     *wills
	queues    *queues
	storage   *storage
	stills    []still // of the host and of drivers
	exits     exitLog
	firstExit int64 // when others first ended the process of a node; never
	kills     kills
	durable   bool  // the broker's vendor promises that what was acknowledged outlives a node
	session   int64 // for how long a broker keeps the session of an absent client of MQTT 3.1.1; never; unknownTime
	wait      int64 // for how long a message waits for an absent client; likewise
	apart     int64 // how far two clients may disagree on a time

	current, mutated *history.Batch // that was taken last, and a canary's that was sorted last
	sorted, resorted rows
	called           []int32 // rows.called before the current batch
}

func newLedger(ctx Context) *ledger {
	route := newRoute(ctx.Tables)
	wire := newWire(ctx, route)
	l := &ledger{
		tables:    ctx.Tables,
		apart:     disagreement(ctx.Run),
		tested:    testedBy(ctx),
		windows:   history.Windows(ctx.Landings),
		landings:  ctx.Landings,
		sends:     newSends(ctx.Tables),
		route:     route,
		wire:      wire,
		wills:     newWills(ctx.Tables),
		queues:    newQueues(ctx, route),
		firstExit: never,
		durable:   slices.Contains(ctx.Run.Cluster.Promises, claimQoS2ExactlyOnce.Claim.Name),
	}
	l.sorted.called = make([]int32, len(ctx.Tables.Processes))
	l.kills = newKills(ctx.Run.Cluster)
	l.session, l.wait = settingOf(ctx.Run.Cluster, ctx.Run.Cluster.SessionS), settingOf(ctx.Run.Cluster, ctx.Run.Cluster.WaitS)
	l.sessions, l.storage = newSessions(l, ctx.Run.Cluster.Lacks[history.LacksLimits] != ""), newStorage(l)
	return l
}

func (l *ledger) add(b *history.Batch) {
	l.current = b
	l.called = append(l.called[:0], l.sorted.called...)
	l.sorted.sort(b, l.route)
	l.noteStills(b, l.sorted.control)
	l.exits.add(l, b, func(e exit) {
		l.noteExit(e)
		l.kills.add(e)
	})
	l.sends.add(b, l.sorted.published)
	l.wills.add(b, l.sorted.control, l.sends)
	l.wire.add(b, l.sorted.packets)
	l.sessions.add(b, &l.sorted)
	l.queues.add(b, l.route, l.sorted.delivered)
	l.storage.add(b, l.sorted.control)
}

// fault names the faults in place at t, "" for none.
func (l *ledger) fault(t int64) (name string) {
	for _, w := range l.windows {
		if int64(w.Start) <= t && t <= int64(w.End) {
			if name != "" {
				name += ","
			}
			name += w.Fault
		}
	}
	return name
}

// disturbed reports whether a fault was in place at any time between two.
func (l *ledger) disturbed(from, to int64) bool {
	return overlap(l.windows, from, to)
}

func (l *ledger) process(p int32) string {
	if uint32(p) < uint32(len(l.tables.Processes)) {
		return l.tables.Processes[p].Name
	}
	return fmt.Sprintf("process %d", p)
}

// testedBy says of each process whether it is of the SDK that the run is about. Probes
// use another SDK as a rule, and its faults are not those of the tested one.
func testedBy(ctx Context) []bool {
	tested := make([]bool, len(ctx.Tables.Processes))
	for i, p := range ctx.Tables.Processes {
		tested[i] = p.SDK == ctx.Run.SDK || p.SDK == "" || ctx.Run.SDK == ""
	}
	return tested
}

// tests reports whether what a process does is the tested SDK's doing.
func (l *ledger) tests(p int32) bool { return uint32(p) < uint32(len(l.tested)) && l.tested[p] }

// works reports whether a stream is the workload's: a probe's is none.
func (l *ledger) works(s int32) bool {
	if uint32(s) >= uint32(len(l.tables.Streams)) {
		return false
	}
	p := l.tables.Streams[s].Producer
	return uint32(p) >= uint32(len(l.tables.Processes)) || l.tables.Processes[p].Group != history.GroupProbe
}

func (l *ledger) topic(s int32) string {
	if uint32(s) < uint32(len(l.tables.Streams)) {
		return l.tables.Streams[s].Topic
	}
	return fmt.Sprintf("stream %d", s)
}

// message names one for people: "message 17 of pub-1 on t (QoS 1)".
func (l *ledger) message(s int32, seq int64) string {
	if uint32(s) >= uint32(len(l.tables.Streams)) {
		return fmt.Sprintf("message %d of stream %d", seq, s)
	}
	row := l.tables.Streams[s]
	priority := ""
	if row.Priority != "" {
		priority = ", " + row.Priority
	}
	return fmt.Sprintf("message %d of %s on %s (QoS %d%s)", seq, l.process(row.Producer), row.Topic, row.QoS, priority)
}

func (l *ledger) node(n int16) string {
	if n >= 0 && int(n) < len(l.tables.Nodes) {
		return l.tables.Nodes[n].Name
	}
	return fmt.Sprintf("node %d", n)
}
