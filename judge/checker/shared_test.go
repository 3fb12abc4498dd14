package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

const sharedFilter = "$share/g/work/#"

// share makes sub and other the members of a shared subscription.
func (s *story) share() *story {
	for _, p := range []int32{sub, other} {
		s.tables.Processes[p].Filters[0].Filter = sharedFilter
	}
	return s
}

// shared is a story in which both members have subscribed, and the publisher is
// connected.
func shared() *story { return newStory().share().connect(pub, false).join(sub, other) }

// dealt publishes numbers, each of which one member has, in turn.
func (s *story) dealt(st int32, from, to int64) *story {
	for seq := from; seq <= to; seq++ {
		s.publish(st, seq, history.OK).deliver([]int32{sub, other}[seq%2], st, seq)
	}
	return s
}

// settled waits until nobody is near the end of a connection.
func (s *story) settled() *story { return s.wait(time.Duration(2 * parting)) }

// over marks the end of a stream, which other has.
func (s *story) over(st int32, seq int64) *story {
	return s.marker(st, seq, history.OK).deliver(other, st, seq, history.FlagEnd)
}

func TestShared(t *testing.T) {
	const pass, fail, unknown = verdict.Pass, verdict.Fail, verdict.Unknown
	for _, test := range []struct {
		name  string
		claim string
		tell  func() *story
		want  verdict.Status
		count map[string]int64
		text  string
	}{
		{"each has a part", "shared-no-loss", func() *story {
			return shared().dealt(q1, 0, 9).dealt(q2, 0, 3).over(q1, 10).over(q2, 4)
		}, pass, map[string]int64{"due": 16, "lost": 0}, ""},
		{"one has all", "shared-no-loss", func() *story {
			return shared().acked(q1, 0, 3).delivered(other, q1, 0, 3).over(q1, 4)
		}, pass, map[string]int64{"due": 5}, ""},
		{"nobody has one", "shared-no-loss", func() *story {
			return shared().dealt(q1, 0, 3).publish(q1, 4, history.OK).dealt(q1, 5, 9).over(q1, 10)
		}, fail, map[string]int64{"due": 11, "lost": 1, "lost_message": 1}, "message 4 of pub-1 on work/1 (QoS 1) reached no member of " + sharedFilter},
		{"nobody has one of QoS 2", "shared-no-loss", func() *story {
			return shared().dealt(q2, 0, 3).publish(q2, 4, history.OK).over(q2, 5)
		}, fail, map[string]int64{"lost": 1}, "message 4"},
		{"QoS 0 promises nothing", "shared-no-loss", func() *story {
			return shared().dealt(q1, 0, 1).publish(q0, 0, history.OK).over(q1, 2)
		}, pass, map[string]int64{"due": 3}, ""},
		{"an unknown outcome may be missing", "shared-no-loss", func() *story {
			return shared().dealt(q1, 0, 3).publish(q1, 4, history.Info).over(q1, 5)
		}, pass, map[string]int64{"due": 5}, ""},
		{"sent before anybody had subscribed", "shared-no-loss", func() *story {
			s := newStory().share().connect(pub, false).acked(q1, 0, 4)
			return s.join(sub, other).dealt(q1, 5, 6).over(q1, 7)
		}, pass, map[string]int64{"due": 3}, ""},
		{"the broker chose a member whose SUBACK was still to come", "shared-no-loss", func() *story {
			s := newStory().share().connect(pub, false).join(sub).connect(other, false)
			return s.publish(q1, 0, history.OK).deliver(other, q1, 0).subscribe(other).dealt(q1, 1, 2).over(q1, 3)
		}, pass, map[string]int64{"due": 4}, ""},
		{"a member leaves, and has its part when it is back", "shared-no-loss", func() *story {
			s := shared().dealt(q1, 0, 3).disconnect(sub).acked(q1, 4, 7).deliver(other, q1, 5).deliver(other, q1, 7)
			return s.connect(sub, true).deliver(sub, q1, 4).deliver(sub, q1, 6).over(q1, 8)
		}, pass, map[string]int64{"lost": 0}, ""},
		{"a member leaves, and the other has its part", "shared-no-loss", func() *story {
			s := shared().dealt(q1, 0, 3).publish(q1, 4, history.OK).disconnect(sub).deliver(other, q1, 4)
			return s.connect(sub, true).over(q1, 5)
		}, pass, map[string]int64{"lost": 0}, ""},
		{"a member leaves, and its part is gone", "shared-no-loss", func() *story {
			s := shared().dealt(q1, 0, 3).disconnect(sub).acked(q1, 4, 7).deliver(other, q1, 5).deliver(other, q1, 7)
			return s.connect(sub, true).over(q1, 8)
		}, fail, map[string]int64{"lost": 2}, "message 4"},
		{"a member that did not come back may have it", "shared-no-loss", func() *story {
			return shared().dealt(q1, 0, 3).disconnect(sub).publish(q1, 4, history.OK).dealt(q1, 5, 5).over(q1, 6)
		}, unknown, map[string]int64{"lost": 0, "waiting": 1}, "sub-1 was not connected while work/1 drained"},
		{"drained for a moment only", "shared-no-loss", func() *story {
			s := shared().dealt(q1, 0, 3).publish(q1, 4, history.OK).over(q1, 5)
			s.disconnect(sub).disconnect(other)
			return s
		}, unknown, map[string]int64{"waiting": 1}, "was connected without a delivery for only"},
		{"more waited for the members than the broker keeps", "shared-no-loss", func() *story {
			s := shared().disconnect(sub).disconnect(other)
			s.run.Cluster.Queue = 5
			s.acked(q1, 0, 9).wait(time.Second).connect(sub, true).connect(other, true).delivered(sub, q1, 0, 4)
			return s.over(q1, 10)
		}, pass, map[string]int64{"lost": 0, "over_limit": 5}, ""},
		{"more waited for the members than a broker of which nothing is known may keep", "shared-no-loss", func() *story {
			s := shared().disconnect(sub).disconnect(other)
			s.run.Cluster.Queue, s.run.Cluster.Lacks = 1000, map[string]string{history.LacksLimits: "not known"}
			s.acked(q1, 0, 99).wait(time.Second).connect(sub, true).connect(other, true).delivered(sub, q1, 0, 79)
			return s.over(q1, 100)
		}, unknown, map[string]int64{"lost": 0, "over_limit": 20}, "is not known"},
		{"less waited for the members than the broker keeps", "shared-no-loss", func() *story {
			s := shared().disconnect(sub).disconnect(other)
			s.run.Cluster.Queue = 5
			s.acked(q1, 0, 3).wait(time.Second).connect(sub, true).connect(other, true).delivered(sub, q1, 0, 2)
			return s.over(q1, 4)
		}, fail, map[string]int64{"lost": 1, "over_limit": 0}, "message 3"},
		{"drained under a fault", "shared-no-loss", func() *story {
			return shared().dealt(q1, 0, 3).publish(q1, 4, history.OK).over(q1, 5).fault(time.Minute)
		}, unknown, map[string]int64{"waiting": 1}, "was connected without a delivery for only"},
		{"drained on a host that stands still", "shared-no-loss", func() *story {
			return shared().dealt(q1, 0, 3).publish(q1, 4, history.OK).over(q1, 5).wait(8*time.Second).observe(history.ObserveStarved, history.None, history.None, 8).wait(24 * time.Second).disconnect(sub).disconnect(other)
		}, unknown, map[string]int64{"waiting": 1}, "was connected without a delivery for only 24.0"},
		{"a member's session is lost", "shared-no-loss", func() *story {
			s := shared().dealt(q1, 0, 3).disconnect(sub).acked(q1, 4, 4)
			return s.connect(sub, false).subscribe(sub).dealt(q1, 5, 6).over(q1, 7)
		}, fail, map[string]int64{"lost": 1, "lost_session": 1}, "a member's session was lost"},
		{"a member's session was over", "shared-no-loss", func() *story {
			s := newStory().share()
			s.tables.Processes[sub].Protocol, s.tables.Processes[sub].ExpiryS = "mqtt5", 10
			s.connect(pub, false).join(sub, other).dealt(q1, 0, 3).disconnect(sub).acked(q1, 4, 4).wait(time.Minute)
			return s.connect(sub, false).subscribe(sub).dealt(q1, 5, 6).over(q1, 7)
		}, unknown, map[string]int64{"due": 0}, "all keep their sessions"},
		{"a member with a clean session", "shared-no-loss", func() *story {
			s := newStory().share()
			s.tables.Processes[sub].Clean = true
			return s.connect(pub, false).join(sub, other).dealt(q1, 0, 3).publish(q1, 4, history.OK).over(q1, 5)
		}, unknown, map[string]int64{"due": 0}, "all keep their sessions"},
		{"a member was granted QoS 0", "shared-no-loss", func() *story {
			s := shared().dealt(q1, 0, 3).publish(q1, 4, history.OK).over(q1, 5)
			s.granted(sub, 0)
			return s
		}, unknown, map[string]int64{"due": 0}, ""},
		{"a history with an open end shows no loss", "shared-no-loss", func() *story {
			s := shared().dealt(q1, 0, 3).publish(q1, 4, history.OK).over(q1, 5)
			s.torn = true
			return s
		}, unknown, map[string]int64{"lost": 1}, "cut off"},
		{"a broker of MQTT 3.1.1 that knows no shared subscriptions", "shared-no-loss", func() *story {
			return shared().acked(q1, 0, 3).marker(q1, 4, history.OK)
		}, unknown, map[string]int64{"lost": 5}, "MQTT 3.1.1 knows none"},
		{"one of MQTT 5 that does not deliver", "shared-no-loss", func() *story {
			s := newStory().share()
			for _, p := range []int32{pub, sub, other} {
				s.tables.Processes[p].Protocol, s.tables.Processes[p].ExpiryS = "mqtt5", 3600
			}
			return s.connect(pub, false).join(sub, other).acked(q1, 0, 3).marker(q1, 4, history.OK)
		}, fail, map[string]int64{"lost": 5}, "message 0"},
		{"the others' loss is not this claim's", "qos1-no-loss", func() *story {
			return shared().dealt(q1, 0, 3).over(q1, 4)
		}, unknown, nil, "no acknowledged message was due"},

		{"one each", "shared-one-member", func() *story {
			return shared().settled().dealt(q0, 0, 3).dealt(q1, 0, 3).dealt(q2, 0, 3).settled()
		}, pass, map[string]int64{"judged": 12, "duplicated": 0}, ""},
		{"both", "shared-one-member", func() *story {
			return shared().settled().dealt(q1, 0, 3).deliver(sub, q1, 3).settled()
		}, fail, map[string]int64{"judged": 4, "duplicated": 1}, "message 3 of pub-1 on work/1 (QoS 1) reached sub-2 and, at"},
		{"both, of QoS 0", "shared-one-member", func() *story {
			return shared().settled().dealt(q0, 0, 3).deliver(sub, q0, 3).settled()
		}, fail, map[string]int64{"duplicated": 1}, ""},
		{"both, on a host that stood still", "shared-one-member", func() *story {
			s := shared().settled().dealt(q1, 0, 2).settled().publish(q1, 3, history.OK).deliver(sub, q1, 3)
			return s.wait(2*time.Second).observe(history.ObserveStarved, history.None, history.None, 1.5).deliver(other, q1, 3).settled()
		}, pass, map[string]int64{"duplicated": 0, "excused": 1}, ""},
		{"one of them twice", "shared-one-member", func() *story {
			return shared().settled().dealt(q1, 0, 3).deliver(other, q1, 3, history.FlagDup).settled()
		}, pass, map[string]int64{"duplicated": 0}, ""},
		{"another group, and who shares nothing", "shared-one-member", func() *story {
			s := newStory().share()
			s.tables.Processes[other].Filters[0].Filter = "$share/h/work/#"
			s.connect(pub, false).join(sub, other, fleet).settled().acked(q1, 0, 3)
			return s.delivered(sub, q1, 0, 3).delivered(other, q1, 0, 3).delivered(fleet, q1, 0, 3).settled()
		}, unknown, map[string]int64{"duplicated": 0}, "no message was delivered"},
		{"a member that also subscribes for itself", "shared-one-member", func() *story {
			s := newStory().share()
			s.tables.Processes[sub].Filters = append(s.tables.Processes[sub].Filters, history.Filter{Filter: "work/#", QoS: 1})
			s.connect(pub, false).join(sub, other).settled().acked(q1, 0, 3)
			return s.delivered(sub, q1, 0, 3).delivered(other, q1, 0, 3).settled()
		}, unknown, map[string]int64{"duplicated": 0}, "no message was delivered"},
		{"a member's connection is lost, and the other has what it did not acknowledge", "shared-one-member", func() *story {
			s := shared().settled().dealt(q1, 0, 2).settled()
			return s.publish(q1, 3, history.OK).deliver(sub, q1, 3).disconnect(sub).deliver(other, q1, 3).settled()
		}, pass, map[string]int64{"duplicated": 0, "excused": 1}, ""},
		{"the client notes its loss behind that", "shared-one-member", func() *story {
			s := shared().settled().dealt(q1, 0, 2).settled()
			return s.publish(q1, 3, history.OK).deliver(sub, q1, 3).deliver(other, q1, 3).wait(time.Second).disconnect(sub).settled()
		}, pass, map[string]int64{"duplicated": 0, "excused": 1}, ""},
		{"a member comes back", "shared-one-member", func() *story {
			s := shared().settled().dealt(q1, 0, 2).settled().disconnect(sub)
			return s.publish(q1, 3, history.OK).deliver(other, q1, 3).connect(sub, true).deliver(sub, q1, 3).settled()
		}, pass, map[string]int64{"duplicated": 0, "excused": 1}, ""},
		{"the end of the run, which the broker sees one by one", "shared-one-member", func() *story {
			return shared().settled().dealt(q1, 0, 2).settled().publish(q1, 3, history.OK).deliver(sub, q1, 3).deliver(other, q1, 3).disconnect(sub).disconnect(other)
		}, pass, map[string]int64{"duplicated": 0, "excused": 1}, ""},
		{"a fault of ours is in place", "shared-one-member", func() *story {
			s := shared().settled().dealt(q1, 0, 2).settled().fault(time.Second)
			return s.publish(q1, 3, history.OK).deliver(sub, q1, 3).deliver(other, q1, 3).settled()
		}, pass, map[string]int64{"duplicated": 0, "excused": 1}, ""},
		{"the publisher came back and may have sent it again", "shared-one-member", func() *story {
			s := shared().settled().dealt(q1, 0, 2).settled()
			s.resent(q1, 3, func() { s.deliver(sub, q1, 3).disconnect(pub).connect(pub, true) })
			return s.deliver(other, q1, 3).settled()
		}, pass, map[string]int64{"duplicated": 0, "excused": 1}, ""},
		{"its outcome is unknown", "shared-one-member", func() *story {
			s := shared().settled().dealt(q1, 0, 2).publish(q1, 3, history.Info)
			return s.deliver(sub, q1, 3).deliver(other, q1, 3).settled()
		}, pass, map[string]int64{"duplicated": 0, "excused": 1}, ""},
		{"a SUBACK is still to come", "shared-one-member", func() *story {
			s := newStory().share().connect(pub, false).join(sub).connect(other, false).settled()
			s.publish(q1, 0, history.OK).deliver(sub, q1, 0).deliver(other, q1, 0).subscribe(other)
			return s.settled().dealt(q1, 1, 2).settled()
		}, pass, map[string]int64{"duplicated": 0, "excused": 1}, ""},
		{"a message twice to one member at QoS 2", "qos2-exactly-once", func() *story {
			return shared().dealt(q2, 0, 3).deliver(other, q2, 3)
		}, fail, map[string]int64{"duplicated": 1}, ""},
	} {
		t.Run(test.claim+"/"+test.name, func(t *testing.T) {
			s := test.tell().finish()
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
		})
	}
}

// A producer's client that wrongly sends a message again on the same connection may
// make two of it.
func TestSharedAndResent(t *testing.T) {
	s := wired().share()
	s.connect(pub, false).join(sub, other).settled().dealt(q1, 0, 3)
	s.packet(pub, "publish", s.wire(pub).ids[0]+1, s.of(q1, 4))
	s.packet(pub, "publish", s.wire(pub).ids[0]+1, s.of(q1, 4), flagged2(true, history.FlagDup))
	e := s.publishing(q1, 4)
	s.ret(e, s.call(e), history.OK)
	s.deliver(sub, q1, 4).deliver(other, q1, 4).settled().finish()
	if r := judgeStory(t, s, "shared-one-member").Results[0]; r.Status != verdict.Pass || r.Counts["excused"] != 1 {
		t.Errorf("%s: %s %v", r.Status, r.Summary, r.Counts)
	}
}

// A healthy run with shared subscriptions passes, its canaries turn red, and every
// later version judges it the same.
func TestSharedHealthy(t *testing.T) {
	s := shared().join(fleet).settled().phase("steady")
	for _, st := range []int32{q0, q1, q2, q1b} {
		s.dealt(st, 0, 19)
		for seq := range int64(20) {
			s.deliver(fleet, st, seq)
		}
	}
	s.settled().phase("drain").over(q1, 20).over(q2, 20).over(q1b, 20)
	for _, st := range []int32{q1, q2, q1b} {
		s.deliver(fleet, st, 20, history.FlagEnd)
	}
	report := judgeStory(t, s.finish(), "shared-no-loss", "shared-one-member", "qos2-exactly-once", "qos0-at-most-once", "order-per-stream", "no-unexpected", "qos-granted")
	if !report.Complete.Closed || len(report.Complete.Undrained) > 0 {
		t.Errorf("not complete: %+v", report.Complete)
	}
	for _, r := range report.Results {
		if r.Status != verdict.Pass || !r.Canary.Red {
			t.Errorf("%s is %s, canary red %v (%s%s): %s %v", r.Claim.Name, r.Status, r.Canary.Red, r.Canary.Mutation, r.Canary.Skipped, r.Summary, r.Reasons)
		}
	}
	golden(t, "shared", report)
}

// A group is all whose filter is the same, name and all.
func TestGroups(t *testing.T) {
	s := newStory()
	for p, filter := range []string{"", "$share/g/work/#", "$share/g/work/#", "$share/g/work/+", "$share/h/work/#", "work/#"} {
		s.tables.Processes[p].Filters = []history.Filter{{Filter: filter, QoS: 1}}
	}
	r := newRoute(&s.tables)
	var got []string
	for _, g := range r.groups {
		got = append(got, g.filter)
	}
	if want := []string{"$share/g/work/#", "$share/g/work/+", "$share/h/work/#"}; !slices.Equal(got, want) || len(r.groups[0].members) != 2 {
		t.Errorf("%v, %v", got, r.groups)
	}
}
