package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A message is lost where its subscriber had all the time that a broker needs: no fault
// was in place meanwhile, the host ran, and nobody had ended a node.
func TestCalm(t *testing.T) {
	const fail, unknown = verdict.Fail, verdict.Unknown
	unhealed := func(s *story) *story {
		s.fault(time.Second)
		s.landings[0].Times.HealedNS = 0
		return s
	}
	for _, test := range []struct {
		name string
		tell func(s *story) *story // until the subscribers end, 30 s later
		want verdict.Status
		text string
	}{
		{"no fault", func(s *story) *story { return s }, fail, "message 2"},
		{"a fault was healed shortly before the end", func(s *story) *story { return s.fault(6 * time.Second) }, unknown, "sub-1 lacks messages of work/1 and was connected without a delivery for only 24.0"},
		{"a fault was healed in time", func(s *story) *story { return s.fault(4 * time.Second) }, fail, "message 2"},
		{"a fault was never healed", unhealed, unknown, "had not drained"},
		{"a fault that was never healed began when all was over", func(s *story) *story { return unhealed(s.wait(26 * time.Second)) }, fail, "message 2"},
		{"a fault on another client", func(s *story) *story { return s.trouble("client:sub-2", time.Minute) }, fail, "message 2"},
		{"a fault on this client", func(s *story) *story { return s.trouble("client:sub-1", time.Minute) }, unknown, "had not drained"},
		{"the host stood still", func(s *story) *story {
			return s.wait(10*time.Second).observe(history.ObserveStarved, history.None, history.None, 6).wait(20 * time.Second).disconnect(sub)
		}, unknown, "without a delivery for only 24.0"},
		{"somebody ended a node", func(s *story) *story { return s.exited(-1, 9, false) }, unknown, "had not drained"},
		{"somebody ended a node when all was over", func(s *story) *story { return s.wait(26*time.Second).exited(-1, 9, false) }, fail, "message 2"},
		{"a node ended by itself", func(s *story) *story { return s.exited(1, 0, false) }, fail, "message 2"},
		{"it was quiet before the last messages", func(s *story) *story {
			return s.wait(time.Minute).acked(q1, 5, 6).marker(q1, 7, history.OK).disconnect(sub)
		}, unknown, "without a delivery for only 0.00"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory().join(sub).acked(q1, 0, 3).delivered(sub, q1, 0, 1).deliver(sub, q1, 3)
			s.marked(q1, 4)
			r := judgeStory(t, test.tell(s).finish(), "qos1-no-loss").Results[0]
			if r.Status != test.want || !strings.Contains(said(r), test.text) {
				t.Errorf("%s, want %s: %s", r.Status, test.want, said(r))
			}
		})
	}
}
