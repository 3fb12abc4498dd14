package checker

import (
	"slices"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/history"
)

// What a run shows and does not claim is said, in its numbers, and is no failure.
func TestOverlooked(t *testing.T) {
	whole := func(s *story, st int32) {
		s.acked(st, 0, 9).delivered(sub, st, 0, 9)
		s.marked(st, 10)
	}
	for _, test := range []struct {
		name string
		tell func(*story)
		want []string
	}{
		{"nothing", func(s *story) { whole(s, q1) }, nil},
		{"duplicates of QoS 2", func(s *story) {
			whole(s, q2)
			s.deliver(sub, q2, 3).deliver(sub, q2, 4)
		}, []string{"seen and not judged here: 2 duplicates of QoS 2; mqtt/publish-crash-reconnect claims qos2-exactly-once"}},
		{"a duplicate of QoS 1, which may come", func(s *story) {
			whole(s, q1)
			s.deliver(sub, q1, 3, history.FlagDup)
		}, nil},
		{"a loss", func(s *story) {
			s.acked(q1, 0, 9).delivered(sub, q1, 0, 8)
			s.marked(q1, 10)
		}, []string{"seen and not judged here: 1 acknowledged deliveries of QoS 1 that never came; mqtt/broker-kill-9 claims qos1-no-loss"}},
		{"an inversion, and a damaged payload", func(s *story) {
			s.acked(q1, 0, 9).delivered(sub, q1, 0, 3).deliver(sub, q1, 5).deliver(sub, q1, 4).delivered(sub, q1, 6, 9)
			s.deliver(sub, q1, 9, history.FlagCorrupt)
			s.marked(q1, 10)
		}, []string{
			"seen and not judged here: 1 corrupted deliveries; mqtt/broker-kill-9 claims no-corruption",
			"seen and not judged here: 1 deliveries out of order; mqtt/order-across-failover claims order-per-stream",
		}},
		{"a refused subscription", func(s *story) {
			e := blank(history.KindSubscribe, away)
			s.ret(e, s.call(e), history.Fail)
		}, []string{"seen and judged by no claim: 1 refused subscriptions"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStory().join(sub)
			test.tell(s)
			r := judgeStory(t, s.finish(), "no-panic")
			if got := r.Coverage.Unjudged; !slices.Equal(got, test.want) {
				t.Errorf("%q, %v", got, r.Complete)
			}
		})
	}
}
