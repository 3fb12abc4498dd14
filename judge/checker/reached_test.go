package checker

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
)

// allReached counts every situation, as runs do.
func allReached() map[string]int64 {
	all := map[string]int64{}
	for _, name := range Reachable("", true) {
		all[name] = 0
	}
	return all
}

// TestSituations tells how a run came into each situation, and what is none.
func TestSituations(t *testing.T) {
	back := func(s *story, p int32) { s.disconnect(p).connect(p, true) }
	for name, test := range map[string]struct {
		tell func(s *story)
		want map[string]int64 // those that are not 0
	}{
		"published": {func(s *story) {
			s.packet(pub, "publish", 1, s.of(q1, 0))
			s.packet(pub, "publish", 2, s.of(q2, 0)).toClient(pub, "pubrec", 2, s.of(q2, 0))
			s.packet(pub, "publish", 3, s.of(q2, 1)).toClient(pub, "pubrec", 3, s.of(q2, 1)).packet(pub, "pubrel", 3, s.of(q2, 1))
			back(s, pub)
		}, map[string]int64{"published_before_answer": 1, "published_between_pubrec_and_pubrel": 1, "published_between_pubrel_and_pubcomp": 1, "sessions_resumed": 1}},
		"delivered": {func(s *story) {
			s.toClient(sub, "publish", 1, s.of(q1, 0))
			s.toClient(sub, "publish", 2, s.of(q2, 0)).packet(sub, "pubrec", 2, s.of(q2, 0))
			s.toClient(sub, "publish", 3, s.of(q2, 1)).packet(sub, "pubrec", 3, s.of(q2, 1)).toClient(sub, "pubrel", 3, s.of(q2, 1))
			back(s, sub)
		}, map[string]int64{"delivered_before_answer": 1, "delivered_between_pubrec_and_pubrel": 1, "delivered_between_pubrel_and_pubcomp": 1, "sessions_resumed": 1}},
		"the client is not back": {func(s *story) {
			s.toClient(sub, "publish", 1, s.of(q1, 0)).disconnect(sub)
		}, nil},
		"answered": {func(s *story) {
			s.toClient(sub, "publish", 1, s.of(q1, 0)).packet(sub, "puback", 1, s.of(q1, 0))
			back(s, sub)
		}, map[string]int64{"sessions_resumed": 1}},
		"taken over": {func(s *story) {
			s.toClient(sub, "publish", 1, s.of(q1, 0)).connect(sub, true)
			s.packet(sub, "closed", 0, func(e *history.Event) { e.Conn = 0 })
		}, map[string]int64{"delivered_before_answer": 1, "taken_over": 1, "sessions_resumed": 1}},
		"taken over with nothing in flight": {func(s *story) {
			s.connect(sub, true).packet(sub, "closed", 0, func(e *history.Event) { e.Conn = 0 })
		}, map[string]int64{"taken_over": 1, "sessions_resumed": 1}},
		"not taken over": {func(s *story) { back(s, sub) }, map[string]int64{"sessions_resumed": 1}},
		"a packet before CONNACK": {func(s *story) {
			s.packet(pub, "publish", 1, s.of(q1, 0)).disconnect(pub)
			s.wire(pub).conns++
			s.packet(pub, "connect", 0).packet(pub, "publish", 1, s.of(q1, 0), flagged2(true, history.FlagDup))
			s.toClient(pub, "connack", 0, flagged2(true, history.FlagSessionPresent))
		}, map[string]int64{"published_before_answer": 1}},
		"from the queue": {func(s *story) {
			s.disconnect(sub).publish(q1, 0, history.OK).connect(sub, true).deliver(sub, q1, 0)
			s.publish(q1, 1, history.OK).deliver(sub, q1, 1)
			s.publish(q1, 2, history.OK).deliver(sub, q1, 2)
			back(s, sub)
			s.deliver(sub, q1, 2)
		}, map[string]int64{"delivered_from_queue": 1, "sessions_resumed": 2}},
		"a kill": {func(s *story) {
			s.publish(q1, 0, history.OK).wait(time.Second).publish(q1, 1, history.OK).acts("node-2", true, time.Second).exited(-1, 9, true)
		}, nil},
		"acknowledged before a kill": {func(s *story) {
			s.publish(q1, 0, history.OK).wait(time.Second).publish(q1, 1, history.OK).wait(50*time.Millisecond).exited(-1, 9, true)
		}, map[string]int64{"acknowledged_before_kill": 1}},
		"read during a write": {func(s *story) {
			s.during(reg, 0, func() { s.fetch(reg, 0) }).fetch(reg, 0).unanswered(reg, 1).fetch(reg, 0)
		}, map[string]int64{"reads_during_writes": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := wired()
			s.run.Reaches = allReached()
			s.connect(pub, false).join(sub)
			test.tell(s)
			got := judgeStory(t, s, "qos1-no-loss").Coverage.Reached
			for name, n := range got {
				if n == 0 {
					delete(got, name)
				}
			}
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Situations are of claims that there are, and each is reachable.
func TestSituationsAreOfClaims(t *testing.T) {
	for _, s := range Situations {
		for _, claim := range s.Claims {
			if _, err := Find(claim); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
		if !slices.Contains(Reachable("", true), s.Name) || s.Wire == slices.Contains(Reachable("", false), s.Name) {
			t.Errorf("%s is not counted as its packets allow", s.Name)
		}
	}
}
