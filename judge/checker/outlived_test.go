package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// ending is a story in which sub has subscribed, with a session that ends after
// ten seconds; two more are allowed.
func ending() *story {
	s := wired()
	s.run.Budget.ExpiryS = 2
	s.tables.Processes[sub].Protocol, s.tables.Processes[sub].ExpiryS = "mqtt5", 10
	return s.connect(pub, false).join(sub)
}

func TestSessionExpiry(t *testing.T) {
	const pass, fail, unknown = verdict.Pass, verdict.Fail, verdict.Unknown
	for _, test := range []struct {
		name  string
		tell  func() *story
		want  verdict.Status
		blame verdict.Party
		text  string
	}{
		{"gone in time", func() *story { return ending().disconnect(sub).wait(13*time.Second).connect(sub, false) }, pass, "", ""},
		{"still there", func() *story { return ending().disconnect(sub).wait(13*time.Second).connect(sub, true) }, fail, verdict.Broker, "sub-1 came back at"},
		{"an SDK that says so of none", func() *story {
			s := ending().disconnect(sub).wait(13*time.Second).connect(sub, false)
			s.events[len(s.events)-1].Flags |= history.FlagSessionPresent
			return s
		}, fail, verdict.SDK, ""},
		{"still there, in the time that is allowed", func() *story { return ending().disconnect(sub).wait(11*time.Second).connect(sub, true) }, unknown, "", "no client came back"},
		{"before its time", func() *story { return ending().disconnect(sub).wait(5*time.Second).connect(sub, true) }, unknown, "", ""},
		{"one that never ends", func() *story {
			s := wired()
			s.tables.Processes[sub].Protocol, s.tables.Processes[sub].ExpiryS = "mqtt5", noExpiry
			return s.connect(pub, false).join(sub).disconnect(sub).wait(time.Hour).connect(sub, true)
		}, unknown, "", ""},
		{"MQTT 3.1.1 knows no end", func() *story {
			return wired().connect(pub, false).join(sub).disconnect(sub).wait(time.Hour).connect(sub, true)
		}, unknown, "", ""},
		{"the broker said that it keeps it longer", func() *story {
			s := ending().disconnect(sub).wait(13*time.Second).connect(sub, true)
			for i, e := range s.events {
				if e.Process == sub && e.Kind == history.KindPacket && (e.Text == "connack" || e.Text == "disconnect") {
					s.events[i].Value = 3600
				}
			}
			return s
		}, unknown, "", ""},
		{"its client said that it should last longer", func() *story {
			s := ending().disconnect(sub).wait(13*time.Second).connect(sub, true)
			for i, e := range s.events {
				if e.Process == sub && e.Kind == history.KindPacket && e.Text == "disconnect" {
					s.events[i].Value = 3600
				}
			}
			return s
		}, unknown, "", ""},
		{"an attempt in between may have succeeded", func() *story {
			s := ending().disconnect(sub).wait(8 * time.Second)
			e := blank(history.KindConnect, sub)
			s.ret(e, s.call(e), history.Info)
			return s.wait(8*time.Second).connect(sub, true)
		}, unknown, "", ""},
		{"an attempt in between that never returned", func() *story {
			s := ending().disconnect(sub).wait(8 * time.Second)
			s.call(blank(history.KindConnect, sub))
			return s.wait(8*time.Second).connect(sub, true)
		}, unknown, "", ""},
		{"its clock may have stood still", func() *story {
			return ending().disconnect(sub).fault(time.Second).wait(25*time.Second).connect(sub, true)
		}, unknown, "", ""},
		{"a restart, and the whole time once more", func() *story {
			s := ending().disconnect(sub).fault(time.Second)
			s.landings[0].Ends = true
			return s.wait(14*time.Second).connect(sub, true)
		}, fail, verdict.Broker, "sub-1 came back at"},
		{"a restart, and less than the whole time once more", func() *story {
			s := ending().disconnect(sub).wait(8 * time.Second).fault(time.Second)
			s.landings[0].Ends = true
			return s.wait(12*time.Second).connect(sub, true)
		}, unknown, "", ""},
		{"its whole time, and then a restart", func() *story {
			s := ending().disconnect(sub).wait(13 * time.Second).fault(time.Second)
			s.landings[0].Ends = true
			return s.wait(2*time.Second).connect(sub, true)
		}, fail, verdict.Broker, ""},
		{"a partition, and the whole time once more", func() *story {
			return ending().disconnect(sub).fault(time.Second).wait(30*time.Second).connect(sub, true)
		}, unknown, "", ""},
		{"a partition, and the time to notice too", func() *story {
			return ending().disconnect(sub).fault(time.Second).wait(35*time.Second).connect(sub, true)
		}, fail, verdict.Broker, ""},
		{"a clock that was moved", func() *story {
			s := ending().disconnect(sub).fault(time.Second).struck("clock_jump", "node-1", "node-1")
			s.landings[0].Params = map[string]any{"offset_s": -3600.0}
			return s.wait(50*time.Second).connect(sub, true)
		}, unknown, "", ""},
		{"a fault on another client", func() *story {
			s := ending().disconnect(sub).fault(time.Second)
			s.landings[0].Target = "client:sub-2"
			return s.wait(13*time.Second).connect(sub, true)
		}, fail, verdict.Broker, ""},
		{"a fault on this one", func() *story {
			s := ending().disconnect(sub).fault(time.Second)
			s.landings[0].Target = "client:sub-1"
			return s.wait(25*time.Second).connect(sub, true)
		}, unknown, "", ""},
		{"the host stood still", func() *story {
			return ending().disconnect(sub).wait(13*time.Second).connect(sub, true).observe(history.ObserveStarved, history.None, history.None, 5)
		}, unknown, "", "no client came back"},
		{"no packets were recorded", func() *story {
			s := ending().disconnect(sub).wait(13*time.Second).connect(sub, true)
			s.run.Wire = false
			return s
		}, unknown, "", "start with arm [tap]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := judgeStory(t, test.tell().finish(), "session-expiry").Results[0]
			if r.Status != test.want || !strings.Contains(said(r), test.text) {
				t.Errorf("%s, want %s: %s, %s", r.Status, test.want, r.Summary, said(r))
			}
			if len(r.Anomalies) > 0 && r.Anomalies[0].Blame != test.blame {
				t.Errorf("blame %q, want %q: %s", r.Anomalies[0].Blame, test.blame, said(r))
			}
		})
	}
}

// A broker may keep a session for less than was asked for, if its CONNACK says
// so: then it was over, and nothing is lost with it.
func TestSessionShortened(t *testing.T) {
	for granted, want := range map[float64]verdict.Status{0: verdict.Unknown, 5: verdict.Unknown, 10: verdict.Fail} {
		s := ending().disconnect(sub).publish(q1, 0, history.OK).wait(8 * time.Second).join(sub)
		s.publish(q1, 1, history.OK).deliver(sub, q1, 1).marked(q1, 2)
		for i, e := range s.events {
			if e.Process == sub && e.Kind == history.KindPacket && (e.Text == "connack" || e.Text == "disconnect") {
				s.events[i].Value = granted + 1
			}
		}
		report := judgeStory(t, s.finish(), "session-kept", "qos1-no-loss")
		if kept := report.Results[0]; kept.Status != want {
			t.Errorf("granted %g s: %s, want %s: %s", granted, kept.Status, want, said(kept))
		}
		if lost := report.Results[1]; lost.Counts["lost_session"] != map[float64]int64{10: 1}[granted] {
			t.Errorf("granted %g s: %v: %s", granted, lost.Counts, said(lost))
		}
	}
}
