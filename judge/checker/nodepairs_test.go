package checker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A node that delivers nothing to another one shows, whatever the sum says.
func TestNodePairs(t *testing.T) {
	s := newStory()
	s.join(sub, other).connect(pub, false).acked(q1, 0, 3).delivered(sub, q1, 0, 3)
	s.deliver(other, q1, 0).wait(2*time.Second).acked(q1, 4, 4).wait(3*time.Second).deliver(sub, q1, 4)
	s.marked(q1, 5)
	s.finish()
	at := map[int32]int16{pub: 0, sub: 0, other: 1}
	for i := range s.events {
		s.events[i].Node = at[s.events[i].Process]
	}
	report := judgeStory(t, s, "qos1-no-loss")
	var got []verdict.NodePair
	for _, p := range report.NodePairs {
		p.SilentS = float64(int(p.SilentS)) // to the second
		got = append(got, p)
	}
	want := []verdict.NodePair{
		{From: "node-1", To: "node-1", Delivered: 6, SilentS: 3},
		{From: "node-1", To: "node-2", Delivered: 2, Lost: 4, SilentS: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
}

// A node that died with its publisher is not silent for as long as it is down.
func TestANodeWithoutPublishersIsNotSilent(t *testing.T) {
	s := newStory()
	s.join(sub).connect(pub, false).acked(q1, 0, 3).delivered(sub, q1, 0, 3)
	s.publish(q1, 4, history.Info).wait(time.Second).disconnect(pub).wait(9*time.Second).connect(pub, true).acked(q1, 5, 5).deliver(sub, q1, 5)
	s.marked(q1, 6)
	s.finish()
	at := map[int32]int16{pub: 0, sub: 1}
	for i := range s.events {
		s.events[i].Node = at[s.events[i].Process]
	}
	pairs := judgeStory(t, s, "qos1-no-loss").NodePairs
	if len(pairs) != 1 || int(pairs[0].SilentS) != 1 {
		t.Errorf("%+v, want a silence of a second", pairs)
	}
}
