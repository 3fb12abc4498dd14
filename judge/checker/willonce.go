package checker

import (
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimWillOnce = Entry{
	Claim: verdict.Claim{Name: "will-once", Severity: verdict.P1, Gated: true,
		Text:   "The Will Message MUST be published when the Network Connection is closed, unless it has been deleted by the Server on receipt of a DISCONNECT Packet: at QoS 1 it reaches every session that subscribed before, and it is published once. A server that fails in that moment may do it later, or again.",
		Source: "MQTT 3.1.1 sections 3.1.2.5 [MQTT-3.1.2-8], [MQTT-3.1.2-10] and 3.14.4 [MQTT-3.14.4-3]; MQTT 5.0 sections 3.1.2.5 [MQTT-3.1.2-8], [MQTT-3.1.2-10] and 3.14.4 [MQTT-3.14.4-3]"},
	Category: Safety, Checker: "willonce@8", Protocols: mqtt, Rests: history.PromiseProtocol, New: newWillOnce, NeedsComplete: true, canary: publishUndue,
	ByFault: true, Unjudged: oneCopy,
	Notice: Notice{"wills that never came, came again or were undue", "mqtt/will"},
}

// willOnce judges that the will of a lost connection is published once, and that the
// will of a connection ended by DISCONNECT is never published. Each connection has a
// will of its own. Both outcomes are allowed in four cases. The connection was lost
// while a fault on the cluster began or ended. It may not have been let in. A fault may
// have kept its DISCONNECT from the broker. Its end is not known, or the client and the
// wire disagree on it. A broker may notice the end of a connection before its client
// does, and publish the will then. It may also read the next CONNECT of a client that comes
// back at once before the DISCONNECT, as they are on two connections: then it ends the old one
// itself, and its will is due (MQTT 3.1.1 section 3.1.4 [MQTT-3.1.4-2]).
type willOnce struct {
	ledger *ledger
	came   map[handed][]arrival
}

// backAtOnce is within which time of its DISCONNECT a client comes back at once.
const backAtOnce = int64(time.Second)

// An arrival is a delivery of a will.
type arrival struct {
	row, at int64
	conn    int32
	dup     bool
}

// maxArrivals is the number of arrivals kept for one will at one subscriber. One too
// many is enough.
const maxArrivals = 8

func newWillOnce(ctx Context) Checker {
	return &willOnce{ledger: ctx.ledger, came: map[handed][]arrival{}}
}

func (c *willOnce) fork() Checker {
	f := &willOnce{ledger: c.ledger, came: map[handed][]arrival{}}
	for to, list := range c.came {
		f.came[to] = slices.Clone(list)
	}
	return f
}

func (c *willOnce) Add(b *history.Batch) {
	l := c.ledger
	if len(l.wills.of) == 0 {
		return
	}
	for _, d := range l.rows(b).delivered {
		if d.pair < 0 || !l.tables.Streams[b.Stream[d.i]].Will || !l.plain(d) {
			continue
		}
		to := handed{b.Process[d.i], b.Stream[d.i], d.seq}
		if list := c.came[to]; len(list) < maxArrivals {
			c.came[to] = append(list, arrival{b.Index[d.i], b.Time[d.i], b.Conn[d.i], d.flags.Has(history.FlagDup)})
		}
	}
}

// A lot is what is to become of a will.
type lot uint8

const (
	either lot = iota
	due        // it is to be published
	dead       // it is not to be
)

// lot returns what is to become of a will. A broker may fail at the moment of the loss,
// and the connection with it. Then no promise has a bound: MQTT lets a server that
// fails publish the will when it starts again (MQTT 3.1.1 section 3.1.2.5).
func (c *willOnce) lot(q *bequest) lot {
	l := c.ledger
	switch {
	case !q.accepted || q.doubt || q.leave == history.None || !l.wire.agrees(q):
		return either
	case q.left && !l.disturbed(q.ended-int64(history.Settling), q.ended+int64(time.Second)):
		return dead
	case !q.left && !history.Unsettled(l.landings, q.process, l.tables.Processes[q.process], time.Duration(q.ended)):
		return due
	}
	return either
}

func (c *willOnce) Result(*closing) verdict.Result {
	var found findings
	var lost, left, judged, missing, twice, undue int64
	var excused missCounts
	var waiting []string
	l, capacity := c.ledger, newCapacity(c.ledger)
	for i := range l.wills.all {
		q := &l.wills.all[i]
		lot, back := c.lot(q), l.wills.next(i)
		switch lot {
		case due:
			lost++
		case dead:
			left++
		}
		for p := range int32(len(l.tables.Processes)) {
			to := handed{p, q.stream, q.seq}
			came := c.came[to]
			switch {
			case lot == dead && l.route.get(p, q.stream).takes():
				judged++
				if i := slices.IndexFunc(came, func(a arrival) bool {
					return !c.early(q, a) && !(l.ran(q.ended, back) < backAtOnce && a.at > back-l.apart)
				}); i >= 0 {
					undue++
					found.add(c.anomaly("will-undue", q, to, came[i:], sentence("was published at %s, although %s had ended that connection by DISCONNECT at %s", clock(came[i].at), l.process(q.process), clock(q.ended))))
				}
			case lot == due && len(came) == 0 && l.owed(p, q.stream) < q.called: // when the broker noticed the end is not known
				why, waits := c.why(capacity, p, q)
				if excused[why]++; excuses[why].will != unowed {
					judged++
				}
				if why == inFlight {
					waiting = append(waiting, waits)
				}
				if excuses[why].will != violation {
					continue
				}
				missing++
				found.add(c.anomaly("will-missing", q, to, nil, sentence("never reached %s: %s lost that connection at %s", l.process(p), l.process(q.process), clock(q.ended))))
			case lot == due && len(came) > 0:
				judged++
			}
			if again := c.again(q, to, came); lot != dead && again != nil {
				twice++
				found.add(c.anomaly("will-twice", q, to, []arrival{came[0], *again}, sentence("reached %s twice, at %s and %s", l.process(p), clock(came[0].at), clock(again.at))))
			}
		}
	}
	r := found.judged(judged, map[string]int64{
		"lost_connections": lost, "ended_connections": left, "judged": judged, "missing": missing, "twice": twice, "undue": undue,
	}, "no client with a will left or was lost")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("the wills of %d connections that ended by DISCONNECT were not published, those of %d that were lost were, once", left, lost)
	case verdict.Fail:
		r.Summary = summary("%d wills were missing, %d came twice, %d after DISCONNECT, the first: %s", missing, twice, undue, r.Anomalies[0].Text)
	}
	excused.excuse(&r, ofWills, l.queues)
	if r.Status == verdict.Pass && len(waiting) > 0 {
		unsure(&r, "a subscriber had not drained when the run ended: its missing wills may still have been in flight and are not counted as missing", some(waiting)...)
	}
	return r
}

// early reports whether a will came before its client ended the connection, and something
// may have ended it for the broker shortly before: a fault on the brokers or on the client, or
// a time in which the host or a driver stood still.
func (c *willOnce) early(q *bequest, a arrival) bool {
	const noticing = int64(history.Noticing)
	from := max(q.called, a.at-noticing)
	return a.at < q.ended && (overlap(c.ledger.windowsOf(q.process), from, a.at) || c.ledger.still(from, a.at) >= 0)
}

// why returns why a process may lack the will of a connection that was lost, and what it still
// waits for.
func (c *willOnce) why(r *capacity, p int32, q *bequest) (why reason, waits string) {
	session := &c.ledger.sessions.of[p]
	if why := c.ledger.aged(p, q.ended); why != none {
		return why, ""
	}
	if session.lost && q.ended < session.relost {
		return forgotten, ""
	}
	if waits := c.waits(p, q); waits != "" {
		return inFlight, waits
	}
	return r.lackedWill(p, q), ""
}

// waits says why a process that lacks a will may still have had it to get, "" where
// it would have had it.
func (c *willOnce) waits(p int32, q *bequest) string {
	l := c.ledger
	session := &l.sessions.of[p]
	until := session.until()
	if until == never || l.calm(p, max(session.last, session.at, q.ended), until) < quiet {
		return sentence("%s lacks the will of %s, whose connection was lost at %s, and was not connected for %s without a delivery and without a fault after that",
			l.process(p), l.process(q.process), clock(q.ended), clock(quiet))
	}
	return ""
}

// again returns the first arrival that repeats one on the same connection without DUP,
// nil for none. It excuses a repetition if a fault was on the cluster since the loss:
// the broker may then have published the will anew.
func (c *willOnce) again(q *bequest, to handed, came []arrival) *arrival {
	l := c.ledger
	if len(came) < 2 || slices.Contains(l.tables.Processes[to.process].Cannot, contract.CannotDup) {
		return nil
	}
	if f := l.wire.to(to.process, to.stream, to.seq); f != nil && f.qos > 0 && f.n > 1 && f.begun == 1 && l.wire.heard(to.process) {
		return nil // one PUBLISH, sent again before it was answered
	}
	for i := range came[1:] {
		a := &came[i+1]
		if a.dup || a.conn != came[i].conn || c.troubled(q.ended-int64(history.Settling), a.at) {
			continue
		}
		return a
	}
	return nil
}

// troubled reports whether a fault on the cluster was in place at any time between
// two.
func (c *willOnce) troubled(from, to int64) bool {
	return overlap(history.Windows(history.OnBrokers(c.ledger.landings)), from, to)
}

func (c *willOnce) anomaly(kind string, q *bequest, to handed, came []arrival, what string) verdict.Anomaly {
	l := c.ledger
	rows := []int64{q.call, q.ret, q.leave}
	for _, a := range came {
		rows = append(rows, a.row)
	}
	fault := l.fault(q.ended)
	a := verdict.Anomaly{
		Kind: kind, Process: to.process, Stream: to.stream, Seq: to.seq, TimeNS: q.ended, Fault: fault, Events: events(rows...),
		Text: sentence("will %d of %s %s%s", q.seq, l.process(q.process), what, under(fault)),
	}
	l.accuse(&a, l.wire.willBy(kind, q, to))
	return a
}

// agrees reports whether the wire, where there is one, has a connection end as its
// client says.
func (w *wire) agrees(q *bequest) bool {
	if !w.heard(q.process) {
		return true
	}
	g := w.clients[q.process].greetedIn(q.call, q.ret)
	return g == nil || q.left == (g.left != history.None)
}

// willBy names the party to blame for a missing, repeated or undue will.
func (w *wire) willBy(kind string, q *bequest, at handed) shown {
	if !w.heard(q.process) {
		return nothingShown
	}
	g := w.clients[q.process].greetedIn(q.call, q.ret)
	if g == nil {
		return nothingShown
	}
	to := w.to(at.process, at.stream, at.seq)
	switch {
	case kind != "will-missing" && to == nil:
		return bySDK("that the broker sent nothing of the kind")
	case kind == "will-twice" && to.n == 1:
		return bySDK("that the broker sent it once", int64(to.first))
	case kind == "will-twice":
		return byBroker("that the broker sent it more than once", int64(to.first))
	case kind == "will-undue":
		return byBroker("that the broker had its DISCONNECT, and sent the will", g.left, int64(to.first))
	case to != nil && to.acked >= 0:
		return bySDK("that the broker sent it, and that the client acknowledged it", int64(to.first), int64(to.acked))
	case to != nil || w.mute(at.process):
		return undecided("it was sent and not acknowledged, or the subscriber leaves another message unanswered", g.row)
	}
	if subscribed, gaveUp := w.clients[at.process].subscribed(q.leave); !subscribed && gaveUp != "" {
		return bySDK("that the subscriber's client " + gaveUp)
	}
	return byBroker("that the connection ended without DISCONNECT, and that the broker never sent its will to the subscriber", g.row)
}

// publishUndue delivers the will of a connection that its client had ended.
func publishUndue(ctx Context) *mutation {
	l := ctx.ledger
	c := &willOnce{ledger: l}
	m := &mutation{idle: "no client with a will ended its connection by DISCONNECT"}
	m.end = func() []history.Event {
		for i := range l.wills.all {
			q := &l.wills.all[i]
			if c.lot(q) != dead {
				continue
			}
			for p := range int32(len(l.tables.Processes)) {
				if q := l.route.get(p, q.stream); q.filters+q.shared != 1 {
					continue
				}
				m.did = sentence("delivered the will of %s, who had ended its connection at %s, to %s", l.process(q.process), clock(q.ended), l.process(p))
				return []history.Event{{
					Index: q.leave, Call: history.None, Time: time.Duration(q.ended), Process: p, Kind: history.KindDeliver,
					Node: history.None, Stream: q.stream, Seq: q.seq, ID: history.None, QoS: 1,
				}}
			}
		}
		return nil
	}
	return m
}
