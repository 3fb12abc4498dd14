package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A dialogue is the exchange of packets between clients and brokers, by packet id. The
// rules that look at every packet share one dialogue, to which the judge adds. The
// canary of each rule has its own.
type dialogue struct {
	ledger *ledger
	of     []talker                // by process
	rules  [2][packetKinds][]*talk // by the sender of the message that a packet is about, and by its kind
	own    bool                    // a canary's
	counts *reached                // the messages in flight when clients reconnect; nil for none
	ruled  bool                    // there is a rule
	broken breakage
}

// talk is one rule's judge.
type talk struct {
	dialogue *dialogue
	ledger   *ledger
	rule     rule
	judged   int64
	found    findings
}

// A rule looks at packets of its kinds about messages of one side. It also gets the
// exchange of the packet id until then, nil for none. It returns the fault of the
// packet, in words that follow the name of the message, and whether it had something to
// judge.
type rule struct {
	of     verdict.Party // the party that it binds
	side   int           // the sender of the messages: 0 for the client
	kinds  []packetKind
	kind   string // of its anomalies
	holds  string // for the summary: %d packets …
	nobody string // why there was nothing to judge
	look   func(l *ledger, t *talker, p *packet, open *exchange) (wrong string, judged bool)
}

// A talker is one client's side of its conversations.
type talker struct {
	session int32
	conn    int32        // on which it was let in last
	clean   bool         // its last CONNECT wants to begin anew, whatever CONNACK says
	open    [2]exchanges // by packet id: that the client began, that the broker did
	places  int32        // PUBLISHes that it was sent on this connection
	last    [3]int32     // by QoS: the place of the last that it answered
	flight  flight       // when it sent its last CONNECT
}

// An exchange is what is known about a packet id.
type exchange struct {
	seq     int64
	stream  int32
	session int32
	conn    int32
	place   int32 // among the PUBLISHes of the connection, 0 before CONNACK
	row     int32 // of its PUBLISH
	state   flowState
	qos     uint8
	owed    uint8 // packets with the packet id on this connection, that the receiver has not answered yet
	twice   bool  // sent again while it was open, so that an answer may be to either
	shared  bool  // another message had the packet id when this one was sent
	kept    bool  // that one waits for PUBREL: its receiver has the packet id in use until then
	known   bool  // there is one

	other    int32 // stream of the message before,
	otherSeq int64 // and number
}

// of reports whether a packet is about the exchange's message.
func (e *exchange) of(p *packet) bool { return e != nil && e.stream == p.stream && e.seq == p.seq }

func newDialogue(l *ledger) *dialogue {
	t := &dialogue{ledger: l, of: make([]talker, len(l.tables.Processes))}
	for i := range t.of {
		t.of[i].conn = history.None // until its first CONNACK
	}
	return t
}

func newTalk(ctx Context, r rule) Checker {
	c := &talk{dialogue: ctx.dialogue, ledger: ctx.ledger, rule: r}
	ctx.dialogue.hold(c)
	return c
}

// hold has a dialogue look by a rule.
func (t *dialogue) hold(c *talk) {
	for _, kind := range c.rule.kinds {
		list := &t.rules[c.rule.side][kind]
		*list = append(*list, c)
	}
	t.ruled = true
}

func (c *talk) fork() Checker {
	f := *c
	f.found = c.found.fork()
	f.dialogue = &dialogue{ledger: c.ledger, of: forks(c.dialogue.of, talker.fork), own: true}
	f.dialogue.hold(&f)
	return &f
}

func (t talker) fork() talker {
	for i := range t.open {
		t.open[i] = t.open[i].fork()
	}
	return t
}

// Add takes a batch if the dialogue is the canary's own. The judge itself adds to the
// shared dialogue.
func (c *talk) Add(b *history.Batch) {
	if c.dialogue.own {
		c.dialogue.add(b)
	} else {
		c.dialogue.broken.pass()
	}
}

func (c *talk) settled() bool { return c.found.total > 0 }

func (t *dialogue) add(b *history.Batch) {
	if !t.ruled {
		return
	}
	packets := t.ledger.rows(b).packets
	for i := range packets {
		if p := &packets[i]; uint32(p.process) < uint32(len(t.of)) {
			t.take(p)
		}
	}
}

// take shows a packet to the rules. A packet recorded before CONNACK, or behind the
// CONNACK of the next connection, has no known place among the others and is not shown.
func (t *dialogue) take(p *packet) {
	who, side := &t.of[p.process], p.sender()
	open := who.open[side].at(p.id)
	if p.conn == who.conn && t.ledger.wire.heard(p.process) {
		for _, c := range t.rules[side][p.kind] {
			c.look(who, p, open)
		}
	}
	if !t.own && p.conn >= who.conn {
		t.share(p, side, who, open)
	}
	if t.counts != nil && (p.kind == connectPacket || p.kind == connackPacket) && t.ledger.wire.heard(p.process) {
		t.counts.connection(who, p)
	}
	if p.conn >= who.conn || open == nil {
		who.take(p, side, open)
	}
}

// share marks two messages whose acknowledgements cannot be told apart: a PUBLISH and
// the message that already has its packet id, or two of one packet id, one answered
// while the other is still open.
func (t *dialogue) share(p *packet, side int, who *talker, open *exchange) {
	switch w := t.ledger.wire; {
	case p.kind == publishPacket && !open.of(p) && (who.pending(open) && t.unclear(p, open) || open.lags(p.conn)):
		w.share(p.process, side, p.stream, p.seq)
		w.share(p.process, side, open.stream, open.seq)
	case p.kind == publishPacket && !open.of(p) && who.keeps(open):
		w.share(p.process, side, p.stream, p.seq)
		w.share(p.process, side, open.other, open.otherSeq)
	case p.kind == pubrecPacket && open != nil && open.shared && open.of(p):
		if f := w.flow(&packet{process: p.process, stream: open.other, seq: open.otherSeq}, side == 1); f != nil && f.state != done {
			w.share(p.process, side, p.stream, p.seq)
			f.shared = true
		}
	}
}

// lags reports whether an answer to an exchange that is over may still come: on the same
// connection, to a packet that was sent more than once.
func (e *exchange) lags(conn int32) bool {
	return e != nil && e.state == done && e.owed > 0 && e.conn == conn
}

// unclear reports whether the receiver may take a PUBLISH for the message that has its
// packet id already. A receiver that had PUBREL before on the same connection may not,
// unless a fault is in place: to it the packet id is free from then on.
func (t *dialogue) unclear(p *packet, open *exchange) bool {
	return open.state < released || open.conn != p.conn || t.ledger.fault(p.time) != ""
}

// pending reports whether a packet id is still in use in the session.
func (t *talker) pending(open *exchange) bool {
	return open != nil && open.session == t.session && open.state != done
}

// keeps reports whether a message that had the packet id before an exchange waits for PUBREL. To its
// receiver the next PUBLISH with the packet id repeats that message.
func (t *talker) keeps(open *exchange) bool {
	return open != nil && open.kept && open.session == t.session
}

func (c *talk) look(t *talker, p *packet, open *exchange) {
	if c.rule.of == verdict.SDK && !c.ledger.tests(p.process) {
		return
	}
	wrong, judged := c.rule.look(c.ledger, t, p, open)
	if judged {
		c.judged++
	}
	if wrong != "" {
		c.accuse(p, open, wrong)
	}
}

// sender returns the side that sent the message of a packet: 0 for the client, 1 for
// the broker.
func (p *packet) sender() int {
	byBroker := p.toClient
	if p.kind == pubackPacket || p.kind == pubrecPacket || p.kind == pubcompPacket {
		byBroker = !byBroker
	}
	if byBroker {
		return 1
	}
	return 0
}

func (t *talker) take(p *packet, side int, open *exchange) {
	switch p.kind {
	case connectPacket:
		t.clean = p.reason != 0
	case connackPacket:
		if !p.accepted() {
			return
		}
		t.conn, t.places, t.last = p.conn, 0, [3]int32{}
		if t.clean || !p.flags.Has(history.FlagSessionPresent) {
			t.session++
		}
	case publishPacket:
		if p.id < 0 {
			return
		}
		place := int32(0)
		if p.conn == t.conn {
			t.places++
			place = t.places
		}
		e := exchange{stream: p.stream, seq: p.seq, session: t.session, conn: p.conn, place: place, row: int32(p.row), qos: p.qos}
		if open != nil && open.conn == p.conn {
			e.owed = open.owed
		}
		e.owed = more(e.owed)
		switch same := open.of(p); {
		case same && t.pending(open), same && open.lags(p.conn):
			e.twice, e.state, e.shared, e.other, e.otherSeq, e.kept = true, open.state, open.shared, open.other, open.otherSeq, open.kept
		case t.keeps(open):
			e.twice, e.shared, e.other, e.otherSeq, e.kept = true, true, open.other, open.otherSeq, true
		case t.pending(open), open.lags(p.conn):
			e.twice, e.shared, e.other, e.otherSeq = true, true, open.stream, open.seq
			e.kept = open.qos == 2 && open.state == received
		}
		t.open[side].set(p.id, e)
	case pubrecPacket, pubrelPacket, pubackPacket, pubcompPacket:
		if open == nil {
			if p.kind != pubrelPacket {
				return
			}
			open = t.open[side].set(p.id, exchange{stream: history.None, seq: history.None, session: t.session, conn: p.conn, qos: 2, twice: true, row: int32(p.row)})
		}
		open.count(p)
		switch {
		case open.shared && p.stream >= 0 && !open.of(p): // it ends nothing: it is of the message that had the packet id before
		case p.kind == pubrecPacket && !p.refused():
			open.state = max(open.state, received)
		case p.kind == pubrelPacket:
			open.state, open.conn, open.kept = max(open.state, released), p.conn, false
		default:
			open.state = done
		}
	}
}

// count counts the packets of an exchange that are not answered yet.
func (e *exchange) count(p *packet) {
	switch {
	case p.kind != pubrelPacket:
		e.owed -= min(e.owed, 1)
	case e.conn == p.conn:
		e.owed = more(e.owed)
	default:
		e.owed = 1
	}
}

// exchanges holds the exchange of each packet id, in pages made on demand: most clients use
// few ids, and there may be thousands of clients.
type exchanges struct{ pages []*page }

// A page has 64 packet ids.
type page [64]exchange

// at is the exchange of a packet id, nil where there was none.
func (x *exchanges) at(id int64) *exchange {
	if i := uint64(id) >> 6; i < uint64(len(x.pages)) && x.pages[i] != nil {
		if e := &x.pages[i][id&63]; e.known {
			return e
		}
	}
	return nil
}

// find returns the packet id of the first exchange that fits, or None.
func (x *exchanges) find(fits func(*exchange) bool) int64 {
	for i, page := range x.pages {
		if page == nil {
			continue
		}
		if at := slices.IndexFunc(page[:], func(e exchange) bool { return e.known && fits(&e) }); at >= 0 {
			return int64(i<<6 + at)
		}
	}
	return history.None
}

// each goes through the exchanges that there are.
func (x *exchanges) each(f func(*exchange)) {
	x.find(func(e *exchange) bool {
		f(e)
		return false
	})
}

func (x *exchanges) set(id int64, e exchange) *exchange {
	i := int(uint16(id) >> 6)
	if i >= len(x.pages) {
		x.pages = append(x.pages, make([]*page, i+1-len(x.pages))...)
	}
	if x.pages[i] == nil {
		x.pages[i] = new(page)
	}
	at := &x.pages[i][id&63]
	*at = e
	at.known = true
	return at
}

func (x exchanges) fork() exchanges {
	return exchanges{forks(x.pages, func(p *page) *page {
		if p == nil {
			return nil
		}
		copied := *p
		return &copied
	})}
}

func (c *talk) accuse(p *packet, open *exchange, wrong string) {
	l := c.ledger
	rows := []int64{p.row}
	if open != nil {
		rows = append(rows, int64(open.row))
	}
	what := sentence("packet id %d", p.id)
	if p.stream >= 0 && p.seq >= 0 {
		what = l.message(p.stream, p.seq)
	}
	a := verdict.Anomaly{
		Kind: c.rule.kind, Process: p.process, Stream: p.stream, Seq: p.seq, TimeNS: p.time, Fault: l.fault(p.time), Events: events(rows...),
		Blame: c.rule.of,
		Text:  sentence("the wire shows that %s %s, at %s%s", what, wrong, clock(p.time), under(l.fault(p.time))),
	}
	c.found.add(a)
}

func (c *talk) Result(*closing) verdict.Result {
	r := c.found.judged(c.judged, map[string]int64{"judged": c.judged, c.rule.kind: c.found.total}, c.rule.nobody)
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary(c.rule.holds, c.judged)
	case verdict.Fail:
		r.Summary = summary("%d of %d packets violated the rule, the first: %s", c.found.total, c.judged, r.Anomalies[0].Text)
	}
	return r
}

// single reports whether a message comes to a process through one subscription
// alone: only then is a second copy a repetition.
func (l *ledger) single(process, stream int32) bool {
	q := l.route.get(process, stream)
	return q.filters <= 1 && q.shared == 0
}

// canJudge reports whether a rule that binds a party is held against a packet's client.
func (l *ledger) canJudge(of verdict.Party, p *packet) bool {
	return l.wire.heard(p.process) && (of != verdict.SDK || l.tests(p.process))
}

// who names the sender of a message in a rule's words.
func who(p verdict.Party) (side int, name string) {
	if p == verdict.Broker {
		return 1, "broker"
	}
	return 0, "client"
}

// repeats reports whether a packet is the PUBLISH of a message again, with its
// packet id, in the session in which it was sent before.
func repeats(l *ledger, t *talker, p *packet, open *exchange) bool {
	if p.kind != publishPacket || p.qos == 0 || open == nil || p.stream < 0 || p.flags.Has(history.FlagRetain) {
		return false
	}
	if p.toClient && !l.single(p.process, p.stream) {
		return false
	}
	return open.session == t.session && open.of(p)
}

// talks makes the checker of a rule.
func talks(r rule) func(Context) Checker {
	return func(ctx Context) Checker { return newTalk(ctx, r) }
}
