package checker

import (
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A loss is expected only if all of it is what a killed node held, and the vendor is known not to
// promise to keep that.
func TestExpected(t *testing.T) {
	killed := func(s *story) *story { return s.wait(time.Second).exited(-1, 9, true).wait(time.Second) }
	lose := func(s *story) *story { return s.acked(q1, 0, 1).deliver(sub, q1, 0) }
	for _, test := range []struct {
		name  string
		claim string
		tell  func(*story)
		want  bool
	}{
		{"a killed node held it", "qos1-no-loss", func(s *story) { killed(lose(s)) }, true},
		{"no node was killed", "qos1-no-loss", func(s *story) { lose(s) }, false},
		{"a node was killed before", "qos1-no-loss", func(s *story) { lose(killed(s)) }, false},
		{"some of it came after the kill", "qos1-no-loss", func(s *story) { killed(lose(s)).acked(q1, 2, 2) }, false},
		{"the node was stopped in order", "qos1-no-loss", func(s *story) { lose(s).wait(time.Second).exited(0, 0, true) }, false},
		{"the node died by itself", "qos1-no-loss", func(s *story) { lose(s).wait(time.Second).exited(-1, 6, false) }, false},
		{"the vendor promises it", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Promises = []string{"qos1-no-loss", "qos2-exactly-once"}
			killed(lose(s))
		}, false},
		{"what the vendor promises is not known", "qos1-no-loss", func(s *story) {
			s.run.Cluster.Lacks = map[string]string{history.LacksPromises: "not known"}
			killed(lose(s))
		}, false},
		{"a killed node held the session", "session-kept", func(s *story) {
			killed(s.disconnect(sub)).connect(sub, false)
		}, true},
		{"the vendor promises messages, and no sessions", "session-kept", func(s *story) {
			s.run.Cluster.Promises = []string{"qos1-no-loss", "qos2-exactly-once"}
			killed(s.disconnect(sub)).connect(sub, false)
		}, true},
		{"the vendor promises both", "session-kept", func(s *story) {
			s.run.Cluster.Promises = []string{"qos1-no-loss", "qos2-exactly-once", "session-kept"}
			killed(s.disconnect(sub)).connect(sub, false)
		}, false},
		{"the session went later", "session-kept", func(s *story) {
			killed(s.disconnect(sub)).connect(sub, false).disconnect(sub).wait(time.Second).connect(sub, false)
		}, false},
		{"a killed node held the identifier", "qos2-exactly-once", func(s *story) {
			killed(s.acked(q2, 0, 0).deliver(sub, q2, 0)).deliver(sub, q2, 0)
		}, true},
		{"it came twice at once", "qos2-exactly-once", func(s *story) {
			killed(s.acked(q2, 0, 0).deliver(sub, q2, 0).deliver(sub, q2, 0))
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory()
			s.run.Cluster.Flavor = "mosquitto"
			s.join(sub)
			test.tell(s)
			for st, end := range ends(s) {
				s.marked(st, end)
			}
			r := judgeStory(t, s.finish(), test.claim).Results[0]
			if r.Status != verdict.Fail || (r.Expected != "") != test.want {
				t.Errorf("%s, expected %q: %s %q", r.Status, r.Expected, r.Summary, r.Reasons)
			}
		})
	}
}
