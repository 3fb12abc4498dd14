package checker

import (
	"fmt"

	"github.com/robustmq/rmq-mcp/internal/history"
)

// A ledger is what all checkers share and none may doubt: what was published,
// and who was subscribed to what. It is ahead of them by the batch they are
// about to see. Canaries share it too: they mutate what came of it.
type ledger struct {
	tables   *history.Tables
	windows  []history.Window
	sends    *sends
	sessions *sessions
	route    *route
	waiting  map[[2]int32]string // why a process may not have had all of a stream yet; known at the end

	batches         int // taken
	current         *history.Batch
	sorted, mutated rows
}

func newLedger(ctx Context) *ledger {
	return &ledger{
		tables:   ctx.Tables,
		windows:  history.Windows(ctx.Landings),
		sends:    newSends(ctx.Tables),
		sessions: newSessions(ctx.Tables),
		route:    newRoute(ctx.Tables),
		waiting:  map[[2]int32]string{},
	}
}

func (l *ledger) add(b *history.Batch) {
	l.batches++
	l.current = b
	l.sorted.sort(b, l.route)
	l.sends.add(b, l.sorted.published)
	l.sessions.add(b, &l.sorted)
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

func (l *ledger) process(p int32) string {
	if uint32(p) < uint32(len(l.tables.Processes)) {
		return l.tables.Processes[p].Name
	}
	return fmt.Sprintf("process %d", p)
}

// works reports whether a stream is the workload's: a probe's is none.
func (l *ledger) works(s int32) bool {
	if uint32(s) >= uint32(len(l.tables.Streams)) {
		return false
	}
	p := l.tables.Streams[s].Producer
	return uint32(p) >= uint32(len(l.tables.Processes)) || l.tables.Processes[p].Group != groupProbe
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
	return fmt.Sprintf("message %d of %s on %s (QoS %d)", seq, l.process(row.Producer), row.Topic, row.QoS)
}

func (l *ledger) node(n int16) string {
	if n >= 0 && int(n) < len(l.tables.Nodes) {
		return l.tables.Nodes[n].Name
	}
	return fmt.Sprintf("node %d", n)
}
