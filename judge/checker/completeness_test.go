package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

func TestCompleteness(t *testing.T) {
	for _, test := range []struct {
		name string
		tell func(s *story)
		want string // in the reasons; "" is complete
	}{
		{"all ended, every marker arrived", func(s *story) {
			s.join(sub).acked(q1, 0, 1).delivered(sub, q1, 0, 1).phase("drain").marker(q1, 2, history.OK).deliver(sub, q1, 2, history.FlagEnd).finish()
		}, ""},
		{"cut off", func(s *story) { s.join(sub).finish(); s.torn = true }, "cut off"},
		{"a driver vanished", func(s *story) { s.join(sub) }, "driver of sub-1 did not end"},
		{"lines went missing", func(s *story) {
			s.join(sub).finish().observe(history.ObserveDriverLines, sub, history.None, 6)
		}, "wrote 7 lines, 6 arrived"},
		{"a number was called twice", func(s *story) { s.acked(q1, 0, 1).acked(q1, 1, 1) }, "does not count"},
		{"no marker was sent", func(s *story) {
			s.join(sub).acked(q1, 0, 1).delivered(sub, q1, 0, 1).phase("drain").finish()
		}, "end marker of work/1 was neither acknowledged nor delivered to sub-1"},
		{"a marker of unknown outcome arrived", func(s *story) {
			s.join(sub).phase("drain").marker(q1, 0, history.Info).deliver(sub, q1, 0, history.FlagEnd).finish()
		}, ""},
		{"the marker itself is lost", func(s *story) {
			s.join(sub).phase("drain").marker(q1, 0, history.OK).wait(5 * time.Second).finish()
		}, ""},
		{"still receiving", func(s *story) {
			s.join(sub).acked(q1, 0, 1).phase("drain").marker(q1, 2, history.OK).wait(5*time.Second).deliver(sub, q1, 0).disconnect(sub).finish()
		}, "without a delivery for only 0.001 s"},
		{"the marker arrived, and what was sent before it may still", func(s *story) {
			s.join(sub).acked(q1, 0, 1).deliver(sub, q1, 1).phase("drain").marker(q1, 2, history.OK).deliver(sub, q1, 2, history.FlagEnd)
			s.wait(10 * time.Second).disconnect(sub).finish()
		}, "sub-1 lacks messages of work/1"},
		{"two run_clients, each drained in its own time", func(s *story) {
			s.join(sub).acked(q1, 0, 1).phase("drain").marker(q1, 2, history.OK).deliver(sub, q1, 2, history.FlagEnd)
			s.wait(30*time.Second).disconnect(sub).phase("steady").acked(q0, 0, 3).phase("drain").finish()
		}, ""},
		{"away during the drain", func(s *story) {
			s.join(sub).acked(q1, 0, 1).disconnect(sub).wait(time.Second).phase("drain").marker(q1, 2, history.OK)
			s.observe(history.ObserveDriverLines, sub, history.None, 7)
			e := blank(history.KindEnd, sub)
			e.Value = 7
			s.add(e)
		}, "sub-1 was not connected while work/1 drained"},
		{"a clean session is not waited for", func(s *story) {
			s.join(fleet).acked(q1, 0, 1).phase("drain").finish()
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			test.tell(s)
			c := judgeStory(t, s, "no-panic").Complete
			why := strings.Join(append(c.Why, c.Undrained...), "; ")
			if (c.Closed && len(c.Undrained) == 0) != (test.want == "") || !strings.Contains(why, test.want) {
				t.Errorf("closed %v: %q, want %q", c.Closed, why, test.want)
			}
		})
	}
}

// A fault disturbs a run_client while its messages are on their way, and none
// between two of them.
func TestIdleFaults(t *testing.T) {
	at := func(s *story, name string) {
		s.wait(time.Second).fault(time.Second)
		s.landings[len(s.landings)-1].Fault = name
		s.wait(2 * time.Second)
	}
	s := newStory()
	s.tables.Processes[other].Run, s.tables.Processes[away].Run = 1, 1
	s.tables.Streams[q1b].Producer = other
	at(s, "early")
	s.join(sub, other, away).acked(q1, 0, 1)
	at(s, "waiting")
	s.delivered(sub, q1, 0, 1)
	for _, p := range []int32{sub, pub} {
		s.add(blank(history.KindEnd, p))
	}
	at(s, "between")
	s.acked(q1b, 0, 1)
	at(s, "second")
	for _, p := range []int32{other, away} {
		s.add(blank(history.KindEnd, p))
	}
	at(s, "late")
	c := judgeStory(t, s, "no-panic").Coverage
	if !slices.Equal(c.Idle, []string{"early", "between", "late"}) {
		t.Errorf("idle: %v", c.Idle)
	}
	if c.LongestGapS < 2.9 || c.LongestGapS > 3.1 { // without the time between the two
		t.Errorf("clients that published had no acknowledgement for %v s", c.LongestGapS)
	}
}

func TestCoverage(t *testing.T) {
	s := newStory()
	seq := int64(0)
	second := func(n int) { // of n publishes
		for range n {
			s.publish(q1, seq, history.OK).wait(time.Second/time.Duration(n) - 2*time.Millisecond)
			seq++
		}
	}
	s.phase("steady")
	for range 4 {
		second(100)
	}
	s.phase("fault").wait(2 * time.Second)
	s.publish(q1, seq, history.Info)
	seq++
	s.phase("recovery")
	for range 4 {
		second(50)
	}
	s.observe(history.ObserveStarved, history.None, history.None, 1.5)
	s.phase("drain").acked(q1, seq, seq+9)
	c := judgeStory(t, s, "no-panic").Coverage
	near := func(name string, got, want float64) {
		if got < 0.95*want || got > 1.05*want {
			t.Errorf("%s = %v, want about %v", name, got, want)
		}
	}
	near("steady", c.SteadyPerS, 100)
	near("before", c.BeforePerS, 100)
	near("after", c.AfterPerS, 50)
	near("gap", c.LongestGapS, 2)
	near("duration", c.DurationS, 10)
	near("starved", c.HostStarvedS, 1.5)
	near("unknown", c.Indeterminate, 1.0/611)
	if c.Acked != 610 || c.FaultPerS != 0 || c.Recorded != int64(len(s.events)) {
		t.Errorf("%+v", c)
	}
}
