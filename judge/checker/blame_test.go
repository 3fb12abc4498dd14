package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A blameStory has a violation that the wire blames on a party.
type blameStory struct {
	name, claim string
	tell        func(s *story)
	want        verdict.Party
	text        string // in docs/wire.md, of this claim and party; where one is blamed, the judge's words
}

// blameStories have every clause of docs/wire.md's table.
func blameStories() []blameStory {
	const sdk, broker, nobody = verdict.SDK, verdict.Broker, verdict.Party("")
	unheard := func(s *story, p, st int32, seq int64, f history.Flags) *story { // a delivery that the wire has nothing of
		e := blank(history.KindDeliver, p)
		e.Stream, e.Seq, e.Flags = st, seq, f
		if st >= 0 {
			e.QoS = s.tables.Streams[st].QoS
		}
		s.add(e)
		return s
	}
	read := func(s *story, seq int64, sent func()) *story { // of the register
		e := blank(history.KindFetch, fleet)
		e.Text = s.tables.Streams[reg].Topic
		c := s.call(e)
		sent()
		if e.Text = ""; seq >= 0 {
			e.Stream, e.Seq = reg, seq
		}
		s.ret(e, c, history.OK)
		return s
	}
	inTurn := func(s *story, kind string, toClient bool, seqs ...int64) { // packets of QoS 2 messages and their producer
		for _, seq := range seqs {
			if toClient {
				s.toClient(pub, kind, 50+seq, s.of(q2, seq))
			} else {
				s.packet(pub, kind, 50+seq, s.of(q2, seq))
			}
		}
	}
	releasing := func(s *story, taken ...int64) { // two messages of QoS 2, of which the first comes behind
		s.acked(q2, 0, 1)
		for seq := range int64(2) {
			s.toClient(sub, "publish", seq+1, s.of(q2, seq))
		}
		for _, seq := range taken {
			s.packet(sub, "pubrec", seq+1, s.of(q2, seq))
		}
		for seq := int64(1); seq >= 0; seq-- {
			s.toClient(sub, "pubrel", seq+1, s.of(q2, seq))
			unheard(s, sub, q2, seq, 0)
		}
	}
	kept := func(s *story, answered func()) { // out, a client, as its library says
		for range 22 {
			e := blank(history.KindConnect, other)
			e.Node = 0
			c := s.call(e)
			s.packet(other, "connect", 0)
			answered()
			s.ret(e, c, history.Fail)
			s.wait(time.Second / 2)
		}
		s.letIn(0, "CONNECT, CONNACK", history.OK)
	}
	dealing := func() *story { // a message for each member of a group, and two more
		return wired().share().connect(pub, false).join(sub, other).settled().dealt(q1, 0, 3)
	}
	releasedTo := func(s *story, st int32) *story { // a message to its subscriber, until its PUBREL
		return s.toClient(sub, "publish", 90, s.of(st, 0)).packet(sub, "pubrec", 90, s.of(st, 0)).toClient(sub, "pubrel", 90, s.of(st, 0))
	}
	return []blameStory{
		{"never sent on", "qos1-no-loss", func(s *story) { s.acked(q1, 0, 3).delivered(sub, q1, 1, 3) }, broker, "the broker acknowledged it, and never sent it to the subscriber"},
		{"acknowledged by the client", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3)
			s.wireTake(sub, q1, 0, s.wireSend(sub, q1, 0, 0))
			s.delivered(sub, q1, 1, 3)
		}, sdk, "the broker sent it, and that the client acknowledged it"},
		{"sent, and not acknowledged", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.delivered(sub, q1, 1, 3)
		}, nobody, "it was sent and not acknowledged, and its session did not go on"},
		{"sent, and not again when the session went on", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true).delivered(sub, q1, 1, 3)
		}, broker, "the broker sent it on a connection that ended, and not again when the session went on"},
		{"sent, and then the session was gone", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, false).subscribe(sub).delivered(sub, q1, 1, 3)
		}, nobody, "it was sent and not acknowledged, and its session did not go on"},
		{"sent, and then the client gave its session up", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).clean(sub).subscribe(sub).delivered(sub, q1, 1, 3)
		}, sdk, "the broker sent it, and that the subscriber's client asked for a clean session before it acknowledged it"},
		{"sent, and not again to a client that keeps the broker waiting", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true).delivered(sub, q1, 1, 2).wireSend(sub, q1, 3, 0)
			unheard(s, sub, q1, 3, 0)
		}, nobody, "the client leaves another message unanswered to the end"},
		{"completed in another session than it was taken in", "qos2-no-loss", func(s *story) {
			e := s.publishing(q2, 0)
			c := s.call(e)
			of := s.of(q2, 0)
			s.packet(pub, "publish", 90, of).toClient(pub, "pubrec", 90, of).disconnect(pub).connect(pub, false).packet(pub, "pubrel", 90, of).toClient(pub, "pubcomp", 90, of)
			s.ret(e, c, history.OK)
			s.marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, nobody, "PUBCOMP came in another session of its producer than PUBREC"},
		{"released again when the session went on, and not answered", "qos2-no-loss", func(s *story) {
			s.acked(q2, 0, 0)
			releasedTo(s, q2).disconnect(sub).connect(sub, true).toClient(sub, "pubrel", 90, s.of(q2, 0)).marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, nobody, "it was sent and not acknowledged, and its session did not go on"},
		{"not released again when the session went on", "qos2-no-loss", func(s *story) {
			s.acked(q2, 0, 0)
			releasedTo(s, q2).disconnect(sub).connect(sub, true).marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, broker, "the broker sent it on a connection that ended, and not again when the session went on"},
		{"held back for a message that is released and not answered", "qos1-no-loss", func(s *story) {
			s.acked(q2, 0, 0)
			releasedTo(s, q2).disconnect(sub).connect(sub, true).toClient(sub, "pubrel", 90, s.of(q2, 0)).acked(q1, 0, 3)
		}, nobody, "the client leaves another message unanswered to the end"},
		{"never sent to the broker", "qos1-no-loss", func(s *story) {
			e := s.publishing(q1, 0)
			s.ret(e, s.call(e), history.OK)
			s.acked(q1, 1, 3).delivered(sub, q1, 1, 3)
		}, sdk, "it was never sent to the broker"},
		{"never acknowledged by the broker", "qos1-no-loss", func(s *story) {
			e := s.publishing(q1, 0)
			c := s.call(e)
			s.wirePublish(q1, 0, false)
			s.ret(e, c, history.OK)
			s.acked(q1, 1, 3).delivered(sub, q1, 1, 3)
		}, sdk, "the broker never acknowledged it"},
		{"the broker forgot the session", "qos1-no-loss", func(s *story) {
			s.disconnect(sub).acked(q1, 0, 0).join(sub).acked(q1, 1, 3).delivered(sub, q1, 1, 3)
		}, broker, "the broker acknowledged it, and never sent it to the subscriber"},
		{"the client gave its session up with what was in it", "qos1-no-loss", func(s *story) {
			s.disconnect(sub).acked(q1, 0, 3)
			s.clean(sub).subscribe(sub)
		}, sdk, "the subscriber's client then asked for a clean session"},
		{"the client gave its session up", "qos1-no-loss", func(s *story) {
			s.disconnect(sub)
			s.clean(sub).acked(q1, 0, 3).connect(sub, true)
		}, sdk, "the subscriber's client had asked for a clean session and not subscribed again"},

		{"refused, and called acknowledged", "qos1-no-loss", func(s *story) {
			e := s.publishing(q1, 0)
			c := s.call(e)
			s.packet(pub, "publish", 90, s.of(q1, 0)).toClient(pub, "puback", 90, s.of(q1, 0), refused)
			s.ret(e, c, history.OK)
			s.acked(q1, 1, 3).delivered(sub, q1, 1, 3)
		}, sdk, "the broker never acknowledged it"},
		{"the client unsubscribed", "qos1-no-loss", func(s *story) { s.packet(sub, "unsubscribe", 7).acked(q1, 0, 3) }, sdk, "the subscriber's client had unsubscribed"},
		{"the client never subscribed", "qos1-no-loss", func(s *story) {
			s.connect(other, false)
			s.run.Wire = false
			s.subscribe(other)
			s.run.Wire = true
			s.acked(q1, 0, 3).delivered(sub, q1, 0, 3)
		}, sdk, "the subscriber's client was never subscribed"},
		{"the client answers nothing, and the broker may wait for it", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			unheard(s, sub, q1, 0, 0)
		}, nobody, "it was sent and not acknowledged, and its session did not go on"},

		{"damaged, and so never sent", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).deliver(sub, -1, -1, history.FlagCorrupt).delivered(sub, q1, 1, 3)
		}, broker, "the broker acknowledged it, and never sent it to the subscriber undamaged"},
		{"the broker forgot a session that its client did not subscribe in again", "qos1-no-loss", func(s *story) {
			s.disconnect(sub).connect(sub, false).acked(q1, 0, 3)
		}, broker, "the broker had forgotten the subscriber's session"},

		{"the broker publishes it twice", "qos2-exactly-once", func(s *story) { s.acked(q2, 0, 1).delivered(sub, q2, 0, 1).deliver(sub, q2, 0) }, broker, "its producer's client published it once, and the broker sent it to the subscriber more than once"},
		{"the application has it twice", "qos2-exactly-once", func(s *story) {
			s.acked(q2, 0, 1).delivered(sub, q2, 0, 1)
			unheard(s, sub, q2, 0, 0)
		}, sdk, "the broker sent it in one exchange, which the library passed on more than once"},
		{"the producer sends it twice", "qos2-exactly-once", func(s *story) {
			s.tables.Processes[pub].Cannot = []string{"exactly_once"}
			s.acked(q2, 0, 1).wirePublish(q2, 0, true)
			s.delivered(sub, q2, 0, 1).deliver(sub, q2, 0)
		}, sdk, "its producer's client published it more than once"},

		{"late to a client that left what was sent again unanswered", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true)
			id := s.wireSend(sub, q1, 0, dup)
			s.acked(q1, 1, 1).wait(11*time.Second).wireTake(sub, q1, 0, id)
			s.deliver(sub, q1, 1)
		}, nobody, "the client had left something unanswered, or had just connected"},

		{"sent in time", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			unheard(s.wait(11*time.Second), sub, q1, 0, 0)
		}, sdk, "the broker sent it in time"},
		{"sent in time, and again late on the next connection", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true).wait(11*time.Second).deliver(sub, q1, 0, dup).again(3)
		}, broker, "the broker sent it again so late, to a client that had answered all it was sent"},
		{"sent in time, and again at once on the next connection", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			s.wait(11*time.Second).disconnect(sub).connect(sub, true).deliver(sub, q1, 0, dup).again(3)
		}, sdk, "the broker sent it in time"},
		{"sent in time, and again on the next connection but one", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true).wait(11*time.Second).disconnect(sub).connect(sub, true).deliver(sub, q1, 0, dup)
		}, nobody, "the client had left something unanswered, or had just connected"},
		{"acknowledged, and sent again on a later connection", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0)
			s.wireTake(sub, q1, 0, s.wireSend(sub, q1, 0, 0))
			s.wait(11*time.Second).disconnect(sub).connect(sub, true).deliver(sub, q1, 0, dup)
		}, sdk, "the broker sent it in time"},
		{"sent and taken in time, and released late", "delivery-progress", func(s *story) {
			s.acked(q2, 0, 0)
			s.toClient(sub, "publish", 90, s.of(q2, 0)).packet(sub, "pubrec", 90, s.of(q2, 0)).wait(11*time.Second).toClient(sub, "pubrel", 90, s.of(q2, 0))
			unheard(s, sub, q2, 0, 0)
		}, broker, "the broker sent its PUBREL so late, to a client that had answered all it was sent"},
		{"sent in time, and taken late", "delivery-progress", func(s *story) {
			s.acked(q2, 0, 0)
			s.toClient(sub, "publish", 90, s.of(q2, 0)).wait(11*time.Second).packet(sub, "pubrec", 90, s.of(q2, 0)).toClient(sub, "pubrel", 90, s.of(q2, 0))
			unheard(s, sub, q2, 0, 0)
		}, nobody, "the client had left something unanswered, or had just connected"},

		{"sent behind", "order-per-stream", func(s *story) { s.acked(q1, 0, 3).deliver(sub, q1, 1).deliver(sub, q1, 0).delivered(sub, q1, 2, 3) }, broker, "the broker had it before, and sent it behind"},
		{"sent before", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1)
			s.wireSend(sub, q1, 0, 0)
			s.wireSend(sub, q1, 1, 0)
			unheard(s, sub, q1, 1, 0)
			unheard(s, sub, q1, 0, 0)
		}, sdk, "the broker sent it before"},

		{"sent before, and released behind", "order-per-stream", func(s *story) { releasing(s, 0, 1) }, broker, "the broker had PUBREC for it before, and sent its PUBREL behind"},
		{"sent before, and taken and released behind", "order-per-stream", func(s *story) { releasing(s, 1, 0) }, nobody, "its PUBREL came behind a later one's, as its PUBREC did or during a fault"},
		{"sent before, and released behind during a fault", "order-per-stream", func(s *story) {
			s.fault(time.Hour)
			releasing(s, 0, 1)
		}, nobody, "its PUBREL came behind a later one's, as its PUBREC did or during a fault"},
		{"taken for another message, by its packet id", "order-per-stream", func(s *story) {
			s.acked(q2, 0, 1)
			for seq := range int64(2) {
				s.toClient(sub, "publish", 1, s.of(q2, seq))
			}
			for seq := int64(1); seq >= 0; seq-- {
				s.packet(sub, "pubrec", 1, s.of(q2, seq)).toClient(sub, "pubrel", 1, s.of(q2, seq))
				unheard(s, sub, q2, seq, 0)
			}
		}, nobody, "it shared a packet id with the other"},
		{"QoS 2 sent behind", "order-per-stream", func(s *story) { s.acked(q2, 0, 1).deliver(sub, q2, 1).deliver(sub, q2, 0) }, broker, "the broker had it before, and sent it behind"},
		{"QoS 2 taken and sent behind", "order-per-stream", func(s *story) {
			c, d := s.call(s.publishing(q2, 0)), s.call(s.publishing(q2, 1))
			inTurn(s, "publish", false, 0, 1)
			inTurn(s, "pubrec", true, 1, 0)
			inTurn(s, "pubrel", false, 1, 0)
			inTurn(s, "pubcomp", true, 1, 0)
			s.ret(s.publishing(q2, 1), d, history.OK)
			s.ret(s.publishing(q2, 0), c, history.OK)
			s.deliver(sub, q2, 1).deliver(sub, q2, 0)
		}, broker, "the broker had it before, and sent it behind"},
		{"QoS 2 released behind by its producer", "order-per-stream", func(s *story) {
			c, d := s.call(s.publishing(q2, 0)), s.call(s.publishing(q2, 1))
			inTurn(s, "publish", false, 0, 1)
			inTurn(s, "pubrec", true, 0, 1)
			inTurn(s, "pubrel", false, 1, 0)
			inTurn(s, "pubcomp", true, 1, 0)
			s.ret(s.publishing(q2, 1), d, history.OK)
			s.ret(s.publishing(q2, 0), c, history.OK)
			s.deliver(sub, q2, 1).deliver(sub, q2, 0)
		}, nobody, "its producer released it behind the other"},
		{"sent before and again, on one connection", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1)
			id := s.wireSend(sub, q1, 0, 0)
			s.deliver(sub, q1, 1)
			s.toClient(sub, "publish", id, s.of(q1, 0), flagged2(true, dup))
			unheard(s, sub, q1, 0, 0)
		}, sdk, "the broker sent it before"},
		{"both sent in order, and again behind one another", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1)
			s.wireSend(sub, q1, 0, 0)
			s.wireSend(sub, q1, 1, 0)
			s.disconnect(sub).connect(sub, true).deliver(sub, q1, 1).deliver(sub, q1, 0)
		}, nobody, "its first copy ended with its connection"},
		{"what comes behind is a repetition", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1).wireSend(sub, q1, 1, 0)
			unheard(s, sub, q1, 1, 0)
			s.toClient(sub, "publish", 90, s.of(q1, 0), flagged2(true, dup))
			unheard(s, sub, q1, 0, 0)
		}, nobody, "its first copy ended with its connection"},

		{"no such message on the wire", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0); unheard(s, sub, q1, 9, 0) }, sdk, "the broker sent no such message to the client"},
		{"a message of the broker's own", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0).deliver(sub, q1, 9) }, broker, "the broker sent it"},
		{"a message of the broker's own, far out", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0).deliver(sub, q1, 1<<30) }, broker, "the broker sent it"},
		{"with RETAIN", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0, history.FlagRetain) }, broker, "the broker sent it with RETAIN"},
		{"with RETAIN behind the wire", "no-unexpected", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			unheard(s, sub, q1, 0, history.FlagRetain)
		}, sdk, "the broker sent it without RETAIN"},
		{"under another topic", "no-unexpected", func(s *story) {
			s.acked(q1, 0, 0).toClient(sub, "publish", 9, s.of(q1, 0), flagged2(true, history.FlagRenamed))
			unheard(s, sub, q1, 0, 0)
		}, broker, "PUBLISH"},
		{"under another topic, delivered so", "no-unexpected", func(s *story) {
			s.acked(q1, 0, 0).deliver(sub, q1, 0, history.FlagRenamed)
		}, broker, "PUBLISH"},
		{"under another topic behind the wire", "no-unexpected", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			unheard(s, sub, q1, 0, history.FlagRenamed)
		}, sdk, "the broker sent it under the topic of its stream"},
		{"under the topic that its producer sent", "no-unexpected", func(s *story) {
			s.call(s.publishing(q1, 0))
			s.packet(pub, "publish", 9, s.of(q1, 0), flagged2(true, history.FlagRenamed))
			s.toClient(sub, "publish", 9, s.of(q1, 0), flagged2(true, history.FlagRenamed))
			unheard(s, sub, q1, 0, 0)
		}, sdk, "its producer's client sent it so"},

		{"an old value sent", "retained-register", func(s *story) {
			s.acked(reg, 0, 1).connect(fleet, false)
			read(s, 0, func() { s.wireSend(fleet, reg, 0, history.FlagRetain) })
		}, broker, "the broker sent it so"},
		{"an old value read", "retained-register", func(s *story) {
			s.acked(reg, 0, 1).connect(fleet, false)
			read(s, 0, func() { s.wireSend(fleet, reg, 1, history.FlagRetain) })
		}, sdk, "the broker sent another one"},
		{"no value sent", "retained-register", func(s *story) { read(s.acked(reg, 0, 1).connect(fleet, false), -1, func() {}) }, broker, "the broker sent no retained message"},
		{"an old value sent before the new one", "retained-register", func(s *story) {
			s.acked(reg, 0, 1).connect(fleet, false)
			read(s, 0, func() {
				s.wireSend(fleet, reg, 0, history.FlagRetain)
				s.wireSend(fleet, reg, 1, history.FlagRetain)
			})
		}, broker, "the broker sent it so"},
		{"a value sent, and nothing read", "retained-register", func(s *story) {
			s.acked(reg, 0, 1).connect(fleet, false)
			read(s, -1, func() { s.wireSend(fleet, reg, 1, history.FlagRetain) })
		}, nobody, "it may have come too late"},
		{"a write that was never acknowledged", "retained-register", func(s *story) {
			s.acked(reg, 0, 0).connect(fleet, false)
			s.ret(s.publishing(reg, 1), s.call(s.publishing(reg, 1)), history.OK)
			read(s, 0, func() { s.wireSend(fleet, reg, 0, history.FlagRetain) })
		}, nobody, "a write that was called published was never acknowledged"},

		{"damaged on the wire", "no-corruption", func(s *story) { s.acked(q1, 0, 0).deliver(sub, -1, -1, history.FlagCorrupt) }, broker, "the broker sent it so"},
		{"damaged behind the wire", "no-corruption", func(s *story) { s.acked(q1, 0, 0); unheard(s, sub, -1, -1, history.FlagCorrupt) }, sdk, "no such payload from the broker to the client"},
		{"damaged by its producer", "no-corruption", func(s *story) {
			s.packet(pub, "publish", 9, flagged2(true, history.FlagCorrupt)).deliver(sub, -1, -1, history.FlagCorrupt)
		}, sdk, "such a payload on its way to the broker"},

		{"some damaged by their producer", "no-corruption", func(s *story) {
			s.packet(pub, "publish", 9, flagged2(true, history.FlagCorrupt))
			s.toClient(sub, "publish", 9, flagged2(true, history.FlagCorrupt)).deliver(sub, -1, -1, history.FlagCorrupt)
		}, nobody, "producers sent some of the kind, but fewer than came"},

		{"no session for a client that then gave up, and one for the next", "session-kept", func(s *story) {
			e := blank(history.KindConnect, sub)
			c := s.disconnect(sub).call(e)
			s.wireConnect(sub, false)
			s.wireConnect(sub, true)
			s.ret(e, c, history.OK)
		}, broker, "a CONNACK without session present, to a client that asked for its session"},
		{"the broker has no session", "session-kept", func(s *story) { s.disconnect(sub).connect(sub, false) }, broker, "a CONNACK without session present, to a client that asked for its session"},
		{"the broker feigns a session", "session-fresh", func(s *story) { s.connect(away, true) }, broker, "a CONNACK with session present"},
		{"the client feigns one", "session-fresh", func(s *story) {
			e := blank(history.KindConnect, away)
			c := s.call(e)
			s.wireConnect(away, false)
			e.Flags = history.FlagSessionPresent
			s.ret(e, c, history.OK)
		}, sdk, "a CONNACK without session present"},
		{"the client asks for none", "session-kept", func(s *story) { s.disconnect(sub).clean(sub) }, sdk, "the client asked for a clean session"},
		{"more than was granted", "qos-granted", func(s *story) {
			for i, e := range s.events {
				if e.Text == "suback" && e.Process == sub {
					s.events[i].Reason = 0
				}
			}
			s.granted(sub, 0)
			s.acked(q1, 0, 0).deliver(sub, q1, 0)
		}, broker, "SUBACK, and that PUBLISH"},
		{"less than was granted", "qos-granted", func(s *story) {
			s.acked(q1, 0, 0).toClient(sub, "publish", 0, s.of(q1, 0), func(e *history.Event) { e.QoS = 0 })
			e := blank(history.KindDeliver, sub)
			e.Stream, e.Seq = q1, 0
			s.add(e)
		}, broker, "SUBACK, and that PUBLISH"},
		{"not as the broker sent it", "qos-granted", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			e := blank(history.KindDeliver, sub)
			e.Stream, e.Seq = q1, 0
			s.add(e)
		}, sdk, "the broker sent it with another QoS"},
		{"again without DUP", "qos1-dup-flag", func(s *story) {
			s.acked(q1, 0, 0)
			id := s.wireSend(sub, q1, 0, 0)
			unheard(s, sub, q1, 0, 0)
			s.toClient(sub, "publish", id, s.of(q1, 0))
			unheard(s, sub, q1, 0, 0)
		}, broker, "the broker sent it again without DUP"},
		{"published twice", "qos1-dup-flag", func(s *story) {
			s.acked(q1, 0, 0).wirePublish(q1, 0, true)
			s.deliver(sub, q1, 0).deliver(sub, q1, 0)
		}, sdk, "its producer's client published it more than once"},
		{"again by the client", "qos1-dup-flag", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0); unheard(s, sub, q1, 0, 0) }, sdk, "the broker sent it once"},
		{"QoS 0 twice by the broker", "qos0-at-most-once", func(s *story) { s.acked(q0, 0, 0).deliver(sub, q0, 0).deliver(sub, q0, 0) }, broker, "its producer's client sent it once, and the broker more than once"},
		{"QoS 0 twice by the library", "qos0-at-most-once", func(s *story) { unheard(s.acked(q0, 0, 0).deliver(sub, q0, 0), sub, q0, 0, 0) }, sdk, "the broker sent it once"},
		{"QoS 0 twice by its producer", "qos0-at-most-once", func(s *story) {
			s.acked(q0, 0, 0).wirePublish(q0, 0, true)
			s.deliver(sub, q0, 0).deliver(sub, q0, 0)
		}, sdk, "its producer's client sent it more than once"},
		{"twice by its producer, and the packets of the subscriber have none", "qos0-at-most-once", func(s *story) {
			unheard(unheard(s.acked(q0, 0, 0), sub, q0, 0, 0), sub, q0, 0, 0)
		}, nobody, "its PUBLISH is not there"},
		{"again in a new session", "qos2-exactly-once", func(s *story) {
			s.acked(q2, 0, 1).deliver(sub, q2, 0)
			s.disconnect(sub).connect(sub, false).subscribe(sub).deliver(sub, q2, 0)
		}, nobody, "it was sent again in a new session"},

		{"sent late", "delivery-progress", func(s *story) { s.acked(q1, 0, 0).wait(11*time.Second).deliver(sub, q1, 0) }, broker, "the broker sent it so late, to a client that had answered all it was sent"},
		{"sent behind by its producer", "order-per-stream", func(s *story) {
			c, d := s.call(s.publishing(q1, 0)), s.call(s.publishing(q1, 1))
			s.wirePublish(q1, 1, true)
			s.wirePublish(q1, 0, true)
			s.ret(s.publishing(q1, 0), c, history.OK)
			s.ret(s.publishing(q1, 1), d, history.OK)
			s.deliver(sub, q1, 1).deliver(sub, q1, 0)
		}, sdk, "its producer's client sent it behind"},

		{"sent by its producer, which never said so", "no-unexpected", func(s *story) {
			s.wirePublish(q1, 0, true)
			s.deliver(sub, q1, 0)
		}, sdk, "its producer's client sent it"},
		{"a payload of nobody's from the broker", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, -1, -1, history.FlagForeign) }, broker, "the broker sent it so"},
		{"a payload of nobody's behind the wire", "no-unexpected", func(s *story) { unheard(s.acked(q1, 0, 0), sub, -1, -1, history.FlagForeign) }, sdk, "no such payload from the broker to the client"},
		{"a payload of nobody's from a producer", "no-unexpected", func(s *story) {
			s.packet(pub, "publish", 9, flagged2(true, history.FlagForeign)).deliver(sub, -1, -1, history.FlagForeign)
		}, sdk, "such a payload on its way to the broker"},
		{"two payloads of nobody's, one of them from a producer", "no-unexpected", func(s *story) {
			s.packet(pub, "publish", 9, flagged2(true, history.FlagForeign))
			s.toClient(sub, "publish", 9, flagged2(true, history.FlagForeign)).deliver(sub, -1, -1, history.FlagForeign)
		}, nobody, "producers sent some of the kind, but fewer than came"},
		{"under another topic, and never on the wire", "no-unexpected", func(s *story) { unheard(s.acked(q1, 0, 0), sub, q1, 0, history.FlagRenamed) }, nobody, "its PUBLISH is not there"},

		{"the client knows nothing of its session", "session-kept", func(s *story) {
			s.disconnect(sub).connect(sub, true)
			s.events[len(s.events)-1].Flags = 0
		}, sdk, "the broker had the session"},
		{"no CONNACK on the wire", "session-kept", func(s *story) {
			s.disconnect(sub)
			e := blank(history.KindConnect, sub)
			s.ret(e, s.call(e), history.OK)
		}, nobody, "its CONNACK is not there"},
		{"no CONNACK on the wire for a session that was there", "session-fresh", func(s *story) {
			e := blank(history.KindConnect, away)
			c := s.call(e)
			e.Flags = history.FlagSessionPresent
			s.ret(e, c, history.OK)
		}, nobody, "its CONNACK is not there"},
		{"granted as it was asked, and the client said less", "qos-granted", func(s *story) {
			s.granted(sub, 0)
			s.acked(q1, 0, 0).deliver(sub, q1, 0)
		}, sdk, "another QoS granted than the client said"},
		{"not on the wire", "qos-granted", func(s *story) {
			s.acked(q1, 0, 0)
			unheard(s, sub, q1, 0, 0)
			s.events[len(s.events)-1].QoS = 0
		}, nobody, "its PUBLISH is not there"},
		{"with DUP, which the library hides", "qos1-dup-flag", func(s *story) {
			s.acked(q1, 0, 0)
			id := s.wireSend(sub, q1, 0, 0)
			unheard(s, sub, q1, 0, 0)
			s.toClient(sub, "publish", id, s.of(q1, 0), flagged2(true, dup))
			unheard(s, sub, q1, 0, 0)
		}, sdk, "DUP on what the broker sent again"},
		{"again by its producer, with its packet id", "qos1-dup-flag", func(s *story) {
			e := s.publishing(q1, 0)
			c := s.call(e)
			s.packet(pub, "publish", 90, s.of(q1, 0)).packet(pub, "publish", 90, s.of(q1, 0), flagged2(true, dup)).toClient(pub, "puback", 90, s.of(q1, 0))
			s.ret(e, c, history.OK)
			id := s.wireSend(sub, q1, 0, 0)
			unheard(s, sub, q1, 0, 0)
			s.toClient(sub, "publish", id, s.of(q1, 0))
			unheard(s, sub, q1, 0, 0)
		}, nobody, "its producer sent it again, or it was sent in a new session"},

		{"never sent to a member", "shared-no-loss", func(s *story) { *s = *dealing().publish(q1, 4, history.OK).over(q1, 5) }, broker, "the broker acknowledged it, and never sent it to any member"},
		{"a member acknowledged it and kept it", "shared-no-loss", func(s *story) {
			*s = *dealing().publish(q1, 4, history.OK)
			s.wireTake(sub, q1, 4, s.wireSend(sub, q1, 4, 0))
			s.over(q1, 5)
		}, sdk, "the broker sent it, and that the client acknowledged it"},
		{"on its way to a member that did not answer", "shared-no-loss", func(s *story) {
			*s = *dealing().publish(q1, 4, history.OK)
			s.wireSend(sub, q1, 4, 0)
			s.over(q1, 5)
		}, nobody, "it was sent to a member and not acknowledged"},
		{"a member unsubscribed", "shared-no-loss", func(s *story) {
			*s = *dealing()
			s.packet(sub, "unsubscribe", 7).publish(q1, 4, history.OK).over(q1, 5)
		}, nobody, "a member was not subscribed, asked for a clean session or leaves one unanswered"},
		{"never sent for the members", "shared-no-loss", func(s *story) {
			*s = *dealing()
			e := s.publishing(q1, 4)
			s.ret(e, s.call(e), history.OK)
			s.over(q1, 5)
		}, sdk, "it was never sent to the broker"},
		{"refused for the members, and called acknowledged", "shared-no-loss", func(s *story) {
			*s = *dealing()
			e := s.publishing(q1, 4)
			c := s.call(e)
			s.wirePublish(q1, 4, false)
			s.ret(e, c, history.OK)
			s.over(q1, 5)
		}, sdk, "the broker never acknowledged it"},
		{"completed for the members in another session than it was taken in", "shared-no-loss", func(s *story) {
			*s = *dealing()
			e := s.publishing(q2, 0)
			c := s.call(e)
			of := s.of(q2, 0)
			s.packet(pub, "publish", 90, of).toClient(pub, "pubrec", 90, of).disconnect(pub).connect(pub, false).packet(pub, "pubrel", 90, of).toClient(pub, "pubcomp", 90, of)
			s.ret(e, c, history.OK)
			s.over(q2, 1).over(q1, 4)
		}, nobody, "PUBCOMP came in another session of its producer than PUBREC"},
		{"the broker sent it to both members", "shared-one-member", func(s *story) { *s = *dealing().deliver(sub, q1, 3).settled() }, broker, "its producer's client published it once, and the broker sent it to both"},
		{"the broker sent it to one member, and two have it", "shared-one-member", func(s *story) {
			*s = *dealing()
			unheard(s, sub, q1, 3, 0)
			s.settled()
		}, sdk, "the broker sent it to one of them"},
		{"a member has what its producer never sent", "shared-one-member", func(s *story) {
			*s = *dealing()
			e := s.publishing(q1, 4)
			s.ret(e, s.call(e), history.OK)
			s.deliver(sub, q1, 4).deliver(other, q1, 4).settled()
		}, nobody, "its producer's packets are not there"},
		{"published twice, and dealt to both members", "shared-one-member", func(s *story) {
			*s = *dealing()
			s.wirePublish(q1, 3, true)
			s.deliver(sub, q1, 3).settled()
		}, sdk, "its producer's client published it more than once"},

		{"a session that had expired", "session-expiry", func(s *story) { *s = *ending().disconnect(sub).wait(13*time.Second).connect(sub, true) }, broker, "a CONNACK with session present"},
		{"a session that had expired, by the client alone", "session-expiry", func(s *story) {
			*s = *ending().disconnect(sub).wait(13*time.Second).connect(sub, false)
			s.events[len(s.events)-1].Flags |= history.FlagSessionPresent
		}, sdk, "a CONNACK without session present"},

		{"no will", "will-once", func(s *story) {
			*s = *willing().dies().deliver(sub, testament, 0).willed(1, history.OK).leaves().ended(mortal)
		}, broker, "the connection ended without DISCONNECT, and that the broker never sent its will to the subscriber"},
		{"two wills", "will-once", func(s *story) {
			*s = *willing().dies().mourned(0).deliver(sub, testament, 0).willed(1, history.OK).leaves().ended(mortal)
		}, broker, "the broker sent it more than once"},
		{"two wills, one by the library", "will-once", func(s *story) {
			*s = *willing().dies().mourned(0)
			unheard(s, sub, testament, 0, 0).willed(1, history.OK).leaves().ended(mortal)
		}, sdk, "the broker sent it once"},
		{"a will after DISCONNECT", "will-once", func(s *story) { *s = *willing().leaves().deliver(sub, testament, 0).ended(mortal) }, broker, "the broker had its DISCONNECT, and sent the will"},
		{"a will after DISCONNECT, by the library", "will-once", func(s *story) {
			*s = *willing().leaves()
			unheard(s, sub, testament, 0, 0).ended(mortal)
		}, sdk, "the broker sent nothing of the kind"},
		{"a will that the library keeps", "will-once", func(s *story) {
			*s = *willing().dies().deliver(sub, testament, 0)
			s.wireTake(other, testament, 0, s.wireSend(other, testament, 0, 0))
			s.willed(1, history.OK).leaves().ended(mortal)
		}, sdk, "the broker sent it, and that the client acknowledged it"},
		{"a will for a client that unsubscribed", "will-once", func(s *story) {
			*s = *willing()
			s.packet(other, "unsubscribe", 7).dies().deliver(sub, testament, 0).willed(1, history.OK).leaves().ended(mortal)
		}, sdk, "the subscriber's client had unsubscribed"},
		{"a will that was sent and not acknowledged", "will-once", func(s *story) {
			*s = *willing().dies().deliver(sub, testament, 0)
			s.wireSend(other, testament, 0, 0)
			s.willed(1, history.OK).leaves().ended(mortal)
		}, nobody, "it was sent and not acknowledged, or the subscriber leaves another message unanswered"},

		{"let in, and the library says no", "clients-connect", func(s *story) { kept(s, func() { s.wireConnect(other, false) }) }, sdk, "a CONNACK that lets it in"},
		{"refused", "clients-connect", func(s *story) {
			kept(s, func() { s.toClient(other, "connack", 0, refused) })
		}, nobody, "a CONNACK that refuses it"},
		{"never answered", "clients-connect", func(s *story) { kept(s, func() {}) }, nobody, "its CONNECT, and no CONNACK"},

		{"a node acknowledges and delivers nothing", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0).wait(11 * time.Second)
		}, broker, "the broker acknowledged it, and never sent it to the subscriber"},
		{"a node acknowledges and delivers late", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).deliver(probe1, probed, 0).acked(probed2, 0, 0).wait(11*time.Second).deliver(probe2, probed, 0).deliver(probe2, probed2, 0)
		}, broker, "it was sent late, and that the client had answered all it was sent"},
		{"a node takes no publish", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).deliver(probe1, probed, 0).deliver(probe2, probed, 0).wait(11 * time.Second)
		}, nobody, "the node took no publish"},
		{"a node delivers nothing to a probe that answers nothing", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0).wireSend(probe2, probed, 0, 0)
			s.wait(11 * time.Second)
		}, nobody, "the probe left something unanswered"},
	}
}

// TestBlameOfAnomalies checks that each anomaly is blamed on the party that the wire
// shows.
func TestBlameOfAnomalies(t *testing.T) {
	for _, c := range blameStories() {
		t.Run(c.name, func(t *testing.T) {
			s := wired()
			s.join(sub).connect(pub, false)
			c.tell(s)
			if c.claim == "qos1-no-loss" {
				s.marker(q1, 4, history.OK).deliver(sub, q1, 4, history.FlagEnd)
			}
			s.finish()
			r := judgeStory(t, s, c.claim, "delivery-progress").Results[0] // which notes what is late
			if r.Status != verdict.Fail {
				t.Fatalf("%s: %s %v", r.Status, r.Summary, r.Reasons)
			}
			if a := r.Anomalies[0]; a.Blame != c.want || a.Blame != "" && (wireWords(a.Text) != c.text || !slices.IsSorted(a.Events)) {
				t.Errorf("blame %q, want %q for %q: %s", a.Blame, c.want, c.text, a.Text)
			}
			// Without the wire nobody is blamed.
			s.run.Wire = false
			for _, a := range judgeStory(t, s, c.claim).Results[0].Anomalies {
				if a.Blame != "" {
					t.Errorf("blame %q without the wire", a.Blame)
				}
			}
		})
	}
}

// A copy that was cut excuses the order of its repetition, with DUP or without it.
func TestLossExcusesOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		flag history.Flags
	}{{"with DUP", dup}, {"without DUP", 0}} {
		s := wired()
		s.join(sub).connect(pub, false).acked(q1, 0, 2)
		id := s.wireSend(sub, q1, 0, 0)
		s.disconnect(sub).connect(sub, true).deliver(sub, q1, 1)
		s.toClient(sub, "publish", id, s.of(q1, 0), flagged2(true, c.flag))
		e := blank(history.KindDeliver, sub)
		e.Stream, e.Seq, e.QoS, e.Flags = q1, 0, 1, c.flag
		s.add(e)
		s.packet(sub, "puback", id, s.of(q1, 0)).deliver(sub, q1, 2)
		report := judgeStory(t, s.finish(), "order-per-stream", "broker-resend-dup")
		if order, flag := report.Results[0], report.Results[1]; order.Status != verdict.Pass || (flag.Status == verdict.Fail) != (c.flag == 0) {
			t.Errorf("%s: order %s: %s; DUP %s: %s", c.name, order.Status, order.Summary, flag.Status, flag.Summary)
		}
	}
}

// Nobody is accused where the packets of the clients were not recorded.
func TestUnheardIsNotAccused(t *testing.T) {
	s := newStory()
	s.join(sub).connect(pub, false).acked(q1, 0, 3).delivered(sub, q1, 1, 3).marker(q1, 4, history.OK).deliver(sub, q1, 4, history.FlagEnd)
	s.run.Wire = true
	report := judgeStory(t, s.finish(), "qos1-no-loss")
	if r := report.Results[0]; r.Status != verdict.Fail || r.Anomalies[0].Blame != "" {
		t.Errorf("%s %+v", r.Status, r.Anomalies)
	}
	for _, r := range report.Results[1:] {
		if r.Status == verdict.Fail {
			t.Errorf("%s: %s", r.Claim.Name, r.Summary)
		}
	}
}

// clean connects a client that asks for a clean session, against what the run
// asked of it.
func (s *story) clean(p int32) *story {
	s.tables.Processes[p].Clean = true
	s.connect(p, false)
	s.tables.Processes[p].Clean = false
	return s
}
