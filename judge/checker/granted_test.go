package checker

import (
	"testing"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A library that does not show which QoS its subscription was granted shows no loss, as
// a broker may grant QoS 0. The wire shows it.
func TestGrantNotShown(t *testing.T) {
	for _, test := range []struct {
		name    string
		wire    bool
		granted uint8
		want    verdict.Status
	}{
		{"nobody knows", false, 0, verdict.Unknown},
		{"granted, by the wire", true, 1, verdict.Fail},
		{"not granted, by the wire", true, 0, verdict.Unknown},
	} {
		s := wired()
		s.run.Wire = test.wire
		s.tables.Processes[sub].Cannot = []string{contract.CannotGrantedQoS}
		s.connect(pub, false).join(sub).acked(q1, 0, 3).delivered(sub, q1, 0, 1).deliver(sub, q1, 3)
		for i, e := range s.events {
			if e.Text == "suback" && e.Process == sub {
				s.events[i].Reason = test.granted
			}
		}
		s.marked(q1, 4)
		if r := judgeStory(t, s.finish(), "qos1-no-loss").Results[0]; r.Status != test.want {
			t.Errorf("%s: %s, want %s: %s", test.name, r.Status, test.want, said(r))
		}
	}
}
