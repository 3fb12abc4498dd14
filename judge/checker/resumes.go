package checker

import (
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSDKResumes = Entry{
	Claim: verdict.Claim{Name: "sdk-resumes", Severity: verdict.P1, Of: verdict.SDK, Wire: true,
		Text:   "A connected client library sends all that its application publishes.",
		Source: "common expectation; the driver contract, Publishing"},
	Category: Liveness, Checker: "resumes@1", Protocols: mqtt, New: newResumes, NeedsComplete: true, Timed: true, canary: publishNothing,
}

// resumeBound is how long a connected client may send nothing.
const resumeBound = int64(10 * time.Second)

// resumes judges that a connected client publishes. It looks for silences: times of a
// connection without a PUBLISH or a PUBREL of the client, while the broker owed no answer.
// No window is full then. After PUBREC the client has to send PUBREL. Messages of QoS 0
// are not judged: with a broker that reads nothing they wait in the socket. A silence is
// judged when all calls are known, as a library may refuse them late.
type resumes struct {
	ledger   *ledger
	of       []publisher // by process
	silences []silent
	whole    []silent // connections as long as a silence must be: silences if the client sent nothing
}

// A publisher is the last connection of a client.
type publisher struct {
	conn    int32
	since   int64 // time of CONNACK; 0 for none
	greeted int64 // its row
	last    int64 // time of the last PUBLISH or PUBREL, or of an answer to one
	open    idSet // packet ids for the broker to answer
}

// An idSet is packet ids.
type idSet struct {
	bits []uint64
	n    int // of them
}

func (s *idSet) add(id int64) {
	i, bit := int(uint16(id)>>6), uint64(1)<<(id&63)
	for len(s.bits) <= i {
		s.bits = append(s.bits, 0)
	}
	if s.bits[i]&bit == 0 {
		s.bits[i] |= bit
		s.n++
	}
}

// drop removes an id, and reports whether it was there.
func (s *idSet) drop(id int64) bool {
	i, bit := int(uint16(id)>>6), uint64(1)<<(id&63)
	if i >= len(s.bits) || s.bits[i]&bit == 0 {
		return false
	}
	s.bits[i] &^= bit
	s.n--
	return true
}

// A silent is a silence of a client.
type silent struct {
	process            int32
	since, from, until int64 // times: of CONNACK, of the last packet before, of the first after
	greeted, row       int64 // rows: of CONNACK, of the first packet after
}

func newResumes(ctx Context) Checker {
	return &resumes{ledger: ctx.ledger, of: make([]publisher, len(ctx.Tables.Processes))}
}

func (c *resumes) fork() Checker {
	f := *c
	f.of = forks(c.of, func(r publisher) publisher {
		r.open.bits = slices.Clone(r.open.bits)
		return r
	})
	f.silences, f.whole = slices.Clone(c.silences), slices.Clone(c.whole)
	return &f
}

func (c *resumes) Add(b *history.Batch) {
	packets := c.ledger.rows(b).packets
	for i := range packets {
		if p := &packets[i]; uint32(p.process) < uint32(len(c.of)) {
			c.take(p, &c.of[p.process])
		}
	}
}

func (c *resumes) take(p *packet, r *publisher) {
	switch {
	case p.kind == connectPacket && p.conn >= r.conn:
		c.close(p.process, r, p.time, p.row)
		*r = publisher{conn: p.conn}
	case p.conn != r.conn: // late, on a connection that the client has left or replaced
	case p.accepted():
		if r.since == 0 {
			r.since, r.last, r.greeted = p.time, p.time, p.row
		}
	case !p.toClient && (p.kind == publishPacket && p.qos > 0 || p.kind == pubrelPacket):
		c.pause(p.process, r, p.time, p.row)
		r.open.add(p.id)
		r.last = p.time
	case p.toClient && (p.kind == pubackPacket || p.kind == pubcompPacket || p.kind == pubrecPacket):
		if r.open.drop(p.id) {
			r.last = p.time
		}
	case p.kind == closedPacket, p.kind == disconnectPacket:
		c.close(p.process, r, p.time, p.row)
		r.conn++
	}
}

// pause notes a silence that a packet ended.
func (c *resumes) pause(process int32, r *publisher, until, row int64) {
	if r.open.n == 0 {
		c.silences = c.note(c.silences, silent{process, r.since, r.last, until, r.greeted, row})
	}
}

// close notes a connection that ended, and the silence at its end.
func (c *resumes) close(process int32, r *publisher, until, row int64) {
	c.pause(process, r, until, row)
	c.whole = c.note(c.whole, silent{process, r.since, r.since, until, r.greeted, row})
	r.since = 0
}

func (c *resumes) note(list []silent, s silent) []silent {
	if s.since == 0 || s.until-s.from < resumeBound || !c.ledger.tests(s.process) || !c.ledger.wire.heard(s.process) {
		return list
	}
	return append(list, s)
}

func (c *resumes) Result(*closing) verdict.Result {
	var found findings
	l, judged := c.ledger, int64(0)
	for process := range c.of {
		if until := l.sessions.of[process].until(); until != never {
			c.close(int32(process), &c.of[process], until, never)
		}
	}
	for i := range c.whole {
		if l.owesPublish(&c.whole[i]) != never {
			judged++
		}
	}
	for i := range c.silences {
		s := &c.silences[i]
		first := l.owesPublish(s)
		if first == never {
			continue
		}
		found.add(verdict.Anomaly{
			Kind: "silent", Process: s.process, Stream: history.None, Seq: history.None, TimeNS: s.from, Events: events(s.greeted), Blame: verdict.SDK,
			Text: sentence("the wire shows that %s was connected and sent no PUBLISH for %s from %s on, although its application had published messages from %s on",
				l.process(s.process), clock(s.until-s.from), clock(s.from), clock(first)),
		})
	}
	r := found.judged(judged, map[string]int64{"judged": judged, "silent": found.total}, "no client published on a connection of 10 s without a fault")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("clients published on each of %d connections", judged)
	case verdict.Fail:
		r.Summary = summary("clients were connected and published nothing %d times, the first: %s", found.total, r.Anomalies[0].Text)
	}
	return r
}

// owesPublish returns the time of the first publish for which a client had to send
// something in a silence, never for none. The message was published on the connection and
// was not sent by the end. Other clients had answers meanwhile, so the broker was reading.
// A row is late, or the clock of a driver slow, by less than a second.
func (l *ledger) owesPublish(s *silent) (first int64) {
	first = never
	for at, row := range l.tables.Streams {
		if row.Producer != s.process || row.QoS == 0 || row.Will {
			continue
		}
		l.sends.streams[at].messages.each(func(seq int64, m *message) bool {
			if m.call == 0 || m.called < s.since {
				return true
			}
			f := l.wire.from(int32(at), seq)
			unsent := f == nil || int64(f.first) > s.row
			waits := m.ret == 0 || m.acked > s.until || m.outcome == history.OK
			if waits && m.called <= s.until-resumeBound && (unsent || m.called >= s.from+second) {
				first = min(first, m.called)
			}
			return m.called <= s.until-resumeBound && first == never
		})
	}
	if first == never || l.calm(s.process, max(first, s.from), s.until) < resumeBound ||
		!l.answersOthers(s.process, max(first, s.from), s.until) {
		return never
	}
	return first
}

// answersOthers reports whether a message of another client was acknowledged between two times.
func (l *ledger) answersOthers(process int32, from, to int64) (yes bool) {
	for at, row := range l.tables.Streams {
		if row.Producer == process || row.QoS == 0 || row.Will {
			continue
		}
		l.sends.streams[at].messages.each(func(_ int64, m *message) bool {
			yes = m.outcome == history.OK && from < m.acked && m.acked <= to
			return !yes && m.called < to
		})
		if yes {
			return true
		}
	}
	return false
}

// publishNothing leaves the beginnings and ends of connections.
func publishNothing(ctx Context) *mutation {
	return dropping(ctx, "no client published", "dropped every PUBLISH of the clients", func(p *packet) bool {
		return p.kind != connectPacket && p.kind != connackPacket && p.kind != disconnectPacket && p.kind != closedPacket
	})
}
