package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// mortal is a client that leaves wills, in the stream testament.
const mortal = int32(numProc)

const testament = probed2 + 1

// willing is a story in which sub and other have subscribed, and mortal has
// connected, with will 0.
func willing() *story {
	s := wired()
	s.tables.Processes = append(s.tables.Processes, history.Process{Name: "will-1", Group: "will", Protocol: "mqtt3", Clean: true})
	s.tables.Streams = append(s.tables.Streams, history.Stream{Producer: mortal, Topic: "work/will", QoS: 1, Will: true})
	return s.connect(pub, false).join(sub, other).willed(0, history.OK)
}

// willed connects mortal with a will.
func (s *story) willed(seq int64, o history.Outcome) *story {
	e := blank(history.KindConnect, mortal)
	e.Stream, e.Seq = testament, seq
	c := s.call(e)
	if o == history.OK {
		s.wireConnect(mortal, false)
	}
	s.ret(e, c, o)
	return s
}

// leaves ends mortal's connection by DISCONNECT, dies without.
func (s *story) leaves() *story {
	s.disconnect(mortal)
	s.events[len(s.events)-1].Outcome = history.OK
	return s.wait(2 * time.Second)
}

func (s *story) dies() *story {
	s.packet(mortal, "closed", 0).add(blank(history.KindDisconnect, mortal))
	return s
}

// mourned delivers a will to both subscribers.
func (s *story) mourned(seq int64) *story {
	return s.deliver(sub, testament, seq).deliver(other, testament, seq)
}

// buried ends mortal's driver, and the others; killed is by a fault.
func (s *story) buried(killed bool) *story {
	if killed {
		s.observe(history.ObserveDriverLines, mortal, history.None, 7)
	} else {
		s.ended(mortal)
	}
	return s.finish()
}

// trouble puts a fault on a target in place, for a time.
func (s *story) trouble(target string, d time.Duration) *story {
	s.fault(d)
	s.landings[len(s.landings)-1].Target = target
	return s
}

func TestWillOnce(t *testing.T) {
	const pass, fail, unknown = verdict.Pass, verdict.Fail, verdict.Unknown
	for _, test := range []struct {
		name   string
		tell   func(s *story) *story
		killed bool
		want   verdict.Status
		blame  verdict.Party
		text   string
	}{
		{"published, once, and not after DISCONNECT", func(s *story) *story { return s.dies().mourned(0).willed(1, history.OK).leaves() }, false, pass, "", ""},
		{"missing", func(s *story) *story { return s.dies().deliver(sub, testament, 0).willed(1, history.OK).leaves() }, false, fail, verdict.Broker, "will 0 of will-1 never reached sub-2"},
		{"twice", func(s *story) *story {
			return s.dies().mourned(0).deliver(sub, testament, 0).willed(1, history.OK).leaves()
		}, false, fail, verdict.Broker, "reached sub-1 twice"},
		{"again, and it says so", func(s *story) *story {
			return s.dies().mourned(0).deliver(sub, testament, 0, history.FlagDup).willed(1, history.OK).leaves()
		}, false, pass, "", ""},
		{"again, on another connection", func(s *story) *story {
			s.dies().mourned(0).disconnect(sub).connect(sub, true).deliver(sub, testament, 0).willed(1, history.OK).leaves()
			for i := range s.events {
				if e := &s.events[i]; e.Kind == history.KindDeliver && e.Process == sub && e.Seq == 0 {
					e.Conn = 1
				}
			}
			for i := range s.events {
				if e := &s.events[i]; e.Kind == history.KindDeliver && e.Process == sub {
					e.Conn = 0 // the first
					break
				}
			}
			return s
		}, false, pass, "", ""},
		{"after DISCONNECT", func(s *story) *story { return s.leaves().deliver(sub, testament, 0) }, false, fail, verdict.Broker, "although will-1 had ended that connection by DISCONNECT"},
		{"when its client is back at once", func(s *story) *story {
			s.disconnect(mortal)
			s.events[len(s.events)-1].Outcome = history.OK
			return s.wait(time.Millisecond).willed(1, history.OK).mourned(0).leaves()
		}, false, pass, "", ""},
		{"when its client is back at once, on a host that stood still", func(s *story) *story {
			s.disconnect(mortal)
			s.events[len(s.events)-1].Outcome = history.OK
			s.wait(1500*time.Millisecond).observe(history.ObserveStarved, history.None, history.None, 1.4)
			return s.willed(1, history.OK).mourned(0).leaves()
		}, false, pass, "", ""},
		{"before its client is back at once", func(s *story) *story {
			s.disconnect(mortal)
			s.events[len(s.events)-1].Outcome = history.OK
			return s.mourned(0).wait(time.Millisecond).willed(1, history.OK).leaves()
		}, false, fail, verdict.Broker, "although will-1 had ended"},
		{"when its client is back after a while", func(s *story) *story {
			return s.leaves().willed(1, history.OK).mourned(0).leaves()
		}, false, fail, verdict.Broker, "although will-1 had ended"},
		{"after a DISCONNECT that the wire has when its client is back", func(s *story) *story {
			s.wireConnect(mortal, false) // its next connection
			s.packet(mortal, "disconnect", 0, func(e *history.Event) { e.Conn = 0 })
			s.add(blank(history.KindDisconnect, mortal))
			s.events[len(s.events)-1].Outcome = history.OK
			return s.wait(2*time.Second).deliver(sub, testament, 0)
		}, false, fail, verdict.Broker, "the broker had its DISCONNECT"},
		{"after a DISCONNECT that never was", func(s *story) *story {
			s.dies()
			s.events[len(s.events)-1].Outcome = history.OK
			return s.wait(2*time.Second).deliver(sub, testament, 0)
		}, false, unknown, "", "no client with a will"},
		{"a DISCONNECT that its client does not know of", func(s *story) *story { return s.disconnect(mortal) }, false, unknown, "", "no client with a will"},
		{"an SDK that mourns the living", func(s *story) *story {
			s.leaves()
			s.run.Wire = false // the next delivery was not sent
			s.deliver(sub, testament, 0)
			s.run.Wire = true
			return s
		}, false, fail, verdict.SDK, "that the broker sent nothing of the kind"},
		{"an SDK that keeps it to itself", func(s *story) *story {
			s.dies().mourned(0)
			for i := range s.events {
				if e := &s.events[i]; e.Kind == history.KindDeliver && e.Process == sub {
					e.Kind = history.KindPause // the row that it writes instead
				}
			}
			return s.willed(1, history.OK).leaves()
		}, false, fail, verdict.SDK, "that the client acknowledged it"},
		{"its process was killed", func(s *story) *story { return s.leaves().willed(1, history.OK).mourned(1) }, true, pass, "", ""},
		{"its process was killed, and nobody heard of it", func(s *story) *story { return s.leaves().willed(1, history.OK) }, true, fail, verdict.Broker, "never reached"},
		{"lost with its node", func(s *story) *story {
			return s.trouble("leader", 20*time.Second).dies().willed(1, history.OK).leaves()
		}, false, unknown, "", "no client with a will"},
		{"lost with its node, and noticed late", func(s *story) *story {
			return s.trouble("leader", 60*time.Second).wait(12*time.Second).dies().wait(time.Minute).willed(1, history.OK).wait(time.Minute).leaves()
		}, false, pass, "", ""},
		{"cut by a fault on the client while a node was away", func(s *story) *story {
			return s.trouble("leader", 60*time.Second).wait(12*time.Second).trouble("client:will-1", time.Second).dies().wait(time.Minute).willed(1, history.OK).wait(time.Minute).leaves()
		}, false, fail, verdict.Broker, "never reached"},
		{"lost while another node was away", func(s *story) *story {
			return s.trouble("leader", 60*time.Second).wait(20*time.Second).dies().wait(50*time.Second).willed(1, history.OK).wait(time.Minute).leaves()
		}, false, fail, verdict.Broker, "never reached"},
		{"published anew by a node that came back", func(s *story) *story {
			return s.dies().mourned(0).trouble("leader", time.Second).wait(8*time.Second).deliver(sub, testament, 0).wait(time.Minute).willed(1, history.OK).leaves()
		}, false, pass, "", ""},
		{"cut by a fault on the client", func(s *story) *story {
			return s.trouble("client:will-1", 3*time.Second).dies().wait(20*time.Second).willed(1, history.OK).leaves()
		}, false, fail, verdict.Broker, "never reached"},
		{"a DISCONNECT that a fault may have kept back", func(s *story) *story {
			return s.trouble("client:will-1", 3*time.Second).leaves().mourned(0)
		}, false, unknown, "", "no client with a will"},
		{"who may not have been let in", func(s *story) *story { return s.leaves().willed(1, history.Info) }, false, pass, "", ""},
		{"who may have been let in", func(s *story) *story { return s.leaves().willed(1, history.Info).mourned(1) }, false, pass, "", ""},
		{"a subscriber that came later", func(s *story) *story { return s.dies().mourned(0).join(away).willed(1, history.OK).leaves() }, false, pass, "", ""},
		{"a subscriber that came between the broker's notice and the client's", func(s *story) *story {
			s.tables.Processes[fleet].Clean = false
			return s.mourned(0).join(fleet).dies().willed(1, history.OK).leaves()
		}, false, pass, "", ""},
		{"before a DISCONNECT, as the broker had lost its client", func(s *story) *story {
			return s.trouble("client:will-1", 20*time.Second).wait(17 * time.Second).mourned(0).wait(20 * time.Second).leaves()
		}, false, pass, "", ""},
		{"before a DISCONNECT, as its client's driver stood still", func(s *story) *story {
			return s.wait(17*time.Second).observe(history.ObserveDriverStill, mortal, history.None, 17).mourned(0).wait(20 * time.Second).leaves()
		}, false, pass, "", ""},
		{"before a DISCONNECT, long after a fault", func(s *story) *story {
			return s.trouble("client:will-1", 5*time.Second).wait(time.Minute).mourned(0).wait(20 * time.Second).leaves()
		}, false, fail, verdict.Broker, "although will-1 had ended"},
		{"before a DISCONNECT, for no reason", func(s *story) *story { return s.mourned(0).wait(20 * time.Second).leaves() }, false, fail, verdict.Broker, "although will-1 had ended"},
		{"a subscriber whose session is lost", func(s *story) *story {
			return s.dies().deliver(other, testament, 0).disconnect(sub).join(sub).willed(1, history.OK).leaves()
		}, false, pass, "", ""},
		{"missing where more waited than the broker keeps", func(s *story) *story {
			s.run.Cluster.Queue = 5
			s.disconnect(other).acked(q1, 0, 4).marker(q1, 5, history.OK).delivered(sub, q1, 0, 4).deliver(sub, q1, 5, history.FlagEnd).dies().deliver(sub, testament, 0)
			return s.wait(time.Second).connect(other, true).delivered(other, q1, 0, 4).willed(1, history.OK).leaves()
		}, false, pass, "", "those of 1 that were lost were, once, except 1 for which there was no room"},
		{"missing where wills filled what a broker of which nothing is known may keep", func(s *story) *story {
			s.run.Cluster.Queue, s.run.Cluster.Lacks = 1000, map[string]string{history.LacksLimits: "not known"}
			s.disconnect(other)
			for seq := range int64(60) {
				s.dies().deliver(sub, testament, seq).willed(seq+1, history.OK)
			}
			s.wait(time.Second).connect(other, true)
			for seq := range int64(55) {
				s.deliver(other, testament, seq)
			}
			return s.leaves()
		}, false, unknown, "", "is not known"},
		{"missing shortly after a fault", func(s *story) *story {
			return s.dies().deliver(sub, testament, 0).wait(20*time.Second).trouble("leader", 15*time.Second)
		}, false, unknown, "", "had not drained"},
		{"missing under a fault that was never healed", func(s *story) *story {
			s.dies().deliver(sub, testament, 0).wait(20*time.Second).trouble("leader", time.Second)
			s.landings[0].Times.HealedNS = 0
			return s
		}, false, unknown, "", "had not drained"},
		{"missing on a host that stood still", func(s *story) *story {
			return s.dies().deliver(sub, testament, 0).wait(8*time.Second).observe(history.ObserveStarved, history.None, history.None, 8).wait(24 * time.Second).disconnect(other)
		}, false, unknown, "", "had not drained"},
		{"a subscriber that is away in the end", func(s *story) *story {
			return s.disconnect(other).dies().deliver(sub, testament, 0).willed(1, history.OK).leaves()
		}, false, unknown, "", "had not drained"},
		{"two connections whose ends are mixed up", func(s *story) *story { return s.willed(1, history.OK).dies().willed(2, history.OK).leaves() }, false, pass, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := judgeStory(t, test.tell(willing()).buried(test.killed), "will-once", "no-unexpected", "qos1-no-loss")
			r := report.Results[0]
			if r.Status != test.want || !strings.Contains(said(r)+r.Summary, test.text) {
				t.Errorf("%s, want %s: %s, %s", r.Status, test.want, r.Summary, said(r))
			}
			for _, a := range r.Anomalies {
				if a.Blame != test.blame {
					t.Errorf("blame %q, want %q: %s", a.Blame, test.blame, a.Text)
				}
			}
			if !report.Complete.Closed || r.Status == pass && !r.Canary.Red {
				t.Errorf("complete %v, canary %+v", report.Complete.Why, r.Canary)
			}
			for _, r := range report.Results[1:] {
				if r.Status == fail {
					t.Errorf("%s: %s", r.Claim.Name, said(r))
				}
			}
		})
	}
}

// A will that is sent again before it was answered is published once: only its DUP flag is missing.
func TestAWillSentAgainIsPublishedOnce(t *testing.T) {
	s := willing().dies().deliver(other, testament, 0)
	id := s.wireSend(sub, testament, 0, 0)
	s.toClient(sub, "publish", id, s.of(testament, 0), func(e *history.Event) { e.QoS = 1 })
	s.packet(sub, "puback", id, s.of(testament, 0))
	s.run.Wire = false // the packets of what follows are told
	s.deliver(sub, testament, 0).deliver(sub, testament, 0)
	s.run.Wire = true
	report := judgeStory(t, s.willed(1, history.OK).leaves().buried(false), "will-once")
	if r := report.Results[0]; r.Status != verdict.Pass {
		t.Errorf("%s: %s", r.Status, said(r))
	}
	i := slices.IndexFunc(report.Results, func(r verdict.Result) bool { return r.Claim.Name == "broker-resend-dup" })
	if i < 0 || report.Results[i].Status != verdict.Fail {
		t.Error("the missing DUP is not found")
	}
}

// A driver that was killed explains messages missing elsewhere, unless its client does
// no more than leave wills and receive at QoS 0.
func TestWhoMayBeKilled(t *testing.T) {
	s := willing().dies().mourned(0)
	s.tables.Streams = append(s.tables.Streams, history.Stream{Producer: mortal, Topic: "work/own", QoS: 1})
	if r := judgeStory(t, s.buried(true), "will-once"); r.Complete.Closed {
		t.Error("the history of a publisher that was killed counts as complete")
	}
	s = willing().dies().mourned(0)
	s.tables.Processes[mortal].Filters = []history.Filter{{Filter: "work/#", QoS: 1}}
	if r := judgeStory(t, s.buried(true), "will-once"); r.Complete.Closed {
		t.Error("the history of a subscriber that was killed counts as complete")
	}
}

func TestWillsJudgedTheSameForEver(t *testing.T) {
	s := willing().leaves().deliver(sub, testament, 0).willed(1, history.OK).dies().deliver(sub, testament, 1).deliver(sub, testament, 1).willed(2, history.OK).wait(time.Minute).leaves()
	s.run.WireClaims = nil // of a run that did not freeze them yet
	golden(t, "wills", judgeStory(t, s.buried(false), "will-once"))
}
