package checker

import (
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// lossStories have messages that were lost, and nodes that deliver none.
func lossStories() []blameStory {
	const sdk, broker, nobody = verdict.SDK, verdict.Broker, verdict.Party("")
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
		}, nobody, "it or its PUBREL was sent on the client's last connection, and not acknowledged there"},
		{"sent, and not again when the session went on", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true).delivered(sub, q1, 1, 3)
		}, broker, "the broker sent it on a connection that ended, and not again when the session went on"},
		{"sent, and then the session was gone", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, false).subscribe(sub).delivered(sub, q1, 1, 3)
		}, broker, "the broker sent it, and later had no session when the client asked for it"},
		{"sent, and then the session was gone, before the client gave it up", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, false).disconnect(sub).clean(sub).subscribe(sub).delivered(sub, q1, 1, 3)
		}, broker, "the broker sent it, and later had no session when the client asked for it"},
		{"sent in a session that its client ended with the connection", "qos1-no-loss", func(s *story) {
			s.disconnect(sub).clean(sub).subscribe(sub).acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, false).subscribe(sub).delivered(sub, q1, 1, 3)
		}, nobody, "it was sent and not acknowledged, and the client was not in that session at the end"},
		{"taken, and then the session was gone with what the client may keep in it", "qos2-no-loss", func(s *story) {
			s.acked(q2, 0, 0)
			s.toClient(sub, "publish", 90, s.of(q2, 0)).packet(sub, "pubrec", 90, s.of(q2, 0))
			s.disconnect(sub).connect(sub, false).subscribe(sub).acked(q2, 1, 1).delivered(sub, q2, 1, 1)
			s.marker(q2, 2, history.OK).deliver(sub, q2, 2, history.FlagEnd)
		}, nobody, "it was sent and not acknowledged, and the client was not in that session at the end"},
		{"sent, and the client gave its session up without being let in", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub)
			s.wire(sub).conns++
			s.packet(sub, "connect", 0, func(e *history.Event) { e.Reason = 1 })
			s.connect(sub, false).subscribe(sub).delivered(sub, q1, 1, 3)
		}, nobody, "it was sent and not acknowledged, and the client was not in that session at the end"},
		{"refused by the client, and then the session was gone", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3)
			s.packet(sub, "puback", s.wireSend(sub, q1, 0, 0), s.of(q1, 0), refused)
			s.disconnect(sub).connect(sub, false).subscribe(sub).delivered(sub, q1, 1, 3)
		}, nobody, "the client refused it"},
		{"refused by the client, whose session went on", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3)
			s.packet(sub, "puback", s.wireSend(sub, q1, 0, 0), s.of(q1, 0), refused)
			s.disconnect(sub).connect(sub, true).delivered(sub, q1, 1, 3)
		}, nobody, "the client refused it"},
		{"sent, and the client was not let in again", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true).delivered(sub, q1, 1, 3)
			s.wire(sub).conns++
			s.packet(sub, "connect", 0)
		}, nobody, "it was sent and not acknowledged, and the client was not in that session at the end"},
		{"acknowledged in the session after it was sent", "qos1-no-loss", func(s *story) {
			id := s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, false).subscribe(sub).wireTake(sub, q1, 0, id)
			s.delivered(sub, q1, 1, 3)
		}, nobody, "it was acknowledged in another session than it was sent in"},
		{"sent, and then the client gave its session up", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).clean(sub).subscribe(sub).delivered(sub, q1, 1, 3)
		}, sdk, "the broker sent it, and that the subscriber's client asked for a clean session before it acknowledged it"},
		{"sent, and not again to a client that keeps the broker waiting", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true).delivered(sub, q1, 1, 2).wireSend(sub, q1, 3, 0)
			s.unheard(sub, q1, 3, 0)
		}, nobody, "by its packets the client leaves another message unanswered to the end"},
		{"held back for a message that is released and not answered", "qos1-no-loss", func(s *story) {
			s.acked(q2, 0, 0)
			releasedTo(s, q2).disconnect(sub).connect(sub, true).toClient(sub, "pubrel", 90, s.of(q2, 0)).acked(q1, 0, 3)
		}, nobody, "by its packets the client leaves another message unanswered to the end"},
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
		{"a SUBACK on the connection before does not subscribe", "qos1-no-loss", func(s *story) {
			s.disconnect(sub)
			s.clean(sub).toClient(sub, "suback", 9, onConn(0)).acked(q1, 0, 3).connect(sub, true)
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
			s.unheard(sub, q1, 0, 0)
		}, nobody, "by its packets the client leaves another message unanswered to the end"},
		{"damaged, and so never sent", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3).deliver(sub, -1, -1, history.FlagCorrupt).delivered(sub, q1, 1, 3)
		}, broker, "the broker acknowledged it, and never sent it to the subscriber undamaged"},
		{"the broker forgot a session that its client did not subscribe in again", "qos1-no-loss", func(s *story) {
			s.disconnect(sub).connect(sub, false).acked(q1, 0, 3)
		}, broker, "the broker had forgotten the subscriber's session"},
		{"another message has its packet id", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 3)
			s.twins(q1, 0, 1).unheard(sub, q1, 1, 0).delivered(sub, q1, 2, 3)
		}, nobody, "another PUBLISH had its packet id at the same time"},

		{"completed in another session than it was taken in", "qos2-no-loss", func(s *story) {
			e := s.publishing(q2, 0)
			c := s.call(e)
			of := s.of(q2, 0)
			s.packet(pub, "publish", 90, of).toClient(pub, "pubrec", 90, of).disconnect(pub).connect(pub, false).packet(pub, "pubrel", 90, of).toClient(pub, "pubcomp", 90, of)
			s.ret(e, c, history.OK)
			s.marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, nobody, "it was acknowledged in another session of its producer than it was sent in"},
		{"released again when the session went on, and not answered", "qos2-no-loss", func(s *story) {
			s.acked(q2, 0, 0)
			releasedTo(s, q2).disconnect(sub).connect(sub, true).toClient(sub, "pubrel", 90, s.of(q2, 0)).marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, nobody, "it or its PUBREL was sent on the client's last connection, and not acknowledged there"},
		{"never released", "qos2-no-loss", func(s *story) {
			s.acked(q2, 0, 0)
			s.toClient(sub, "publish", 90, s.of(q2, 0)).packet(sub, "pubrec", 90, s.of(q2, 0)).disconnect(sub).connect(sub, true).marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, broker, "the broker never answered the PUBREC of the client by PUBREL"},
		{"not released again when the session went on", "qos2-no-loss", func(s *story) {
			s.acked(q2, 0, 0)
			releasedTo(s, q2).disconnect(sub).connect(sub, true).marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, broker, "the broker sent it on a connection that ended, and not again when the session went on"},

		{"a node acknowledges and delivers nothing", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0).wait(11 * time.Second)
		}, broker, "the broker acknowledged it, and never sent it to the subscriber"},
		{"a node acknowledges and delivers late", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).deliver(probe1, probed, 0).acked(probed2, 0, 0).wait(11*time.Second).deliver(probe2, probed, 0).deliver(probe2, probed2, 0)
		}, broker, "it was sent late, and that the client had answered all it was sent"},
		{"a node takes no publish", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).deliver(probe1, probed, 0).deliver(probe2, probed, 0).wait(11 * time.Second)
		}, nobody, ""},
		{"a node is started again and ends by itself", "recovery", func(s *story) {
			s.down("node-2").heal().join(probe1, probe2).acked(probed, 0, 0).deliver(probe1, probed, 0).wait(11 * time.Second)
		}, broker, "it ended by itself after it was started again"},
		{"a node is started again and killed", "recovery", func(s *story) {
			s.down("node-2").heal().join(probe1).acked(probed, 0, 0).deliver(probe1, probed, 0).wait(11 * time.Second)
			s.landings[0].Down["node-2"] = history.StateKilled
		}, nobody, ""},
		{"a node delivers nothing to a probe that answers nothing", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0).wireSend(probe2, probed, 0, 0)
			s.wait(11 * time.Second)
		}, nobody, "the probe left something unanswered"},
	}
}

// delayStories have messages that came late.
func delayStories() []blameStory {
	const sdk, broker, nobody = verdict.SDK, verdict.Broker, verdict.Party("")
	return []blameStory{
		{"late to a client that left what was sent again unanswered", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			s.disconnect(sub).connect(sub, true)
			id := s.wireSend(sub, q1, 0, dup)
			s.acked(q1, 1, 1).wait(11*time.Second).wireTake(sub, q1, 0, id)
			s.deliver(sub, q1, 1)
		}, nobody, "the client had left something unanswered, or had connected in the meantime"},
		{"sent in time", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			s.wait(11*time.Second).unheard(sub, q1, 0, 0)
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
		}, nobody, "the client had left something unanswered, or had connected in the meantime"},
		{"acknowledged, and sent again on a later connection", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0)
			s.wireTake(sub, q1, 0, s.wireSend(sub, q1, 0, 0))
			s.wait(11*time.Second).disconnect(sub).connect(sub, true).deliver(sub, q1, 0, dup)
		}, sdk, "the broker sent it in time"},
		{"sent and taken in time, and released late", "delivery-progress", func(s *story) {
			s.acked(q2, 0, 0)
			s.toClient(sub, "publish", 90, s.of(q2, 0)).packet(sub, "pubrec", 90, s.of(q2, 0)).wait(11*time.Second).toClient(sub, "pubrel", 90, s.of(q2, 0))
			s.unheard(sub, q2, 0, 0)
		}, broker, "the broker sent its PUBREL so late, to a client that had answered all it was sent"},
		{"sent in time, and taken late", "delivery-progress", func(s *story) {
			s.acked(q2, 0, 0)
			s.toClient(sub, "publish", 90, s.of(q2, 0)).wait(11*time.Second).packet(sub, "pubrec", 90, s.of(q2, 0)).toClient(sub, "pubrel", 90, s.of(q2, 0))
			s.unheard(sub, q2, 0, 0)
		}, nobody, "the client had left something unanswered, or had connected in the meantime"},
		{"late, and the packets have none", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 0).wait(11*time.Second).unheard(sub, q1, 0, 0)
		}, nobody, "its PUBLISH is not there"},
		{"sent late", "delivery-progress", func(s *story) { s.acked(q1, 0, 0).wait(11*time.Second).deliver(sub, q1, 0) }, broker, "the broker sent it so late, to a client that had answered all it was sent"},
	}
}

// repetitionStories have messages that came more than once.
func repetitionStories() []blameStory {
	const sdk, broker, nobody = verdict.SDK, verdict.Broker, verdict.Party("")
	return []blameStory{
		{"the broker publishes it twice", "qos2-exactly-once", func(s *story) { s.acked(q2, 0, 1).delivered(sub, q2, 0, 1).deliver(sub, q2, 0) }, broker, "its producer's client published it once, and the broker sent it to the subscriber more than once"},
		{"the application has it twice", "qos2-exactly-once", func(s *story) {
			s.acked(q2, 0, 1).delivered(sub, q2, 0, 1)
			s.unheard(sub, q2, 0, 0)
		}, sdk, "the broker sent it in one exchange, which the library passed on more than once"},
		{"the producer sends it twice", "qos2-exactly-once", func(s *story) {
			s.tables.Processes[pub].Cannot = []string{"exactly_once"}
			s.acked(q2, 0, 1).wirePublish(q2, 0, true)
			s.delivered(sub, q2, 0, 1).deliver(sub, q2, 0)
		}, sdk, "its producer's client published it more than once"},
		{"again in a new session", "qos2-exactly-once", func(s *story) {
			s.acked(q2, 0, 1).deliver(sub, q2, 0)
			s.disconnect(sub).connect(sub, false).subscribe(sub).deliver(sub, q2, 0)
		}, nobody, "it was sent again in a new session"},

		{"twice, and the packets have none", "qos2-exactly-once", func(s *story) {
			s.acked(q2, 0, 0).unheard(sub, q2, 0, 0).unheard(sub, q2, 0, 0)
		}, nobody, "its PUBLISH is not there"},
		{"twice, and another message has its packet id", "qos2-exactly-once", func(s *story) {
			s.acked(q2, 0, 1)
			s.twins(q2, 0, 1).unheard(sub, q2, 0, 0).unheard(sub, q2, 0, 0)
		}, nobody, "another PUBLISH had its packet id at the same time"},

		{"QoS 0 twice by the broker", "qos0-at-most-once", func(s *story) { s.acked(q0, 0, 0).deliver(sub, q0, 0).deliver(sub, q0, 0) }, broker, "its producer's client sent it once, and the broker more than once"},
		{"QoS 0 twice by the library", "qos0-at-most-once", func(s *story) { s.acked(q0, 0, 0).deliver(sub, q0, 0).unheard(sub, q0, 0, 0) }, sdk, "the broker sent it once"},
		{"QoS 0 twice by its producer", "qos0-at-most-once", func(s *story) {
			s.acked(q0, 0, 0).wirePublish(q0, 0, true)
			s.deliver(sub, q0, 0).deliver(sub, q0, 0)
		}, sdk, "its producer's client sent it more than once"},
		{"QoS 0 twice, and the packets have none", "qos0-at-most-once", func(s *story) {
			s.acked(q0, 0, 0).unheard(sub, q0, 0, 0).unheard(sub, q0, 0, 0)
		}, nobody, "its PUBLISH is not there"},

		{"again without DUP", "qos1-dup-flag", func(s *story) {
			s.acked(q1, 0, 0)
			id := s.wireSend(sub, q1, 0, 0)
			s.unheard(sub, q1, 0, 0)
			s.toClient(sub, "publish", id, s.of(q1, 0))
			s.unheard(sub, q1, 0, 0)
		}, broker, "the broker sent it again without DUP"},
		{"published twice", "qos1-dup-flag", func(s *story) {
			s.acked(q1, 0, 0).wirePublish(q1, 0, true)
			s.deliver(sub, q1, 0).deliver(sub, q1, 0)
		}, sdk, "its producer's client published it more than once"},
		{"again by the client", "qos1-dup-flag", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0); s.unheard(sub, q1, 0, 0) }, sdk, "the broker sent it once"},
		{"with DUP, which the library hides", "qos1-dup-flag", func(s *story) {
			s.acked(q1, 0, 0)
			id := s.wireSend(sub, q1, 0, 0)
			s.unheard(sub, q1, 0, 0)
			s.toClient(sub, "publish", id, s.of(q1, 0), flagged2(true, dup))
			s.unheard(sub, q1, 0, 0)
		}, sdk, "DUP on what the broker sent again"},
		{"again by its producer, with its packet id", "qos1-dup-flag", func(s *story) {
			e := s.publishing(q1, 0)
			c := s.call(e)
			s.packet(pub, "publish", 90, s.of(q1, 0)).packet(pub, "publish", 90, s.of(q1, 0), flagged2(true, dup)).toClient(pub, "puback", 90, s.of(q1, 0))
			s.ret(e, c, history.OK)
			id := s.wireSend(sub, q1, 0, 0)
			s.unheard(sub, q1, 0, 0)
			s.toClient(sub, "publish", id, s.of(q1, 0))
			s.unheard(sub, q1, 0, 0)
		}, nobody, "its producer sent it again, or it was sent in a new session"},
		{"again, and the packets have none", "qos1-dup-flag", func(s *story) {
			s.acked(q1, 0, 0).unheard(sub, q1, 0, 0).unheard(sub, q1, 0, 0)
		}, nobody, "its PUBLISH is not there"},
		{"again, and another message has its packet id", "qos1-dup-flag", func(s *story) {
			s.acked(q1, 0, 1)
			s.twins(q1, 0, 1).unheard(sub, q1, 0, 0).unheard(sub, q1, 0, 0)
		}, nobody, "another PUBLISH had its packet id at the same time"},
	}
}

// orderStories have messages out of order.
func orderStories() []blameStory {
	const sdk, broker, nobody = verdict.SDK, verdict.Broker, verdict.Party("")
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
			s.unheard(sub, q2, seq, 0)
		}
	}
	return []blameStory{
		{"sent behind", "order-per-stream", func(s *story) { s.acked(q1, 0, 3).deliver(sub, q1, 1).deliver(sub, q1, 0).delivered(sub, q1, 2, 3) }, broker, "the broker had it before, and sent it behind"},
		{"sent before", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1)
			s.wireSend(sub, q1, 0, 0)
			s.wireSend(sub, q1, 1, 0)
			s.unheard(sub, q1, 1, 0)
			s.unheard(sub, q1, 0, 0)
		}, sdk, "the broker sent it before"},
		{"sent before, and released behind", "order-per-stream", func(s *story) { releasing(s, 0, 1) }, broker, "the broker had PUBREC for it before, and sent its PUBREL behind"},
		{"sent before, and taken and released behind", "order-per-stream", func(s *story) { releasing(s, 1, 0) }, nobody, "its PUBREL came behind the other's or never, and its PUBREC, a repetition, a fault or a new connection may be why"},
		{"sent before, and released behind during a fault", "order-per-stream", func(s *story) {
			s.fault(time.Hour)
			releasing(s, 0, 1)
		}, nobody, "its PUBREL came behind the other's or never, and its PUBREC, a repetition, a fault or a new connection may be why"},
		{"taken for another message, by its packet id", "order-per-stream", func(s *story) {
			s.acked(q2, 0, 1)
			for seq := range int64(2) {
				s.toClient(sub, "publish", 1, s.of(q2, seq))
			}
			for seq := int64(1); seq >= 0; seq-- {
				s.packet(sub, "pubrec", 1, s.of(q2, seq)).toClient(sub, "pubrel", 1, s.of(q2, seq))
				s.unheard(sub, q2, seq, 0)
			}
		}, nobody, "another PUBLISH had the packet id of one of the two at the same time"},
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
		}, nobody, "its producer released it behind the other, or never"},
		{"sent before and again, on one connection", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1)
			id := s.wireSend(sub, q1, 0, 0)
			s.deliver(sub, q1, 1)
			s.toClient(sub, "publish", id, s.of(q1, 0), flagged2(true, dup))
			s.unheard(sub, q1, 0, 0)
		}, sdk, "the broker sent it before"},
		{"both sent in order, and again behind one another", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1)
			s.wireSend(sub, q1, 0, 0)
			s.wireSend(sub, q1, 1, 0)
			s.disconnect(sub).connect(sub, true).deliver(sub, q1, 1).deliver(sub, q1, 0)
		}, nobody, "its first copy may have ended with its connection"},
		{"what comes behind is a repetition", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1).wireSend(sub, q1, 1, 0)
			s.unheard(sub, q1, 1, 0)
			s.toClient(sub, "publish", 90, s.of(q1, 0), flagged2(true, dup))
			s.unheard(sub, q1, 0, 0)
		}, nobody, "its first PUBLISH had DUP, and an earlier copy may not have come"},
		{"behind, and the packets have neither", "order-per-stream", func(s *story) {
			s.acked(q1, 0, 1).unheard(sub, q1, 1, 0).unheard(sub, q1, 0, 0)
		}, nobody, "the PUBLISH of one of the two is not there"},
		{"sent behind by its producer", "order-per-stream", func(s *story) {
			c, d := s.call(s.publishing(q1, 0)), s.call(s.publishing(q1, 1))
			s.wirePublish(q1, 1, true)
			s.wirePublish(q1, 0, true)
			s.ret(s.publishing(q1, 0), c, history.OK)
			s.ret(s.publishing(q1, 1), d, history.OK)
			s.deliver(sub, q1, 1).deliver(sub, q1, 0)
		}, sdk, "its producer's client sent it behind"},
	}
}
