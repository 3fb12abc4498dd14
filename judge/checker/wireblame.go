package checker

import (
	"cmp"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// shown names the party that the wire blames for an anomaly. Its words follow "the wire
// shows", and its rows are the evidence. Where by is "" the words say why it blames nobody.
type shown struct {
	by    verdict.Party
	words string
	rows  []int64
}

// nothingShown is where the wire has nothing to tell.
var nothingShown = shown{}

// accuse writes into an anomaly what the wire shows of it.
func (l *ledger) accuse(a *verdict.Anomaly, s shown) {
	if s.words == "" || !l.wire.heard(a.Process) || l.works(a.Stream) && !l.wire.heard(l.tables.Streams[a.Stream].Producer) {
		return
	}
	a.Blame = s.by
	if s.by == "" {
		a.Text += "; the packets show no party at fault: " + s.words
	} else {
		a.Text += "; the wire shows " + s.words
	}
	a.Events = events(append(slices.Clone(a.Events), s.rows...)...)
}

func bySDK(words string, rows ...int64) shown     { return shown{verdict.SDK, words, rows} }
func byBroker(words string, rows ...int64) shown  { return shown{verdict.Broker, words, rows} }
func undecided(words string, rows ...int64) shown { return shown{"", words, rows} }

// Reasons to blame nobody that several claims share.
const (
	sameID     = "another PUBLISH had its packet id at the same time"
	noPublish  = "its PUBLISH is not there"
	noConnack  = "its CONNACK is not there"
	unanswered = "by its packets the client leaves another message unanswered to the end"     // the broker may wait for it
	revived    = "it was acknowledged in another session of its producer than it was sent in" // with which the message may have ended
)

// unclear says why flows do not tell who is to blame, "" where they may.
func unclear(flows ...*flow) string {
	switch {
	case slices.Contains(flows, nil):
		return noPublish
	case slices.ContainsFunc(flows, func(f *flow) bool { return f.shared }):
		return sameID
	}
	return ""
}

// keptOutBy says how the attempts of a client that was never let in ended. A broker
// that refuses a CONNECT, or ends the connection without a word, may have its reasons.
func (w *wire) keptOutBy(process int32) shown {
	if !w.on || uint32(process) >= uint32(len(w.clients)) || w.clients[process].unread {
		return nothingShown
	}
	switch c := &w.clients[process]; {
	case len(c.greeted) > 0:
		return bySDK("a CONNACK that lets it in", c.greeted[0].asked, c.greeted[0].row)
	case c.refused.reason > 0:
		return undecided(sentence("a CONNACK that refuses it (reason 0x%02x)", c.refused.reason), c.refused.asked, c.refused.row)
	case c.asked == history.None: // it may go around the tap
		return nothingShown
	default:
		return undecided("its CONNECT, and no CONNACK", c.asked)
	}
}

// neverAsked reports whether the packets of a client are missing that those of others
// were recorded beside: it sent no CONNECT.
func (w *wire) neverAsked(process int32) bool {
	if !w.on || uint32(process) >= uint32(len(w.clients)) || w.clients[process].unread || w.clients[process].asked != history.None {
		return false
	}
	return slices.ContainsFunc(w.clients, func(c wireClient) bool { return len(c.greeted) > 0 })
}

// fullFor names the reason of a broker that had no room for a client, "" for none.
func (w *wire) fullFor(process int32) string {
	if !w.on || uint32(process) >= uint32(len(w.clients)) {
		return ""
	}
	c := &w.clients[process]
	return c.refused.full(c.protocol)
}

// owedTo returns how a message came to the broker, which then owed it to these processes. Without
// an acknowledgement that counts there is none, and the answer is final.
func (w *wire) owedTo(processes []int32, stream int32, seq int64) (*flow, shown) {
	from := w.from(stream, seq)
	switch {
	case slices.ContainsFunc(processes, func(p int32) bool { return w.shared(p, stream, seq) }):
		return nil, undecided(sameID)
	case from == nil:
		return nil, bySDK("that it was never sent to the broker")
	case from.acked < 0:
		return nil, bySDK("that the broker never acknowledged it", int64(from.first))
	case from.revived:
		return nil, undecided(revived, int64(from.first), int64(from.acked))
	}
	return from, nothingShown
}

// lostBy says who lost an acknowledged message that never reached a process.
func (w *wire) lostBy(process, stream int32, seq int64) shown {
	if !w.on {
		return nothingShown
	}
	from, why := w.owedTo([]int32{process}, stream, seq)
	if from == nil {
		return why
	}
	rows := []int64{int64(from.first), int64(from.acked)}
	client := &w.clients[process]
	if to := w.to(process, stream, seq); to != nil {
		gone := client.forgotten(to)
		switch {
		case to.acked >= 0 && !to.revived:
			return bySDK("that the broker sent it, and that the client acknowledged it", int64(to.first), int64(to.acked))
		case gone != nil && to.acked < 0 && to.taken < 0 && to.state == published: // what a client took, it may have kept in its session
			return byBroker("that the broker sent it, and later had no session when the client asked for it", append(rows, int64(to.first), gone.asked, gone.row)...)
		case client.cleanAfter(int64(to.first)):
			return bySDK("that the broker sent it, and that the subscriber's client asked for a clean session before it acknowledged it", append(rows, int64(to.first))...)
		case client.wentOn(to) && !w.mute(process) && to.state == received:
			return byBroker("that the broker never answered the PUBREC of the client by PUBREL", append(rows, int64(to.first), int64(to.taken))...)
		case client.wentOn(to) && !w.mute(process):
			return byBroker("that the broker sent it on a connection that ended, and not again when the session went on", append(rows, int64(to.first))...)
		}
		return undecided(client.unansweredIn(to), append(rows, int64(to.first))...)
	}
	subscribed, gaveUp := client.subscribed(int64(from.acked))
	switch {
	case subscribed && client.cleanAfter(int64(from.acked)):
		return bySDK("that the subscriber's client then asked for a clean session", rows...)
	case subscribed && w.mute(process):
		return undecided(unanswered, rows...)
	case subscribed && len(client.damaged.spoiled) > 0:
		return byBroker("that the broker acknowledged it, and never sent it to the subscriber undamaged", rows...)
	case subscribed:
		return byBroker("that the broker acknowledged it, and never sent it to the subscriber", rows...)
	case gaveUp != "":
		return bySDK("that the subscriber's client "+gaveUp, rows...)
	case len(client.granted) == 0:
		return bySDK("that the subscriber's client was never subscribed", rows...)
	}
	return byBroker("that the broker had forgotten the subscriber's session", rows...)
}

// repeatedBy says who made one message of a QoS reach a process twice.
func (w *wire) repeatedBy(process, stream int32, seq int64, qos uint8) shown {
	from, to := w.from(stream, seq), w.to(process, stream, seq)
	if why := unclear(from, to); why != "" {
		return undecided(why)
	}
	rows := []int64{int64(from.first), int64(to.first)}
	if qos == 0 {
		switch {
		case from.n > 1:
			return bySDK("that its producer's client sent it more than once", rows...)
		case to.n > 1:
			return byBroker("that its producer's client sent it once, and the broker more than once", rows...)
		}
		return bySDK("that the broker sent it once", rows...)
	}
	switch {
	case from.anew() > 1:
		return bySDK("that its producer's client published it more than once", rows...)
	case from.renewed > 0: // as it may be
		return undecided("it was sent again in a new session", rows...)
	case to.anew() > 1:
		return byBroker("that its producer's client published it once, and the broker sent it to the subscriber more than once", rows...)
	case to.renewed > 0:
		return undecided("it was sent again in a new session", rows...)
	case to.requalified():
		return byBroker("that the broker sent it again with another QoS, as another message", rows...)
	}
	return bySDK("that the broker sent it in one exchange, which the library passed on more than once", rows...)
}

// unflaggedBy says why a repetition of a message reached a process without DUP.
func (w *wire) unflaggedBy(process, stream int32, seq int64) shown {
	from, to := w.from(stream, seq), w.to(process, stream, seq)
	if why := unclear(from, to); why != "" {
		return undecided(why)
	}
	switch {
	case from.anew() > 1:
		return bySDK("that its producer's client published it more than once", int64(from.first))
	case from.n > 1 || to.renewed > 0:
		return undecided("its producer sent it again, or it was sent in a new session", int64(from.first), int64(to.first))
	case to.n == 1:
		return bySDK("that the broker sent it once", int64(to.first))
	case to.bare == 0:
		return bySDK("DUP on what the broker sent again", int64(to.first))
	}
	return byBroker("that the broker sent it again without DUP", int64(to.first))
}

// another reports whether a broker sent a message again under another packet id:
// as a message of its own, which DUP says nothing of. A copy that a fault of ours
// made is one to the broker, and at QoS 1 any may come twice.
func (w *wire) another(process, stream int32, seq int64) bool {
	from, to := w.from(stream, seq), w.to(process, stream, seq)
	return from != nil && to != nil && from.n == 1 && to.begun > 1
}

// disorderedBy says who put a message behind a later one.
func (w *wire) disorderedBy(process, stream int32, seq, after int64, disturbed bool) shown {
	from, fromAfter := w.from(stream, seq), w.from(stream, after)
	to, toAfter := w.to(process, stream, seq), w.to(process, stream, after)
	switch unclear(from, fromAfter, to, toAfter) {
	case noPublish:
		return undecided("the PUBLISH of one of the two is not there")
	case sameID:
		return undecided("another PUBLISH had the packet id of one of the two at the same time")
	}
	rows := []int64{int64(to.first), int64(toAfter.first)}
	switch {
	case from.first > fromAfter.first:
		return bySDK("that its producer's client sent it behind", int64(from.first), int64(fromAfter.first))
	case to.again:
		return undecided("its first PUBLISH had DUP, and an earlier copy may not have come", rows...)
	case to.first > toAfter.first && from.releasedBehind(fromAfter) && !from.takenBehind(fromAfter):
		return undecided("its producer released it behind the other, or never", rows...) // PUBREL may be what makes a message
	case to.first > toAfter.first:
		return byBroker("that the broker had it before, and sent it behind", rows...)
	case to.releasedBehind(toAfter) && !disturbed && to.overtaken(toAfter) && w.clients[process].greetedIn(int64(to.first), int64(to.freed)) == nil:
		return byBroker("that the broker had PUBREC for it before, and sent its PUBREL behind", int64(to.taken), int64(toAfter.taken), int64(toAfter.freed), int64(to.freed))
	case to.releasedBehind(toAfter): // for which the client waited
		return undecided("its PUBREL came behind the other's or never, and its PUBREC, a repetition, a fault or a new connection may be why", rows...)
	case to.repeatedAfter(toAfter) && w.clients[process].greetedIn(int64(to.first), never) != nil:
		return undecided("its first copy may have ended with its connection", rows...)
	}
	return bySDK("that the broker sent it before", rows...)
}

// repeatedInOrder reports whether the broker sent a message before another, and then
// again because the first connection had ended without an acknowledgement.
func (w *wire) repeatedInOrder(process, stream int32, seq, after int64) bool {
	to, toAfter := w.to(process, stream, seq), w.to(process, stream, after)
	return to != nil && toAfter != nil && !to.again && to.repeatedAfter(toAfter) &&
		w.clients[process].greetedIn(int64(to.first), int64(toAfter.first)) != nil
}

// repeatedAfter reports whether a message was sent more than once, and not
// acknowledged before another was sent.
func (f *flow) repeatedAfter(other *flow) bool {
	return f.n > 1 && (f.acked < 0 || f.acked > other.first)
}

// releasedBehind reports whether the PUBREL of a message came behind another's,
// or never.
func (f *flow) releasedBehind(other *flow) bool {
	return other.freed >= 0 && (f.freed < 0 || f.freed > other.freed)
}

// overtaken reports whether a message was sent once and PUBREL of another, whose PUBREC
// came later, was sent before its own: PUBRELs are to be sent in the order of the
// PUBRECs (MQTT-4.6.0-4, MQTT-4.6.0-6).
func (f *flow) overtaken(by *flow) bool {
	return f.n == 1 && f.freed >= 0 && f.taken >= 0 && f.taken < by.taken
}

// takenBehind reports whether a message that was sent once, before another, was
// answered by PUBREC behind it.
func (f *flow) takenBehind(other *flow) bool {
	return f.n == 1 && other.n == 1 && other.taken >= 0 && f.taken > other.taken
}

// damagedBy names the party that damaged or replaced a payload. of returns the rows of
// such PUBLISHes.
func (w *wire) damagedBy(process int32, row int64, of func(damage) []int64) shown {
	if !w.on || uint32(process) >= uint32(len(w.clients)) {
		return nothingShown
	}
	before := func(d damage) []int64 {
		i, _ := slices.BinarySearch(of(d), row)
		return of(d)[:i]
	}
	sent, came := before(w.damaged), before(w.clients[process].damaged)
	switch {
	case len(came) == 0:
		return bySDK("no such payload from the broker to the client")
	case len(sent) == 0:
		return byBroker("that the broker sent it so", came[len(came)-1])
	case len(came) <= len(sent):
		return bySDK("such a payload on its way to the broker", sent[len(sent)-1])
	}
	return undecided("producers sent some of the kind, but fewer than came", came[len(came)-1])
}

func spoiled(d damage) []int64   { return d.spoiled }
func strangers(d damage) []int64 { return d.stranger }

// inventedBy names the party that delivered a message to a process, although it was
// never called or the process has no subscription for it.
func (w *wire) inventedBy(process, stream int32, seq int64, called bool) shown {
	if !w.on {
		return nothingShown
	}
	from, to := w.from(stream, seq), w.to(process, stream, seq)
	switch {
	case to == nil:
		return bySDK("that the broker sent no such message to the client")
	case from != nil && !called:
		return bySDK("that its producer's client sent it", int64(from.first))
	}
	return byBroker("that the broker sent it", int64(to.first))
}

// renamedBy says who sent a message under another topic than its stream's.
func (w *wire) renamedBy(stream int32, seq, row int64) shown {
	if from := w.from(stream, seq); from != nil && from.renamed {
		return bySDK("that its producer's client sent it so", int64(from.first))
	}
	return byBroker("that PUBLISH", row)
}

// namedBy says who delivered a message under another topic than its stream's.
func (w *wire) namedBy(process, stream int32, seq int64) shown {
	switch to := w.to(process, stream, seq); {
	case to == nil:
		return undecided(noPublish)
	case to.renamed:
		return w.renamedBy(stream, seq, int64(to.first))
	}
	return bySDK("that the broker sent it under the topic of its stream")
}

// retainedBy names the party that set RETAIN on a message published without it.
func (w *wire) retainedBy(process, stream int32, seq int64) shown {
	switch to := w.to(process, stream, seq); {
	case to == nil:
		return undecided(noPublish)
	case to.retained:
		return byBroker("that the broker sent it with RETAIN", int64(to.first))
	}
	return bySDK("that the broker sent it without RETAIN")
}

// shownTo returns the retained messages that a client was sent between two rows.
func (w *wire) shownTo(process int32, from, to int64) []shownRetained {
	if !w.on || uint32(process) >= uint32(len(w.clients)) {
		return nil
	}
	all := w.clients[process].shown
	i, _ := slices.BinarySearchFunc(all, from, func(s shownRetained, row int64) int { return cmp.Compare(s.row, row) })
	j, _ := slices.BinarySearchFunc(all, to, func(s shownRetained, row int64) int { return cmp.Compare(s.row, row) })
	return all[i:j]
}

// readBy names the party behind the value that a read of a register returned. It is
// only called if every write that its writers call published was acknowledged. It looks
// at all that the client was sent since its previous read, because a driver's row may
// be recorded later than its consequences. A broker that sent nothing is blamed only
// where nothing else can have kept the message.
func (w *wire) readBy(r read, its func(stream int32) bool) shown {
	if !w.on || uint32(r.process) >= uint32(len(w.clients)) || len(w.clients[r.process].shown) == maxShown {
		return nothingShown
	}
	sent := slices.Clone(w.shownTo(r.process, r.since, r.ret))
	for _, s := range sent {
		if r.value == unwritten && s.stream < 0 || r.value > nothing && s.stream >= 0 && r.value == valueOf(s.stream, s.seq) {
			return byBroker("that the broker sent it so", s.row)
		}
	}
	sent = slices.DeleteFunc(sent, func(s shownRetained) bool { return s.stream >= 0 && !its(s.stream) })
	switch {
	case r.value == nothing && len(sent) == 0:
		return byBroker("that the broker sent no retained message")
	case r.value > nothing && len(sent) > 0:
		return bySDK("that the broker sent another one", sent[len(sent)-1].row)
	}
	if r.value == nothing {
		return undecided("it may have come too late")
	}
	return undecided("no retained PUBLISH of it was recorded for this read")
}

// forgottenBy names the party that ended a session, by the CONNACK between the rows of
// a connect and its return.
func (w *wire) forgottenBy(process int32, call, row int64) shown {
	if !w.on {
		return nothingShown
	}
	g := w.clients[process].greetedIn(call, row)
	switch {
	case g == nil:
		return undecided(noConnack)
	case g.present:
		return bySDK("that the broker had the session", g.row)
	case g.clean:
		return bySDK("that the client asked for a clean session", g.asked, g.row)
	}
	return byBroker("a CONNACK without session present, to a client that asked for its session", g.asked, g.row)
}

// feignedBy names the party that told of a session which was over, by the CONNACK of the
// connection.
func feignedBy(g *greeting) shown {
	switch {
	case g == nil:
		return undecided(noConnack)
	case g.present:
		return byBroker("a CONNACK with session present", g.row)
	}
	return bySDK("a CONNACK without session present", g.row)
}

// raisedBy says who made a delivery's QoS another than was granted.
func (w *wire) raisedBy(process, stream int32, seq, row int64, granted, came uint8) shown {
	to := w.to(process, stream, seq)
	if to == nil {
		return undecided(noPublish)
	}
	g := w.clients[process].grantOf(granted, row)
	switch {
	case g == nil:
		return bySDK("another QoS granted than the client said")
	case !to.sentWith(came):
		return bySDK("that the broker never sent it with this QoS", int64(to.first))
	}
	return byBroker("that SUBACK, and that PUBLISH", g.row, int64(to.first))
}
