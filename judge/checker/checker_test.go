package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

func TestCheckers(t *testing.T) {
	const pass, fail, unknown = verdict.Pass, verdict.Fail, verdict.Unknown
	for _, test := range []struct {
		name  string
		claim string
		tell  func(s *story)
		want  verdict.Status
		count map[string]int64 // of Counts
		text  string           // in the first anomaly, or in a reason
	}{
		{"all are let in", "clients-connect", func(s *story) {
			s.join(sub, other).connect(pub, false).shutOut(fleet, time.Second, "refused").join(fleet)
		}, pass, map[string]int64{"clients": 4, "kept_out": 0}, ""},
		{"one is not", "clients-connect", func(s *story) {
			s.join(sub).shutOut(other, 11*time.Second, "expected PONG, got PING").letIn(0, "INFO, PING, PONG", history.OK)
		}, fail, map[string]int64{"clients": 2, "kept_out": 1}, "got PING; node-1 let rmq-mcp in at"},
		{"nobody is, nor is the harness", "clients-connect", func(s *story) {
			s.shutOut(sub, 11*time.Second, "refused").letIn(0, "no answer", history.Fail)
		}, unknown, nil, "no client connected, and for none"},
		{"one did not try for long", "clients-connect", func(s *story) {
			s.join(sub).shutOut(other, 9*time.Second, "refused").letIn(0, "INFO, PONG", history.OK)
		}, pass, map[string]int64{"clients": 1}, ""},
		{"one is not let in since a fault", "clients-connect", func(s *story) {
			s.join(sub).shutOut(other, 3*time.Second, "refused").fault(5*time.Second).shutOut(other, 10*time.Second, "refused").letIn(0, "INFO, PONG", history.OK)
		}, pass, map[string]int64{"clients": 1}, ""},
		{"one is not let in long after a fault", "clients-connect", func(s *story) {
			s.join(sub).fault(5*time.Second).shutOut(other, 16*time.Second, "refused").letIn(0, "INFO, PONG", history.OK)
		}, fail, map[string]int64{"kept_out": 1}, "sub-2"},
		{"another node let the harness in", "clients-connect", func(s *story) {
			s.join(sub).shutOut(other, 11*time.Second, "refused").letIn(1, "INFO, PONG", history.OK)
		}, pass, map[string]int64{"clients": 1}, ""},
		{"one's driver hung", "clients-connect", func(s *story) {
			s.join(sub).shutOut(other, 16*time.Second, "refused").letIn(0, "INFO, PONG", history.OK)
			s.hung = []int32{other}
		}, pass, map[string]int64{"clients": 1, "kept_out": 0}, ""},
		{"one never said CONNECT, as the packets of all show", "clients-connect", func(s *story) {
			s.run.Wire = true
			s.join(sub)
			s.run.Wire = false // no packet of what follows
			s.shutOut(other, 16*time.Second, "no answer yet").letIn(0, "CONNECT, CONNACK", history.OK)
			s.run.Wire = true
		}, pass, map[string]int64{"clients": 1, "kept_out": 0}, ""},
		{"all arrives", "qos1-no-loss", func(s *story) {
			s.join(sub).acked(q1, 0, 3).delivered(sub, q1, 0, 3)
		}, pass, map[string]int64{"due": 4, "lost": 0}, ""},
		{"one is lost", "qos1-no-loss", func(s *story) {
			s.join(sub).fault(time.Second).acked(q1, 0, 3).delivered(sub, q1, 0, 1).deliver(sub, q1, 3)
		}, fail, map[string]int64{"due": 4, "lost": 1, "lost_message": 1}, "message 2 of pub-1 on work/1 (QoS 1) never reached sub-1"},
		{"two are lost, and the broker has not stored as many as it acknowledged", "qos1-no-loss", func(s *story) {
			s.join(sub).acked(q1, 0, 3).delivered(sub, q1, 0, 1).holds(q1, history.OK, 4) // the marker among them
		}, fail, map[string]int64{"lost": 2, "not_stored": 1}, "message 2 of pub-1"},
		{"two are lost, and the broker has stored as many", "qos1-no-loss", func(s *story) {
			s.join(sub).acked(q1, 0, 3).delivered(sub, q1, 0, 1).holds(q1, history.Fail, 0).holds(q1, history.OK, 5)
		}, fail, map[string]int64{"lost": 2, "not_stored": 0}, "message 2 of pub-1"},
		{"one is lost, and two of unknown outcome were delivered in place of others in storage", "qos1-no-loss", func(s *story) {
			s.join(sub).acked(q1, 0, 3).publish(q1, 4, history.Info).publish(q1, 5, history.Info).delivered(sub, q1, 0, 2).delivered(sub, q1, 4, 5).holds(q1, history.OK, 6)
		}, fail, map[string]int64{"lost": 1, "not_stored": 1}, "message 3 of pub-1"},
		{"one is lost, and others may be in storage in its place", "qos1-no-loss", func(s *story) {
			s.join(sub).acked(q1, 0, 3).publish(q1, 4, history.Info).publish(q1, 5, history.Fail).delivered(sub, q1, 0, 2).holds(q1, history.OK, 5)
		}, fail, map[string]int64{"lost": 1, "not_stored": 0}, "message 3 of pub-1"},
		{"nothing is lost, and another topic was asked about", "qos1-no-loss", func(s *story) {
			s.join(sub).acked(q1, 0, 3).delivered(sub, q1, 0, 3).holds(q1b, history.OK, 0)
		}, pass, map[string]int64{"lost": 0}, ""},
		{"one is lost to one of two", "qos1-no-loss", func(s *story) {
			s.join(sub, other).acked(q1, 0, 1).delivered(sub, q1, 0, 1).deliver(other, q1, 1)
		}, fail, map[string]int64{"due": 4, "lost": 1}, "sub-2"},
		{"one is lost, and another subscriber has not drained", "qos1-no-loss", func(s *story) {
			s.join(sub, other).acked(q1, 0, 3).delivered(sub, q1, 0, 1).deliver(sub, q1, 3).disconnect(other)
		}, fail, map[string]int64{"lost": 1, "waiting": 4}, "message 2 of pub-1"},
		{"a subscriber has not drained", "qos1-no-loss", func(s *story) {
			s.join(sub).acked(q1, 0, 3).disconnect(sub)
		}, unknown, map[string]int64{"lost": 0, "waiting": 4}, "had not drained"},
		{"more waited than the broker keeps", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue = 5
			s.join(sub).disconnect(sub).acked(q1, 0, 9).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 0, 4)
		}, pass, map[string]int64{"due": 10, "lost": 0, "over_limit": 5}, ""},
		{"more waited than the broker keeps, and it kept less", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue = 5
			s.join(sub).disconnect(sub).acked(q1, 0, 9).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 0, 2)
		}, fail, map[string]int64{"lost": 7, "over_limit": 0}, "never reached sub-1"},
		{"some are lost, and then more waited than the broker keeps", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue = 5
			s.join(sub)
			for seq := range int64(10) {
				if s.publish(q1, seq, history.OK); seq < 7 {
					s.deliver(sub, q1, seq)
				}
				s.wait(time.Second / 5)
			}
			s.disconnect(sub).acked(q1, 10, 19).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 10, 14)
		}, fail, map[string]int64{"lost": 3, "over_limit": 5}, "message 7 of"},
		{"more waited than the broker keeps, of both QoS", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue = 5
			s.join(sub).disconnect(sub)
			for seq := range int64(4) {
				s.publish(q1, seq, history.OK).publish(q2, seq, history.OK)
			}
			s.wait(2*time.Second).connect(sub, true).delivered(sub, q1, 0, 2).delivered(sub, q2, 0, 1)
		}, pass, map[string]int64{"lost": 0, "over_limit": 1}, ""},
		{"less waited than the broker keeps", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue = 10
			s.join(sub).disconnect(sub).acked(q1, 0, 9).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 0, 8)
		}, fail, map[string]int64{"lost": 1, "over_limit": 0}, "never reached sub-1"},
		{"more waited than the broker keeps, within a moment", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue = 5
			s.join(sub).under(q1, 0, 9)
			s.delivered(sub, q1, 0, 4).wait(10*time.Second).acked(q1, 10, 11).delivered(sub, q1, 10, 11)
		}, pass, map[string]int64{"lost": 0, "over_limit": 5}, ""},
		{"never more waited than the broker keeps", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue = 5
			s.join(sub)
			for seq := range int64(20) {
				if s.publish(q1, seq, history.OK); seq != 12 {
					s.deliver(sub, q1, seq)
				}
				s.wait(time.Second / 5)
			}
		}, fail, map[string]int64{"lost": 1, "over_limit": 0}, "message 12"},
		{"one of many is lost, none of which waited, in a time in which more came than the broker keeps", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.InFlight = 50, 20
			s.join(sub).quickly(sub, q1, 0, 199).publish(q1, 200, history.OK).quickly(sub, q1, 201, 400)
		}, fail, map[string]int64{"lost": 1, "over_limit": 0}, "message 200"},
		{"the same, if it is not known what the limit counts", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.QueueTold, s.run.Cluster.Lacks = 50, true, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).quickly(sub, q1, 0, 199).publish(q1, 200, history.OK).quickly(sub, q1, 201, 400)
		}, unknown, map[string]int64{"lost": 0, "over_limit": 1}, "not yet acknowledged"},
		{"the broker kept what a client had not acknowledged when it left, and less of what came then", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.InFlight = 100, 20
			s.join(sub).quickly(sub, q1, 0, 19).disconnect(sub).acked(q1, 20, 199).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 20, 99)
		}, pass, map[string]int64{"lost": 0, "over_limit": 100}, ""},
		{"the same, if the broker may have had no acknowledgement of them", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.InFlight = 100, 20
			s.join(sub).quickly(sub, q1, 0, 19).wait(2*time.Second).disconnect(sub).acked(q1, 20, 199).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 20, 99)
		}, unknown, map[string]int64{"lost": 0, "over_limit": 100}, "not yet acknowledged"},
		{"a broker of somebody else drops the oldest, after more than its limit were on their way", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.QueueTold, s.run.Cluster.Lacks = 100, true, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).quickly(sub, q1, 0, 19).disconnect(sub)
			for seq := range int64(20) {
				s.acked(q1, 20+10*seq, 29+10*seq).wait(time.Second)
			}
			s.connect(sub, true).delivered(sub, q1, 120, 219)
		}, pass, map[string]int64{"over_limit": 100}, ""},
		{"it kept less than that", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.InFlight = 100, 20
			s.join(sub).quickly(sub, q1, 0, 19).disconnect(sub).acked(q1, 20, 199).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 20, 98)
		}, fail, map[string]int64{"lost": 101, "over_limit": 0}, "message 99"},
		{"more waited than a broker of which nothing is known may keep", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.Lacks = 1000, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).disconnect(sub).acked(q1, 0, 199).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 0, 99)
		}, unknown, map[string]int64{"over_limit": 100}, "is not known"},
		{"more waited than a broker with a limit in bytes may keep", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.QueueTold = history.UnknownQueue, true
			s.join(sub).disconnect(sub).acked(q1, 0, 199).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 0, 99)
		}, unknown, map[string]int64{"over_limit": 100}, "is not known"},
		{"more waited than an operator says that a broker keeps", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.QueueTold, s.run.Cluster.Lacks = 100, true, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).disconnect(sub).acked(q1, 0, 199).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 0, 99)
		}, pass, map[string]int64{"over_limit": 100}, ""},
		{"a broker drops the oldest of what an operator says that it keeps", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.QueueTold, s.run.Cluster.Lacks = 100, true, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).disconnect(sub)
			for seq := range int64(20) {
				s.acked(q1, 10*seq, 10*seq+9).wait(time.Second)
			}
			s.connect(sub, true).delivered(sub, q1, 100, 199)
		}, pass, map[string]int64{"over_limit": 100}, ""},
		{"fewer waited than an operator says that a broker keeps", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.QueueTold, s.run.Cluster.Lacks = 1000, true, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).disconnect(sub).acked(q1, 0, 199).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 0, 99)
		}, fail, map[string]int64{"lost": 100, "over_limit": 0}, "message 100"},
		{"a broker loses a message of an absent client, and its document knows no limit", "qos1-no-loss", func(s *story) {
			s.run.Cluster.QueueTold = true
			s.join(sub).disconnect(sub).acked(q1, 0, 19).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 0, 18)
		}, fail, map[string]int64{"lost": 1, "over_limit": 0}, "message 19"},
		{"a broker of which nothing is known drops the oldest", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.Lacks = 1000, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).disconnect(sub)
			for seq := range int64(20) {
				s.acked(q1, 10*seq, 10*seq+9).wait(time.Second)
			}
			s.connect(sub, true).delivered(sub, q1, 100, 199)
		}, unknown, map[string]int64{"over_limit": 100}, "is not known"},
		{"a broker of which nothing is known loses some before it has much to keep", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.Lacks = 1000, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).acked(q1, 0, 9).delivered(sub, q1, 0, 4).wait(time.Second).acked(q1, 10, 19).delivered(sub, q1, 10, 19).wait(time.Second)
			s.disconnect(sub).acked(q1, 20, 99).wait(time.Second).connect(sub, true).delivered(sub, q1, 20, 79)
		}, fail, map[string]int64{"lost": 5, "over_limit": 20}, "message 5 "},
		{"a broker of which nothing is known loses one of many that wait", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.Lacks = 1000, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).disconnect(sub)
			for seq := range int64(400) {
				s.publish(q1, seq, history.OK).wait(50 * time.Millisecond)
			}
			s.connect(sub, true).delivered(sub, q1, 0, 99).delivered(sub, q1, 101, 399)
		}, fail, map[string]int64{"lost": 1, "over_limit": 0}, "message 100"},
		{"a broker of which nothing is known loses one of many that wait, under a fault", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.Lacks = 1000, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).disconnect(sub).fault(time.Second)
			for seq := range int64(400) {
				s.publish(q1, seq, history.OK).wait(50 * time.Millisecond)
			}
			s.connect(sub, true).delivered(sub, q1, 0, 99).delivered(sub, q1, 101, 399)
		}, unknown, map[string]int64{"lost": 0, "over_limit": 1}, "is not known"},
		{"a broker of which nothing is known loses one of many, none of which waits", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.Lacks = 1000, map[string]string{history.LacksLimits: "not known"}
			s.join(sub)
			for seq := range int64(400) {
				if s.publish(q1, seq, history.OK); seq != 200 {
					s.deliver(sub, q1, seq)
				}
			}
		}, fail, map[string]int64{"lost": 1, "over_limit": 0}, "message 200"},
		{"a broker of which nothing is known keeps few of few, as one that limits bytes", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.Lacks = 1000, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).disconnect(sub).acked(q1, 0, 9).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 0, 3)
		}, unknown, map[string]int64{"lost": 0, "over_limit": 6}, "how much this broker keeps"},
		{"a broker of ours limits bytes", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue = history.UnknownQueue
			s.join(sub).disconnect(sub).acked(q1, 0, 9).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 0, 3)
		}, unknown, map[string]int64{"lost": 0, "over_limit": 6}, "how much this broker keeps"},
		{"one is lost after QoS 1 was granted in place of QoS 0", "qos1-no-loss", func(s *story) {
			s.join(sub).regrant(sub, 0).acked(q1, 0, 1).regrant(sub, 1).acked(q1, 2, 4).delivered(sub, q1, 2, 3)
		}, fail, map[string]int64{"lost": 1, "due": 3}, "message 4"},
		{"none is owed while QoS 0 is granted", "qos1-no-loss", func(s *story) {
			s.join(sub, other).regrant(sub, 0).acked(q1, 0, 3).delivered(other, q1, 0, 3)
		}, pass, map[string]int64{"lost": 0, "due": 4}, ""},
		{"a broker of which nothing is known keeps nothing for a client that is away", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.Lacks = 1000, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).disconnect(sub).acked(q1, 0, 9).wait(2*time.Second).connect(sub, true).acked(q1, 10, 19).delivered(sub, q1, 10, 19)
		}, fail, map[string]int64{"lost": 10, "over_limit": 0}, "message 0"},
		{"a broker of which nothing is known kept more for another client", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.Lacks = 1000, map[string]string{history.LacksLimits: "not known"}
			s.join(sub, other).disconnect(sub).disconnect(other).acked(q1, 0, 9).wait(2 * time.Second)
			s.connect(sub, true).connect(other, true).delivered(sub, q1, 0, 3).delivered(other, q1, 0, 9)
		}, fail, map[string]int64{"lost": 6, "over_limit": 0}, "message 4"},
		{"more waited than many brokers keep", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Queue, s.run.Cluster.Lacks = 5, map[string]string{history.LacksLimits: "not known"}
			s.join(sub).disconnect(sub).acked(q1, 0, 9).wait(2*time.Second).connect(sub, true).delivered(sub, q1, 0, 4)
		}, unknown, map[string]int64{"over_limit": 5}, "how much this broker keeps"},
		{"nobody waits long", "delivery-progress", func(s *story) {
			s.join(sub).acked(q1, 0, 3).wait(9*time.Second).delivered(sub, q1, 0, 3)
		}, pass, map[string]int64{"delivered": 4, "stalls": 0}, ""},
		{"one waits for long", "delivery-progress", func(s *story) {
			s.join(sub, other).acked(q1, 0, 3).delivered(other, q1, 0, 3).wait(11*time.Second).delivered(sub, q1, 0, 3)
		}, fail, map[string]int64{"stalls": 1, "stalled": 4}, "got them on the same connection"},
		{"one waits again and again", "delivery-progress", func(s *story) {
			for i := range int64(2) {
				s.join(sub).acked(q1, 4*i, 4*i+3).wait(11*time.Second).delivered(sub, q1, 4*i, 4*i+3)
			}
		}, fail, map[string]int64{"stalls": 2, "stalled": 8}, "sub-1 was connected"},
		{"one was away", "delivery-progress", func(s *story) {
			s.join(sub).disconnect(sub).acked(q1, 0, 3).wait(11*time.Second).connect(sub, true).delivered(sub, q1, 0, 3).again(4)
		}, pass, map[string]int64{"stalls": 0}, ""},
		{"one has to connect anew", "delivery-progress", func(s *story) {
			s.join(sub).acked(q1, 0, 3).wait(11*time.Second).disconnect(sub).connect(sub, true).delivered(sub, q1, 0, 3).again(4)
		}, fail, map[string]int64{"stalls": 1}, "got them when it reconnected"},
		{"one reads nothing", "delivery-progress", func(s *story) {
			s.join(sub)
			s.add(blank(history.KindPause, sub))
			s.acked(q1, 0, 3).wait(11*time.Second).delivered(sub, q1, 0, 3)
		}, unknown, nil, "nothing was delivered"},
		{"one waits for long, and was paused before it connected", "delivery-progress", func(s *story) {
			s.add(blank(history.KindPause, sub))
			s.join(sub)
			s.add(blank(history.KindResume, sub))
			s.acked(q1, 0, 3).wait(11*time.Second).delivered(sub, q1, 0, 3)
		}, fail, map[string]int64{"stalls": 1, "stalled": 4}, "sub-1 was connected"},
		{"a fault keeps everybody waiting", "delivery-progress", func(s *story) {
			s.join(sub).fault(20*time.Second).acked(q1, 0, 3).wait(29*time.Second).delivered(sub, q1, 0, 3)
		}, pass, map[string]int64{"stalls": 0}, ""},
		{"they wait for long after it", "delivery-progress", func(s *story) {
			s.join(sub).fault(20*time.Second).acked(q1, 0, 3).wait(31*time.Second).delivered(sub, q1, 0, 3)
		}, fail, map[string]int64{"stalled": 4}, "from 20.0"},
		{"a retained message is old", "delivery-progress", func(s *story) {
			s.join(sub).acked(q1, 0, 3).delivered(sub, q1, 0, 2).wait(11*time.Second).deliver(sub, q1, 3, history.FlagRetain)
		}, pass, map[string]int64{"stalls": 0}, ""},
		{"a backlog flows for long", "delivery-progress", func(s *story) {
			s.join(sub).disconnect(sub).acked(q1, 0, 99).connect(sub, true)
			for seq := range int64(100) {
				s.deliver(sub, q1, seq).again(1).wait(500 * time.Millisecond)
			}
		}, pass, map[string]int64{"stalls": 0}, ""},
		{"a backlog drips", "delivery-progress", func(s *story) {
			s.join(sub).acked(q1, 0, 9)
			for seq := range int64(10) {
				s.deliver(sub, q1, seq).wait(4 * time.Second)
			}
		}, fail, map[string]int64{"stalls": 1, "stalled": 7}, "sub-1 was connected"},
		{"others overtake one for long", "delivery-progress", func(s *story) {
			s.join(sub)
			for seq := range int64(100) {
				if s.publish(q1, seq, history.OK).wait(500 * time.Millisecond); seq != 5 {
					s.deliver(sub, q1, seq)
				}
			}
			s.deliver(sub, q1, 5)
		}, fail, map[string]int64{"stalled": 1}, "message 5 of"},
		{"it comes again, late", "delivery-progress", func(s *story) {
			s.join(sub).acked(q1, 0, 3).delivered(sub, q1, 0, 3).wait(11*time.Second).delivered(sub, q1, 0, 3)
		}, pass, map[string]int64{"stalls": 0}, ""},
		{"another stream is not judged", "qos1-no-loss", func(s *story) {
			s.join(sub).acked(q1, 0, 1).acked(q2, 0, 1).delivered(sub, q1, 0, 1)
		}, pass, map[string]int64{"due": 2}, ""},
		{"an unknown outcome may be missing", "qos1-no-loss", func(s *story) {
			s.join(sub).publish(q1, 0, history.OK).publish(q1, 1, history.Info).deliver(sub, q1, 0)
		}, pass, map[string]int64{"recovered": 0}, ""},
		{"an unknown outcome may arrive", "qos1-no-loss", func(s *story) {
			s.join(sub).publish(q1, 0, history.OK).publish(q1, 1, history.Info).delivered(sub, q1, 0, 1)
		}, pass, map[string]int64{"recovered": 1}, ""},
		{"sent before the subscription", "qos1-no-loss", func(s *story) {
			s.acked(q1, 0, 4).join(sub).acked(q1, 5, 6).delivered(sub, q1, 5, 6)
		}, pass, map[string]int64{"due": 2}, ""},
		{"a clean session is owed nothing", "qos1-no-loss", func(s *story) {
			s.join(fleet).acked(q1, 0, 4)
		}, unknown, nil, "no acknowledged message was due"},
		{"a broken session loses what was in it", "qos1-no-loss", func(s *story) {
			s.join(sub).acked(q1, 0, 1).delivered(sub, q1, 0, 1).disconnect(sub).acked(q1, 2, 4)
			s.join(sub).publish(q1, 5, history.OK).deliver(sub, q1, 5)
		}, fail, map[string]int64{"lost": 3, "lost_session": 3, "lost_message": 0}, "its session was lost"},
		{"a session that was over is owed nothing", "qos1-no-loss", func(s *story) {
			s.tables.Processes[sub].Protocol, s.tables.Processes[sub].ExpiryS = "mqtt5", 10
			s.join(sub).disconnect(sub).acked(q1, 0, 4).wait(time.Minute)
			s.join(sub).publish(q1, 5, history.OK).deliver(sub, q1, 5)
		}, pass, map[string]int64{"due": 1}, ""},
		{"a history with an open end shows no loss", "qos1-no-loss", func(s *story) {
			s.torn = true
			s.join(sub).acked(q1, 0, 3).delivered(sub, q1, 0, 2)
		}, unknown, map[string]int64{"lost": 1}, "cut off"},
		{"a grant of QoS 0 promises nothing", "qos1-no-loss", func(s *story) {
			s.join(sub).acked(q1, 0, 3).deliver(sub, q1, 3)
			s.granted(sub, 0)
		}, unknown, nil, "no acknowledged message was due"},
		{"a grant of QoS 0 of another filter excuses no duplicate", "qos2-exactly-once", func(s *story) {
			s.tables.Processes[sub].Filters = []history.Filter{{Filter: "work/2", QoS: 2}, {Filter: "work/1b", QoS: 1}}
			s.join(sub)
			e := blank(history.KindSubscribe, sub)
			e.Text = "work/1b"
			s.ret(e, s.call(e), history.OK)
			e.Text = "work/2"
			c := s.call(e)
			e.Reason = 2
			s.ret(e, c, history.OK)
			s.acked(q2, 0, 3).delivered(sub, q2, 0, 3).deliver(sub, q2, 1)
		}, fail, nil, "message 1 of pub-1 on work/2 "},
		{"a grant of QoS 0 promises nothing of its own filter alone", "qos1-no-loss", func(s *story) {
			s.tables.Processes[sub].Filters = []history.Filter{{Filter: "work/1", QoS: 1}, {Filter: "work/1b", QoS: 1}}
			s.join(sub)
			e := blank(history.KindSubscribe, sub)
			e.Text = "work/1b"
			s.ret(e, s.call(e), history.OK)
			s.acked(q1, 0, 3).delivered(sub, q1, 0, 2).acked(q1b, 0, 3)
		}, fail, map[string]int64{"lost": 1}, "message 3 of pub-1 on work/1 "},
		{"an SDK that hides refusals proves no loss", "qos1-no-loss", func(s *story) {
			s.tables.Processes[pub].Protocol, s.tables.Processes[pub].Cannot = "mqtt5", []string{"publish_reason"}
			s.join(sub).acked(q1, 0, 3).deliver(sub, q1, 3)
		}, unknown, nil, "no acknowledged message was due"},
		{"QoS 2", "qos2-no-loss", func(s *story) {
			s.join(sub).acked(q2, 0, 3).delivered(sub, q2, 1, 3)
		}, fail, map[string]int64{"lost": 1}, "message 0"},

		{"sent again in a new session", "qos2-exactly-once", func(s *story) {
			s.tables.Processes[pub].Clean = true
			s.connect(pub, false).join(sub)
			s.resent(q2, 0, func() { s.deliver(sub, q2, 0).disconnect(pub).connect(pub, false) }).deliver(sub, q2, 0).acked(q2, 1, 1).deliver(sub, q2, 1)
		}, pass, map[string]int64{"duplicated": 0}, ""},
		{"sent again in a session that should have lasted", "qos2-exactly-once", func(s *story) {
			s.connect(pub, false).join(sub)
			s.resent(q2, 0, func() { s.deliver(sub, q2, 0).disconnect(pub).connect(pub, false) }).deliver(sub, q2, 0)
		}, fail, map[string]int64{"duplicated": 1}, "message 0"},
		{"sent before a new session", "qos2-exactly-once", func(s *story) {
			s.tables.Processes[pub].Clean = true
			s.connect(pub, false).join(sub).acked(q2, 0, 0).deliver(sub, q2, 0).disconnect(pub).connect(pub, false).deliver(sub, q2, 0)
		}, fail, map[string]int64{"duplicated": 1}, "message 0"},
		{"a producer whose SDK may send twice proves nothing", "qos2-exactly-once", func(s *story) {
			s.tables.Processes[s.tables.Streams[q2].Producer].Cannot = []string{"exactly_once"}
			s.join(sub).acked(q2, 0, 1).delivered(sub, q2, 0, 1).deliver(sub, q2, 1)
		}, unknown, nil, ""},
		{"once each", "qos2-exactly-once", func(s *story) {
			s.join(sub).acked(q2, 0, 1).delivered(sub, q2, 0, 1)
		}, pass, map[string]int64{"delivered": 2}, ""},
		{"twice", "qos2-exactly-once", func(s *story) {
			s.join(sub).acked(q2, 0, 1).delivered(sub, q2, 0, 1).deliver(sub, q2, 0, history.FlagDup)
		}, fail, map[string]int64{"duplicated": 1}, "again"},
		{"once in each of two sessions of its subscriber", "qos2-exactly-once", func(s *story) {
			s.join(fleet).publish(q2, 0, history.OK).deliver(fleet, q2, 0).disconnect(fleet).join(fleet).deliver(fleet, q2, 0)
		}, pass, map[string]int64{"duplicated": 0}, ""},
		{"again in a session long after it", "qos2-exactly-once", func(s *story) {
			s.join(fleet).publish(q2, 0, history.OK).deliver(fleet, q2, 0).wait(time.Minute).disconnect(fleet).join(fleet).deliver(fleet, q2, 0)
		}, fail, map[string]int64{"duplicated": 1}, ""},
		{"twice in the second session of its subscriber", "qos2-exactly-once", func(s *story) {
			s.join(fleet).disconnect(fleet).join(fleet).publish(q2, 0, history.OK).deliver(fleet, q2, 0).deliver(fleet, q2, 0)
		}, fail, map[string]int64{"duplicated": 1}, ""},
		{"twice, where QoS 1 was granted", "qos2-exactly-once", func(s *story) {
			s.join(sub).acked(q2, 0, 1).delivered(sub, q2, 0, 1).deliver(sub, q2, 0, history.FlagDup)
			s.granted(sub, 1)
		}, unknown, nil, "could be judged"},
		{"twice, to an SDK that does not dedupe", "qos2-exactly-once", func(s *story) {
			s.tables.Processes[sub].Dedupes = false
			s.join(sub).acked(q2, 0, 1).delivered(sub, q2, 0, 1).deliver(sub, q2, 0, history.FlagDup)
		}, unknown, nil, "does not dedupe"},
		{"QoS 1 twice", "qos1-no-loss", func(s *story) {
			s.join(sub).acked(q1, 0, 1).delivered(sub, q1, 0, 1).deliver(sub, q1, 0, history.FlagDup)
		}, pass, map[string]int64{"duplicated": 1, "duplicated_flagged": 1}, ""},
		{"QoS 0 twice", "qos0-at-most-once", func(s *story) {
			s.join(sub).publish(q0, 0, history.Info).deliver(sub, q0, 0).deliver(sub, q0, 0)
		}, fail, map[string]int64{"duplicated": 1}, "work/0"},
		{"QoS 0 once or never", "qos0-at-most-once", func(s *story) {
			s.join(sub).publish(q0, 0, history.Info).publish(q0, 1, history.Info).deliver(sub, q0, 1)
		}, pass, nil, ""},

		{"again with DUP", "qos1-dup-flag", func(s *story) {
			s.connect(pub, false).join(sub).acked(q1, 0, 0).deliver(sub, q1, 0).deliver(sub, q1, 0, history.FlagDup)
		}, pass, map[string]int64{"redelivered": 1}, ""},
		{"again without DUP", "qos1-dup-flag", func(s *story) {
			s.connect(pub, false).join(sub).acked(q1, 0, 0).deliver(sub, q1, 0).deliver(sub, q1, 0)
		}, unknown, map[string]int64{"unflagged": 1}, "a message under another packet id needs no DUP; arm the tap"},
		{"sent again, so delivered again", "qos1-dup-flag", func(s *story) {
			s.connect(pub, false).join(sub).acked(q1, 0, 0).deliver(sub, q1, 0)
			e := s.publishing(q1, 1)
			c := s.call(e)
			s.deliver(sub, q1, 1).disconnect(pub).connect(pub, true)
			s.ret(e, c, history.OK)
			s.deliver(sub, q1, 1)
		}, pass, map[string]int64{"redelivered": 1}, ""},
		{"the SDK does not show DUP", "qos1-dup-flag", func(s *story) {
			s.tables.Processes[sub].Cannot = []string{"dup"}
			s.connect(pub, false).join(sub).acked(q1, 0, 0).deliver(sub, q1, 0).deliver(sub, q1, 0)
		}, unknown, nil, "shows DUP"},

		{"sent and subscribed", "no-unexpected", func(s *story) {
			s.join(sub).acked(q1, 0, 1).delivered(sub, q1, 0, 1)
		}, pass, nil, ""},
		{"recorded before its call", "no-unexpected", func(s *story) {
			s.join(sub).deliver(sub, q1, 0).acked(q1, 0, 1)
		}, pass, nil, ""},
		{"never sent", "no-unexpected", func(s *story) {
			s.join(sub).acked(q1, 0, 1).deliver(sub, q1, 7)
		}, fail, map[string]int64{"unexpected": 1}, "was never sent"},
		{"absurd number", "no-unexpected", func(s *story) {
			s.join(sub).acked(q1, 0, 1).deliver(sub, q1, 1<<60)
		}, fail, map[string]int64{"unexpected": 1}, "was never sent"},
		{"of another run", "no-unexpected", func(s *story) {
			s.join(sub).acked(q1, 0, 1).deliver(sub, history.None, history.None, history.FlagForeign)
		}, fail, map[string]int64{"foreign": 1}, "not of this run"},
		{"to the wrong one", "no-unexpected", func(s *story) {
			s.join(sub, away).acked(q1, 0, 1).deliver(away, q1, 0)
		}, fail, map[string]int64{"misrouted": 1}, "no subscription that matches"},

		{"intact", "no-corruption", func(s *story) {
			s.join(sub).acked(q1, 0, 1).delivered(sub, q1, 0, 1)
		}, pass, nil, ""},
		{"a damaged retained message is read", "no-corruption", func(s *story) {
			s.join(sub).acked(q1, 0, 0).deliver(sub, q1, 0).publish(reg, 0, history.OK).fetch(reg, 0)
			s.events[len(s.events)-1].Flags |= history.FlagCorrupt
		}, fail, map[string]int64{"corrupted": 1, "read": 1}, "message 0 of"},
		{"corrupt", "no-corruption", func(s *story) {
			s.join(sub).acked(q1, 0, 1).deliver(sub, history.None, history.None, history.FlagCorrupt)
		}, fail, map[string]int64{"corrupted": 1}, "checksum"},

		{"the QoS of its publish", "qos-granted", func(s *story) {
			s.join(sub).acked(q1, 0, 1).delivered(sub, q1, 0, 1)
		}, pass, map[string]int64{"delivered": 2, "wrong_qos": 0}, ""},
		{"a QoS above that of its publish", "qos-granted", func(s *story) {
			s.join(sub).acked(q1, 0, 1).deliver(sub, q1, 0).deliver(sub, q1, 1)
			s.events[len(s.events)-1].QoS = 2
		}, fail, map[string]int64{"wrong_qos": 1}, "with QoS 2, granted was"},

		{"a lower QoS from the next grant on", "qos-granted", func(s *story) {
			s.join(sub).acked(q2, 0, 1).deliver(sub, q2, 0).regrant(sub, 1).deliver(sub, q2, 1).publish(q2, 2, history.OK).lowered(sub, q2, 2, 1)
		}, pass, map[string]int64{"delivered": 3}, ""},
		{"the QoS of the grant before", "qos-granted", func(s *story) {
			s.join(sub).regrant(sub, 1).publish(q2, 0, history.OK).deliver(sub, q2, 0)
		}, fail, map[string]int64{"wrong_qos": 1}, "with QoS 2, granted was 1"},
		{"the QoS of the next grant", "qos-granted", func(s *story) {
			s.join(sub).publish(q2, 0, history.OK).lowered(sub, q2, 0, 1).regrant(sub, 1)
		}, fail, map[string]int64{"wrong_qos": 1}, "with QoS 1, granted was 2"},
		{"a QoS that is granted afterwards", "qos-granted", func(s *story) {
			e := blank(history.KindSubscribe, sub)
			e.Text = "work/#"
			c := s.connect(sub, false).call(e)
			s.publish(q2, 0, history.OK).lowered(sub, q2, 0, 1)
			e.Reason = 1
			s.ret(e, c, history.OK)
		}, pass, map[string]int64{"delivered": 1}, ""},
		{"two filters, two grants", "qos-granted", func(s *story) {
			s.tables.Processes[sub].Filters = []history.Filter{{Filter: "work/1", QoS: 1}, {Filter: "work/2", QoS: 2}}
			s.join(sub)
			e := blank(history.KindSubscribe, sub)
			e.Text, e.Reason = "work/2", 2
			s.ret(e, s.call(e), history.OK)
			s.acked(q1, 0, 0).acked(q2, 0, 0).deliver(sub, q1, 0).deliver(sub, q2, 0)
		}, pass, map[string]int64{"delivered": 2}, ""},

		{"in order", "order-per-stream", func(s *story) {
			s.join(sub).acked(q1, 0, 3).delivered(sub, q1, 0, 2).delivered(sub, q1, 1, 3)
		}, pass, map[string]int64{"first_deliveries": 4, "skipped": 0}, ""},
		{"a gap is no disorder", "order-per-stream", func(s *story) {
			s.join(sub).acked(q1, 0, 3).deliver(sub, q1, 0).delivered(sub, q1, 2, 3)
		}, pass, map[string]int64{"skipped": 1}, ""},
		{"out of order", "order-per-stream", func(s *story) {
			s.join(sub).acked(q1, 0, 3).deliver(sub, q1, 0).deliver(sub, q1, 2).deliver(sub, q1, 1)
		}, fail, map[string]int64{"nonmonotonic": 1}, "after number 2"},
		{"overtaken by a copy", "order-per-stream", func(s *story) {
			s.join(sub).acked(q1, 0, 3).deliver(sub, q1, 0).deliver(sub, q1, 2).deliver(sub, q1, 1).deliver(sub, q1, 2)
		}, fail, map[string]int64{"nonmonotonic": 1}, "after number 2, which it got more than once"},
		{"what is sent again may come behind what is new", "order-per-stream", func(s *story) {
			s.join(sub).acked(q1, 0, 1).resent(q1, 2, func() { s.acked(q1, 3, 3) })
			s.delivered(sub, q1, 0, 1).deliver(sub, q1, 3).deliver(sub, q1, 2)
		}, pass, map[string]int64{"nonmonotonic": 0, "unplaced": 1}, ""},
		{"what was sent again and acknowledged has its place", "order-per-stream", func(s *story) {
			s.join(sub).acked(q1, 0, 1).resent(q1, 2, func() {}).acked(q1, 3, 3)
			s.delivered(sub, q1, 0, 1).deliver(sub, q1, 3).deliver(sub, q1, 2)
		}, fail, map[string]int64{"nonmonotonic": 1}, "after number 3"},
		{"what is called while an SDK sends again may be overtaken", "order-per-stream", func(s *story) {
			s.connect(pub, false).join(sub).acked(q1, 0, 1).disconnect(pub).connect(pub, true).resent(q1, 2, func() {}).under(q1, 3, 4)
			s.delivered(sub, q1, 0, 2).deliver(sub, q1, 4).deliver(sub, q1, 3)
		}, pass, map[string]int64{"nonmonotonic": 0, "unplaced": 1}, ""},
		{"a first copy may have ended with its connection", "order-per-stream", func(s *story) {
			s.join(sub).acked(q1, 0, 1).disconnect(sub).connect(sub, true).acked(q1, 2, 2)
			s.deliver(sub, q1, 0).deliver(sub, q1, 2).deliver(sub, q1, 1, history.FlagDup)
		}, pass, map[string]int64{"nonmonotonic": 0, "unplaced": 1}, ""},
		{"on one connection DUP excuses nothing", "order-per-stream", func(s *story) {
			s.join(sub).acked(q1, 0, 2).deliver(sub, q1, 0).deliver(sub, q1, 2).deliver(sub, q1, 1, history.FlagDup)
		}, fail, map[string]int64{"nonmonotonic": 1}, ""},
		{"later than that it may not", "order-per-stream", func(s *story) {
			s.connect(pub, false).join(sub).acked(q1, 0, 1).disconnect(pub).connect(pub, true).resent(q1, 2, func() {}).wait(2*time.Second).under(q1, 3, 4)
			s.delivered(sub, q1, 0, 2).deliver(sub, q1, 4).deliver(sub, q1, 3)
		}, fail, map[string]int64{"nonmonotonic": 1}, ""},
		{"under another topic it has no place in the order", "order-per-stream", func(s *story) {
			s.join(sub).acked(q1, 0, 3).deliver(sub, q1, 0).deliver(sub, q1, 3, history.FlagRenamed).deliver(sub, q1, 1).deliver(sub, q1, 2)
		}, pass, map[string]int64{"nonmonotonic": 0}, ""},
		{"streams are not ordered among each other", "order-per-stream", func(s *story) {
			s.join(sub).acked(q1, 0, 1).acked(q1b, 0, 1).delivered(sub, q1b, 0, 1).delivered(sub, q1, 0, 1)
		}, pass, nil, ""},

		{"overlapping sends may be stored in another order", "mq9-fifo", func(s *story) {
			s.mailboxes().join(sub).under(q1, 0, 2).stored(sub, q1, 0, 10).stored(sub, q1, 2, 20).stored(sub, q1, 1, 30)
		}, pass, map[string]int64{"nonmonotonic": 0, "unplaced": 1}, ""},
		{"stored before, delivered behind", "mq9-fifo", func(s *story) {
			s.mailboxes().join(sub).under(q1, 0, 2).stored(sub, q1, 0, 10).stored(sub, q1, 1, 30).stored(sub, q1, 2, 20)
		}, fail, map[string]int64{"nonmonotonic": 1}, "after number 1"},
		{"an id that was given again tells no order", "mq9-fifo", func(s *story) {
			s.mailboxes().join(sub).acked(q1, 0, 1).stored(sub, q1, 0, 10).stored(sub, q1, 1, 30).under(q1, 2, 3).stored(sub, q1, 2, 10).stored(sub, q1, 3, 20)
		}, pass, map[string]int64{"nonmonotonic": 0, "unplaced": 2}, ""},
		{"one that was sent again later tells it by its answers", "mq9-fifo", func(s *story) {
			s.mailboxes().join(sub).acked(q1, 0, 2).stored(sub, q1, 1, 30).acked(q1, 3, 3).stored(sub, q1, 3, 10).deliver(sub, q1, 0)
		}, fail, map[string]int64{"nonmonotonic": 1}, "message 0 of "},
		{"among ids that were given again the answers tell it", "mq9-fifo", func(s *story) {
			s.mailboxes().join(sub).acked(q1, 0, 1).stored(sub, q1, 0, 10).stored(sub, q1, 1, 30).acked(q1, 2, 3).stored(sub, q1, 3, 21).stored(sub, q1, 2, 20)
		}, fail, map[string]int64{"nonmonotonic": 1}, "after number 3"},
		{"answered before the next was sent, delivered behind", "mq9-fifo", func(s *story) {
			s.mailboxes().join(sub).acked(q1, 0, 2).delivered(sub, q1, 1, 2).deliver(sub, q1, 0)
		}, fail, map[string]int64{"nonmonotonic": 1}, "after number 2"},

		{"the session is there", "session-kept", func(s *story) {
			s.join(sub).disconnect(sub).connect(sub, true)
		}, pass, map[string]int64{"reconnects": 1}, ""},
		{"the session is gone", "session-kept", func(s *story) {
			s.join(sub).disconnect(sub).connect(sub, false)
		}, fail, map[string]int64{"session_lost": 1}, "sub-1 came back"},
		{"the session was over", "session-kept", func(s *story) {
			s.tables.Processes[sub].Protocol, s.tables.Processes[sub].ExpiryS = "mqtt5", 10
			s.join(sub).disconnect(sub).wait(time.Minute).connect(sub, false)
		}, unknown, nil, "no client with a persistent session came back"},
		{"a clean session has none", "session-kept", func(s *story) {
			s.join(fleet).disconnect(fleet).connect(fleet, false)
		}, unknown, nil, "came back"},

		{"nobody is told of a session that was not there", "session-fresh", func(s *story) {
			s.join(sub).disconnect(sub).connect(sub, true).join(fleet).disconnect(fleet).connect(fleet, false)
		}, pass, map[string]int64{"connections": 3}, ""},
		{"a session before the first connection", "session-fresh", func(s *story) {
			s.connect(sub, true)
		}, fail, map[string]int64{"feigned": 1}, "sub-1 had never connected before"},
		{"a clean session that was there", "session-fresh", func(s *story) {
			s.join(fleet).disconnect(fleet).connect(fleet, true)
		}, fail, map[string]int64{"feigned": 1}, "fleet-1 asked for a clean session"},
		{"a first attempt that nobody saw the end of", "session-fresh", func(s *story) {
			e := blank(history.KindConnect, sub)
			s.ret(e, s.call(e), history.Info)
			s.connect(sub, true)
		}, unknown, nil, "no client connected"},
		{"a clean session of MQTT 5, for which not every SDK asks again", "session-fresh", func(s *story) {
			s.tables.Processes[fleet].Protocol = "mqtt5"
			s.join(fleet).disconnect(fleet).connect(fleet, true)
		}, pass, map[string]int64{"connections": 1}, ""},
		{"an SDK that shows no session", "session-fresh", func(s *story) {
			s.tables.Processes[sub].Cannot = []string{"session_present"}
			s.connect(sub, true)
		}, unknown, nil, "no client connected"},

		{"goes on", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(2*time.Second).wait(2*time.Second).acked(q1, 4, 6)
		}, pass, nil, ""},
		{"stands still", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(2*time.Second).late(q1, 4, 6*time.Second).acked(q1, 5, 6)
		}, fail, map[string]int64{"silences": 1}, "around f1"},
		{"probes and QoS 0 are no progress", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(2 * time.Second)
			s.during(q1, 4, func() {
				s.wait(3*time.Second).publish(q0, 0, history.OK).acked(probed, 0, 0).wait(3 * time.Second)
			}).acked(q1, 5, 6)
		}, fail, map[string]int64{"silences": 1}, "around f1"},
		{"a host that stands still explains it", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(2*time.Second).late(q1, 4, 6*time.Second).observe(history.ObserveStarved, history.None, history.None, 5).acked(q1, 5, 6)
		}, unknown, nil, "the host kept everything"},
		{"stands still for good", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(2*time.Second).unanswered(q1, 4).wait(6 * time.Second).phase("drain")
		}, fail, nil, "around f1"},
		{"ends before it could be told", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(2*time.Second).unanswered(q1, 4).wait(3 * time.Second).phase("drain")
		}, unknown, nil, "could tell"},
		{"every publisher is paused", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(20*time.Second).struck("pause_client", "publishers").late(q1, 4, 20*time.Second).acked(q1, 5, 6)
		}, pass, nil, ""},
		{"the one publisher is paused, by its name", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(20*time.Second).struck("pause_client", "client:pub-1").late(q1, 4, 20*time.Second).acked(q1, 5, 6)
		}, pass, nil, ""},
		{"it stands still after its publishers were paused", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(20*time.Second).struck("pause_client", "publishers").late(q1, 4, 26*time.Second).acked(q1, 5, 6)
		}, fail, map[string]int64{"silences": 1}, "around f1"},
		{"it stands still for a moment before and after", "progress", func(s *story) {
			s.acked(q1, 0, 3).wait(3*time.Second).fault(20*time.Second).struck("pause_client", "publishers").late(q1, 4, 23*time.Second).acked(q1, 5, 6)
		}, pass, nil, ""},
		{"it stands still while subscribers are paused", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(20*time.Second).struck("pause_client", "subscribers").late(q1, 4, 20*time.Second).acked(q1, 5, 6)
		}, fail, nil, "around f1"},
		{"every node is paused", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(20*time.Second).struck("pause", "all", "node-1", "node-2").late(q1, 4, 20*time.Second).acked(q1, 5, 6)
		}, pass, nil, ""},
		{"every node is cut off from the others", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(20*time.Second).struck("partition", "all", "node-1", "node-2").late(q1, 4, 20*time.Second).acked(q1, 5, 6)
		}, pass, nil, ""},
		{"the nodes are a ring", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(20*time.Second).struck("partition", "all", "node-1", "node-2")
			s.landings[0].Params = map[string]any{"shape": "ring"}
			s.late(q1, 4, 20*time.Second).acked(q1, 5, 6)
		}, fail, nil, "around f1"},
		{"one node is cut off from the others", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(20*time.Second).struck("partition", "node-2~majority", "node-1", "node-2").late(q1, 4, 20*time.Second).acked(q1, 5, 6)
		}, fail, nil, "around f1"},
		{"one of two nodes is paused", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(20*time.Second).struck("pause", "leader", "node-1").late(q1, 4, 20*time.Second).acked(q1, 5, 6)
		}, fail, nil, "around f1"},
		{"every node is slow", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(20*time.Second).struck("delay", "all", "node-1", "node-2").late(q1, 4, 20*time.Second).acked(q1, 5, 6)
		}, fail, nil, "around f1"},
		{"nobody asks", "progress", func(s *story) {
			s.connect(pub, false).acked(q1, 0, 3).fault(2*time.Second).wait(6*time.Second).acked(q1, 4, 6)
		}, pass, map[string]int64{"silences": 0}, ""},
		{"nobody asks to the end", "progress", func(s *story) {
			s.connect(pub, false).acked(q1, 0, 3).fault(2 * time.Second).wait(6 * time.Second).phase("drain")
		}, unknown, nil, "no publish was acknowledged after a fault"},
		{"nobody asks at first", "progress", func(s *story) {
			s.connect(pub, false).acked(q1, 0, 3).fault(2*time.Second).wait(4*time.Second).late(q1, 4, 4*time.Second).acked(q1, 5, 6)
		}, pass, nil, ""},
		{"nobody asks at first, and it stands still then", "progress", func(s *story) {
			s.connect(pub, false).acked(q1, 0, 3).fault(2*time.Second).wait(4*time.Second).late(q1, 4, 6*time.Second).acked(q1, 5, 6)
		}, fail, nil, "acknowledged from 4.0"},
		{"one publish of long ago is never answered", "progress", func(s *story) {
			s.connect(pub, false).unanswered(q1b, 0).acked(q1, 0, 3).fault(2*time.Second).wait(6*time.Second).acked(q1, 4, 6)
		}, fail, map[string]int64{"silences": 1}, "around f1"},
		{"it refuses everything", "progress", func(s *story) {
			s.connect(pub, false).acked(q1, 0, 3).fault(2 * time.Second)
			for seq := range int64(8) {
				s.publish(q1, 4+seq, history.Fail).wait(time.Second)
			}
			s.acked(q1, 12, 13)
		}, fail, map[string]int64{"silences": 1}, "around f1"},
		{"the publisher is not let in", "progress", func(s *story) {
			s.connect(pub, false).acked(q1, 0, 3).fault(2*time.Second).disconnect(pub).wait(6*time.Second).connect(pub, true).acked(q1, 4, 6)
		}, fail, map[string]int64{"silences": 1}, "around f1"},
		{"publishers are paused to the end", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(0).struck("pause_client", "publishers")
			s.landings[0].Times.HealedNS = 0
			s.unanswered(q1, 4).wait(20 * time.Second).phase("drain")
		}, unknown, nil, "to the end a fault kept publishers"},
		{"no bound", "progress", func(s *story) {
			s.run.Budget.ProgressS = 0
			s.acked(q1, 0, 3).fault(2*time.Second).acked(q1, 4, 5)
		}, unknown, nil, "progress_s"},

		{"acknowledged in a new session of its producer, by packets that nobody saw", "qos2-no-loss", func(s *story) {
			s.tables.Processes[pub].Clean = true
			s.join(sub).connect(pub, false)
			e := s.publishing(q2, 0)
			c := s.call(e)
			s.disconnect(pub).connect(pub, false).ret(e, c, history.OK)
			s.marker(q2, 1, history.OK).deliver(sub, q2, 1, history.FlagEnd)
		}, unknown, nil, "may have ended before PUBCOMP"},
		{"both nodes serve again", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0).deliver(probe2, probed, 0)
		}, pass, map[string]int64{"nodes": 2}, ""},
		{"one delivers nothing", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0)
		}, fail, map[string]int64{"not_recovered": 1}, "node-2 took a publish and delivered nothing"},
		{"the run is over before the time to recover is", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0).phase("drain")
		}, unknown, nil, "before the time to recover"},
		{"one recovers late", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0).wait(11*time.Second).deliver(probe2, probed, 0)
		}, fail, nil, "node-2"},
		{"a long start is part of the recovery", "recovery", func(s *story) {
			e := blank(history.KindHeal, history.None)
			c := s.call(e)
			s.wait(11*time.Second).ret(e, c, history.OK)
			s.join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0).deliver(probe2, probed, 0)
		}, fail, map[string]int64{"not_recovered": 2}, ""},
		{"nobody asked the others during a long heal", "recovery", func(s *story) {
			e := s.healing("node-2")
			c := s.call(e)
			s.wait(11*time.Second).ret(e, c, history.OK)
			s.join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0).deliver(probe2, probed, 0)
		}, fail, map[string]int64{"not_recovered": 1}, "node-2 took no publish"},
		{"one that took too long, beside a fault that was healed later", "recovery", func(s *story) {
			e := s.healing("node-1")
			c := s.call(e)
			s.landings[0].Times.HealedNS = int64(s.now + 12*time.Second)
			s.wait(time.Second)
			s.landings = append(s.landings, history.Landing{Fault: "f2", Nodes: []string{"node-2"}, Times: history.LandingTimes{HealedNS: int64(s.now + time.Second)}})
			e2 := e
			e2.Text = "f2"
			c2 := s.call(e2)
			s.wait(time.Second).ret(e2, c2, history.OK)
			s.wait(10*time.Second).ret(e, c, history.OK)
			s.join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0).deliver(probe2, probed, 0)
		}, fail, nil, "node-1 took no publish and delivered nothing between the last heal"},
		{"one that was asked late serves nothing", "recovery", func(s *story) {
			e := s.healing("node-2")
			c := s.call(e)
			s.wait(5*time.Second).ret(e, c, history.OK)
			s.join(probe1, probe2).acked(probed2, 0, 0).deliver(probe2, probed2, 0).wait(11 * time.Second)
		}, fail, map[string]int64{"not_recovered": 1}, "node-1 took no publish and delivered nothing between the start of the probes at 5.0"},
		{"a rolling heal counts from its end", "recovery", func(s *story) {
			e := s.healing("node-1", "node-2")
			s.landings[0].Rolling = true
			c := s.call(e)
			s.wait(40*time.Second).ret(e, c, history.OK)
			s.join(probe1, probe2).acked(probed, 0, 0).acked(probed2, 0, 0).deliver(probe1, probed, 0).deliver(probe2, probed, 0)
		}, pass, map[string]int64{"nodes": 2}, ""},
		{"an undrained subscriber hides no failed recovery", "recovery", func(s *story) {
			s.heal().join(probe1, probe2).acked(probed, 0, 0).deliver(probe1, probed, 0).join(sub).acked(q1, 0, 1).disconnect(sub)
		}, fail, nil, "node-2"},
		{"one does not come back", "recovery", func(s *story) {
			s.down("node-2").heal().join(probe1, probe2).acked(probed, 0, 0).deliver(probe1, probed, 0)
		}, fail, map[string]int64{"not_recovered": 1}, "node-2 did not come back after f1"},
		{"one does not come back, and nobody was asked", "recovery", func(s *story) {
			s.down("node-2").heal()
		}, fail, map[string]int64{"not_recovered": 1}, "node-2 did not come back after f1"},
		{"nothing was healed", "recovery", func(s *story) {
			s.join(probe1, probe2)
		}, unknown, nil, "nothing was healed"},

		{"quiet logs", "no-panic", func(s *story) { s.phase("steady") }, pass, nil, ""},
		{"a panic", "no-panic", func(s *story) { s.observe(history.ObservePanic, history.None, 1, 42) }, fail, nil, "node-2 panicked, line 42"},

		{"every connection is closed", "no-leak", func(s *story) {}, pass, map[string]int64{"nodes": 2}, ""},
		{"connections stay", "no-leak", func(s *story) { s.observe(history.ObserveDeserted, history.None, 1, 3) }, fail, map[string]int64{"leaking": 1}, "node-2 still has 3 connections"},
		{"connections stayed for a while", "no-leak", func(s *story) {
			s.observe(history.ObserveDeserted, history.None, 1, 3).observe(history.ObserveDeserted, history.None, 1, 0)
		}, pass, nil, ""},
		{"a fault was never healed", "no-leak", func(s *story) {
			s.observe(history.ObserveDeserted, history.None, 1, 3).fault(time.Second)
			s.landings[0].Times.HealedNS = 0
		}, unknown, nil, "ten seconds"},
		{"a fault was healed just now", "no-leak", func(s *story) {
			s.observe(history.ObserveDeserted, history.None, 1, 3).fault(time.Hour)
		}, unknown, nil, "ten seconds"},

		{"last write is read", "retained-register", func(s *story) {
			s.publish(reg, 0, history.OK).fetch(reg, 0).publish(reg, 1, history.OK).fetch(reg, 1)
		}, pass, map[string]int64{"reads": 2}, ""},
		{"an old write is read", "retained-register", func(s *story) {
			s.publish(reg, 0, history.OK).fetch(reg, 0).publish(reg, 1, history.OK).fetch(reg, 0).fetch(reg, 1)
		}, fail, nil, "message 0 of pub-1 on reg/1"},
		{"nothing is read after a write", "retained-register", func(s *story) {
			s.publish(reg, 0, history.OK).fetch(reg, history.None)
		}, fail, nil, "saw nothing"},
		{"nothing is read while a fault is in place", "retained-register", func(s *story) {
			s.publish(reg, 0, history.OK).fetch(reg, 0).wait(time.Second).fault(time.Second).fetch(reg, history.None)
		}, pass, map[string]int64{"reads": 1, "unanswered": 1}, ""},
		{"nothing is read right after a fault", "retained-register", func(s *story) {
			s.publish(reg, 0, history.OK).fetch(reg, 0).wait(time.Second).fault(time.Second).wait(4*time.Second).fetch(reg, history.None)
		}, pass, map[string]int64{"reads": 1, "unanswered": 1}, ""},
		{"nothing is read long after a fault", "retained-register", func(s *story) {
			s.publish(reg, 0, history.OK).fetch(reg, 0).fault(time.Second).wait(7*time.Second).fetch(reg, history.None)
		}, fail, nil, "saw nothing"},
		{"an old write is read right after a fault", "retained-register", func(s *story) {
			s.acked(reg, 0, 1).fetch(reg, 1).fault(time.Second).wait(2*time.Second).fetch(reg, 0)
		}, fail, nil, "message 0"},
		{"nothing is read while the host stands still", "retained-register", func(s *story) {
			s.publish(reg, 0, history.OK).fetch(reg, 0).wait(5*time.Second).fetch(reg, history.None).observe(history.ObserveStarved, history.None, history.None, 1.5)
		}, pass, map[string]int64{"reads": 1, "unanswered": 1}, ""},
		{"an unknown write may count or not", "retained-register", func(s *story) {
			s.publish(reg, 0, history.OK).publish(reg, 1, history.Info).fetch(reg, 0).fetch(reg, 1)
		}, pass, nil, ""},
		{"an unknown write does not come and go", "retained-register", func(s *story) {
			s.publish(reg, 0, history.OK).publish(reg, 1, history.Info).fetch(reg, 1).fetch(reg, 0)
		}, fail, nil, "message 0"},
		{"a write that was sent again counts again", "retained-register", func(s *story) {
			s.connect(pub, false).resent(reg, 0, func() {
				s.fetch(reg, 0).publish(reg, 1, history.OK).fetch(reg, 1).connect(pub, true)
			}).fetch(reg, 0)
		}, pass, nil, ""},
		{"a write that was sent again counts after its acknowledgement, by a copy on a connection that was taken over", "retained-register", func(s *story) {
			s.connect(pub, false).resent(reg, 0, func() { s.fetch(reg, 0).connect(pub, true) }).publish(reg, 1, history.OK).fetch(reg, 1).fetch(reg, 0)
		}, pass, nil, ""},
		{"a write that was sent again does not count long after its acknowledgement", "retained-register", func(s *story) {
			s.connect(pub, false).resent(reg, 0, func() { s.fetch(reg, 0).connect(pub, true) }).publish(reg, 1, history.OK).wait(6*time.Second).fetch(reg, 1).fetch(reg, 0)
		}, fail, nil, "message 0"},
		{"a write counts as often as it was sent", "retained-register", func(s *story) {
			s.connect(pub, false).resent(reg, 0, func() {
				s.fetch(reg, 0).publish(reg, 1, history.OK).fetch(reg, 1).connect(pub, true).fetch(reg, 0).publish(reg, 2, history.OK).fetch(reg, 2).fetch(reg, 0)
			})
		}, fail, nil, "message 0"},
		{"a write that was sent once counts once", "retained-register", func(s *story) {
			s.connect(pub, false)
			c := s.call(s.publishing(reg, 0))
			s.fetch(reg, 0).publish(reg, 1, history.OK).fetch(reg, 1).fetch(reg, 0)
			s.ret(s.publishing(reg, 0), c, history.OK)
		}, fail, nil, "message 0"},
		{"an unknown write that may have been sent again", "retained-register", func(s *story) {
			s.connect(pub, false).publish(reg, 0, history.Info).fetch(reg, 0).publish(reg, 1, history.OK).fetch(reg, 1).connect(pub, true).fetch(reg, 0)
		}, pass, nil, ""},
		{"a read of what was cut off proves nothing", "retained-register", func(s *story) {
			s.torn = true
			s.publish(reg, 0, history.OK).fetch(reg, 1)
		}, unknown, nil, "cut off"},
		{"a write refused for no reason that is told", "retained-register", func(s *story) {
			s.publish(reg, 0, history.OK).declined(reg, 1, 0x80).fetch(reg, 1)
		}, pass, nil, ""},
		{"a write refused for lack of rights", "retained-register", func(s *story) {
			s.publish(reg, 0, history.OK).declined(reg, 1, 0x87).fetch(reg, 1)
		}, fail, nil, "message 1"},
		{"a failed write never was", "retained-register", func(s *story) {
			s.publish(reg, 0, history.OK).publish(reg, 1, history.Fail).fetch(reg, 1)
		}, fail, nil, "message 1"},
	} {
		t.Run(test.claim+"/"+test.name, func(t *testing.T) {
			s := newStory()
			test.tell(s)
			for st, end := range ends(s) {
				if st == q1 || st == q2 || st == q1b {
					s.marked(st, end)
				}
			}
			s.finish()
			r := judgeStory(t, s, test.claim).Results[0]
			if r.Status != test.want {
				t.Errorf("status %s, want %s: %s %v", r.Status, test.want, r.Summary, r.Reasons)
			}
			for name, want := range test.count {
				if got := r.Counts[name]; got != want {
					t.Errorf("%s = %d, want %d", name, got, want)
				}
			}
			if !strings.Contains(said(r), test.text) {
				t.Errorf("it says %q, which lacks %q", said(r), test.text)
			}
			if r.Summary == "" {
				t.Error("no summary")
			}
		})
	}
}

// Where several filters of one client match, the broker may send a copy for each. It
// may not send copies to a client with one matching filter. A loss is a failure in
// either case.
func TestOverlapping(t *testing.T) {
	overlap := func() *story {
		s := newStory()
		s.tables.Processes[sub].Filters = []history.Filter{{Filter: "work/#", QoS: 2}, {Filter: "work/+", QoS: 2}, {Filter: "+/+", QoS: 2}}
		return s.connect(pub, false).join(sub, other)
	}
	for _, test := range []struct {
		name, claim string
		tell        func() *story
		want        verdict.Status
	}{
		{"copies of QoS 0", "qos0-at-most-once", func() *story {
			return overlap().acked(q0, 0, 1).deliver(sub, q0, 0).deliver(sub, q0, 0).delivered(other, q0, 0, 1)
		}, verdict.Pass},
		{"copies of QoS 0 to another client", "qos0-at-most-once", func() *story {
			return overlap().acked(q0, 0, 1).deliver(sub, q0, 0).deliver(other, q0, 0).deliver(other, q0, 0)
		}, verdict.Fail},
		{"copies of two QoS, each in order", "order-per-stream", func() *story {
			return overlap().acked(q1, 0, 2).lowered(sub, q1, 1, 0).deliver(sub, q1, 0).lowered(sub, q1, 2, 0).delivered(sub, q1, 1, 2)
		}, verdict.Pass},
		{"copies of two QoS, the lower out of order", "order-per-stream", func() *story {
			return overlap().acked(q1, 0, 2).delivered(sub, q1, 0, 2).lowered(sub, q1, 1, 0).lowered(sub, q1, 0, 0)
		}, verdict.Fail},
		{"copies of QoS 2", "qos2-exactly-once", func() *story {
			return overlap().acked(q2, 0, 1).deliver(sub, q2, 0).deliver(sub, q2, 0).delivered(other, q2, 0, 1)
		}, verdict.Pass},
		{"copies of QoS 2 to another client", "qos2-exactly-once", func() *story {
			return overlap().acked(q2, 0, 1).deliver(other, q2, 0).deliver(other, q2, 0)
		}, verdict.Fail},
		{"copies without DUP", "qos1-dup-flag", func() *story {
			return overlap().acked(q1, 0, 1).deliver(sub, q1, 0).deliver(sub, q1, 0).delivered(other, q1, 0, 1)
		}, verdict.Pass},
		{"one copy behind the next message", "order-per-stream", func() *story {
			return overlap().acked(q1, 0, 2).deliver(sub, q1, 0).deliver(sub, q1, 1).deliver(sub, q1, 0).deliver(sub, q1, 2).deliver(sub, q1, 1)
		}, verdict.Pass},
		{"one copy", "qos1-no-loss", func() *story {
			s := overlap().acked(q1, 0, 2).delivered(sub, q1, 0, 2).delivered(other, q1, 0, 2)
			s.marked(q1, 3)
			return s
		}, verdict.Pass},
		{"none", "qos1-no-loss", func() *story {
			s := overlap().acked(q1, 0, 2).delivered(sub, q1, 0, 1).delivered(other, q1, 0, 2)
			s.marked(q1, 3)
			return s
		}, verdict.Fail},
	} {
		t.Run(test.name, func(t *testing.T) {
			if r := judgeStory(t, test.tell().finish(), test.claim).Results[0]; r.Status != test.want {
				t.Errorf("%s is %s, want %s: %s %v", test.claim, r.Status, test.want, r.Summary, r.Reasons)
			}
		})
	}
}

// ends are the next numbers of the streams that were published to.
func ends(s *story) map[int32]int64 {
	next := map[int32]int64{}
	for _, e := range s.events {
		if e.Kind == history.KindPublish {
			next[e.Stream] = max(next[e.Stream], e.Seq+1)
		}
	}
	return next
}

// marked lets a stream end with a marker that is not acknowledged, so that it
// counts for nothing, and yet reaches every subscriber.
func (s *story) marked(st int32, seq int64) {
	s.marker(st, seq, history.Fail)
	for p := range int32(numProc) {
		if p == sub || p == other {
			s.deliver(p, st, seq, history.FlagEnd, history.FlagRetain)
		}
	}
}

// Retained messages are read and not delivered: that nothing was delivered says nothing of them.
func TestRegistersAreNotBarred(t *testing.T) {
	s := newStory()
	s.run.Cluster.Lacks = map[string]string{history.LacksLimits: "not known"}
	s.publish(reg, 0, history.OK).publish(reg, 1, history.OK).wait(10*time.Second).fetch(reg, 0)
	if r := judgeStory(t, s.finish(), "retained-register").Results[0]; r.Status != verdict.Fail {
		t.Errorf("%s: %s", r.Status, said(r))
	}
}

// A read that is stale by less than clocks may be wrong is no violation, and a read of a client of its own is
// in order by that client's clock.
func TestClocks(t *testing.T) {
	for _, test := range []struct {
		clocks float64
		wait   time.Duration
		want   verdict.Status
	}{{0, 0, verdict.Fail}, {0.01, 0, verdict.Pass}, {0.01, 50 * time.Millisecond, verdict.Fail}} {
		s := newStory()
		s.run.ClocksS = test.clocks
		s.publish(reg, 0, history.OK).fetch(reg, 0).publish(reg, 1, history.OK).wait(test.wait).fetch(reg, 0).wait(time.Second).fetch(reg, 1)
		if r := judgeStory(t, s.finish(), "retained-register").Results[0]; r.Status != test.want {
			t.Errorf("%+v: %s: %s", test, r.Status, said(r))
		}
	}
	s := newStory()
	s.run.ClocksS = 0.01
	s.join(sub).acked(q1, 0, 9).deliver(sub, q1, 1).deliver(sub, q1, 0)
	if r := judgeStory(t, s.finish(), "order-per-stream").Results[0]; r.Status != verdict.Fail {
		t.Errorf("%s: %s", r.Status, said(r))
	}
}

// A broker whose limits are not known may forbid a client to publish, or take no message of its
// size, and acknowledge it all the same: it delivers nothing at all then.
func TestBarred(t *testing.T) {
	external := map[string]string{history.LacksLimits: "not known"}
	for _, test := range []struct {
		name  string
		claim string
		lacks map[string]string
		tell  func(s *story)
		want  verdict.Status
	}{
		{"an external broker delivers nothing", "qos1-no-loss", external, func(*story) {}, verdict.Unknown},
		{"an external broker delivers nothing to one of two", "qos1-no-loss", external, func(s *story) { s.delivered(other, q1, 0, 10) }, verdict.Fail},
		{"a broker of ours delivers nothing", "qos1-no-loss", nil, func(*story) {}, verdict.Fail},
		{"an external broker delivers nothing to a group", "shared-no-loss", external, func(*story) {}, verdict.Unknown},
		{"a broker of ours delivers nothing to a group", "shared-no-loss", nil, func(*story) {}, verdict.Fail},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			if test.claim == "shared-no-loss" {
				s.share() // MQTT 5: some brokers of MQTT 3.1.1 have no shared subscriptions
				for i := range s.tables.Processes {
					s.tables.Processes[i].Protocol, s.tables.Processes[i].ExpiryS = "mqtt5", noExpiry
				}
			}
			s.connect(pub, false).join(sub, other).acked(q1, 0, 9).marker(q1, 10, history.OK)
			s.run.Cluster.Lacks = test.lacks
			test.tell(s)
			r := judgeStory(t, s.finish(), test.claim).Results[0]
			if r.Status != test.want || strings.Contains(said(r), "may forbid the login to publish") != (test.want == verdict.Unknown) {
				t.Errorf("%s, want %s: %s", r.Status, test.want, said(r))
			}
		})
	}
}

func said(r verdict.Result) string {
	list := r.Reasons
	if len(r.Anomalies) > 0 {
		list = append([]string{r.Anomalies[0].Text}, list...)
	}
	return strings.Join(list, "; ")
}

// A stall and a loss at once are counted apart: what came late is no loss, and what never
// came no stall.
func TestStallAndLossAtOnce(t *testing.T) {
	s := newStory()
	s.join(sub, other).acked(q1, 0, 9).delivered(other, q1, 0, 9).wait(11*time.Second).delivered(sub, q1, 0, 4).delivered(sub, q1, 6, 9)
	s.marked(q1, 10)
	report := judgeStory(t, s.finish(), "qos1-no-loss", "delivery-progress")
	for i, want := range []map[string]int64{{"lost": 1, "due": 20}, {"stalls": 1, "stalled": 9}} {
		r := report.Results[i]
		for name, n := range want {
			if r.Status != verdict.Fail || r.Counts[name] != n {
				t.Errorf("%s: %s, %d %s, want %d: %s", r.Claim.Name, r.Status, r.Counts[name], name, n, r.Summary)
			}
		}
	}
}
