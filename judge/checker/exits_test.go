package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// exited is the end of the process of the second node.
func (s *story) exited(status float64, signal uint8, asked bool) *story {
	e := blank(history.KindObserve, history.None)
	e.Text, e.Node, e.Value, e.Reason = history.ObserveExit, 1, status, signal
	if asked {
		e.Outcome = history.OK
	}
	s.add(e)
	return s
}

// starved is that the kernel's memory killer ended it.
func (s *story) starved() *story { return s.observe(history.ObserveMemoryKill, history.None, 1, 0) }

// acts is f1 on a node, by which its process may end.
func (s *story) acts(node string, ends bool, d time.Duration) *story {
	s.wait(time.Second).fault(d)
	l := &s.landings[len(s.landings)-1]
	l.Nodes, l.Ends = []string{node}, ends
	return s
}

// malformed has the last fault send malformed packets.
func (s *story) malformed() *story {
	s.landings[len(s.landings)-1].Type = "malformed"
	return s
}

func TestExits(t *testing.T) {
	for _, test := range []struct {
		name  string
		tell  func(*story)
		want  verdict.Status
		says  string // by the claim
		ended string // by the coverage
	}{
		{"we ended it", func(s *story) { s.exited(-1, 9, true) }, verdict.Pass, "none of 2 nodes", ""},
		{"it exits", func(s *story) { s.exited(2, 0, false) }, verdict.Fail, "node-2 ended by itself (status 2)", ""},
		{"it exits in order", func(s *story) { s.exited(0, 0, false) }, verdict.Fail, "status 0", ""},
		{"it aborts", func(s *story) { s.exited(-1, 6, false) }, verdict.Fail, "signal 6", ""},
		{"it aborts during a fault of the network", func(s *story) { s.acts("node-2", false, time.Hour).exited(-1, 6, false) }, verdict.Fail, "during f1", ""},
		{"a fault may have ended it", func(s *story) { s.acts("node-2", true, time.Hour).exited(-1, 6, false) }, verdict.Pass, "", ""},
		{"that fault is on another node", func(s *story) { s.acts("node-1", true, time.Hour).exited(-1, 6, false) }, verdict.Fail, "signal 6", ""},
		{"that fault is over", func(s *story) { s.acts("node-2", true, 0).wait(time.Second).exited(-1, 6, false) }, verdict.Fail, "signal 6", ""},
		{"that fault is yet to come", func(s *story) { s.exited(-1, 6, false).wait(time.Second).acts("node-2", true, time.Hour) }, verdict.Fail, "signal 6", ""},
		{"somebody kills it", func(s *story) { s.exited(-1, 9, false) }, verdict.Pass, "", "node-2 ended (signal 9) by no fault of this run"},
		{"the kernel kills it", func(s *story) { s.starved().exited(-1, 9, false) }, verdict.Pass, "", "the kernel ended the process of node-2"},
		{"only its parent knows", func(s *story) { s.exited(-1, 0, false) }, verdict.Unknown, "node-2 ended at", "only its parent knows"},
		{"only its parent knows, under malformed packets", func(s *story) { s.acts("node-2", false, time.Hour).malformed().exited(-1, 0, false) }, verdict.Fail, "during f1", ""},
		{"only its parent knows, after malformed packets", func(s *story) {
			s.acts("node-2", false, time.Second).malformed().wait(2*time.Second).exited(-1, 0, false)
		}, verdict.Fail, "only its parent knows the status", ""},
		{"only its parent knows, long after malformed packets", func(s *story) {
			s.acts("node-2", false, time.Second).malformed().wait(time.Minute).exited(-1, 0, false)
		}, verdict.Unknown, "", "only its parent knows"},
		{"only its parent knows, under malformed packets to another node", func(s *story) { s.acts("node-1", false, time.Hour).malformed().exited(-1, 0, false) }, verdict.Unknown, "", "only its parent knows"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			test.tell(s)
			report := judgeStory(t, s, "no-exit")
			r := report.Results[0]
			if r.Status != test.want || !strings.Contains(r.Summary, test.says) {
				t.Errorf("%s: %s", r.Status, r.Summary)
			}
			if ended := strings.Join(report.Coverage.Ended, "; "); !strings.Contains(ended, test.ended) || test.ended == "" && ended != "" {
				t.Errorf("ended: %q, want %q", ended, test.ended)
			}
		})
	}
}

// A witness of ours that is gone explains a delay, but no loss.
func TestTheLossOfTheWitnessExplains(t *testing.T) {
	s := newStory()
	s.join(sub).connect(pub, false).phase("steady").acked(q1, 0, 0).deliver(sub, q1, 0).fault(9*time.Second).observe(history.ObserveWitnessGone, history.None, history.None, 0)
	s.late(q1, 1, 20*time.Second).acked(q1, 2, 3).delivered(sub, q1, 2, 3)
	s.marker(q1, 4, history.OK).deliver(sub, q1, 4, history.FlagEnd)
	results := judgeStory(t, s.finish(), "progress", "qos1-no-loss").Results
	if r := results[0]; r.Status != verdict.Unknown || !strings.Contains(strings.Join(r.Reasons, " "), "the witness") {
		t.Errorf("%s: %s, %q", r.Status, r.Summary, r.Reasons)
	}
	if r := results[1]; r.Status != verdict.Fail {
		t.Errorf("%s: %s, %q", r.Status, r.Summary, r.Reasons)
	}
}

// Nodes are not judged where their processes cannot be seen.
func TestExitsOfOthers(t *testing.T) {
	s := newStory()
	s.run.Cluster.Lacks = history.LacksOfExternal()
	if r := judgeStory(t, s, "no-exit").Results[0]; r.Status != verdict.Unknown || !strings.Contains(strings.Join(r.Reasons, " "), "not ours to watch") {
		t.Errorf("%s: %s, %q", r.Status, r.Summary, r.Reasons)
	}
}

// A disk layer of ours that is gone explains every missing message, and other
// violations from then on only.
func TestTheLossOfADiskLayerExplains(t *testing.T) {
	gone := func(s *story, since float64) *story {
		return s.observe(history.ObserveDiskGone, history.None, 1, since)
	}
	for _, test := range []struct {
		name, claim string
		tell        func(*story)
		want        verdict.Status
	}{
		{"what is lost after it", "qos1-no-loss", func(s *story) { gone(s, 0).acked(q1, 0, 3).delivered(sub, q1, 1, 3) }, verdict.Unknown},
		{"what is lost before it, which may be on its way", "qos1-no-loss", func(s *story) { gone(s.acked(q1, 0, 3), 0).delivered(sub, q1, 1, 3) }, verdict.Unknown},
		{"what comes twice after it", "qos2-exactly-once", func(s *story) { gone(s.acked(q2, 0, 0), 0).deliver(sub, q2, 0).deliver(sub, q2, 0) }, verdict.Unknown},
		{"what came twice before it", "qos2-exactly-once", func(s *story) { gone(s.acked(q2, 0, 0).deliver(sub, q2, 0).deliver(sub, q2, 0).wait(time.Second), 0) }, verdict.Fail},
		{"what came twice when it may have stood still", "qos2-exactly-once", func(s *story) { gone(s.acked(q2, 0, 0).deliver(sub, q2, 0).deliver(sub, q2, 0).wait(time.Second), 11) }, verdict.Unknown},
		{"a node that ends after it", "no-exit", func(s *story) { gone(s, 0).wait(time.Second).exited(2, 0, false) }, verdict.Unknown},
		{"a node that ended before it", "no-exit", func(s *story) { gone(s.exited(2, 0, false).wait(time.Second), 0) }, verdict.Fail},
		{"what holds nevertheless", "no-exit", func(s *story) { gone(s, 0) }, verdict.Pass},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.join(sub).connect(pub, false)
			test.tell(s)
			if test.claim == "qos1-no-loss" {
				s.marker(q1, 4, history.OK).deliver(sub, q1, 4, history.FlagEnd)
			}
			report := judgeStory(t, s.finish(), test.claim)
			r := report.Results[0]
			if r.Status != test.want || r.Status == verdict.Unknown && !strings.Contains(strings.Join(r.Reasons, " "), "the disk layer of node-2") {
				t.Errorf("%s: %s %q", r.Status, r.Summary, r.Reasons)
			}
			if len(report.Coverage.Gone) != 1 {
				t.Errorf("gone: %q", report.Coverage.Gone)
			}
		})
	}
}

// A slow recovery is nobody's fault where a node was killed from outside.
func TestAKillExplainsWhatTookTooLong(t *testing.T) {
	for signal, want := range map[uint8]verdict.Status{6: verdict.Fail, 9: verdict.Unknown} {
		s := newStory()
		s.down("node-2").heal().exited(-1, signal, false).join(probe1, probe2).acked(probed, 0, 0).deliver(probe1, probed, 0)
		r := judgeStory(t, s.finish(), "recovery").Results[0]
		if r.Status != want {
			t.Errorf("signal %d: recovery is %s: %s %q", signal, r.Status, r.Summary, r.Reasons)
		}
	}
}

// Nobody is charged for anything late that a driver may explain by standing still. The rest is
// judged.
func TestAStoppedDriverExplains(t *testing.T) {
	stood := func(s *story, d time.Duration) *story {
		return s.wait(d).observe(history.ObserveDriverStill, pub, history.None, d.Seconds())
	}
	for _, test := range []struct {
		name, claim string
		tell        func(*story)
		want        verdict.Status
	}{
		{"a publish that was on its way", "progress", func(s *story) {
			s.acked(q1, 0, 3).fault(time.Second).during(q1, 4, func() { stood(s, 20*time.Second) }).acked(q1, 5, 6)
		}, verdict.Unknown},
		{"a subscriber that gets everything late", "delivery-progress", func(s *story) {
			s.acked(q1, 0, 3)
			stood(s, time.Minute).delivered(sub, q1, 0, 3)
		}, verdict.Unknown},
		{"a node that serves late", "recovery", func(s *story) {
			stood(s.heal().join(probe1, probe2).acked(probed, 0, 0), time.Minute).deliver(probe1, probed, 0)
		}, verdict.Unknown},
		{"a message that comes twice", "qos2-exactly-once", func(s *story) {
			stood(s.acked(q2, 0, 0), time.Minute).deliver(sub, q2, 0).deliver(sub, q2, 0)
		}, verdict.Fail},
		{"a node that ends", "no-exit", func(s *story) { stood(s, time.Minute).exited(2, 0, false) }, verdict.Fail},
		{"a message that never comes", "qos1-no-loss", func(s *story) {
			stood(s, time.Minute).acked(q1, 0, 9).delivered(sub, q1, 0, 8)
			s.marked(q1, 10)
			s.wait(30 * time.Second)
		}, verdict.Fail},
		{"nothing at all", "progress", func(s *story) {
			stood(s.acked(q1, 0, 3).fault(time.Second).acked(q1, 4, 5), time.Minute).acked(q1, 6, 7)
		}, verdict.Pass},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.join(sub).connect(pub, false)
			test.tell(s)
			report := judgeStory(t, s.finish(), test.claim)
			r := report.Results[0]
			if r.Status != test.want || r.Status == verdict.Unknown && !strings.Contains(said(r), "the driver of pub-1, a process of rmq-mcp, stood still from") {
				t.Errorf("%s: %s %q", r.Status, r.Summary, r.Reasons)
			}
			if len(report.Coverage.Gone) != 1 {
				t.Errorf("gone: %q", report.Coverage.Gone)
			}
		})
	}
}

// Only a driver ended by others is a part of ours that is gone.
func TestADriverThatOthersEnded(t *testing.T) {
	for outcome, want := range map[history.Outcome]string{history.Fail: "the driver of pub-1, a process of rmq-mcp, was gone", history.OutcomeNone: ""} {
		s := newStory()
		e := blank(history.KindDriver, pub)
		e.Outcome, e.Text = outcome, "driver broke the contract: it ended without bye (signal: killed)"
		s.join(sub).connect(pub, false).acked(q1, 0, 3)
		s.add(e)
		gone := strings.Join(judgeStory(t, s, "no-exit").Coverage.Gone, "; ")
		if !strings.HasPrefix(gone, want) || (gone == "") != (want == "") || want != "" && !strings.Contains(gone, "signal: killed") {
			t.Errorf("outcome %d: %q", outcome, gone)
		}
	}
}
