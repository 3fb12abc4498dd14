package checker

import (
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// contentStories have messages that nobody sent so.
func contentStories() []blameStory {
	const sdk, broker, nobody = verdict.SDK, verdict.Broker, verdict.Party("")
	return []blameStory{
		{"no such message on the wire", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0); s.unheard(sub, q1, 9, 0) }, sdk, "the broker sent no such message to the client"},
		{"a message of the broker's own", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0).deliver(sub, q1, 9) }, broker, "the broker sent it"},
		{"a message of the broker's own, far out", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0).deliver(sub, q1, 1<<30) }, broker, "the broker sent it"},
		{"with RETAIN", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, q1, 0, history.FlagRetain) }, broker, "the broker sent it with RETAIN"},
		{"with RETAIN behind the wire", "no-unexpected", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			s.unheard(sub, q1, 0, history.FlagRetain)
		}, sdk, "the broker sent it without RETAIN"},
		{"under another topic", "no-unexpected", func(s *story) {
			s.acked(q1, 0, 0).toClient(sub, "publish", 9, s.of(q1, 0), flagged2(true, history.FlagRenamed))
			s.unheard(sub, q1, 0, 0)
		}, broker, "PUBLISH"},
		{"under another topic, delivered so", "no-unexpected", func(s *story) {
			s.acked(q1, 0, 0).deliver(sub, q1, 0, history.FlagRenamed)
		}, broker, "PUBLISH"},
		{"under another topic behind the wire", "no-unexpected", func(s *story) {
			s.acked(q1, 0, 0).wireSend(sub, q1, 0, 0)
			s.unheard(sub, q1, 0, history.FlagRenamed)
		}, sdk, "the broker sent it under the topic of its stream"},
		{"under the topic that its producer sent", "no-unexpected", func(s *story) {
			s.call(s.publishing(q1, 0))
			s.packet(pub, "publish", 9, s.of(q1, 0), flagged2(true, history.FlagRenamed))
			s.toClient(sub, "publish", 9, s.of(q1, 0), flagged2(true, history.FlagRenamed))
			s.unheard(sub, q1, 0, 0)
		}, sdk, "its producer's client sent it so"},
		{"sent by its producer, which never said so", "no-unexpected", func(s *story) {
			s.wirePublish(q1, 0, true)
			s.deliver(sub, q1, 0)
		}, sdk, "its producer's client sent it"},
		{"a payload of nobody's from the broker", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).deliver(sub, -1, -1, history.FlagForeign) }, broker, "the broker sent it so"},
		{"a payload of nobody's behind the wire", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).unheard(sub, -1, -1, history.FlagForeign) }, sdk, "no such payload from the broker to the client"},
		{"a payload of nobody's from a producer", "no-unexpected", func(s *story) {
			s.packet(pub, "publish", 9, flagged2(true, history.FlagForeign)).deliver(sub, -1, -1, history.FlagForeign)
		}, sdk, "such a payload on its way to the broker"},
		{"two payloads of nobody's, one of them from a producer", "no-unexpected", func(s *story) {
			s.packet(pub, "publish", 9, flagged2(true, history.FlagForeign))
			s.toClient(sub, "publish", 9, flagged2(true, history.FlagForeign)).deliver(sub, -1, -1, history.FlagForeign)
		}, nobody, "producers sent some of the kind, but fewer than came"},
		{"under another topic, and never on the wire", "no-unexpected", func(s *story) { s.acked(q1, 0, 0).unheard(sub, q1, 0, history.FlagRenamed) }, nobody, "its PUBLISH is not there"},

		{"damaged on the wire", "no-corruption", func(s *story) { s.acked(q1, 0, 0).deliver(sub, -1, -1, history.FlagCorrupt) }, broker, "the broker sent it so"},
		{"damaged behind the wire", "no-corruption", func(s *story) { s.acked(q1, 0, 0); s.unheard(sub, -1, -1, history.FlagCorrupt) }, sdk, "no such payload from the broker to the client"},
		{"damaged by its producer", "no-corruption", func(s *story) {
			s.packet(pub, "publish", 9, flagged2(true, history.FlagCorrupt)).deliver(sub, -1, -1, history.FlagCorrupt)
		}, sdk, "such a payload on its way to the broker"},
		{"some damaged by their producer", "no-corruption", func(s *story) {
			s.packet(pub, "publish", 9, flagged2(true, history.FlagCorrupt))
			s.toClient(sub, "publish", 9, flagged2(true, history.FlagCorrupt)).deliver(sub, -1, -1, history.FlagCorrupt)
		}, nobody, "producers sent some of the kind, but fewer than came"},

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
		}, sdk, "the broker never sent it with this QoS"},
		{"sent with the QoS that was granted, and with another", "qos-granted", func(s *story) {
			s.acked(q2, 0, 0).toClient(sub, "publish", 0, s.of(q2, 0), func(e *history.Event) { e.QoS = 0 })
			e := blank(history.KindDeliver, sub)
			e.Stream, e.Seq = q2, 0
			s.add(e)
			s.wireSend(sub, q2, 0, 0)
		}, broker, "SUBACK, and that PUBLISH"},
		{"granted as it was asked, and the client said less", "qos-granted", func(s *story) {
			s.granted(sub, 0)
			s.acked(q1, 0, 0).deliver(sub, q1, 0)
		}, sdk, "another QoS granted than the client said"},
		{"not on the wire", "qos-granted", func(s *story) {
			s.acked(q1, 0, 0)
			s.unheard(sub, q1, 0, 0)
			s.events[len(s.events)-1].QoS = 0
		}, nobody, "its PUBLISH is not there"},
	}
}

// registerStories have retained messages.
func registerStories() []blameStory {
	const sdk, broker, nobody = verdict.SDK, verdict.Broker, verdict.Party("")
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
	return []blameStory{
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
		{"an old value read, and none sent", "retained-register", func(s *story) {
			read(s.acked(reg, 0, 1).connect(fleet, false), 0, func() {})
		}, nobody, "no retained PUBLISH of it was recorded for this read"},
		{"a write that was never acknowledged", "retained-register", func(s *story) {
			s.acked(reg, 0, 0).connect(fleet, false)
			s.ret(s.publishing(reg, 1), s.call(s.publishing(reg, 1)), history.OK)
			read(s, 0, func() { s.wireSend(fleet, reg, 0, history.FlagRetain) })
		}, nobody, "the packets have no acknowledgement of a write before it was called published"},
	}
}

// sharedStories have groups with a shared subscription.
func sharedStories() []blameStory {
	const sdk, broker, nobody = verdict.SDK, verdict.Broker, verdict.Party("")
	dealing := func() *story { // a message for each member of a group, and two more
		return wired().share().connect(pub, false).join(sub, other).settled().dealt(q1, 0, 3)
	}
	return []blameStory{
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
		}, nobody, "it was sent to a member, which did not acknowledge it in that session"},
		{"a member unsubscribed", "shared-no-loss", func(s *story) {
			*s = *dealing()
			s.packet(sub, "unsubscribe", 7).publish(q1, 4, history.OK).over(q1, 5)
		}, nobody, "a member was not subscribed, asked for a clean session or leaves a message unanswered"},
		{"another message has its packet id for a member", "shared-no-loss", func(s *story) {
			*s = *dealing().publish(q1, 4, history.OK)
			s.twins(q1, 4, 3).over(q1, 5)
		}, nobody, "another PUBLISH had its packet id at the same time"},
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
		}, nobody, "it was acknowledged in another session of its producer than it was sent in"},

		{"the broker sent it to both members", "shared-one-member", func(s *story) { *s = *dealing().deliver(sub, q1, 3).settled() }, broker, "its producer's client published it once, and the broker sent it to both"},
		{"the broker sent it to one member, and two have it", "shared-one-member", func(s *story) {
			*s = *dealing()
			s.unheard(sub, q1, 3, 0)
			s.settled()
		}, sdk, "the broker sent it to one of them"},
		{"a member has what its producer never sent", "shared-one-member", func(s *story) {
			*s = *dealing()
			e := s.publishing(q1, 4)
			s.ret(e, s.call(e), history.OK)
			s.deliver(sub, q1, 4).deliver(other, q1, 4).settled()
		}, nobody, "its PUBLISH is not there"},
		{"published twice, and dealt to both members", "shared-one-member", func(s *story) {
			*s = *dealing()
			s.wirePublish(q1, 3, true)
			s.deliver(sub, q1, 3).settled()
		}, sdk, "its producer's client published it more than once"},
	}
}

// sessionStories have sessions, wills, and clients that are not let in.
func sessionStories() []blameStory {
	const sdk, broker, nobody = verdict.SDK, verdict.Broker, verdict.Party("")
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
	return []blameStory{
		{"no session for a client that then gave up, and one for the next", "session-kept", func(s *story) {
			e := blank(history.KindConnect, sub)
			c := s.disconnect(sub).call(e)
			s.wireConnect(sub, false)
			s.wireConnect(sub, true)
			s.ret(e, c, history.OK)
		}, broker, "a CONNACK without session present, to a client that asked for its session"},
		{"the broker has no session", "session-kept", func(s *story) { s.disconnect(sub).connect(sub, false) }, broker, "a CONNACK without session present, to a client that asked for its session"},
		{"no session, for a client whose driver is read late", "session-kept", func(s *story) {
			began := s.disconnect(sub).now
			s.wait(time.Millisecond).wireConnect(sub, false)
			e := blank(history.KindConnect, sub)
			c := s.call(e)
			s.events[len(s.events)-1].Time = began
			s.ret(e, c, history.OK)
		}, broker, "a CONNACK without session present, to a client that asked for its session"},
		{"the client asks for none", "session-kept", func(s *story) { s.disconnect(sub).clean(sub) }, sdk, "the client asked for a clean session"},
		{"the client knows nothing of its session", "session-kept", func(s *story) {
			s.disconnect(sub).connect(sub, true)
			s.events[len(s.events)-1].Flags = 0
		}, sdk, "the broker had the session"},
		{"no CONNACK on the wire", "session-kept", func(s *story) {
			s.disconnect(sub)
			e := blank(history.KindConnect, sub)
			s.ret(e, s.call(e), history.OK)
		}, nobody, "its CONNACK is not there"},

		{"the broker feigns a session", "session-fresh", func(s *story) { s.connect(away, true) }, broker, "a CONNACK with session present"},
		{"the client feigns one", "session-fresh", func(s *story) {
			e := blank(history.KindConnect, away)
			c := s.call(e)
			s.wireConnect(away, false)
			e.Flags = history.FlagSessionPresent
			s.ret(e, c, history.OK)
		}, sdk, "a CONNACK without session present"},
		{"no CONNACK on the wire for a session that was there", "session-fresh", func(s *story) {
			s.tables.Processes[away].Clean = true
			s.connect(away, false).disconnect(away)
			e := blank(history.KindConnect, away)
			c := s.call(e)
			e.Flags = history.FlagSessionPresent
			s.ret(e, c, history.OK)
		}, nobody, "its CONNACK is not there"},

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
			s.unheard(sub, testament, 0, 0).willed(1, history.OK).leaves().ended(mortal)
		}, sdk, "the broker sent it once"},
		{"a will after DISCONNECT", "will-once", func(s *story) { *s = *willing().leaves().deliver(sub, testament, 0).ended(mortal) }, broker, "the broker had its DISCONNECT, and sent the will"},
		{"a will after DISCONNECT, by the library", "will-once", func(s *story) {
			*s = *willing().leaves()
			s.unheard(sub, testament, 0, 0).ended(mortal)
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
	}
}
