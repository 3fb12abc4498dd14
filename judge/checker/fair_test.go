package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// From one number to the next in a story about neighbours, and the numbers in
// its fault.
const (
	pace      = 20 * time.Millisecond
	firstBad  = tail
	firstGood = 2 * tail
	lastGood  = firstGood + 19
)

// neighbours returns a story with a fault on sub-1 from number firstBad until
// firstGood. meanwhile tells what happens to each number in that time. after, if not
// nil, tells what happens when the fault is over.
func neighbours(meanwhile func(s *story, seq int64), after func(s *story)) *story {
	s := newStory()
	s.run.Budget.Fair = history.Fair{Times: 10, FloorS: 1, Share: 0.5, Messages: 20}
	for _, p := range []int32{sub, other} {
		s.tables.Processes[p].Group = "online"
	}
	s.connect(pub, false).join(sub, other, fleet)
	for p, node := range map[int32]int16{pub: 0, sub: 0, other: 0, fleet: 1} {
		for i, e := range s.events {
			if e.Kind == history.KindConnect && e.Process == p {
				s.events[i].Node = node
			}
		}
	}
	s.phase("steady")
	for seq := range int64(firstBad) {
		s.served(seq)
	}
	s.phase("fault").fault(pace * (firstGood - firstBad))
	s.landings[0].Type, s.landings[0].Target, s.landings[0].Mechanism = "slow_reader", "client:sub-1", "tap"
	for seq := int64(firstBad); seq < firstGood; seq++ {
		start := s.now
		meanwhile(s, seq)
		s.now = max(s.now, start+pace)
	}
	s.phase("recovery")
	if after != nil {
		after(s)
	}
	for seq := int64(firstGood); seq <= lastGood; seq++ {
		s.served(seq)
	}
	s.phase("drain").marker(q1, lastGood+1, history.OK)
	for _, p := range []int32{sub, other, fleet} {
		s.deliver(p, q1, lastGood+1, history.FlagEnd)
	}
	return s
}

// beside adds another fault, in place between two times after the beginning of f1.
func (s *story) beside(name, typ, target string, from, to time.Duration) {
	f := s.landings[0]
	f.Fault, f.Type, f.Target = name, typ, target
	f.Times.HealedNS = f.Times.AppliedNS + int64(to)
	f.Times.AppliedNS += int64(from)
	s.landings = append(s.landings, f)
}

// served publishes a message that all subscribers but some get at once.
func (s *story) served(seq int64, but ...int32) *story {
	start := s.now
	s.publish(q1, seq, history.OK)
	for _, p := range []int32{sub, other, fleet} {
		if !slices.Contains(but, p) {
			s.deliver(p, q1, seq)
		}
	}
	s.now = max(s.now, start+pace)
	return s
}

func healthyNeighbours() *story {
	return neighbours(func(s *story, seq int64) { s.served(seq, sub) }, func(s *story) { s.delivered(sub, q1, firstBad, firstGood-1) })
}

func TestFair(t *testing.T) {
	const pass, fail, unknown = verdict.Pass, verdict.Fail, verdict.Unknown
	kept := func(p int32) func(s *story, seq int64) { return func(s *story, seq int64) { s.served(seq, p) } }
	changed := func(f func(s *story)) func() *story {
		return func() *story {
			s := healthyNeighbours()
			f(s)
			return s
		}
	}
	starving := func() *story {
		return neighbours(kept(other), func(s *story) { s.delivered(other, q1, firstBad, firstGood-1) })
	}
	// A node is killed in the steady time, until a second before sub-1 stalls.
	recovering := func(bound float64) func() *story {
		return func() *story {
			s := starving()
			s.run.Budget.RecoveryS = bound
			s.beside("f2", "kill", "leader", -2*time.Second, -time.Second)
			s.landings[1].Mechanism = "sigkill"
			return s
		}
	}
	// The driver of sub-1 is frozen, and another one has fleet-1; some get nothing.
	frozen := func(none ...int32) func() *story {
		return func() *story {
			s := neighbours(func(s *story, seq int64) { s.served(seq, none...) }, func(s *story) {
				for _, p := range none {
					s.delivered(p, q1, firstBad, firstGood-1)
				}
			})
			s.landings[0].Type, s.landings[0].Target, s.landings[0].Mechanism = "pause_client", "client:sub-1", "sigstop"
			s.tables.Processes[fleet].Run = 1
			return s
		}
	}
	// lating publishes in one step of every. The first late messages of these reach
	// sub-2 two seconds after the beginning of the fault.
	lating := func(late, every int64) func() *story {
		return func() *story {
			s := neighbours(func(s *story, seq int64) {
				if seq -= firstBad; seq%every != 0 {
					return
				}
				switch seq /= every; {
				case seq < late:
					s.served(firstBad+seq, sub, other)
				case seq == 100/every:
					s.delivered(other, q1, firstBad, firstBad+late-1)
					fallthrough
				default:
					s.served(firstBad+seq, sub)
				}
			}, func(s *story) {
				for seq := firstBad + (firstGood-firstBad)/every; seq < firstGood; seq++ {
					s.served(seq, sub)
				}
				s.delivered(sub, q1, firstBad, firstGood-1)
			})
			s.run.Budget.Fair.Share = 0.3
			return s
		}
	}
	for _, test := range []struct {
		name string
		tell func() *story
		want verdict.Status
		text string
	}{
		{"only the one that stalls gets nothing", healthyNeighbours, pass, ""},
		{"its neighbour gets nothing until it reads again", starving, fail, "delivery of online at node-1 while f1 (slow_reader of client:sub-1) was in place: 0.0 a second and 99% within"},
		{"its neighbour never gets anything", func() *story { return neighbours(kept(other), nil) }, fail, "the worst is sub-2"},
		{"one of another node gets nothing", func() *story {
			return neighbours(kept(fleet), func(s *story) { s.delivered(fleet, q1, firstBad, firstGood-1) })
		}, fail, "delivery of online at node-2"},
		{"all get everything, two seconds late", func() *story {
			return neighbours(func(s *story, seq int64) {
				s.publish(q1, seq, history.OK)
				if late := seq - 100; late >= firstBad {
					s.deliver(other, q1, late).deliver(fleet, q1, late)
				}
			}, func(s *story) {
				s.delivered(other, q1, firstGood-100, firstGood-1).delivered(fleet, q1, firstGood-100, firstGood-1)
			})
		}, fail, "99% within 1.9"},
		{"half a second late, which is within the floor", func() *story {
			return neighbours(func(s *story, seq int64) {
				s.publish(q1, seq, history.OK)
				if late := seq - 25; late >= firstBad {
					s.deliver(other, q1, late).deliver(fleet, q1, late)
				}
			}, func(s *story) {
				s.delivered(other, q1, firstGood-25, firstGood-1).delivered(fleet, q1, firstGood-25, firstGood-1)
			})
		}, pass, ""},
		{"acknowledgements come late, and so fewer are published", func() *story {
			return neighbours(func(s *story, seq int64) {
				if seq%10 == 0 {
					call := s.call(s.publishing(q1, firstBad+(seq-firstBad)/10))
					s.wait(15*pace).ret(s.publishing(q1, firstBad+(seq-firstBad)/10), call, history.OK)
				}
			}, func(s *story) {
				for seq := int64(firstBad + 20); seq < firstGood; seq++ {
					s.publish(q1, seq, history.OK)
				}
			})
		}, fail, "acknowledgement of publisher at node-1"},
		{"it is done to all subscribers, so that nobody is delivered anything beside", changed(func(s *story) { s.landings[0].Target = "subscribers" }), unknown, "its canary had nothing to mutate"},
		{"strangers flood a node", changed(func(s *story) {
			s.landings[0].Type, s.landings[0].Target, s.landings[0].Mechanism = "publish_flood", "node-1", history.MechanismClients
		}), fail, "while f1 (publish_flood of node-1) was in place"},
		{"a node is killed meanwhile", changed(func(s *story) {
			s.beside("f2", "kill", "leader", 0, time.Second)
			s.landings[1].Mechanism = "sigkill"
		}), unknown, "f1 (slow_reader of client:sub-1) is not judged: f2 was in place"},
		{"a node that was killed may still recover", recovering(10), unknown, "healed less than 10s before (recovery_s)"},
		{"a node that was killed has had its time to recover", recovering(0.5), fail, "the worst is sub-2"},
		{"a node is killed while the second of two clients stalls", changed(func(s *story) {
			s.beside("f2", "half_open", "client:away-1", 4100*time.Millisecond, 4300*time.Millisecond)
			s.beside("f3", "kill", "leader", 4200*time.Millisecond, 4250*time.Millisecond)
			s.landings[2].Mechanism = "sigkill"
		}), unknown, "f2 (half_open of client:away-1) is not judged: f3"},
		{"a second client is dead during most of the time in which the first stalls", changed(func(s *story) {
			s.beside("f2", "half_open", "client:away-1", 400*time.Millisecond, 4*time.Second)
		}), pass, "6 times"},
		{"a second client is dead after the first began to stall for good", changed(func(s *story) {
			s.landings[0].Times.HealedNS = 0
			s.beside("f2", "half_open", "client:away-1", 400*time.Millisecond, 4*time.Second)
		}), pass, "6 times"},
		{"its driver is frozen, and all subscribers with it", frozen(sub, other), pass, "2 times"},
		{"its driver is frozen, and the one of others should not be", frozen(sub, other, fleet), fail, "online at node-2"},
		{"two of 200 come late, so that one in a hundred does", lating(2, 1), pass, ""},
		{"three of 200 come late", lating(3, 1), fail, "99% within 1.9"},
		{"three of 100 come late, which is too few to say", lating(3, 2), pass, ""},
		{"nothing is done", changed(func(s *story) { s.landings = nil }), unknown, "no client misbehaved"},
		{"no bounds", changed(func(s *story) { s.run.Budget.Fair = history.Fair{} }), unknown, "sets no bounds"},
		{"too few to decide", changed(func(s *story) { s.run.Budget.Fair.Messages = 300 }), unknown, "too few messages"},
		{"the host stood still", func() *story {
			return neighbours(func(s *story, seq int64) {
				if seq == firstGood-1 {
					s.observe(history.ObserveStarved, history.None, history.None, 3.8)
				}
				s.served(seq, other)
			}, func(s *story) { s.delivered(other, q1, firstBad, firstGood-1) })
		}, unknown, "the host or a process of rmq-mcp stood still"},
		{"the host stood still for a moment, which does not explain it", func() *story {
			return neighbours(func(s *story, seq int64) {
				if seq == firstGood-1 {
					s.observe(history.ObserveStarved, history.None, history.None, 1.1)
				}
				s.served(seq, other)
			}, func(s *story) { s.delivered(other, q1, firstBad, firstGood-1) })
		}, fail, "the worst is sub-2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := judgeStory(t, test.tell().finish(), "fair").Results[0]
			if r.Status != test.want || !strings.Contains(said(r)+r.Summary, test.text) {
				t.Errorf("%s, want %s with %q: %s", r.Status, test.want, test.text, said(r)+r.Summary)
			}
			if r.Status == pass && !r.Canary.Red {
				t.Errorf("the canary stayed green: %+v", r.Canary)
			}
		})
	}
}

// TestFairGroups checks that the result has the figures of each group, and that every
// later version judges them the same.
func TestFairGroups(t *testing.T) {
	golden(t, "neighbours", judgeStory(t, healthyNeighbours().finish(), "fair"))
}

func TestLatencies(t *testing.T) {
	var l latencies
	if l.quantile(0.5) != 0 {
		t.Error("of none")
	}
	for _, ns := range []int64{-5, 0, 999, 1000, 31_999, 32_000, 65_000, 1e6, 123_456_789, 1e9, 3600e9} {
		l = latencies{}
		l.add(ns)
		if got := l.quantile(0.99); got > max(ns, 0) || max(ns, 0)-got > max(1000, ns/steps) {
			t.Errorf("%d reads as %d", ns, got)
		}
	}
	// The nearest rank: that of 100 is the second longest, that of 200 the third.
	for n, slow := range map[int64]int64{1: 1, 99: 1, 100: 2, 101: 2, 199: 2, 200: 3, 300: 4} {
		for _, late := range []int64{slow - 1, slow} {
			l = latencies{}
			for i := range n {
				if i < late {
					l.add(1e9)
				} else {
					l.add(0)
				}
			}
			if got := l.quantile(0.99) > 0; got != (late == slow) {
				t.Errorf("%d of %d take long: one in a hundred does is %t", late, n, got)
			}
		}
	}
	l = latencies{}
	for ms := range int64(1000) {
		l.add(ms * 1e6)
	}
	other := l.fork()
	other.join(l)
	for share, want := range map[float64]float64{0.5: 500, 0.99: 990} {
		if got := float64(other.quantile(share)) / 1e6; got < want*0.96 || got > want || l.n != 1000 || other.n != 2000 {
			t.Errorf("%g of %d: %g ms, want %g", share, other.n, got, want)
		}
	}
}
