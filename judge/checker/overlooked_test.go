package checker

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A fault of ours that somebody injected by hand spoils what is judged beside.
func TestFaultsSpoilWhatIsBeside(t *testing.T) {
	s := newStory().join(sub)
	s.acked(q1, 0, 9).delivered(sub, q1, 0, 3).deliver(sub, q1, 5).deliver(sub, q1, 4).delivered(sub, q1, 6, 9)
	s.marked(q1, 10)
	s.wait(time.Second).fault(time.Second)
	s.run.Claims, s.run.Beside = []string{"no-panic"}, []string{"order-per-stream", "qos1-no-loss"}
	for typ, want := range map[string]int{"kill": 3, "packet_drop": 2} {
		s.landings[0].Type = typ
		report := judgeStory(t, s.finish())
		seen := strings.Join(report.Coverage.Unjudged, "; ")
		if len(report.Results) != want || strings.Contains(seen, "1 deliveries out of order, because a message that never came") != (want == 2) {
			t.Errorf("under %s %d claims are judged; seen: %q", typ, len(report.Results), seen)
		}
	}
}

// A claim that was asked is not held against the broker where a fault that somebody
// injected by hand may explain the violation.
func TestFaultsByHandSpoilWhatWasAsked(t *testing.T) {
	const pass, fail, unknown = verdict.Pass, verdict.Fail, verdict.Unknown
	panics := func(s *story) { s.observe(history.ObservePanic, history.None, 1, 7) }
	loses := func(s *story) { s.acked(q1, 0, 9).delivered(sub, q1, 0, 8).marked(q1, 10) }
	for _, test := range []struct {
		name  string
		claim string
		fault string
		tell  func(s *story)
		want  verdict.Status
		text  string
	}{
		{"a panic without threads", "no-panic", "pids", panics, unknown, "f1 (pids of follower) was injected by hand, and it may be its doing: a process that gets no memory or no thread may end"},
		{"a panic under a pause", "no-panic", "pause", panics, fail, ""},
		{"no panic without threads", "no-panic", "pids", func(*story) {}, pass, ""},
		{"a damaged payload", "no-corruption", "bit_rot", func(s *story) {
			s.publish(q1, 0, history.OK).deliver(sub, q1, 0, history.FlagCorrupt)
		}, unknown, "changes what is stored"},
		{"a loss with the one disk", "qos1-no-loss", "lost_disk", loses, unknown, "the one copy of the data"},
		{"a loss with one disk of three", "qos1-no-loss", "lost_disk", func(s *story) { s.run.Cluster.Nodes = 3; loses(s) }, fail, ""},
		{"a loss with every disk of three", "qos1-no-loss", "lost_disk", func(s *story) {
			s.run.Cluster.Nodes = 3
			s.struck("lost_disk", "all")
			loses(s)
		}, unknown, "most copies of the data at once"},
		{"a loss with every disk, where the scenario takes one", "qos1-no-loss", "lost_disk", func(s *story) {
			s.run.Cluster.Nodes, s.run.Faults = 3, []history.PlannedFault{{Type: "lost_disk", Target: "leader"}}
			s.struck("lost_disk", "all")
			loses(s)
		}, unknown, "most copies of the data at once"},
		{"a loss with the one disk, which the scenario plans", "qos1-no-loss", "lost_disk", func(s *story) {
			s.run.Faults = []history.PlannedFault{{Type: "lost_disk", Target: "follower"}}
			loses(s)
		}, unknown, "f1 (lost_disk of follower) may have done it: the fault takes the one copy of the data"},
		{"a loss with one disk of three, which the scenario plans", "qos1-no-loss", "lost_disk", func(s *story) {
			s.run.Cluster.Nodes, s.run.Faults = 3, []history.PlannedFault{{Type: "lost_disk", Target: "follower"}}
			loses(s)
		}, fail, ""},
		{"a loss under a kill", "qos1-no-loss", "kill", loses, fail, ""},
		{"a panic under the fault that the scenario plans", "no-panic", "pids", func(s *story) {
			s.run.Faults = []history.PlannedFault{{Type: "pids"}}
			panics(s)
		}, fail, ""},
		{"an inversion under a pause, which many brokers have", "order-per-stream", "pause", func(s *story) {
			s.acked(q1, 0, 3).delivered(sub, q1, 0, 1).deliver(sub, q1, 3).deliver(sub, q1, 2)
		}, fail, ""},
		{"a panic long before it", "no-panic", "pids", func(s *story) {
			panics(s)
			s.landings[0].Times.AppliedNS, s.landings[0].Times.HealedNS = int64(s.now+10*time.Second), int64(s.now+20*time.Second)
		}, fail, ""},
		{"a fault that was never applied", "no-panic", "pids", func(s *story) {
			s.landings[0].Times = history.LandingTimes{}
			panics(s)
		}, fail, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory().join(sub).wait(time.Second).fault(time.Second)
			s.run.Claims, s.run.Cluster.Nodes = []string{test.claim}, 1
			s.landings[0].Type, s.landings[0].Target = test.fault, "follower"
			test.tell(s)
			r := judgeStory(t, s.finish()).Results[0]
			if r.Status != test.want || !strings.Contains(said(r), test.text) {
				t.Errorf("%s, want %s: %s", r.Status, test.want, said(r))
			}
			if r.Status == unknown && len(r.Anomalies) == 0 {
				t.Error("nobody is shown what happened")
			}
		})
	}
}

// A claim that is judged beside the others fails like one that was asked, and where
// there is nothing to judge nothing is said.
func TestBesideTheClaims(t *testing.T) {
	for _, test := range []struct {
		name   string
		beside []string
		not    map[string]string
		status map[string]verdict.Status
		seen   string
	}{
		{"beside", []string{"qos2-exactly-once", "will-once", "qos2-no-loss"}, nil, map[string]verdict.Status{"no-panic": verdict.Pass, "qos2-exactly-once": verdict.Fail, "qos2-no-loss": verdict.Pass}, ""},
		{"not claimed", []string{"qos2-no-loss"}, map[string]string{"qos2-exactly-once": "it is no question here"}, map[string]verdict.Status{"no-panic": verdict.Pass, "qos2-no-loss": verdict.Pass}, "2 duplicates of QoS 2, because it is no question here"},
		{"of a run that froze none", nil, nil, map[string]verdict.Status{"no-panic": verdict.Pass}, "seen and not judged here: 2 duplicates of QoS 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory().join(sub)
			s.acked(q2, 0, 9).delivered(sub, q2, 0, 9)
			s.marked(q2, 10)
			s.deliver(sub, q2, 3).deliver(sub, q2, 4)
			s.run.Claims, s.run.Beside, s.run.NotClaimed = []string{"no-panic"}, test.beside, test.not
			report := judgeStory(t, s.finish())
			got := map[string]verdict.Status{}
			for _, r := range report.Results {
				got[r.Claim.Name] = r.Status
			}
			if !maps.Equal(got, test.status) {
				t.Errorf("%v, want %v", got, test.status)
			}
			if seen := strings.Join(report.Coverage.Unjudged, "; "); !strings.Contains(seen, test.seen) || test.seen == "" && seen != "" {
				t.Errorf("seen: %q, want %q", seen, test.seen)
			}
		})
	}
}

// A claim beside that had something to judge and could not be judged keeps a run from
// passing: one without a word would be a pass that was not earned.
func TestBesideTheClaimsAndUnknown(t *testing.T) {
	s := newStory().join(sub).acked(q1, 0, 9).delivered(sub, q1, 0, 8).disconnect(sub) // before it had all
	s.run.Claims, s.run.Beside = []string{"no-panic"}, []string{"qos1-no-loss", "qos2-no-loss"}
	report := judgeStory(t, s.finish())
	if len(report.Results) != 2 || report.Results[1].Claim.Name != "qos1-no-loss" || report.Results[1].Status != verdict.Unknown {
		t.Errorf("%+v", report.Results)
	}
	s = newStory().join(sub).acked(q1, 0, 9).delivered(sub, q1, 0, 9)
	s.marked(q1, 10)
	s.run.Claims, s.run.Beside = []string{"no-panic"}, []string{"qos1-no-loss"}
	j, err := newJudge(s.finish().context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range j.benches {
		b.mutation = &mutation{apply: func(b *history.Batch) *history.Batch { return b }, did: "changed nothing"}
		b.canary = b.checker.fork()
	}
	j.add(batchOf(s.events))
	if r := j.report(true).Results; len(r) != 2 || r[1].Status != verdict.Unknown || !strings.Contains(r[1].Reasons[0], "canary stayed green") {
		t.Errorf("with a canary that stays green: %+v", r)
	}
}

// A violation that a run does not claim is reported, with its count, and is no failure.
func TestOverlooked(t *testing.T) {
	whole := func(s *story, st int32) {
		s.acked(st, 0, 9).delivered(sub, st, 0, 9)
		s.marked(st, 10)
	}
	for _, test := range []struct {
		name string
		tell func(*story)
		want []string
		wire bool
	}{
		{"nothing", func(s *story) { whole(s, q1) }, nil, false},
		{"duplicates of QoS 2", func(s *story) {
			whole(s, q2)
			s.deliver(sub, q2, 3).deliver(sub, q2, 4)
		}, []string{"seen and not judged here: 2 duplicates of QoS 2; mqtt/publish-crash-reconnect claims qos2-exactly-once"}, false},
		{"a duplicate of QoS 1, which may come", func(s *story) {
			whole(s, q1)
			s.deliver(sub, q1, 3, history.FlagDup)
		}, nil, false},
		{"one without DUP, no packets, and a fault that may be the reason", func(s *story) {
			s.connect(pub, false)
			whole(s.fault(time.Second), q1)
			s.deliver(sub, q1, 3)
		}, nil, false},
		{"a panic under a fault that may bring it about", func(s *story) {
			s.run.NotClaimed = map[string]string{"no-panic": "a process that gets no memory or no thread may end"}
			s.run.Claims = []string{"qos1-no-loss"}
			whole(s, q1)
			e := blank(history.KindObserve, history.None)
			e.Node, e.Text = 0, history.ObservePanic
			s.add(e)
		}, []string{"seen and not claimed here: 1 panics in the logs, because a process that gets no memory or no thread may end; mqtt/broker-kill-9 claims no-panic"}, false},
		{"one without DUP, and no packets", func(s *story) {
			s.connect(pub, false)
			whole(s, q1)
			s.deliver(sub, q1, 3)
		}, []string{"seen and not judged here: 1 messages of QoS 1 that came again on one connection without DUP; mqtt/qos-roundtrip with the tap armed claims qos1-dup-flag"}, false},
		{"a loss", func(s *story) {
			s.acked(q1, 0, 9).delivered(sub, q1, 0, 8)
			s.marked(q1, 10)
		}, []string{"seen and not judged here: 1 acknowledged deliveries of QoS 1 that never came; mqtt/broker-kill-9 claims qos1-no-loss"}, false},
		{"an inversion, and a damaged payload", func(s *story) {
			s.acked(q1, 0, 9).delivered(sub, q1, 0, 3).deliver(sub, q1, 5).deliver(sub, q1, 4).delivered(sub, q1, 6, 9)
			s.deliver(sub, q1, 9, history.FlagCorrupt)
			s.marked(q1, 10)
		}, []string{
			"seen and not judged here: 1 corrupted deliveries; mqtt/broker-kill-9 claims no-corruption",
			"seen and not judged here: 1 deliveries out of order; mqtt/order-across-failover claims order-per-stream",
		}, false},
		{"messages of QoS 1 sent anew", func(s *story) {
			s.connect(pub, false).acked(q1, 0, 9).delivered(sub, q1, 0, 9)
			s.deliver(sub, q1, 3).deliver(sub, q1, 4)
			s.deliver(sub, q1, 5, history.FlagDup) // as it should be
			s.marked(q1, 10)
		}, []string{"seen and judged by no claim: 2 messages of QoS 1 that the broker sent again under another packet id and without DUP, on connections that were never lost: MQTT allows it, and a healthy broker has no reason for it"}, true},
		{"connections that are lost again and again", func(s *story) {
			for range 3 {
				s.packet(sub, "closed", 0).wireConnect(sub, true)
			}
		}, []string{"seen and judged by no claim: 3 connections were lost without a fault, of clients: 1; the log of the broker may have the reason"}, true},
		{"connections that are lost now and then", func(s *story) {
			for range 2 {
				s.packet(sub, "closed", 0).wireConnect(sub, true)
			}
		}, nil, true},
		{"a refused subscription", func(s *story) {
			e := blank(history.KindSubscribe, away)
			s.ret(e, s.call(e), history.Fail)
		}, []string{"seen and judged by no claim: 1 refused subscriptions"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.run.Wire = test.wire
			s.join(sub)
			test.tell(s)
			r := judgeStory(t, s.finish(), "no-exit")
			if got := r.Coverage.Unjudged; !slices.Equal(got, test.want) {
				t.Errorf("%q, %v", got, r.Complete)
			}
		})
	}
}

// A member of a shared subscription without deliveries is reported, unless that may be
// chance.
func TestIdleMember(t *testing.T) {
	for _, test := range []struct {
		messages int64
		tell     func(s *story)
		want     bool
	}{
		{100, func(*story) {}, true},
		{99, func(*story) {}, false},
		{100, func(s *story) { s.disconnect(sub).connect(sub, true) }, false},
		{100, func(s *story) { s.deliver(sub, q1, 0) }, false},
	} {
		s := shared().acked(q1, 0, test.messages-1).delivered(other, q1, 0, test.messages-1)
		test.tell(s)
		s.run.Claims, s.run.Beside = []string{"no-panic"}, []string{"shared-no-loss"}
		seen := strings.Join(judgeStory(t, s.finish()).Coverage.Unjudged, "; ")
		if strings.Contains(seen, "sub-1 got none of the 100 messages") != test.want {
			t.Errorf("of %d messages: %q", test.messages, seen)
		}
	}
}

// A claim that is not judged under a fault is not silent when it is violated.
func TestNotices(t *testing.T) {
	silent := map[string]string{
		ClaimDeliveryProgress: "where it is excused, our own fault makes subscribers wait",
		"mq9-message-ttl":     "without a bound nothing is late", "mq9-mailbox-ttl": "likewise", "session-expiry": "likewise",
		"session-fresh": "where it is not judged, the library shows nothing of it",
	}
	for _, e := range All {
		name := e.Claim.Name
		if excused := len(e.Excused) > 0 || e.Unjudged != nil; excused && e.Notice.What == "" && silent[name] == "" {
			t.Errorf("%s is not judged in some runs, and has no notice there", name)
		}
	}
}
