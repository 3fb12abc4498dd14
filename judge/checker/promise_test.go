package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A broker counts a session's time from when it ended the connection, which its client
// may notice later.
func TestSessionTime(t *testing.T) {
	const pass, fail, unknown = verdict.Pass, verdict.Fail, verdict.Unknown
	for _, test := range []struct {
		name string
		wire bool
		tell func(s *story) *story // from when sub, whose session lasts 10 s, has subscribed
		back bool                  // the broker has its session then
		want verdict.Status        // of session-kept
		text string
	}{
		{"forgotten in time", true, func(s *story) *story { return cutOff(s, 0).wait(8 * time.Second) }, false, fail, "sub-1 came back"},
		{"there in time", true, func(s *story) *story { return cutOff(s, 0).wait(8 * time.Second) }, true, pass, ""},
		{"noticed late", true, func(s *story) *story { return cutOff(s, 8*time.Second).wait(8 * time.Second) }, false, unknown, "may have been over"},
		{"noticed late, and forgotten in time", true, func(s *story) *story { return cutOff(s, 4*time.Second).wait(4 * time.Second) }, false, fail, "sub-1 came back"},
		{"under a fault that may have kept its end from the wire", true, func(s *story) *story {
			return cutOff(s.fault(18*time.Second).wait(8*time.Second), 0).wait(8 * time.Second)
		}, false, unknown, "may have been over"},
		{"under a fault, a message came shortly before the end", true, func(s *story) *story {
			s.fault(18*time.Second).wait(8*time.Second).publish(q1, 0, history.OK).deliver(sub, q1, 0)
			return cutOff(s, 0).wait(8 * time.Second)
		}, false, fail, "sub-1 came back"},
		{"on a host that stood still", true, func(s *story) *story {
			s.wait(8*time.Second).observe(history.ObserveStarved, history.None, history.None, 8)
			return cutOff(s, 0).wait(8 * time.Second)
		}, false, unknown, "may have been over"},
		{"without packets, idle", false, func(s *story) *story { return s.wait(8 * time.Second).disconnect(sub).wait(8 * time.Second) }, false, unknown, "may have been over"},
		{"without packets, a message came shortly before", false, func(s *story) *story {
			return s.wait(8*time.Second).publish(q1, 0, history.OK).deliver(sub, q1, 0).disconnect(sub).wait(8 * time.Second)
		}, false, fail, "sub-1 came back"},
		{"without packets, an old message came shortly before", false, func(s *story) *story {
			return s.publish(q1, 0, history.OK).wait(8*time.Second).deliver(sub, q1, 0).disconnect(sub).wait(8 * time.Second)
		}, false, unknown, "may have been over"},
		{"by a clock that a fault put forward", true, func(s *story) *story {
			return cutOff(s, 0).fault(2*time.Second).moves("clock_jump", "offset_s", 8).wait(4 * time.Second)
		}, false, unknown, "a fault moved"},
		{"by a clock that a fault put back, and its heal forward", true, func(s *story) *story {
			return cutOff(s.fault(4*time.Second).moves("clock_jump", "offset_s", -8).wait(2*time.Second), 0).wait(4 * time.Second)
		}, false, unknown, "a fault moved"},
		{"by a clock that a fault put forward by little", true, func(s *story) *story {
			return cutOff(s, 0).fault(2*time.Second).moves("clock_jump", "offset_s", 4).wait(4 * time.Second)
		}, false, fail, "sub-1 came back"},
		{"by a clock that a fault had put forward before", true, func(s *story) *story {
			s.fault(time.Second).moves("clock_jump", "offset_s", 8).wait(2*time.Second).publish(q1, 0, history.OK).deliver(sub, q1, 0)
			return cutOff(s, 0).wait(4 * time.Second)
		}, false, fail, "sub-1 came back"},
		{"by a clock that ran fast", true, func(s *story) *story {
			return cutOff(s, 0).fault(2*time.Second).moves("clock_rate", "factor", 5).wait(4 * time.Second)
		}, false, unknown, "a fault moved"},
		{"by a clock that ran a little fast", true, func(s *story) *story {
			return cutOff(s, 0).fault(2*time.Second).moves("clock_rate", "factor", 2).wait(4 * time.Second)
		}, false, fail, "sub-1 came back"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := ending()
			s.run.Wire = test.wire
			s = test.tell(s)
			if s.acked(q1, 100, 100); test.back {
				s.connect(sub, true).delivered(sub, q1, 100, 100)
			} else {
				s.join(sub)
			}
			s.marked(q1, 101)
			report := judgeStory(t, s.finish(), "session-kept", "qos1-no-loss")
			kept, lost := report.Results[0], report.Results[1]
			if kept.Status != test.want || !strings.Contains(said(kept), test.text) {
				t.Errorf("%s, want %s: %s, %s", kept.Status, test.want, kept.Summary, said(kept))
			}
			if (lost.Status == fail) != (test.want == fail) {
				t.Errorf("messages: %s, %s, %s", lost.Status, lost.Summary, said(lost))
			}
		})
	}
}

// moves has the last fault act on the clock of a node.
func (s *story) moves(typ, param string, by float64) *story {
	s.struck(typ, "node-1", "node-1").landings[0].Params = map[string]any{param: by}
	return s
}

// cutOff has the broker end sub's connection, and its client notice that later.
func cutOff(s *story, late time.Duration) *story {
	s.toClient(sub, "closed", 0).wait(late).add(blank(history.KindDisconnect, sub))
	return s
}

// A CONNECT may be on its way for long: a session that was not over when it was called may
// be when the broker has it.
func TestSessionTimeOfConnect(t *testing.T) {
	s := cutOff(ending(), 0).wait(8 * time.Second)
	e := blank(history.KindConnect, sub)
	c := s.call(e)
	s.wait(3*time.Second).wireConnect(sub, false)
	s.ret(e, c, history.OK)
	if r := judgeStory(t, s.finish(), "session-kept").Results[0]; r.Status != verdict.Unknown {
		t.Errorf("%s: %s", r.Status, said(r))
	}
}

// A broker may grant a session less time than was asked for. Without its CONNACK nobody
// knows that of a broker of which nothing is known.
func TestSessionTimeUntold(t *testing.T) {
	for _, test := range []struct {
		name        string
		wire, known bool
		protocol    string
		present     bool // the broker has the session
		kept, lost  verdict.Status
	}{
		{"forgotten", false, false, "mqtt5", false, verdict.Unknown, verdict.Unknown},
		{"there", false, false, "mqtt5", true, verdict.Unknown, verdict.Pass},
		{"forgotten, by the wire", true, false, "mqtt5", false, verdict.Fail, verdict.Fail},
		{"forgotten by a broker that is known", false, true, "mqtt5", false, verdict.Fail, verdict.Fail},
		{"forgotten, where sessions have no time", false, false, "mqtt3", false, verdict.Fail, verdict.Fail},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := wired()
			s.run.Wire = test.wire
			if !test.known {
				s.run.Cluster.Lacks = map[string]string{history.LacksLimits: "not known"}
			}
			s.tables.Processes[sub].Protocol, s.tables.Processes[sub].ExpiryS = test.protocol, 3600
			s.connect(pub, false).join(sub).disconnect(sub).acked(q1, 0, 0).connect(sub, test.present)
			if s.subscribe(sub); test.present {
				s.deliver(sub, q1, 0)
			}
			s.marked(q1, 1)
			report := judgeStory(t, s.finish(), "session-kept", "qos1-no-loss")
			if kept := report.Results[0]; kept.Status != test.kept || !test.present && test.kept == verdict.Unknown && !strings.Contains(said(kept), "start with arm [tap]") {
				t.Errorf("%s, want %s: %s", kept.Status, test.kept, said(kept))
			}
			if lost := report.Results[1]; lost.Status != test.lost {
				t.Errorf("messages: %s, want %s: %s", lost.Status, test.lost, said(lost))
			}
		})
	}
}

// A message that a client sends again in a new session is another one to the broker, where
// the client asked for that session.
func TestSentAgainInANewSession(t *testing.T) {
	for name, want := range map[string]verdict.Status{"asked for": verdict.Pass, "not asked for": verdict.Fail} {
		s := wired().connect(pub, false).join(sub)
		s.resent(q2, 0, func() {
			s.wirePublish(q2, 0, false)
			s.deliver(sub, q2, 0).disconnect(pub)
			if want == verdict.Pass {
				s.clean(pub)
			} else {
				s.connect(pub, false)
			}
			s.wirePublish(q2, 0, true)
		})
		s.deliver(sub, q2, 0).acked(q2, 1, 1).deliver(sub, q2, 1)
		if r := judgeStory(t, s.finish(), "qos2-exactly-once").Results[0]; r.Status != want {
			t.Errorf("%s: %s, want %s: %s", name, r.Status, want, said(r))
		}
	}
}

// A broker drops by its settings what is too old. A clock that a fault moves makes it old at once.
func TestLapse(t *testing.T) {
	external := map[string]string{history.LacksLimits: "not known"}
	const pass, fail, unknown = verdict.Pass, verdict.Fail, verdict.Unknown
	for _, test := range []struct {
		name       string
		session    float64
		wait       float64
		lacks      map[string]string
		offset     float64
		away       bool
		present    bool // the broker has the session
		kept, lost verdict.Status
		says       string // of the messages
	}{
		{"the session lapsed", 1800, 0, nil, 3600, true, false, unknown, unknown, "by the clock of its node, which a fault moved"},
		{"the message lapsed", 0, 3600, nil, 3600, true, true, pass, unknown, "by the clock of a node, which a fault moved"},
		{"the message lapsed without a fault", 0, 2, nil, 0, true, true, pass, unknown, "waited longer than the broker keeps one"},
		{"the jump is shorter", 7200, 7200, nil, 3600, true, true, pass, fail, ""},
		{"only sessions lapse, and it is there", 1800, 7200, nil, 3600, true, true, unknown, fail, ""},
		{"nothing lapses", 0, 0, nil, 3600, true, false, fail, fail, ""},
		{"its settings are not known", 0, 0, external, 3600, true, true, unknown, unknown, "by the clock of a node, which a fault moved"},
		{"its subscriber was there", 1800, 1800, nil, 3600, false, true, unknown, fail, ""},
		{"its session was away for too long", 2, 0, nil, 0, true, false, unknown, pass, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := wired()
			s.run.Cluster.SessionS, s.run.Cluster.WaitS, s.run.Cluster.Lacks = test.session, test.wait, test.lacks
			s.connect(pub, false).join(sub, other)
			if test.away {
				s.disconnect(sub)
			}
			s.acked(q1, 0, 1).delivered(other, q1, 0, 1)
			if test.offset > 0 {
				s.fault(2*time.Second).moves("clock_jump", "offset_s", test.offset).wait(time.Second)
			}
			s.wait(3 * time.Second)
			if test.away {
				s.connect(sub, test.present)
				s.subscribe(sub)
			}
			s.deliver(sub, q1, 1).marked(q1, 2)
			report := judgeStory(t, s.finish(), "session-kept", "qos1-no-loss")
			if kept := report.Results[0]; kept.Status != test.kept {
				t.Errorf("session %s, want %s: %s", kept.Status, test.kept, said(kept))
			}
			if lost := report.Results[1]; lost.Status != test.lost || !strings.Contains(said(lost), test.says) {
				t.Errorf("messages: %s, want %s: %s; %s", lost.Status, test.lost, lost.Summary, said(lost))
			}
		})
	}
}
