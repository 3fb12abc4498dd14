package checker

import (
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A blameStory has a violation that the wire blames on a party.
type blameStory struct {
	name, claim string
	tell        func(s *story)
	want        verdict.Party
	text        string // the judge's words, in docs/wire.md of this claim and party; "" where it gives none
}

// blameStories have all the evidence of docs/wire.md.
func blameStories() []blameStory {
	return slices.Concat(lossStories(), delayStories(), repetitionStories(), orderStories(), contentStories(),
		registerStories(), sharedStories(), sessionStories())
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
			if a := r.Anomalies[0]; a.Blame != c.want || wireWords(a.Text) != c.text || !slices.IsSorted(a.Events) {
				t.Errorf("blame %q, want %q for %q: %s", a.Blame, c.want, c.text, a.Text)
			}
			// Without the wire no reason is in packets, and the state of a process alone blames.
			s.run.Wire = false
			for _, a := range judgeStory(t, s, c.claim).Results[0].Anomalies {
				if strings.Contains(a.Text, "; its process shows ") {
					continue
				}
				if a.Blame != "" || wireWords(a.Text) != "" {
					t.Errorf("blame %q by %q without the wire", a.Blame, wireWords(a.Text))
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

// twins are two messages that a subscriber is sent with one packet id, which it answers once.
func (s *story) twins(st int32, one, other int64) *story {
	s.toClient(sub, "publish", 70, s.of(st, one)).toClient(sub, "publish", 70, s.of(st, other))
	s.wireTake(sub, st, other, 70)
	return s
}

// clean connects a client that asks for a clean session, against what the run
// asked of it.
func (s *story) clean(p int32) *story {
	s.tables.Processes[p].Clean = true
	s.connect(p, false)
	s.tables.Processes[p].Clean = false
	return s
}
