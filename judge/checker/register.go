package checker

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimRetainedRegister = Entry{
	Claim: verdict.Claim{Name: "retained-register", Severity: verdict.P1, Gated: true,
		Text:   "A new subscription is sent the last retained message of its topic: the topic is a register.",
		Source: "MQTT 3.1.1 section 3.3.1.3 [MQTT-3.3.1-5], [MQTT-3.3.1-6]"},
	Category: Safety, Checker: "register@7", Protocols: mqtt, Rests: history.PromiseRetained, New: newRegister, NeedsComplete: true, canary: stale,
	Excused: map[string]string{"packet_duplicate": "packet_duplicate makes one message two to the broker", "packet_drop": "a message that never came is sent again later"}, Unjudged: oneCopy,
	Notice: Notice{"registers whose reads no order of their writes explains", "mqtt/retained-register"},
}

// register judges that the retained message of a topic is a register: every
// read, a fresh subscription, sees the last write, or one that was under way. A write
// that its client sent again may take effect again (MQTT 3.1.1 section 4.3.2). A read
// that was sent nothing in its time proves nothing if the broker may have been late.
type register struct {
	ledger *ledger
	topics map[string]int
	names  []string
	reads  [][]read // by topic
	open   map[int64]read
	ended  []int64 // by process: row of its last return
}

// A read is one fresh subscription to a register's topic.
type read struct {
	topic     int
	process   int32
	call, ret int64 // Index
	since     int64 // Index of the return before, of the same process
	from, to  int64 // time
	value     int64
	node      int16
}

const (
	nothing     = 0 // the value of a register that was never written
	unwritten   = -1
	maxRegister = 4000       // operations of one register: beyond, the search may not end
	searchSteps = 20_000_000 // of one search that would hardly end by itself; some seconds
)

func newRegister(ctx Context) Checker {
	c := &register{ledger: ctx.ledger, topics: map[string]int{}, open: map[int64]read{}, ended: make([]int64, len(ctx.Tables.Processes))}
	for _, s := range ctx.Tables.Streams {
		if _, known := c.topics[s.Topic]; s.Register && !known {
			c.topics[s.Topic] = len(c.names)
			c.names = append(c.names, s.Topic)
		}
	}
	c.reads = make([][]read, len(c.names))
	return c
}

func (c *register) Add(b *history.Batch) {
	for _, i := range c.ledger.rows(b).control {
		i := int(i)
		if b.Kind[i] != history.KindFetch {
			continue
		}
		if b.Edge[i] == history.Call {
			c.call(b, i)
		} else if b.Edge[i] == history.Return {
			c.ret(b, i)
		}
	}
}

// fetched returns the topic of the call of a fetch.
func (l *ledger) fetched(b *history.Batch, i int) string {
	if b.Stream[i] >= 0 {
		return l.topic(b.Stream[i])
	}
	return b.Text(i)
}

func (c *register) call(b *history.Batch, i int) {
	at, ok := c.topics[c.ledger.fetched(b, i)]
	if !ok {
		return
	}
	r := read{topic: at, process: b.Process[i], call: b.Index[i], from: b.Time[i], since: b.Index[i]}
	if uint32(r.process) < uint32(len(c.ended)) {
		r.since = c.ended[r.process]
	}
	c.open[b.Index[i]] = r
}

func (c *register) ret(b *history.Batch, i int) {
	r, ok := c.open[b.Call[i]]
	delete(c.open, b.Call[i])
	if p := b.Process[i]; uint32(p) < uint32(len(c.ended)) {
		c.ended[p] = b.Index[i]
	}
	if !ok || b.Outcome[i] != history.OK {
		return
	}
	r.ret, r.to, r.value, r.node = b.Index[i], b.Time[i], nothing, b.Node[i]
	if b.Flags[i]&(history.FlagCorrupt|history.FlagForeign) != 0 {
		r.value = unwritten
	} else if b.Seq[i] >= 0 {
		r.value = valueOf(b.Stream[i], b.Seq[i])
	}
	c.reads[r.topic] = append(c.reads[r.topic], r)
}

func valueOf(stream int32, seq int64) int64 { return int64(stream)<<40 + seq + 1 }

func (c *register) Result(*closing) verdict.Result {
	var found findings
	var reads, unanswered, unknown int64
	var reasons []string
	for topic, all := range c.reads {
		list := slices.DeleteFunc(all, c.unanswered)
		c.reads[topic] = list
		reads, unanswered = reads+int64(len(list)), unanswered+int64(len(all)-len(list))
		if len(list) == 0 {
			continue
		}
		ops := c.operations(topic, never)
		if len(ops) > maxRegister {
			unknown++
			reasons = append(reasons, sentence("%s has %d operations: too many to search", c.names[topic], len(ops)))
			continue
		}
		switch search(ops) {
		case porcupine.Illegal:
			found.add(c.illegal(topic))
		case porcupine.Unknown:
			unknown++
			reasons = append(reasons, sentence("the search on %s did not end within %d steps", c.names[topic], searchSteps))
		}
	}
	r := found.judged(reads, map[string]int64{"registers": int64(len(c.names)), "reads": reads, "unanswered": unanswered, "not_linearizable": found.total, "unknown": unknown},
		"no retained message was read")
	switch {
	case r.Status == verdict.Fail:
		r.Summary = summary("%d of %d registers are not linearizable, the first: %s", found.total, len(c.names), r.Anomalies[0].Text)
	case unknown > 0:
		r.Status, r.Reasons = verdict.Unknown, reasons
		r.Summary = reasons[0]
	case r.Status == verdict.Pass:
		r.Summary = summary("%d reads of %d registers are linearizable", reads, len(c.names))
	}
	return r
}

// unanswered reports whether a read saw nothing where the answer may only have been
// late: while a fault was in place, shortly after, or on a host that stood still.
func (c *register) unanswered(r read) bool {
	return r.value == nothing && (c.ledger.hasty(r.from, r.to) || c.ledger.still(r.from, r.to) >= 0)
}

// hasty reports whether a fault was in place between two times, or ended within
// [history.Settling] of the first.
func (l *ledger) hasty(from, to int64) bool { return l.disturbed(from-int64(history.Settling), to) }

// An input of the model.
type input struct {
	does  action
	value int64
}

// An action is what an operation does with its value.
type action uint8

const (
	toRead action = iota // of a value that it saw
	toWrite
	toRewrite // by a further copy, which may have no effect
)

// registerModel is a register that counts the steps of a search. Its state is the
// values, in order, of which it has one. Beyond its bound nothing fits any more, and
// the search ends: by steps and not by a clock, so that it ends alike on every machine.
func registerModel(steps *int) porcupine.Model {
	return porcupine.Model{
		Init:  func() any { return []int64{nothing} },
		Equal: func(a, b any) bool { return slices.Equal(a.([]int64), b.([]int64)) },
		Step: func(state, in, _ any) (bool, any) {
			*steps++
			has, op := state.([]int64), in.(input)
			at, known := slices.BinarySearch(has, op.value)
			fits := *steps <= searchSteps && (op.does != toRead || known)
			switch {
			case op.does == toRewrite && known:
				return fits, has
			case op.does == toRewrite:
				return fits, slices.Insert(slices.Clone(has), at, op.value)
			}
			return fits, []int64{op.value}
		},
	}
}

// search looks for an order of the operations that explains every read. A read
// of what was not being written by then needs none.
func search(ops []porcupine.Operation) porcupine.CheckResult {
	written := map[int64]int64{nothing: math.MinInt64}
	for _, op := range ops {
		if in := op.Input.(input); in.does == toWrite {
			written[in.value] = op.Call
		}
	}
	for _, op := range ops {
		if in := op.Input.(input); in.does == toRead {
			if called, ok := written[in.value]; !ok || called > op.Return {
				return porcupine.Illegal
			}
		}
	}
	steps := 0
	fits := porcupine.CheckOperations(registerModel(&steps), ops)
	switch {
	case fits:
		return porcupine.Ok
	case steps > searchSteps:
		return porcupine.Unknown
	}
	return porcupine.Illegal
}

// operations are the writes and reads of a topic until a time. A failed write never was, with two
// exceptions, whose outcome is unknown: the broker took it on the wire, or the broker gave no
// reason, as a cluster may store a write without confirming it. Such a write may end at any time,
// and that makes a search long. Without a read it is left out: it can be the last, or never have
// been. Otherwise it ended at the end of the first read that saw it. A further copy of a write matters
// to the reads alone that saw it, of which the write itself explains one. A copy on a connection that
// was taken over has no acknowledgement of its own: until its end the broker may read it late.
func (c *register) operations(topic int, until int64) (ops []porcupine.Operation) {
	seen := map[int64]sight{}
	for _, r := range c.reads[topic] {
		if r.to > until {
			continue
		}
		ops = append(ops, porcupine.Operation{ClientId: int(r.process), Input: input{toRead, r.value}, Call: r.from, Return: r.to})
		seen[r.value] = seen[r.value].with(r.to)
	}
	for s, row := range c.ledger.tables.Streams {
		if !row.Register || c.topics[row.Topic] != topic {
			continue
		}
		for seq, m := range c.ledger.sends.streams[s].messages.each {
			value := valueOf(int32(s), seq)
			read := seen[value]
			open := m.unknown() || m.outcome == history.Fail && (m.flags&msgVague != 0 || c.ledger.wire.took(int32(s), seq))
			if m.call == 0 || m.called > until || m.outcome == history.Fail && !open || open && read.n == 0 {
				continue
			}
			end, again := m.acked, min(m.acked+int64(history.Settling), read.last)
			if open {
				end, again = max(m.called, read.first), read.last
			}
			write := porcupine.Operation{ClientId: int(row.Producer), Input: input{toWrite, value}, Call: m.called, Return: end}
			ops = append(ops, write)
			if read.n < 2 || again < m.called {
				continue
			}
			write.Input, write.Return = input{toRewrite, value}, again
			for range min(c.ledger.repeats(int32(s), seq, m), read.n-1) {
				ops = append(ops, write)
			}
		}
	}
	return ops
}

// A sight is the reads of one value: their number, and the times at which the first
// and the last of them ended.
type sight struct {
	n           int
	first, last int64
}

func (s sight) with(t int64) sight {
	if s.n == 0 {
		return sight{1, t, t}
	}
	return sight{s.n + 1, min(s.first, t), max(s.last, t)}
}

// repeats returns how many further times a message may have taken effect, because its
// client sent it again. At QoS 2 a copy is another message in a new session alone.
// Without the wire it goes by the producer's connections.
func (l *ledger) repeats(stream int32, seq int64, m *message) int {
	row := l.tables.Streams[stream]
	if f := l.wire.from(stream, seq); f != nil && l.wire.heard(row.Producer) {
		if row.QoS == 2 {
			return int(f.begun) - 1
		}
		return int(f.n) - 1
	}
	if uint32(row.Producer) >= uint32(len(l.sessions.of)) {
		return 1
	}
	p := &l.sessions.of[row.Producer]
	if row.QoS == 2 && l.sessions.persistent(row.Producer) && !p.lost && !p.over && !slices.Contains(l.tables.Processes[row.Producer].Cannot, contract.CannotExactlyOnce) {
		return 0
	}
	end := m.acked
	if m.unknown() {
		end = never
	}
	n := 0
	for _, t := range p.connects {
		if m.called <= t && t <= end {
			n++
		}
	}
	return n
}

// illegal names the first read with which the register stops being one.
func (c *register) illegal(topic int) verdict.Anomaly {
	list := c.reads[topic]
	slices.SortStableFunc(list, func(a, b read) int { return cmp.Compare(a.to, b.to) })
	lo, hi := 0, len(list)-1
	for lo < hi {
		mid := (lo + hi) / 2
		if search(c.operations(topic, list[mid].to)) == porcupine.Illegal {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	r := list[lo]
	saw := "nothing"
	stream, seq := int32(history.None), int64(history.None)
	switch {
	case r.value == unwritten:
		saw = "a value that was never written"
	case r.value != nothing:
		stream, seq = int32((r.value-1)>>40), (r.value-1)&(1<<40-1)
		saw = c.ledger.message(stream, seq)
	}
	fault := c.ledger.fault(r.to)
	a := verdict.Anomaly{
		Kind: "not-linearizable", Process: r.process, Stream: stream, Seq: seq, TimeNS: r.to, Fault: fault, Events: events(r.call, r.ret),
		Text: sentence("the read of %s at %s from %s to %s saw %s, which no order of the writes explains%s%s", c.names[topic], c.ledger.node(r.node), clock(r.from), clock(r.to), saw, c.stale(topic, r), under(fault)),
	}
	honest, by := c.honest(topic)
	if honest {
		by = c.ledger.wire.readBy(r, func(stream int32) bool { return c.ledger.topic(stream) == c.names[topic] })
	}
	c.ledger.accuse(&a, by)
	return a
}

// stale says how long before a read another write was acknowledged, if that is the last
// one before it.
func (c *register) stale(topic int, r read) string {
	var last *message
	var stream int32
	var number int64
	for s, row := range c.ledger.tables.Streams {
		if !row.Register || c.topics[row.Topic] != topic {
			continue
		}
		for seq, m := range c.ledger.sends.streams[s].messages.each {
			if m.outcome == history.OK && m.acked <= r.from && (last == nil || m.acked > last.acked) {
				last, stream, number = m, int32(s), seq
			}
		}
	}
	if last == nil || valueOf(stream, number) == r.value {
		return ""
	}
	return sentence(": %s was acknowledged at %s %.3f ms before the read began", c.ledger.message(stream, number), c.ledger.node(last.node), float64(r.from-last.acked)/1e6)
}

// honest reports whether the wire shows an acknowledgement of each write that its client
// calls published, before it did. If not, nobody is to blame, and it says why.
func (c *register) honest(topic int) (bool, shown) {
	l := c.ledger
	for s, row := range l.tables.Streams {
		if !row.Register || c.topics[row.Topic] != topic {
			continue
		}
		for seq, m := range l.sends.streams[s].messages.each {
			if from := l.wire.from(int32(s), seq); m.outcome == history.OK && (from == nil || from.acked < 0 || int64(from.acked) > m.ret.index()) {
				if !l.wire.heard(row.Producer) {
					return false, nothingShown
				}
				return false, undecided("the packets have no acknowledgement of a write before it was called published")
			}
		}
	}
	return true, nothingShown
}

// stale lets the reads of registers, after an acknowledged write, see nothing.
func stale(ctx Context) *mutation {
	l := ctx.ledger
	m := &mutation{idle: "no retained message was read after an acknowledged write, without a fault"}
	calls := map[int64]int64{}
	m.apply = func(b *history.Batch) *history.Batch {
		out := b
		for _, i := range l.rows(b).control {
			i := int(i)
			switch {
			case b.Kind[i] != history.KindFetch:
			case b.Edge[i] == history.Call:
				calls[b.Index[i]] = b.Time[i]
			case b.Outcome[i] == history.OK && b.Seq[i] >= 0 && b.Flags[i]&(history.FlagCorrupt|history.FlagForeign) == 0:
				called, ok := calls[b.Call[i]]
				delete(calls, b.Call[i])
				if !ok || !l.writtenBefore(b.Stream[i], called) || l.hasty(called, b.Time[i]) {
					continue
				}
				if m.did == "" {
					m.did = sentence("made the reads from row %d on see nothing", b.Index[i])
				}
				out = renumbered(out, i, history.None, i, history.None)
			}
		}
		return out
	}
	return m
}

// writtenBefore reports whether a write of the stream's topic was acknowledged
// before t.
func (l *ledger) writtenBefore(stream int32, t int64) bool {
	if uint32(stream) >= uint32(len(l.sends.streams)) {
		return false
	}
	at := int64(math.MaxInt64)
	for _, m := range l.sends.streams[stream].messages.each {
		if m.outcome == history.OK {
			at = min(at, m.acked)
		}
	}
	return at < t
}

func (c *register) fork() Checker {
	f := *c
	f.open, f.reads, f.ended = maps.Clone(c.open), slices.Clone(c.reads), slices.Clone(c.ended)
	for i := range f.reads {
		f.reads[i] = slices.Clone(c.reads[i])
	}
	return &f
}
