package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// TestBlameOfAnomalies checks that each anomaly is blamed on the party that the wire
// shows.
func TestBlameOfAnomalies(t *testing.T) {
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
	releasedTo := func(s *story, st int32) *story { // a message to its subscriber, until its PUBREL
		return s.toClient(sub, "publish", 90, s.of(st, 0)).packet(sub, "pubrec", 90, s.of(st, 0)).toClient(sub, "pubrel", 90, s.of(st, 0))
	}
	for _, c := range []struct {
		name, claim string
		tell        func(s *story)
		want        verdict.Party
		text        string
	}{
		{"never sent on", "qos1-no-loss", func(s *story) { s.acked(q1, 0, 3).delivered(sub, q1, 1, 3) }, broker, "never sent it to the subscriber"},
		{"acknowledged by the client", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3)
			s.wireTake(sub, q1, 0, s.wireSend(sub, q1, 0, 0))
			s.delivered(sub, q1, 1, 3)
		}, sdk, "the client acknowledged it"},
		{"sent, and not acknowledged", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.delivered(sub, q1, 1, 3)
		}, nobody, ""},
		{"sent, and not again when the session went on", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true).delivered(sub, q1, 1, 3)
		}, broker, "not again when the session went on"},
		{"sent, and then the session was gone", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, false).subscribe(sub).delivered(sub, q1, 1, 3)
		}, nobody, ""},
		{"sent, and then the client gave its session up", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).clean(sub).subscribe(sub).delivered(sub, q1, 1, 3)
		}, sdk, "asked for a clean session before it acknowledged it"},
		{"sent, and not again to a client that keeps the broker waiting", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true).delivered(sub, q1, 1, 2).wireSend(sub, q1, 3, 0)
			unheard(s, sub, q1, 3, 0)
		}, nobody, ""},
		{"completed in another session than it was taken in", "qos2-no-loss", func(s *story) {
			e := s.publishing(q2, 0)
			c := s.call(e)
			of := s.of(q2, 0)
			s.packet(pub, "publish", 90, of).toClient(pub, "pubrec", 90, of).disconnect(pub).connect(pub, false).packet(pub, "pubrel", 90, of).toClient(pub, "pubcomp", 90, of)
			s.ret(e, c, history.OK)
			s.marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, nobody, ""},
		{"released again when the session went on, and not answered", "qos2-no-loss", func(s *story) {
			s.acked(q2, 0, 0)
			releasedTo(s, q2).disconnect(sub).connect(sub, true).toClient(sub, "pubrel", 90, s.of(q2, 0)).marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, nobody, ""},
		{"not released again when the session went on", "qos2-no-loss", func(s *story) {
			s.acked(q2, 0, 0)
			releasedTo(s, q2).disconnect(sub).connect(sub, true).marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, broker, "not again when the session went on"},
		{"held back for a message that is released and not answered", "qos1-no-loss", func(s *story) {
			s.acked(q2, 0, 0)
			releasedTo(s, q2).disconnect(sub).connect(sub, true).toClient(sub, "pubrel", 90, s.of(q2, 0)).acked(q1, 0, 3)
		}, nobody, ""},
		{"never sent to the broker", "qos1-no-loss", func(s *story) {
			e := s.publishing(q1, 0)
			s.ret(e, s.call(e), history.OK)
			s.acked(q1, 1, 3).delivered(sub, q1, 1, 3)
		}, sdk, "never sent to the broker"},
		{"never acknowledged by the broker", "qos1-no-loss", func(s *story) {
			e := s.publishing(q1, 0)
			c := s.call(e)
			s.wirePublish(q1, 0, false)
			s.ret(e, c, history.OK)
			s.acked(q1, 1, 3).delivered(sub, q1, 1, 3)
		}, sdk, "never acknowledged it"},
		{"the broker forgot the session", "qos1-no-loss", func(s *story) {
			s.disconnect(sub).acked(q1, 0, 0).join(sub).acked(q1, 1, 3).delivered(sub, q1, 1, 3)
		}, broker, "never sent it"},
		{"the client gave its session up with what was in it", "qos1-no-loss", func(s *story) {
			s.disconnect(sub).acked(q1, 0, 3)
			s.clean(sub).subscribe(sub)
		}, sdk, "then asked for a clean session"},
		{"the client gave its session up", "qos1-no-loss", func(s *story) {
			s.disconnect(sub)
			s.clean(sub).acked(q1, 0, 3).connect(sub, true)
		}, sdk, "clean session"},

		{"refused, and called acknowledged", "qos1-no-loss", func(s *story) {
			e := s.publishing(q1, 0)
			c := s.call(e)
			s.packet(pub, "publish", 90, s.of(q1, 0)).toClient(pub, "puback", 90, s.of(q1, 0), refused)
			s.ret(e, c, history.OK)
			s.acked(q1, 1, 3).delivered(sub, q1, 1, 3)
		}, sdk, "never acknowledged it"},
		{"the client unsubscribed", "qos1-no-loss", func(s *story) { s.packet(sub, "unsubscribe", 7).acked(q1, 0, 3) }, sdk, "had unsubscribed"},
		{"the client answers nothing, and the broker may wait for it", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			unheard(s, sub, q1, 0, 0)
		}, nobody, ""},

		{"the broker publishes it twice", "qos2-exactly-once", func(s *story) { s.acked(q2, 0, 1).delivered(sub, q2, 0, 1).deliver(sub, q2, 0) }, broker, "the broker sent it to the subscriber more than once"},
		{"the application has it twice", "qos2-exactly-once", func(s *story) {
			s.acked(q2, 0, 1).delivered(sub, q2, 0, 1)
			unheard(s, sub, q2, 0, 0)
		}, sdk, "in one exchange"},
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
		}, nobody, ""},

		{"sent in time", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			unheard(s.wait(11*time.Second), sub, q1, 0, 0)
		}, sdk, "sent it in time"},
		{"sent in time, and again late on the next connection", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true).wait(11*time.Second).deliver(sub, q1, 0, dup).again(3)
		}, broker, "sent it again so late"},
		{"sent in time, and again at once on the next connection", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			s.wait(11*time.Second).disconnect(sub).connect(sub, true).deliver(sub, q1, 0, dup).again(3)
		}, sdk, "sent it in time"},
		{"sent in time, and again on the next connection but one", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true).wait(11*time.Second).disconnect(sub).connect(sub, true).deliver(sub, q1, 0, dup)
		}, nobody, ""},
		{"acknowledged, and sent again on a later connection", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0)
			s.wireTake(sub, q1, 0, s.wireSend(sub, q1, 0, 0))
			s.wait(11*time.Second).disconnect(sub).connect(sub, true).deliver(sub, q1, 0, dup)
		}, sdk, "sent it in time"},
		{"sent and taken in time, and released late", "delivery-progress", func(s *story) {
			s.acked(q2, 0, 0)
			s.toClient(sub, "publish", 90, s.of(q2, 0)).packet(sub, "pubrec", 90, s.of(q2, 0)).wait(11*time.Second).toClient(sub, "pubrel", 90, s.of(q2, 0))
			unheard(s, sub, q2, 0, 0)
		}, broker, "sent its PUBREL so late"},
		{"sent in time, and taken late", "delivery-progress", func(s *story) {
			s.acked(q2, 0, 0)
			s.toClient(sub, "publish", 90, s.of(q2, 0)).wait(11*time.Second).packet(sub, "pubrec", 90, s.of(q2, 0)).toClient(sub, "pubrel", 90, s.of(q2, 0))
			unheard(s, sub, q2, 0, 0)
		}, nobody, ""},

		{"sent behind", "order-per-stream", func(s *story) { s.acked(q1, 0, 3).deliver(sub, q1, 1).deliver(sub, q1, 0).delivered(sub, q1, 2, 3) }, broker, "sent it behind"},
		{"sent before", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1)
			s.wireSend(sub, q1, 0, 0)
			s.wireSend(sub, q1, 1, 0)
			unheard(s, sub, q1, 1, 0)
			unheard(s, sub, q1, 0, 0)
		}, sdk, "sent it before"},

		{"sent before, and released behind", "order-per-stream", func(s *story) { releasing(s, 0, 1) }, broker, "that the broker had PUBREC for it before, and sent its PUBREL behind"},
		{"sent before, and taken and released behind", "order-per-stream", func(s *story) { releasing(s, 1, 0) }, nobody, ""},
		{"sent before, and released behind during a fault", "order-per-stream", func(s *story) {
			s.fault(time.Hour)
			releasing(s, 0, 1)
		}, nobody, ""},
		{"taken for another message, by its packet id", "order-per-stream", func(s *story) {
			s.acked(q2, 0, 1)
			for seq := range int64(2) {
				s.toClient(sub, "publish", 1, s.of(q2, seq))
			}
			for seq := int64(1); seq >= 0; seq-- {
				s.packet(sub, "pubrec", 1, s.of(q2, seq)).toClient(sub, "pubrel", 1, s.of(q2, seq))
				unheard(s, sub, q2, seq, 0)
			}
		}, nobody, ""},
		{"QoS 2 sent behind", "order-per-stream", func(s *story) { s.acked(q2, 0, 1).deliver(sub, q2, 1).deliver(sub, q2, 0) }, broker, "sent it behind"},
		{"QoS 2 taken and sent behind", "order-per-stream", func(s *story) {
			c, d := s.call(s.publishing(q2, 0)), s.call(s.publishing(q2, 1))
			inTurn(s, "publish", false, 0, 1)
			inTurn(s, "pubrec", true, 1, 0)
			inTurn(s, "pubrel", false, 1, 0)
			inTurn(s, "pubcomp", true, 1, 0)
			s.ret(s.publishing(q2, 1), d, history.OK)
			s.ret(s.publishing(q2, 0), c, history.OK)
			s.deliver(sub, q2, 1).deliver(sub, q2, 0)
		}, broker, "sent it behind"},
		{"QoS 2 released behind by its producer", "order-per-stream", func(s *story) {
			c, d := s.call(s.publishing(q2, 0)), s.call(s.publishing(q2, 1))
			inTurn(s, "publish", false, 0, 1)
			inTurn(s, "pubrec", true, 0, 1)
			inTurn(s, "pubrel", false, 1, 0)
			inTurn(s, "pubcomp", true, 1, 0)
			s.ret(s.publishing(q2, 1), d, history.OK)
			s.ret(s.publishing(q2, 0), c, history.OK)
			s.deliver(sub, q2, 1).deliver(sub, q2, 0)
		}, nobody, ""},
		{"sent before and again, on one connection", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1)
			id := s.wireSend(sub, q1, 0, 0)
			s.deliver(sub, q1, 1)
			s.toClient(sub, "publish", id, s.of(q1, 0), flagged2(true, dup))
			unheard(s, sub, q1, 0, 0)
		}, sdk, "sent it before"},
		{"both sent in order, and again behind one another", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1)
			s.wireSend(sub, q1, 0, 0)
			s.wireSend(sub, q1, 1, 0)
			s.disconnect(sub).connect(sub, true).deliver(sub, q1, 1).deliver(sub, q1, 0)
		}, nobody, ""},
		{"what comes behind is a repetition", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1).wireSend(sub, q1, 1, 0)
			unheard(s, sub, q1, 1, 0)
			s.toClient(sub, "publish", 90, s.of(q1, 0), flagged2(true, dup))
			unheard(s, sub, q1, 0, 0)
		}, nobody, ""},

		{"no such message on the wire", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0); unheard(s, sub, q1, 9, 0) }, sdk, "no such message"},
		{"a message of the broker's own", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0).deliver(sub, q1, 9) }, broker, "the broker sent it"},
		{"a message of the broker's own, far out", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0).deliver(sub, q1, 1<<30) }, broker, "the broker sent it"},
		{"with RETAIN", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0, history.FlagRetain) }, broker, "sent it with RETAIN"},
		{"with RETAIN behind the wire", "no-unexpected", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			unheard(s, sub, q1, 0, history.FlagRetain)
		}, sdk, "without RETAIN"},
		{"under another topic", "no-unexpected", func(s *story) {
			s.acked(q1, 0, 0).toClient(sub, "publish", 9, s.of(q1, 0), flagged2(true, history.FlagRenamed))
			unheard(s, sub, q1, 0, 0)
		}, broker, "that PUBLISH"},
		{"under another topic, delivered so", "no-unexpected", func(s *story) {
			s.acked(q1, 0, 0).deliver(sub, q1, 0, history.FlagRenamed)
		}, broker, "that PUBLISH"},
		{"under another topic behind the wire", "no-unexpected", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			unheard(s, sub, q1, 0, history.FlagRenamed)
		}, sdk, "under the topic of its stream"},
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
		{"no value sent", "retained-register", func(s *story) { read(s.acked(reg, 0, 1).connect(fleet, false), -1, func() {}) }, broker, "sent no retained message"},
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
		}, nobody, ""},
		{"a write that was never acknowledged", "retained-register", func(s *story) {
			s.acked(reg, 0, 0).connect(fleet, false)
			s.ret(s.publishing(reg, 1), s.call(s.publishing(reg, 1)), history.OK)
			read(s, 0, func() { s.wireSend(fleet, reg, 0, history.FlagRetain) })
		}, nobody, ""},

		{"damaged on the wire", "no-corruption", func(s *story) { s.acked(q1, 0, 0).deliver(sub, -1, -1, history.FlagCorrupt) }, broker, "sent it so"},
		{"damaged behind the wire", "no-corruption", func(s *story) { s.acked(q1, 0, 0); unheard(s, sub, -1, -1, history.FlagCorrupt) }, sdk, "no such payload"},
		{"damaged by its producer", "no-corruption", func(s *story) {
			s.packet(pub, "publish", 9, flagged2(true, history.FlagCorrupt)).deliver(sub, -1, -1, history.FlagCorrupt)
		}, sdk, "on its way to the broker"},

		{"some damaged by their producer", "no-corruption", func(s *story) {
			s.packet(pub, "publish", 9, flagged2(true, history.FlagCorrupt))
			s.toClient(sub, "publish", 9, flagged2(true, history.FlagCorrupt)).deliver(sub, -1, -1, history.FlagCorrupt)
		}, nobody, ""},

		{"no session for a client that then gave up, and one for the next", "session-kept", func(s *story) {
			e := blank(history.KindConnect, sub)
			c := s.disconnect(sub).call(e)
			s.wireConnect(sub, false)
			s.wireConnect(sub, true)
			s.ret(e, c, history.OK)
		}, broker, "without session present"},
		{"the broker has no session", "session-kept", func(s *story) { s.disconnect(sub).connect(sub, false) }, broker, "without session present"},
		{"the broker feigns a session", "session-fresh", func(s *story) { s.connect(away, true) }, broker, "a CONNACK with session present"},
		{"the client feigns one", "session-fresh", func(s *story) {
			e := blank(history.KindConnect, away)
			c := s.call(e)
			s.wireConnect(away, false)
			e.Flags = history.FlagSessionPresent
			s.ret(e, c, history.OK)
		}, sdk, "a CONNACK without session present"},
		{"the client asks for none", "session-kept", func(s *story) { s.disconnect(sub).clean(sub) }, sdk, "clean session"},
		{"more than was granted", "qos-granted", func(s *story) {
			for i, e := range s.events {
				if e.Text == "suback" && e.Process == sub {
					s.events[i].Reason = 0
				}
			}
			s.granted(sub, 0)
			s.acked(q1, 0, 0).deliver(sub, q1, 0)
		}, broker, "that SUBACK"},
		{"less than was granted", "qos-granted", func(s *story) {
			s.acked(q1, 0, 0).toClient(sub, "publish", 0, s.of(q1, 0), func(e *history.Event) { e.QoS = 0 })
			e := blank(history.KindDeliver, sub)
			e.Stream, e.Seq = q1, 0
			s.add(e)
		}, broker, "that PUBLISH"},
		{"not as the broker sent it", "qos-granted", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			e := blank(history.KindDeliver, sub)
			e.Stream, e.Seq = q1, 0
			s.add(e)
		}, sdk, "with another QoS"},
		{"again without DUP", "qos1-dup-flag", func(s *story) {
			s.acked(q1, 0, 0)
			id := s.wireSend(sub, q1, 0, 0)
			unheard(s, sub, q1, 0, 0)
			s.toClient(sub, "publish", id, s.of(q1, 0))
			unheard(s, sub, q1, 0, 0)
		}, broker, "without DUP"},
		{"published twice", "qos1-dup-flag", func(s *story) {
			s.acked(q1, 0, 0).wirePublish(q1, 0, true)
			s.deliver(sub, q1, 0).deliver(sub, q1, 0)
		}, sdk, "its producer's client published it more than once"},
		{"again by the client", "qos1-dup-flag", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0); unheard(s, sub, q1, 0, 0) }, sdk, "sent it once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := wired()
			s.join(sub).connect(pub, false)
			c.tell(s)
			if c.claim == "qos1-no-loss" {
				s.marker(q1, 4, history.OK).deliver(sub, q1, 4, history.FlagEnd)
			}
			s.finish()
			r := judgeStory(t, s, c.claim).Results[0]
			if r.Status != verdict.Fail {
				t.Fatalf("%s: %s %v", r.Status, r.Summary, r.Reasons)
			}
			if a := r.Anomalies[0]; a.Blame != c.want || !strings.Contains(a.Text, c.text) || c.want != nobody && !slices.IsSorted(a.Events) {
				t.Errorf("blame %q, want %q: %s", a.Blame, c.want, a.Text)
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
