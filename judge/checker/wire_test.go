package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

const dup = history.FlagDup

// With a healthy broker and healthy clients every claim that the wire can judge holds,
// and every canary is red.
func TestHealthyWire(t *testing.T) {
	s := wired()
	s.join(sub).connect(pub, false)
	// Sent again before an answer, with DUP: by the client, and by the broker.
	e := s.publishing(q1, 0)
	c := s.call(e)
	s.packet(pub, "publish", 90, s.of(q1, 0)).packet(pub, "publish", 90, s.of(q1, 0), flagged2(true, dup)).toClient(pub, "puback", 90, s.of(q1, 0))
	s.ret(e, c, history.OK)
	s.toClient(sub, "publish", 90, s.of(q1, 0)).toClient(sub, "publish", 90, s.of(q1, 0), flagged2(true, dup))
	s.packet(sub, "puback", 90, s.of(q1, 0))
	plain := blank(history.KindDeliver, sub)
	plain.Stream, plain.Seq, plain.QoS = q1, 0, 1
	s.add(plain)
	// Two on their way at once.
	for seq := int64(1); seq <= 2; seq++ {
		s.publish(q1, seq, history.OK).toClient(sub, "publish", 90+seq, s.of(q1, seq))
	}
	for seq := int64(1); seq <= 2; seq++ {
		plain.Seq = seq
		s.packet(sub, "puback", 90+seq, s.of(q1, seq)).add(plain)
	}
	s.acked(q2, 0, 9).delivered(sub, q2, 0, 9)
	// A message that is answered on one connection, and released on the next.
	s.publish(q2, 10, history.OK).toClient(sub, "publish", 300, s.of(q2, 10)).packet(sub, "pubrec", 300, s.of(q2, 10))
	plain.Stream, plain.Seq, plain.QoS = q2, 10, 2
	s.add(plain)
	s.publish(q1, 3, history.OK).toClient(sub, "publish", 301, s.of(q1, 3))
	s.wait(11*time.Second).disconnect(sub).connect(sub, true).toClient(sub, "pubrel", 300, s.of(q2, 10)).packet(sub, "pubcomp", 300, s.of(q2, 10))
	s.toClient(sub, "publish", 301, s.of(q1, 3), flagged2(true, history.FlagDup)).packet(sub, "puback", 301, s.of(q1, 3))
	plain.Stream, plain.Seq, plain.QoS, plain.Flags = q1, 3, 1, history.FlagDup
	s.add(plain)
	s.marker(q1, 4, history.OK).deliver(sub, q1, 4, history.FlagEnd).marker(q2, 11, history.OK).deliver(sub, q2, 11, history.FlagEnd)
	s.join(probe1).acked(probed, 0, 0).wait(41*time.Second).acked(probed, 1, 1).disconnect(pub)
	ended := blank(history.KindDriver, history.None)
	ended.Text = "ended: exit status 0"
	s.add(ended)
	report := judgeStory(t, s.finish(), "qos1-no-loss", "qos2-exactly-once")
	if n := len(report.Results); n < 12 {
		t.Errorf("%d results: the claims of the wire are missing", n)
	}
	for _, r := range report.Results {
		if r.Status != verdict.Pass || !r.Canary.Red {
			t.Errorf("%s is %s, canary red %v (%s%s): %s %v", r.Claim.Name, r.Status, r.Canary.Red, r.Canary.Mutation, r.Canary.Skipped, r.Summary, r.Reasons)
		}
	}
}

// Nobody is accused, whatever freedom a correct broker takes.
func TestCorrectWireIsNeverAccused(t *testing.T) {
	for seed := range uint64(40) {
		for _, r := range judgeStory(t, correctOn(wired(), seed), names()...).Results {
			if r.Status == verdict.Fail {
				t.Errorf("seed %d: %s: %s", seed, r.Claim.Name, r.Summary)
			}
		}
	}
}

// A run is judged by the claims of its day: a later claim on packets is not held
// against an older recording.
func TestWireClaimsAreFrozen(t *testing.T) {
	for _, c := range []struct {
		frozen []string
		want   int
	}{{nil, 11}, {[]string{"broker-acks", "sdk-packet-id"}, 2}, {WireClaims(""), len(WireClaims(""))}} {
		run := &history.Run{Wire: true, Protocol: "mqtt3", WireClaims: c.frozen}
		if got := withWire(run, nil); len(got) != c.want {
			t.Errorf("frozen %v: judged by %v", c.frozen, got)
		}
	}
	if got := withWire(&history.Run{WireClaims: WireClaims("")}, nil); len(got) > 0 {
		t.Errorf("without packets a run is judged by %v", got)
	}
}

// TestWireClaims has for each claim on packets the violations, and similar cases that
// are correct.
func TestWireClaims(t *testing.T) {
	const pass, fail, unknown = verdict.Pass, verdict.Fail, verdict.Unknown
	sent := func(s *story, id int64, st int32, seq int64, f history.Flags) *story {
		return s.packet(pub, "publish", id, s.of(st, seq), flagged2(true, f))
	}
	got := func(s *story, id int64, st int32, seq int64, f history.Flags) *story {
		return s.toClient(sub, "publish", id, s.of(st, seq), flagged2(true, f))
	}
	answered := func(s *story, seq int64) *story {
		return got(s.acked(q2, seq, seq), 100+seq, q2, seq, 0).packet(sub, "pubrec", 100+seq, s.of(q2, seq))
	}
	released := func(s *story, st int32) *story { // a message, until its PUBREL
		return sent(s, 1, st, 0, 0).toClient(pub, "pubrec", 1, s.of(st, 0)).packet(pub, "pubrel", 1, s.of(st, 0))
	}
	for _, c := range []struct {
		name, claim string
		tell        func(s *story)
		want        verdict.Status
		text        string // in the first anomaly
	}{
		{"sent again without DUP", "sdk-resend-dup", func(s *story) { sent(s, 1, q1, 0, 0); s.connect(pub, true); sent(s, 1, q1, 0, 0) }, fail, "message 0 of pub-1 on work/1 (QoS 1) was sent again by the client with packet id 1, without DUP"},
		{"sent again without DUP by an SDK that the run is not about", "sdk-resend-dup", func(s *story) {
			s.run.SDK, s.tables.Processes[pub].SDK = "python/one@1", "go/another@2"
			sent(s, 1, q1, 0, 0)
			s.connect(pub, true)
			sent(s, 1, q1, 0, 0)
		}, unknown, ""},
		{"sent again with DUP", "sdk-resend-dup", func(s *story) { sent(s, 1, q1, 0, 0); s.connect(pub, true); sent(s, 1, q1, 0, dup) }, pass, ""},
		{"sent in a new session", "sdk-resend-dup", func(s *story) { sent(s, 1, q1, 0, 0); s.connect(pub, false); sent(s, 1, q1, 0, 0) }, unknown, ""},
		{"another message with the id", "sdk-resend-dup", func(s *story) {
			sent(s, 1, q1, 0, 0).toClient(pub, "puback", 1, s.of(q1, 0))
			sent(s, 1, q1, 1, 0)
		}, unknown, ""},
		{"the broker sends again without DUP", "broker-resend-dup", func(s *story) { got(s, 1, q1, 0, 0); s.connect(sub, true); got(s, 1, q1, 0, 0) }, fail, "by the broker"},
		{"the broker sends again to a session it forgot", "broker-resend-dup", func(s *story) { got(s, 1, q1, 0, 0); s.connect(sub, false); got(s, 1, q1, 0, 0) }, unknown, ""},
		{"a broker whose node is killed sends again without DUP", "broker-resend-dup", func(s *story) { bareAfterKill(s) }, unknown, ""},
		{"a durable broker whose node is killed sends again without DUP", "broker-resend-dup", func(s *story) {
			s.run.Cluster.Promises = []string{"qos2-exactly-once"}
			bareAfterKill(s)
		}, fail, "by the broker with packet id 1, without DUP"},
		{"a broker sends again without DUP, on a connection that a kill does not end", "broker-resend-dup", func(s *story) {
			bareAfterKill(s)
			got(s, 2, q1, 1, 0)
			got(s, 2, q1, 1, 0)
		}, fail, "message 1"},
		{"another packet id for a client that came back", "broker-resend-id", func(s *story) {
			got(s.acked(q1, 0, 0), 1, q1, 0, 0)
			got(s.disconnect(sub).connect(sub, true), 2, q1, 0, 0)
		}, fail, "with packet id 2, without DUP; it had packet id 1 before its client came back"},
		{"another packet id with DUP", "broker-resend-id", func(s *story) {
			got(s.acked(q1, 0, 0), 1, q1, 0, 0)
			got(s.disconnect(sub).connect(sub, true), 2, q1, 0, history.FlagDup)
		}, unknown, ""},
		{"another packet id on one connection", "broker-resend-id", func(s *story) {
			got(got(s.acked(q1, 0, 0), 1, q1, 0, 0), 2, q1, 0, 0)
		}, unknown, ""},
		{"another packet id in a new session", "broker-resend-id", func(s *story) {
			got(s.acked(q1, 0, 0), 1, q1, 0, 0)
			got(s.disconnect(sub).connect(sub, false), 2, q1, 0, 0)
		}, unknown, ""},
		{"another packet id after an answer", "broker-resend-id", func(s *story) {
			got(s.acked(q1, 0, 0), 1, q1, 0, 0).packet(sub, "puback", 1, s.of(q1, 0))
			got(s.disconnect(sub).connect(sub, true), 2, q1, 0, 0)
		}, unknown, ""},
		{"another packet id of a message that was published twice", "broker-resend-id", func(s *story) {
			e := s.publishing(q1, 0)
			c := s.call(e)
			sent(sent(s, 1, q1, 0, 0), 1, q1, 0, history.FlagDup).toClient(pub, "puback", 1, s.of(q1, 0))
			s.ret(e, c, history.OK)
			got(s, 1, q1, 0, 0)
			got(s.disconnect(sub).connect(sub, true), 2, q1, 0, 0)
		}, unknown, ""},
		{"another packet id after the end of a node", "broker-resend-id", func(s *story) {
			got(s.acked(q1, 0, 0), 1, q1, 0, 0).fault(time.Second)
			s.landings[len(s.landings)-1].Ends = true
			got(s.wait(2*time.Second).disconnect(sub).connect(sub, true), 2, q1, 0, 0)
		}, unknown, ""},
		{"a retained copy", "broker-resend-dup", func(s *story) { got(s, 1, q1, 0, 0); got(s, 1, q1, 0, history.FlagRetain) }, unknown, ""},
		{"two filters, two copies", "broker-resend-dup", func(s *story) {
			s.tables.Processes[sub].Filters = append(s.tables.Processes[sub].Filters, history.Filter{Filter: "work/1", QoS: 1})
			got(s, 1, q1, 0, 0)
			got(s, 1, q1, 0, 0)
		}, unknown, ""},

		{"sent on the connection before, and written down late", "sdk-resend-dup", func(s *story) {
			s.connect(pub, true)
			sent(s, 1, q1, 0, dup)
			s.packet(pub, "publish", 1, s.of(q1, 0), onConn(0))
		}, unknown, ""},
		{"the same of the broker", "broker-resend-dup", func(s *story) {
			got(s, 2, q1, 1, 0)
			s.connect(sub, true)
			got(s, 1, q1, 0, dup).toClient(sub, "publish", 1, s.of(q1, 0), onConn(0))
		}, unknown, ""},

		{"published again after PUBREL", "sdk-qos2-flow", func(s *story) {
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0)).packet(pub, "pubrel", 1, s.of(q2, 0))
			s.connect(pub, true)
			sent(s, 1, q2, 0, dup)
		}, fail, "after its PUBREL"},
		{"published again after PUBREL, in a session that the client began anew and the broker calls its old one", "sdk-qos2-flow", func(s *story) {
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0)).packet(pub, "pubrel", 1, s.of(q2, 0))
			s.tables.Processes[pub].Clean = true
			s.connect(pub, true)
			sent(s, 1, q2, 0, 0)
		}, pass, ""},
		{"published again after PUBREC, which may have been lost", "sdk-qos2-flow", func(s *story) {
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0))
			s.connect(pub, true)
			sent(s, 1, q2, 0, dup).toClient(pub, "pubrec", 1, s.of(q2, 0)).packet(pub, "pubrel", 1, s.of(q2, 0))
		}, pass, ""},
		{"the broker publishes again after PUBREL", "broker-qos2-flow", func(s *story) {
			got(s, 1, q2, 0, 0).packet(sub, "pubrec", 1, s.of(q2, 0)).toClient(sub, "pubrel", 1, s.of(q2, 0))
			got(s, 1, q2, 0, dup)
		}, fail, "after its PUBREL"},

		{"a broker whose node is killed publishes again after PUBREL", "broker-qos2-flow", func(s *story) { resentAfterKill(s) }, pass, ""},
		{"a durable broker whose node is killed publishes again after PUBREL", "broker-qos2-flow", func(s *story) {
			s.run.Cluster.Promises = []string{"qos2-exactly-once"}
			resentAfterKill(s)
		}, fail, "after its PUBREL"},
		{"a broker publishes again after PUBREL, long after the kill", "broker-qos2-flow", func(s *story) {
			resentAfterKill(s)
			s.wait(time.Minute).publish(q2, 1, history.OK)
			got(s, 2, q2, 1, 0).packet(sub, "pubrec", 2, s.of(q2, 1)).toClient(sub, "pubrel", 2, s.of(q2, 1)).connect(sub, true)
			got(s, 2, q2, 1, dup)
		}, fail, "message 1"},
		{"a broker publishes again after PUBREL, on a connection that a kill does not end", "broker-qos2-flow", func(s *story) {
			resentAfterKill(s)
			got(s, 2, q2, 1, 0).packet(sub, "pubrec", 2, s.of(q2, 1)).toClient(sub, "pubrel", 2, s.of(q2, 1))
			got(s, 2, q2, 1, dup)
		}, fail, "message 1"},
		{"published again with a packet id whose last message is not complete", "sdk-qos2-flow", func(s *story) {
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0)).packet(pub, "pubrel", 1, s.of(q2, 0))
			sent(s, 1, q2, 1, 0).toClient(pub, "pubcomp", 1, s.of(q2, 0))
			s.connect(pub, true)
			sent(s, 1, q2, 1, dup)
		}, pass, ""},
		{"a packet id before PUBCOMP", "sdk-packet-id", func(s *story) {
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0)).packet(pub, "pubrel", 1, s.of(q2, 0))
			sent(s, 1, q2, 1, 0)
		}, fail, "message 1 of pub-1 on work/2 (QoS 2) was sent by the client with packet id 1, while message 0 of pub-1 on work/2 (QoS 2) had it: PUBCOMP was still to come"},
		{"a packet id before PUBACK", "sdk-packet-id", func(s *story) { sent(s, 1, q1, 0, 0); sent(s, 1, q2, 0, 0) }, fail, "PUBACK was still to come"},
		{"a packet id after PUBCOMP", "sdk-packet-id", func(s *story) {
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0)).packet(pub, "pubrel", 1, s.of(q2, 0)).toClient(pub, "pubcomp", 1, s.of(q2, 0))
			sent(s, 1, q2, 1, 0)
		}, pass, ""},
		{"a packet id before PUBCOMP, of a session that went on", "sdk-packet-id", func(s *story) {
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0)).packet(pub, "pubrel", 1, s.of(q2, 0))
			s.connect(pub, true).packet(pub, "pubrel", 1, s.of(q2, 0))
			sent(s, 1, q2, 1, 0)
		}, fail, "PUBCOMP was still to come"},
		{"a packet id after PUBREC that refuses", "sdk-packet-id", func(s *story) {
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0), refused)
			sent(s, 1, q2, 1, 0)
		}, pass, ""},
		{"a packet id of the same message", "sdk-packet-id", func(s *story) { sent(s, 1, q1, 0, 0); sent(s, 1, q1, 0, dup) }, pass, ""},
		{"a packet id of an earlier connection", "sdk-packet-id", func(s *story) { sent(s, 1, q1, 0, 0); s.connect(pub, true); sent(s, 1, q1, 1, 0) }, pass, ""},
		{"the same packet id in both directions", "broker-packet-id", func(s *story) { s.packet(sub, "publish", 1, s.of(q1, 0)); got(s, 1, q1, 1, 0) }, pass, ""},
		{"the broker uses a packet id before PUBACK", "broker-packet-id", func(s *story) { got(s, 1, q1, 0, 0); got(s, 1, q1, 1, 0) }, fail, "by the broker with packet id 1, while message 0"},
		{"the broker uses a packet id after PUBACK", "broker-packet-id", func(s *story) {
			got(s, 1, q1, 0, 0).packet(sub, "puback", 1, s.of(q1, 0))
			got(s, 1, q1, 1, 0)
		}, pass, ""},
		{"two filters, two packet ids", "broker-packet-id", func(s *story) { got(s, 1, q1, 0, 0); got(s, 2, q1, 0, 0) }, pass, ""},

		{"published twice, to a broker that uses its ids again", "broker-qos2-flow", func(s *story) {
			s.acked(q2, 0, 0).wirePublish(q2, 0, true)
			for range 2 {
				got(s, 1, q2, 0, 0).packet(sub, "pubrec", 1, s.of(q2, 0)).toClient(sub, "pubrel", 1, s.of(q2, 0)).packet(sub, "pubcomp", 1, s.of(q2, 0))
			}
		}, pass, ""},

		{"an id that nobody used", "broker-acks", func(s *story) { sent(s, 1, q1, 0, 0).toClient(pub, "puback", 2) }, fail, "packet id 2 was answered by a PUBACK"},
		{"PUBREC for QoS 1", "broker-acks", func(s *story) { sent(s, 1, q1, 0, 0).toClient(pub, "pubrec", 1, s.of(q1, 0)) }, fail, "is of QoS 1"},
		{"PUBREL of an earlier session", "broker-acks", func(s *story) { s.packet(pub, "pubrel", 7).toClient(pub, "pubcomp", 7) }, pass, ""},
		{"two answers to two PUBLISHes", "broker-acks", func(s *story) {
			sent(s, 1, q1, 0, 0)
			sent(s, 1, q1, 0, dup).toClient(pub, "puback", 1, s.of(q1, 0)).toClient(pub, "puback", 1, s.of(q1, 0))
		}, pass, ""},
		{"two answers, the second after the packet id was used again", "broker-acks", func(s *story) {
			sent(s, 1, q1, 0, 0)
			sent(s, 1, q1, 0, dup).toClient(pub, "puback", 1, s.of(q1, 0))
			sent(s, 1, q2, 0, 0).toClient(pub, "puback", 1, s.of(q2, 0)).toClient(pub, "pubrec", 1, s.of(q2, 0))
		}, pass, ""},
		{"two answers to one PUBLISH, the second after the packet id was used again", "broker-acks", func(s *story) {
			sent(s, 1, q1, 0, 0).toClient(pub, "puback", 1, s.of(q1, 0))
			sent(s, 1, q2, 0, 0).toClient(pub, "puback", 1, s.of(q2, 0))
		}, fail, "was answered by a PUBACK, and is of QoS 2"},
		{"two PUBCOMPs to two PUBRELs, the second after the packet id was used again", "broker-acks", func(s *story) {
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0)).packet(pub, "pubrel", 1, s.of(q2, 0)).packet(pub, "pubrel", 1, s.of(q2, 0)).toClient(pub, "pubcomp", 1, s.of(q2, 0))
			sent(s, 1, q2, 1, 0).toClient(pub, "pubcomp", 1, s.of(q2, 1))
		}, pass, ""},
		{"PUBACK for QoS 2", "broker-acks", func(s *story) { sent(s, 1, q2, 0, 0).toClient(pub, "puback", 1, s.of(q2, 0)) }, fail, "was answered by a PUBACK, and is of QoS 2"},
		{"PUBCOMP at once", "broker-acks", func(s *story) { sent(s, 1, q2, 0, 0).toClient(pub, "pubcomp", 1, s.of(q2, 0)) }, fail, "message 0 of pub-1 on work/2 (QoS 2) was answered by a PUBCOMP, before the client had sent PUBREL"},
		{"completed in another session than it was taken in", "qos2-no-loss", func(s *story) {
			s.tables.Processes[pub].Clean = true
			e := s.publishing(q2, 0)
			c := s.call(e)
			released(s, q2).disconnect(pub).connect(pub, false).packet(pub, "pubrel", 1, s.of(q2, 0)).toClient(pub, "pubcomp", 1, s.of(q2, 0))
			s.ret(e, c, history.OK)
			s.marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, pass, ""},
		{"published again in another session", "qos2-no-loss", func(s *story) {
			s.tables.Processes[pub].Clean = true
			e := s.publishing(q2, 0)
			c := s.call(e)
			released(s, q2).disconnect(pub).connect(pub, false).wirePublish(q2, 0, true)
			s.ret(e, c, history.OK)
			s.marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, fail, "that the broker acknowledged it, and never sent it"},
		{"a new session is sent what was acknowledged before it subscribed", "no-unexpected", func(s *story) {
			s.disconnect(sub).acked(q1, 0, 3).wait(31*time.Second).connect(sub, false).subscribe(sub).delivered(sub, q1, 0, 3)
		}, fail, "message 0 of pub-1 on work/1 (QoS 1) was sent to sub-1 in a session that first subscribed at"},
		{"a session that went on is sent the same", "no-unexpected", func(s *story) {
			s.disconnect(sub).acked(q1, 0, 3).wait(31*time.Second).connect(sub, true).subscribe(sub).delivered(sub, q1, 0, 3)
		}, pass, ""},
		{"a new session is sent what may still have been on its way", "no-unexpected", func(s *story) {
			s.disconnect(sub).acked(q1, 0, 3).wait(29*time.Second).connect(sub, false).subscribe(sub).delivered(sub, q1, 0, 3)
		}, pass, ""},
		{"a new session is sent what a fault may have kept", "no-unexpected", func(s *story) {
			s.disconnect(sub).acked(q1, 0, 3).fault(time.Second).wait(31*time.Second).connect(sub, false).subscribe(sub).delivered(sub, q1, 0, 3)
		}, pass, ""},
		{"a new session is sent what its producer sent again", "no-unexpected", func(s *story) {
			s.disconnect(sub).acked(q1, 0, 0).wirePublish(q1, 0, true)
			s.wait(31*time.Second).connect(sub, false).subscribe(sub).deliver(sub, q1, 0)
		}, pass, ""},
		{"PUBCOMP that knows nothing of what PUBREC accepted", "broker-acks", func(s *story) {
			released(s, q2).toClient(pub, "pubcomp", 1, s.of(q2, 0), refused)
		}, fail, "message 0 of pub-1 on work/2 (QoS 2) was answered by a PUBCOMP with reason 0x87, after a PUBREC on the same connection had accepted it"},
		{"PUBCOMP that knows nothing, on the next connection", "broker-acks", func(s *story) {
			released(s, q2).connect(pub, true).packet(pub, "pubrel", 1, s.of(q2, 0)).toClient(pub, "pubcomp", 1, s.of(q2, 0), refused)
		}, pass, ""},
		{"PUBCOMP that knows nothing any more, to a second PUBREL", "broker-acks", func(s *story) {
			released(s, q2).packet(pub, "pubrel", 1, s.of(q2, 0)).toClient(pub, "pubcomp", 1, s.of(q2, 0)).toClient(pub, "pubcomp", 1, s.of(q2, 0), refused)
		}, pass, ""},
		{"PUBCOMP to what is sent again", "broker-acks", func(s *story) {
			sent(s, 1, q2, 0, 0).connect(pub, true)
			sent(s, 1, q2, 0, dup).toClient(pub, "pubcomp", 1, s.of(q2, 0))
		}, fail, "was answered by a PUBCOMP, before the client had sent PUBREL"},
		{"PUBACK to what is sent again with QoS 2", "broker-acks", func(s *story) {
			sent(s, 1, q2, 0, 0).connect(pub, true)
			sent(s, 1, q2, 0, dup).toClient(pub, "puback", 1, s.of(q2, 0))
		}, fail, "was answered by a PUBACK, and is of QoS 2"},
		{"PUBCOMP on the connection after PUBREL", "broker-acks", func(s *story) {
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0)).packet(pub, "pubrel", 1, s.of(q2, 0))
			s.connect(pub, true).packet(pub, "pubrel", 1, s.of(q2, 0)).toClient(pub, "pubcomp", 1, s.of(q2, 0))
		}, pass, ""},

		{"answers out of turn", "sdk-ack-order", func(s *story) {
			got(s, 1, q1, 0, 0)
			got(s, 2, q1, 1, 0).packet(sub, "puback", 2, s.of(q1, 1)).packet(sub, "puback", 1, s.of(q1, 0))
		}, fail, "message 0 of pub-1 on work/1 (QoS 1) was answered by PUBACK behind one that came later"},
		{"answers to what came on an earlier connection", "sdk-ack-order", func(s *story) {
			got(s, 1, q1, 0, 0)
			s.connect(sub, true)
			got(s, 2, q1, 1, 0).packet(sub, "puback", 2, s.of(q1, 1)).packet(sub, "puback", 1, s.of(q1, 0))
		}, pass, ""},
		{"answers to what was sent again meanwhile", "sdk-ack-order", func(s *story) {
			got(s, 1, q1, 0, 0)
			got(s, 2, q1, 1, 0)
			got(s, 1, q1, 0, dup).packet(sub, "puback", 1, s.of(q1, 0)).packet(sub, "puback", 2, s.of(q1, 1))
		}, pass, ""},
		{"QoS 1 beside QoS 2", "sdk-ack-order", func(s *story) {
			got(s, 1, q2, 0, 0)
			got(s, 2, q1, 1, 0).packet(sub, "puback", 2, s.of(q1, 1)).packet(sub, "pubrec", 1, s.of(q2, 0))
		}, pass, ""},

		{"answers on the connection before, written down late", "sdk-ack-order", func(s *story) {
			for seq := range int64(3) {
				got(s, seq+1, q1, seq, 0)
			}
			s.connect(sub, true).packet(sub, "puback", 3, s.of(q1, 2), onConn(0))
			got(s, 4, q1, 3, 0).packet(sub, "puback", 4, s.of(q1, 3))
		}, pass, ""},

		{"called done and refused", "sdk-honest", func(s *story) {
			e := s.publishing(q1, 0)
			c := s.call(e)
			sent(s, 1, q1, 0, 0).toClient(pub, "puback", 1, s.of(q1, 0), refused)
			s.ret(e, c, history.OK)
		}, fail, "no acknowledgement"},
		{"called done and refused, which its driver cannot see", "sdk-honest", func(s *story) {
			s.tables.Processes[pub].Protocol, s.tables.Processes[pub].Cannot = "mqtt5", []string{"publish_reason"}
			e := s.publishing(q1, 0)
			c := s.call(e)
			sent(s, 1, q1, 0, 0).toClient(pub, "puback", 1, s.of(q1, 0), refused)
			s.ret(e, c, history.OK)
		}, pass, ""},
		{"called done, where packets could not be read", "sdk-honest", func(s *story) {
			s.acked(q1, 0, 0).packet(pub, "unread", 0)
			e := s.publishing(q1, 1)
			s.ret(e, s.call(e), history.OK)
		}, unknown, ""},
		{"called done by a PUBCOMP that knows no such packet", "sdk-honest", func(s *story) {
			e := s.publishing(q2, 0)
			c := s.call(e)
			released(s, q2).connect(pub, true).packet(pub, "pubrel", 1, s.of(q2, 0)).toClient(pub, "pubcomp", 1, s.of(q2, 0), refused)
			s.ret(e, c, history.OK)
		}, pass, ""},
		{"called done by a PUBCOMP behind a PUBREC that refuses", "sdk-honest", func(s *story) {
			e := s.publishing(q2, 0)
			c := s.call(e)
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0), refused).packet(pub, "pubrel", 1, s.of(q2, 0)).toClient(pub, "pubcomp", 1, s.of(q2, 0), refused)
			s.ret(e, c, history.OK)
		}, fail, "no acknowledgement"},
		{"called failed, and taken by PUBREC", "retained-register", func(s *story) {
			s.tables.Streams[reg].QoS = 2
			e := s.publishing(reg, 0)
			c := s.call(e)
			released(s, reg).connect(pub, true).packet(pub, "pubrel", 1, s.of(reg, 0)).toClient(pub, "pubcomp", 1, s.of(reg, 0), refused)
			s.ret(e, c, history.Fail)
			s.connect(fleet, false).wireSend(fleet, reg, 0, history.FlagRetain)
			s.fetch(reg, 0)
		}, pass, ""},
		{"called failed, and refused by PUBREC", "retained-register", func(s *story) {
			s.tables.Streams[reg].QoS = 2
			e := s.publishing(reg, 0)
			c := s.call(e)
			sent(s, 1, reg, 0, 0).toClient(pub, "pubrec", 1, s.of(reg, 0), refused)
			s.ret(e, c, history.Fail)
			s.connect(fleet, false).wireSend(fleet, reg, 0, history.FlagRetain)
			s.fetch(reg, 0)
		}, fail, "that the broker sent it so"},
		{"called done and never acknowledged", "sdk-honest", func(s *story) {
			e := s.publishing(q1, 0)
			c := s.call(e)
			sent(s, 1, q1, 0, 0)
			s.ret(e, c, history.OK)
		}, fail, "the wire shows no acknowledgement"},
		{"called done, and another message had its packet id", "sdk-honest", func(s *story) {
			e := s.publishing(q2, 0)
			c := s.call(e)
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0))
			sent(s, 1, q2, 1, 0).packet(pub, "pubrel", 1, s.of(q2, 0)).toClient(pub, "pubcomp", 1, s.of(q2, 1))
			s.ret(e, c, history.OK)
		}, unknown, ""},
		{"called done, and another message with its packet id was taken before PUBCOMP", "sdk-honest", func(s *story) {
			e := s.publishing(q2, 0)
			c := s.call(e)
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0)).packet(pub, "pubrel", 1, s.of(q2, 0))
			sent(s, 1, q2, 1, 0).toClient(pub, "pubrec", 1, s.of(q2, 1))
			s.ret(e, c, history.OK)
		}, unknown, ""},
		{"called done, and another message had its packet id behind PUBREL", "sdk-honest", func(s *story) {
			e := s.publishing(q2, 0)
			c := s.call(e)
			sent(s, 1, q2, 0, 0).toClient(pub, "pubrec", 1, s.of(q2, 0)).packet(pub, "pubrel", 1, s.of(q2, 0))
			sent(s, 1, q2, 1, 0)
			s.ret(e, c, history.OK)
		}, fail, "no acknowledgement"},
		{"called done before", "sdk-honest", func(s *story) {
			e := s.publishing(q2, 0)
			c := s.call(e)
			sent(s, 1, q2, 0, 0)
			s.ret(e, c, history.OK)
			s.toClient(pub, "pubcomp", 1, s.of(q2, 0))
		}, fail, "only later"},
		{"told done and never sent", "sdk-honest", func(s *story) {
			s.call(s.publishing(q1, 0))
			e := s.publishing(q1, 0)
			e.Kind, e.Outcome = history.KindTold, history.OK
			s.add(e)
		}, fail, "said to the application to be done"},
		{"told done before, and the call returned after", "sdk-honest", func(s *story) {
			e := s.publishing(q1, 0)
			c := s.call(e)
			sent(s, 1, q1, 0, 0)
			told := e
			told.Kind, told.Outcome = history.KindTold, history.OK
			s.add(told)
			s.toClient(pub, "puback", 1, s.of(q1, 0))
			s.ret(e, c, history.OK)
		}, fail, "only later"},
		{"told that it failed", "sdk-honest", func(s *story) {
			e := s.publishing(q1, 0)
			e.Kind, e.Outcome = history.KindTold, history.Fail
			s.add(e)
			s.acked(q1, 1, 1)
		}, pass, ""},
		{"QoS 0 left out between two", "sdk-honest", func(s *story) {
			s.acked(q0, 0, 0)
			e := s.publishing(q0, 1)
			s.ret(e, s.call(e), history.OK)
			s.acked(q0, 2, 2)
		}, fail, "never sent"},
		{"QoS 0 gone with its connection", "sdk-honest", func(s *story) {
			s.acked(q1, 0, 0).acked(q0, 0, 0)
			e := s.publishing(q0, 1)
			s.ret(e, s.call(e), history.OK)
			s.connect(pub, true).acked(q0, 2, 2)
		}, pass, ""},

		{"acknowledged and not delivered", "sdk-delivers", func(s *story) {
			s.acked(q1, 0, 1)
			id := s.wireSend(sub, q1, 0, 0)
			s.wireTake(sub, q1, 0, id)
			s.deliver(sub, q1, 1)
		}, fail, "message 0 of pub-1 on work/1 (QoS 1) never reached the application of sub-1"},
		{"acknowledged for another message that had its packet id", "sdk-delivers", func(s *story) {
			s.acked(q2, 0, 1).acked(q1, 0, 0)
			got(s, 90, q2, 0, 0).packet(sub, "pubrec", 90, s.of(q2, 0))
			got(s, 90, q2, 1, 0)
			s.packet(sub, "pubrec", 90, s.of(q2, 1)).toClient(sub, "pubrel", 90, s.of(q2, 1)).packet(sub, "pubcomp", 90, s.of(q2, 1))
			s.deliver(sub, q1, 0)
		}, pass, ""},
		{"acknowledged for the message before another one that had its packet id", "sdk-delivers", func(s *story) {
			s.acked(q2, 0, 2).acked(q1, 0, 0)
			got(s, 90, q2, 0, 0).packet(sub, "pubrec", 90, s.of(q2, 0))
			got(s, 90, q1, 0, 0).packet(sub, "puback", 90, s.of(q1, 0))
			got(s, 90, q2, 1, 0)
			s.packet(sub, "pubrec", 90, s.of(q2, 1)).toClient(sub, "pubrel", 90, s.of(q2, 1)).packet(sub, "pubcomp", 90, s.of(q2, 1))
			s.deliver(sub, q2, 2)
		}, pass, ""},
		{"acknowledged after the message before had been released", "sdk-delivers", func(s *story) {
			s.acked(q2, 0, 2).acked(q1, 0, 0)
			got(s, 90, q2, 0, 0).packet(sub, "pubrec", 90, s.of(q2, 0))
			got(s, 90, q1, 0, 0).packet(sub, "puback", 90, s.of(q1, 0))
			s.toClient(sub, "pubrel", 90).packet(sub, "pubcomp", 90)
			got(s, 90, q2, 1, 0)
			s.packet(sub, "pubrec", 90, s.of(q2, 1)).toClient(sub, "pubrel", 90, s.of(q2, 1)).packet(sub, "pubcomp", 90, s.of(q2, 1))
			s.deliver(sub, q2, 2)
		}, fail, "message 1 of pub-1 on work/2"},
		{"cleared with its session by the client, and revived by the broker", "sdk-delivers", func(s *story) {
			s.acked(q2, 0, 1)
			got(s, 90, q2, 0, 0).packet(sub, "pubrec", 90, s.of(q2, 0))
			s.disconnect(sub).clean(sub).toClient(sub, "pubrel", 90, s.of(q2, 0)).packet(sub, "pubcomp", 90, s.of(q2, 0))
			s.deliver(sub, q2, 1)
		}, pass, ""},
		{"cleared by the client, and the broker says that it is there", "sdk-delivers", func(s *story) {
			s.acked(q2, 0, 1)
			got(s, 90, q2, 0, 0).packet(sub, "pubrec", 90, s.of(q2, 0)).disconnect(sub)
			s.tables.Processes[sub].Clean = true
			s.connect(sub, true).toClient(sub, "pubrel", 90, s.of(q2, 0)).packet(sub, "pubcomp", 90, s.of(q2, 0))
			s.deliver(sub, q2, 1)
		}, pass, ""},
		{"released in the same session on another connection, and not delivered", "sdk-delivers", func(s *story) {
			s.acked(q2, 0, 1)
			got(s, 90, q2, 0, 0).packet(sub, "pubrec", 90, s.of(q2, 0))
			s.disconnect(sub).connect(sub, true).toClient(sub, "pubrel", 90, s.of(q2, 0)).packet(sub, "pubcomp", 90, s.of(q2, 0))
			s.deliver(sub, q2, 1)
		}, fail, "message 0 of pub-1 on work/2"},
		{"sent and not acknowledged", "sdk-delivers", func(s *story) {
			s.acked(q1, 0, 1).wireSend(sub, q1, 0, 0)
			s.deliver(sub, q1, 1)
		}, pass, ""},

		{"acknowledged, and the client ended before its application had it", "sdk-delivers", func(s *story) {
			s.acked(q1, 0, 4).deliver(sub, q1, 0)
			for seq := int64(1); seq < 4; seq++ {
				s.wireTake(sub, q1, seq, s.wireSend(sub, q1, seq, 0))
			}
		}, pass, ""},

		{"delivered twice", "sdk-once", func(s *story) {
			s.acked(q2, 0, 1).deliver(sub, q2, 0).deliver(sub, q2, 1)
			e := s.events[len(s.events)-4] // the delivery, before three packets
			s.add(e)
		}, fail, "the wire shows that the broker sent it in one exchange"},
		{"sent twice by the broker", "sdk-once", func(s *story) { s.acked(q2, 0, 1).deliver(sub, q2, 0).deliver(sub, q2, 0) }, unknown, ""},

		{"no subscription again", "sdk-resubscribes", func(s *story) { s.disconnect(sub).connect(sub, false).wait(6 * time.Second).disconnect(sub) }, fail, "did not subscribe"},
		{"no time for it", "sdk-resubscribes", func(s *story) { s.disconnect(sub).connect(sub, false).wait(time.Second).disconnect(sub) }, pass, ""},
		{"no subscription during a fault", "sdk-resubscribes", func(s *story) {
			s.disconnect(sub).fault(6*time.Second).connect(sub, false).wait(7 * time.Second).disconnect(sub)
		}, pass, ""},
		{"a short fault, late", "sdk-resubscribes", func(s *story) {
			s.disconnect(sub).connect(sub, false).wait(9 * time.Second).fault(time.Second).wait(2 * time.Second).disconnect(sub)
		}, fail, "did not subscribe"},
		{"subscribed without waiting for CONNACK", "sdk-resubscribes", func(s *story) {
			s.packet(sub, "connect", 0, onConn(1)).packet(sub, "subscribe", 1, onConn(1)).toClient(sub, "connack", 0, onConn(1))
		}, pass, ""},
		{"told to stop reading", "sdk-resubscribes", func(s *story) {
			s.add(blank(history.KindPause, sub))
			s.disconnect(sub).connect(sub, false).wait(6 * time.Second).disconnect(sub)
		}, pass, ""},
		{"nothing ran", "sdk-resubscribes", func(s *story) {
			s.disconnect(sub).connect(sub, false).wait(6 * time.Second).disconnect(sub)
			s.observe(history.ObserveStarved, history.None, history.None, 6)
		}, unknown, ""},
		{"answered after it had closed the connection", "sdk-resubscribes", func(s *story) {
			s.packet(sub, "connect", 0, onConn(1)).packet(sub, "closed", 0, onConn(1)).toClient(sub, "connack", 0, onConn(1)).wait(6 * time.Second)
		}, pass, ""},
		{"answered after it had left for another connection", "sdk-resubscribes", func(s *story) {
			s.packet(sub, "connect", 0, onConn(1)).packet(sub, "connect", 0, onConn(2)).toClient(sub, "connack", 0, onConn(1)).wait(6 * time.Second)
		}, pass, ""},
		{"left for another connection without a subscription", "sdk-resubscribes", func(s *story) {
			s.disconnect(sub).connect(sub, false).wait(6*time.Second).packet(sub, "connect", 0, onConn(2)).packet(sub, "closed", 0, onConn(1))
		}, fail, "did not subscribe"},
		{"the session is there", "sdk-resubscribes", func(s *story) { s.disconnect(sub).connect(sub, true).wait(6 * time.Second).disconnect(sub) }, pass, ""},

		{"connected, and nothing published", "sdk-resumes", func(s *story) {
			s.disconnect(pub).connect(pub, false)
			s.call(s.publishing(q1, 0))
			s.wait(11*time.Second).join(probe1).acked(probed, 0, 0).disconnect(pub)
		}, fail, "sent no PUBLISH for 11"},
		{"nothing published any more, after an answer", "sdk-resumes", func(s *story) {
			s.disconnect(pub).connect(pub, false).acked(q1, 0, 0)
			s.call(s.publishing(q1, 1))
			s.wait(11*time.Second).join(probe1).acked(probed, 0, 0).disconnect(pub)
		}, fail, "sent no PUBLISH for 11"},
		{"no answer of the broker to the last", "sdk-resumes", func(s *story) {
			s.disconnect(pub).connect(pub, false)
			e := s.publishing(q1, 0)
			s.call(e)
			s.packet(pub, "publish", 90, s.of(q1, 0)).call(s.publishing(q1, 1))
			s.wait(11*time.Second).join(probe1).acked(probed, 0, 0).disconnect(pub)
		}, pass, ""},
		{"no answer to a PUBREL of the connection before", "sdk-resumes", func(s *story) {
			s.disconnect(pub).connect(pub, true).packet(pub, "pubrel", 90, s.of(q2, 0)).call(s.publishing(q1, 0))
			s.wait(11*time.Second).join(probe1).acked(probed, 0, 0).disconnect(pub)
		}, pass, ""},
		{"a PUBLISH before CONNACK", "sdk-resumes", func(s *story) {
			s.disconnect(pub).packet(pub, "connect", 0, onConn(1)).packet(pub, "publish", 90, s.of(q1, 0), onConn(1)).toClient(pub, "connack", 0, onConn(1))
			s.call(s.publishing(q1, 1))
			s.wait(11*time.Second).join(probe1).acked(probed, 0, 0).packet(pub, "closed", 0, onConn(1))
		}, pass, ""},
		{"a CONNACK for a client that has given up", "sdk-resumes", func(s *story) {
			s.disconnect(pub).packet(pub, "connect", 0, onConn(1)).packet(pub, "closed", 0, onConn(1)).toClient(pub, "connack", 0, onConn(1))
			s.call(s.publishing(q1, 0))
			s.wait(11*time.Second).join(probe1).acked(probed, 0, 0).packet(pub, "connect", 0, onConn(2)).toClient(pub, "connack", 0, onConn(2))
		}, unknown, ""},
		{"an answer to another packet id", "sdk-resumes", func(s *story) {
			s.disconnect(pub).connect(pub, true).packet(pub, "publish", 90, s.of(q2, 0)).packet(pub, "pubrel", 91, s.of(q2, 1))
			s.toClient(pub, "pubcomp", 91, s.of(q2, 1)).call(s.publishing(q1, 0))
			s.wait(11*time.Second).join(probe1).acked(probed, 0, 0).disconnect(pub)
		}, pass, ""},
		{"answered by PUBREC, and not released", "sdk-resumes", func(s *story) {
			s.disconnect(pub).connect(pub, true).packet(pub, "publish", 90, s.of(q2, 0)).toClient(pub, "pubrec", 90, s.of(q2, 0)).call(s.publishing(q2, 1))
			s.wait(11*time.Second).join(probe1).acked(probed, 0, 0).disconnect(pub)
		}, fail, "sent no PUBLISH for 11"},
		{"nothing to publish", "sdk-resumes", func(s *story) {
			s.acked(q1, 0, 1).disconnect(pub).connect(pub, true).wait(11*time.Second).join(probe1).acked(probed, 0, 0).disconnect(pub)
		}, unknown, ""},
		{"published before the connection", "sdk-resumes", func(s *story) {
			s.call(s.publishing(q1, 0))
			s.disconnect(pub).connect(pub, false).wait(11*time.Second).join(probe1).acked(probed, 0, 0).disconnect(pub)
		}, unknown, ""},
		{"connected during a fault", "sdk-resumes", func(s *story) {
			s.disconnect(pub).fault(6*time.Second).connect(pub, false).call(s.publishing(q1, 0))
			s.wait(15*time.Second).join(probe1).acked(probed, 0, 0).disconnect(pub)
		}, unknown, ""},
		{"published late on the connection", "sdk-resumes", func(s *story) {
			s.disconnect(pub).connect(pub, false).wait(11 * time.Second).call(s.publishing(q1, 0))
			s.wait(2*time.Second).join(probe1).acked(probed, 0, 0).disconnect(pub)
		}, unknown, ""},
		{"refused by the library", "sdk-resumes", func(s *story) {
			s.disconnect(pub).connect(pub, false)
			e := s.publishing(q1, 0)
			s.ret(e, s.call(e), history.Fail)
			s.wait(11*time.Second).join(probe1).acked(probed, 0, 0).disconnect(pub)
		}, unknown, ""},
		{"nobody was served", "sdk-resumes", func(s *story) {
			s.disconnect(pub).connect(pub, false).call(s.publishing(q1, 0))
			s.wait(11 * time.Second).disconnect(pub)
		}, unknown, ""},
		{"a node acknowledges and delivers nothing", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0).wait(11 * time.Second)
		}, fail, "node-2 took a publish and delivered nothing between the last heal at 0.013 s and 10.013 s; the wire shows of message 0 of probe-1 on probe/1 (QoS 1), for probe-2, that the broker acknowledged it, and never sent it"},
		{"late to a client that waits for PUBREL", "delivery-progress", func(s *story) {
			s.acked(q2, 0, 1)
			got(s, 100, q2, 0, 0).packet(sub, "pubrec", 100, s.of(q2, 0)).wait(11*time.Second).toClient(sub, "pubrel", 100, s.of(q2, 0)).packet(sub, "pubcomp", 100, s.of(q2, 0)).deliver(sub, q2, 1)
		}, fail, "the wire shows that the broker sent it so late, to a client that had answered all it was sent"},
		{"late to a client that answers between", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 4)
			for seq := range int64(5) {
				s.wait(4*time.Second).deliver(sub, q1, seq)
			}
		}, fail, "to a client that had answered all it was sent"},
		{"no PUBREL for a client that came back", "broker-pubrel", func(s *story) {
			answered(s, 0).disconnect(sub).connect(sub, true).wait(41 * time.Second).disconnect(sub)
		}, fail, "the wire shows that the broker sent neither message 0 of pub-1 on work/2 (QoS 2) nor its PUBREL in the 41.003 s after sub-1 came back at 0.026 s; the client had answered it by PUBREC at 0.020 s"},
		{"PUBREL for one of two", "broker-pubrel", func(s *story) {
			answered(answered(s, 0), 1).disconnect(sub).connect(sub, true).toClient(sub, "pubrel", 100, s.of(q2, 0)).packet(sub, "pubcomp", 100, s.of(q2, 0)).wait(41 * time.Second).disconnect(sub)
		}, fail, "neither message 1 of pub-1"},
		{"PUBREL for a client that came back", "broker-pubrel", func(s *story) {
			answered(s, 0).disconnect(sub).connect(sub, true).toClient(sub, "pubrel", 100, s.of(q2, 0)).packet(sub, "pubcomp", 100, s.of(q2, 0)).wait(41 * time.Second).disconnect(sub)
		}, pass, ""},
		{"sent again to a client that came back", "broker-pubrel", func(s *story) {
			answered(s, 0).disconnect(sub).connect(sub, true)
			got(s, 100, q2, 0, history.FlagDup).packet(sub, "pubrec", 100, s.of(q2, 0)).toClient(sub, "pubrel", 100, s.of(q2, 0)).wait(41 * time.Second).disconnect(sub)
		}, pass, ""},
		{"no PUBREL in a new session", "broker-pubrel", func(s *story) {
			answered(s, 0).disconnect(sub).connect(sub, false).wait(41 * time.Second).disconnect(sub)
		}, unknown, "no client"},
		{"no PUBREL on a connection whose end the library did not notice", "broker-pubrel", func(s *story) {
			answered(s, 0).disconnect(sub).connect(sub, true).toClient(sub, "closed", 0).wait(41 * time.Second).add(blank(history.KindDisconnect, sub))
		}, unknown, "no client"},
		{"no PUBREL for a client that leaves a message unanswered", "broker-pubrel", func(s *story) {
			answered(s, 0).disconnect(sub).connect(sub, true)
			got(s.acked(q1, 0, 0), 5, q1, 0, 0).wait(41 * time.Second).disconnect(sub)
		}, unknown, "no client"},
		{"PUBREC that is written down late", "broker-pubrel", func(s *story) {
			got(s.acked(q2, 0, 0), 100, q2, 0, 0).disconnect(sub).connect(sub, false).packet(sub, "pubrec", 100, s.of(q2, 0), onConn(0)).wait(41 * time.Second).disconnect(sub)
		}, unknown, "no client"},
		{"PUBREC again behind PUBCOMP", "broker-pubrel", func(s *story) {
			answered(s, 0).toClient(sub, "pubrel", 100, s.of(q2, 0)).packet(sub, "pubcomp", 100, s.of(q2, 0)).packet(sub, "pubrec", 100, s.of(q2, 0))
			s.disconnect(sub).connect(sub, true).wait(41 * time.Second).disconnect(sub)
		}, unknown, "no client"},
		{"no PUBREL after the end of a node that promises nothing", "broker-pubrel", func(s *story) {
			answered(s, 0).fault(time.Second)
			s.landings[len(s.landings)-1].Ends = true
			s.wait(2*time.Second).disconnect(sub).connect(sub, true).wait(41 * time.Second).disconnect(sub)
		}, unknown, "no client"},
		{"no PUBREL for a client that left soon", "broker-pubrel", func(s *story) {
			answered(s, 0).disconnect(sub).connect(sub, true).wait(2 * time.Second).disconnect(sub)
		}, unknown, "no client"},
		{"no PUBREL while a fault is in place", "broker-pubrel", func(s *story) {
			answered(s, 0).disconnect(sub).connect(sub, true).fault(20 * time.Second).wait(41 * time.Second).disconnect(sub)
		}, unknown, "no client"},
		{"each connection ends on PUBREL", "sdk-pubcomp", func(s *story) {
			for range 3 {
				s.toClient(sub, "pubrel", 100).packet(sub, "closed", 0).add(blank(history.KindDisconnect, sub))
				s.connect(sub, true)
			}
		}, fail, "the wire shows that sub-1 ended 3 connections on PUBREL with packet id 100, and sent no PUBCOMP"},
		{"two end on PUBREL, and the third answers", "sdk-pubcomp", func(s *story) {
			for range 2 {
				s.toClient(sub, "pubrel", 100).packet(sub, "closed", 0).add(blank(history.KindDisconnect, sub))
				s.connect(sub, true)
			}
			s.toClient(sub, "pubrel", 100).packet(sub, "pubcomp", 100).packet(sub, "closed", 0)
		}, pass, ""},
		{"the broker ends each connection after PUBREL", "sdk-pubcomp", func(s *story) {
			for range 3 {
				s.toClient(sub, "pubrel", 100).toClient(sub, "closed", 0).add(blank(history.KindDisconnect, sub))
				s.connect(sub, true)
			}
		}, unknown, "no client"},
		{"each connection ends in order", "sdk-pubcomp", func(s *story) {
			for range 3 {
				s.toClient(sub, "pubrel", 100).disconnect(sub).connect(sub, true)
			}
		}, unknown, "no client"},
		{"each connection ends behind another packet", "sdk-pubcomp", func(s *story) {
			for range 3 {
				s.toClient(sub, "pubrel", 100).toClient(sub, "disconnect", 0).packet(sub, "closed", 0).add(blank(history.KindDisconnect, sub))
				s.connect(sub, true)
			}
		}, unknown, "no client"},
		{"PUBREL comes before CONNACK each time", "sdk-pubcomp", func(s *story) {
			for n := range int32(3) {
				s.packet(sub, "connect", 0, onConn(n+1)).toClient(sub, "pubrel", 100, onConn(n+1)).packet(sub, "closed", 0, onConn(n+1))
			}
		}, unknown, "no client"},
		{"each connection ends on PUBREL, in a session of its own", "sdk-pubcomp", func(s *story) {
			for range 3 {
				s.toClient(sub, "pubrel", 100).packet(sub, "closed", 0).add(blank(history.KindDisconnect, sub))
				s.connect(sub, false)
			}
		}, unknown, "no client"},
		{"each connection ends on PUBREL, under a fault", "sdk-pubcomp", func(s *story) {
			s.fault(20 * time.Second)
			for range 3 {
				s.toClient(sub, "pubrel", 100).packet(sub, "closed", 0).add(blank(history.KindDisconnect, sub))
				s.connect(sub, true)
			}
		}, unknown, "no client"},
		{"a PUBLISH before CONNACK", "broker-connack-first", func(s *story) {
			s.packet(sub, "connect", 0, onConn(1)).toClient(sub, "publish", 5, s.of(q1, 0), onConn(1)).toClient(sub, "connack", 0, onConn(1))
		}, fail, "the wire shows that the broker sent message 0 of pub-1 on work/1 (QoS 1) to sub-1 before CONNACK"},
		{"a SUBACK before CONNACK", "broker-connack-first", func(s *story) {
			s.packet(sub, "connect", 0, onConn(1)).packet(sub, "subscribe", 1, onConn(1)).toClient(sub, "suback", 1, onConn(1)).toClient(sub, "connack", 0, onConn(1))
		}, fail, "the broker sent a SUBACK to sub-1 before CONNACK"},
		{"sent on the connection before", "broker-connack-first", func(s *story) {
			s.packet(sub, "connect", 0, onConn(1)).toClient(sub, "publish", 5, s.of(q1, 0), onConn(0)).toClient(sub, "connack", 0, onConn(1))
		}, pass, ""},
		{"a CONNACK that a fault may have taken", "broker-connack-first", func(s *story) {
			s.fault(time.Second)
			s.landings[0].Type = "packet_drop"
			s.packet(sub, "connect", 0, onConn(1)).toClient(sub, "publish", 5, s.of(q1, 0), onConn(1))
		}, pass, ""},
		{"a PUBLISH before CONNACK, during a fault that takes no packet", "broker-connack-first", func(s *story) {
			s.fault(time.Second)
			s.packet(sub, "connect", 0, onConn(1)).toClient(sub, "publish", 5, s.of(q1, 0), onConn(1))
		}, fail, "before CONNACK"},
		{"refused by DISCONNECT", "broker-connack-first", func(s *story) {
			s.packet(sub, "connect", 0, onConn(1)).toClient(sub, "disconnect", 0, onConn(1)).toClient(sub, "closed", 0, onConn(1))
		}, pass, ""},
		{"ended without an answer", "broker-connack-first", func(s *story) {
			s.packet(sub, "connect", 0, onConn(1)).toClient(sub, "closed", 0, onConn(1))
		}, pass, ""},
		{"one that came before CONNACK", "sdk-ack-order", func(s *story) {
			got(s, 1, q1, 0, 0).packet(sub, "puback", 1, s.of(q1, 0))
			got(s, 2, q1, 1, 0).packet(sub, "puback", 2, s.of(q1, 1)).disconnect(sub)
			s.packet(sub, "connect", 0, onConn(1)).toClient(sub, "publish", 3, s.of(q1, 2), onConn(1))
			s.wire(sub).conns++
			s.toClient(sub, "connack", 0, flagged2(true, history.FlagSessionPresent)).packet(sub, "puback", 3, s.of(q1, 2))
			got(s, 4, q1, 3, 0).packet(sub, "puback", 4, s.of(q1, 3))
		}, pass, ""},
		{"ones that came before the first CONNACK", "sdk-ack-order", func(s *story) {
			s.packet(other, "connect", 0).toClient(other, "publish", 3, s.of(q1, 2)).toClient(other, "publish", 4, s.of(q1, 3))
			s.wire(other).conns++
			s.toClient(other, "connack", 0, flagged2(true, history.FlagSessionPresent)).packet(other, "puback", 3, s.of(q1, 2)).packet(other, "puback", 4, s.of(q1, 3))
			s.toClient(other, "publish", 5, s.of(q1, 4)).packet(other, "puback", 5, s.of(q1, 4))
			got(s, 1, q1, 0, 0).packet(sub, "puback", 1, s.of(q1, 0))
		}, pass, ""},
		{"it ended", "sdk-lives", func(s *story) { s.driver("driver broke the contract: it ended without bye (exit status 3)") }, fail, "exit status 3"},
		{"it crashed", "sdk-lives", func(s *story) {
			s.driver("driver broke the contract: it ended without bye (signal: segmentation fault (core dumped))")
		}, fail, "segmentation fault"},
		{"a client of the harness ended", "sdk-lives", func(s *story) {
			s.run.SDK, s.tables.Processes[probe1].SDK = "go/paho.mqtt.golang@1.5.1", "go/rmq-mcp@1"
			s.driver("driver broke the contract: it ended without bye (exit status 2)")
			s.events[len(s.events)-1].Process = probe1
			s.driver("ended: exit status 0")
		}, pass, ""},
		{"it never began", "sdk-lives", func(s *story) {
			s.driver("driver broke the contract: it ended before hello (exit status 1)").driver("ended: exit status 1")
		}, pass, ""},
		{"its driver failed", "sdk-lives", func(s *story) {
			s.driver("driver broke the contract: it ended by a failure of its own (exit status 70)").driver("ended: exit status 70")
		}, pass, ""},
		{"something killed it", "sdk-lives", func(s *story) {
			s.driver("driver broke the contract: it ended without bye (signal: killed)").driver("ended: signal: killed")
		}, pass, ""},
	} {
		t.Run(c.claim+": "+c.name, func(t *testing.T) {
			s := wired()
			s.join(sub).connect(pub, false)
			c.tell(s)
			r := judgeStory(t, s.finish(), c.claim).Results[0]
			if r.Claim.Name != c.claim || r.Status != c.want && !(c.want == pass && len(r.Anomalies) == 0 && r.Judged > 0) {
				t.Fatalf("%s is %s: %s %v", r.Claim.Name, r.Status, r.Summary, r.Reasons)
			}
			if c.want == fail && (!strings.Contains(r.Anomalies[0].Text, c.text) || r.Anomalies[0].Blame == "") {
				t.Errorf("%q, blame %q", r.Anomalies[0].Text, r.Anomalies[0].Blame)
			}
		})
	}
}

func (s *story) driver(text string) *story {
	e := blank(history.KindDriver, history.None)
	e.Text = text
	s.add(e)
	return s
}

// Every party to blame is among the listed violations, however many violations of other
// parties come before.
func TestEveryPartyIsListed(t *testing.T) {
	var f findings
	for i := range int64(100 * maxListed) {
		by := verdict.SDK
		if i == 99*maxListed {
			by = verdict.Broker
		}
		f.add(verdict.Anomaly{TimeNS: i, Blame: by})
	}
	list := f.first()
	if len(list) != maxListed+1 || list[maxListed].Blame != verdict.Broker {
		t.Errorf("%d are listed, the last is %+v", len(list), list[len(list)-1])
	}
}

func onConn(n int32) func(*history.Event) { return func(e *history.Event) { e.Conn = n } }
func refused(e *history.Event)            { e.Reason = 0x87 }

// A library may say in two ways that one publish is done; the first counts.
func TestHonestCountsAPublishOnce(t *testing.T) {
	s := wired()
	s.join(sub).connect(pub, false)
	e := s.publishing(q1, 0)
	c := s.call(e)
	told := e
	told.Kind, told.Outcome = history.KindTold, history.OK
	s.packet(pub, "publish", 1, s.of(q1, 0), flagged2(true, 0))
	s.add(told)
	s.toClient(pub, "puback", 1, s.of(q1, 0))
	s.ret(e, c, history.OK)
	if r := judgeStory(t, s.finish(), "sdk-honest").Results[0]; r.Judged != 1 || r.Found() != 1 || r.Counts["false_acks"] != 1 {
		t.Errorf("%d judged, %d found, %v", r.Judged, r.Found(), r.Counts)
	}
}

// bareAfterKill has the broker send a message that it had sent before a node was killed,
// as if for the first time.
func bareAfterKill(s *story) {
	s.toClient(sub, "publish", 1, s.of(q1, 0)).fault(time.Second)
	s.landings[len(s.landings)-1].Ends = true
	s.wait(time.Second).connect(sub, true).toClient(sub, "publish", 1, s.of(q1, 0))
}

// resentAfterKill has the broker send a message again whose PUBREL it had sent before a
// node was killed.
func resentAfterKill(s *story) {
	of := s.of(q2, 0)
	s.toClient(sub, "publish", 1, of).packet(sub, "pubrec", 1, of).toClient(sub, "pubrel", 1, of).fault(time.Second)
	s.landings[len(s.landings)-1].Ends = true
	s.wait(time.Second).connect(sub, true).toClient(sub, "publish", 1, of, flagged2(true, history.FlagDup))
	s.packet(sub, "pubrec", 1, of).toClient(sub, "pubrel", 1, of).packet(sub, "pubcomp", 1, of)
}

// The canary of qos1-dup-flag repeats a message that needs DUP: the first may be one that
// the broker sends once more with another packet id.
func TestUnflagRepeatsWhatNeedsDUP(t *testing.T) {
	s := wired()
	s.join(sub).connect(pub, false).acked(q1, 0, 1)
	for id := range int64(2) {
		s.deliver(sub, q1, 0)
		s.toClient(sub, "publish", 100+id, s.of(q1, 0)).packet(sub, "puback", 100+id, s.of(q1, 0))
	}
	s.again(2).deliver(sub, q1, 1)
	s.finish()
	report, err := Judge(s.source(1), s.context(), []string{"qos1-dup-flag"}) // row by row: what comes later is not known
	if err != nil {
		t.Fatal(err)
	}
	if r := report.Results[0]; !r.Canary.Red {
		t.Errorf("%s: %s; its canary: %+v", r.Status, r.Summary, r.Canary)
	}
}

// A session outlives its connection in MQTT 3.1.1 unless the client asked for a clean one,
// and in MQTT 5 for as long as CONNACK or DISCONNECT says.
func TestASessionLastsUntil(t *testing.T) {
	const at = 100 * second
	for _, c := range []struct {
		name     string
		protocol string
		of       greeting
		want     bool
	}{
		{"kept", contract.MQTT3, greeting{}, true},
		{"clean", contract.MQTT3, greeting{clean: true}, false},
		{"without an end", contract.MQTT5, greeting{expiryS: noExpiry}, true},
		{"clean, and then kept", contract.MQTT5, greeting{clean: true, expiryS: noExpiry}, true},
		{"over with its connection", contract.MQTT5, greeting{}, false},
		{"without a word", contract.MQTT5, greeting{expiryS: -1}, false},
		{"back in time", contract.MQTT5, greeting{expiryS: 60, begun: at - 59*second}, true},
		{"back too late", contract.MQTT5, greeting{expiryS: 60, begun: at - 61*second}, false},
	} {
		if got := c.of.lastsUntil(&greeting{at: at}, c.protocol); got != c.want {
			t.Errorf("%s, %s: %v", c.protocol, c.name, got)
		}
	}
}
