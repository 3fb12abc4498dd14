package campaigns

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/scenarios"
)

type scenario = *scenarios.Scenario

// dimensions returns the respects in which a scenario can be made smaller, in
// the order of their trial. The reductions that shorten every later run come
// first.
func dimensions(s scenario) (all []shrink.Dimension[scenario]) {
	for _, n := range numbers(s)[:1] {
		all = append(all, n)
	}
	all = append(all, scheduleList())
	for _, n := range numbers(s)[1:] {
		all = append(all, n)
	}
	return append(all, lesser{}, qosList(), topicList(), filterList())
}

// number is a dimension of what field points to in a scenario of one tier.
func number(name string, floor float64, field func(*scenarios.Workload, *scenarios.Tier) *int) shrink.Number[scenario] {
	return shrink.Number[scenario]{Name: name, Floor: floor, Whole: true,
		Value: func(s scenario) float64 { t := smoke(s); return float64(*field(&s.Workload, &t)) },
		With: func(s scenario, v float64) scenario {
			return changed(s, func(c scenario, t *scenarios.Tier) { *field(&c.Workload, t) = int(v) })
		},
	}
}

// seconds is one that can have fractions; nil is what a scenario has not.
func seconds(name string, floor float64, field func(scenario, *scenarios.Tier) *float64) shrink.Number[scenario] {
	return shrink.Number[scenario]{Name: name, Floor: floor,
		Value: func(s scenario) float64 {
			t := smoke(s)
			if at := field(s, &t); at != nil {
				return *at
			}
			return 0
		},
		With: func(s scenario, v float64) scenario {
			return changed(s, func(c scenario, t *scenarios.Tier) { *field(c, t) = v })
		},
	}
}

// Floors of the numbers. A reduced scenario must also show that a repaired
// broker is right. Below these floors it could not: rates before and after a
// fault are compared, and a handful of messages has none. Bounds, such as those
// of the drain and the recovery, are no sizes and stay.
const (
	leastFaultS  = 1
	leastPhaseS  = 2
	leastPerS    = 10
	leastPayload = contract.HeaderLen
)

func numbers(s scenario) []shrink.Number[scenario] {
	type workload = *scenarios.Workload
	type tier = *scenarios.Tier
	all := []shrink.Number[scenario]{
		number("rounds", 1, func(_ workload, t tier) *int { return &t.Rounds }),
		seconds("fault_s", leastFaultS, func(_ scenario, t tier) *float64 { return &t.FaultS }),
	}
	for i := range s.Schedule {
		step := func(s scenario) *scenarios.Step {
			if i < len(s.Schedule) {
				return &s.Schedule[i]
			}
			return nil
		}
		all = append(all,
			seconds(fmt.Sprintf("step %d duration_s", i+1), leastFaultS, func(s scenario, _ tier) *float64 {
				if st := step(s); st != nil {
					return &st.DurationS
				}
				return nil
			}),
			seconds(fmt.Sprintf("step %d at_s", i+1), 0, func(s scenario, _ tier) *float64 {
				if st := step(s); st != nil {
					return &st.AtS
				}
				return nil
			}))
	}
	all = append(all,
		seconds("steady_s", leastPhaseS, func(_ scenario, t tier) *float64 { return &t.SteadyS }),
		seconds("after_s", leastPhaseS, func(_ scenario, t tier) *float64 { return &t.AfterS }),
		number("online subscribers", 0, func(w workload, _ tier) *int { return &w.Subscribers.Online }),
		number("paused subscribers", 0, func(w workload, _ tier) *int { return &w.Subscribers.Paused }),
		number("slow subscribers", 0, func(w workload, _ tier) *int { return &w.Subscribers.Slow }),
		number("offline subscribers", 0, func(w workload, _ tier) *int { return &w.Subscribers.Offline }),
		number("expiring subscribers", 1, func(w workload, _ tier) *int { return &w.Subscribers.Expiring }),
		number("visiting subscribers", 1, func(w workload, _ tier) *int { return &w.Subscribers.Visiting }),
		number("overlapping subscribers", 0, func(w workload, _ tier) *int { return &w.Subscribers.Overlapping }),
		number("duplex subscribers", 1, func(w workload, _ tier) *int { return &w.Subscribers.Duplex }),
		number("shared subscriptions", 1, func(w workload, _ tier) *int { return &w.Subscribers.Shared.Groups }),
		number("members of each", 1, func(w workload, _ tier) *int { return &w.Subscribers.Shared.Members }),
		number("clients with a will", 1, func(w workload, _ tier) *int { return &w.Wills }),
		number("readers", 0, func(w workload, _ tier) *int { return &w.Subscribers.Readers }),
		number("publishers", 1, func(w workload, _ tier) *int { return &w.Publishers }),
		number("streams", 1, func(w workload, _ tier) *int { return &w.Streams }),
		number("registers", 1, func(w workload, _ tier) *int { return &w.Registers }),
		seconds("rate_per_s", leastPerS, func(s scenario, _ tier) *float64 { return &s.Workload.RatePerS }),
		number("max_inflight", 1, func(w workload, _ tier) *int { return &w.MaxInflight }),
		number("payload_bytes", leastPayload, func(w workload, _ tier) *int { return &w.PayloadBytes }),
	)
	if s.Cluster.Nodes > 0 {
		all = append(all, shrink.Number[scenario]{Name: "nodes", Floor: 1, Whole: true,
			Value: func(s scenario) float64 { return float64(s.Cluster.Nodes) },
			With: func(s scenario, v float64) scenario {
				return changed(s, func(c scenario, _ tier) { c.Cluster.Nodes = int(v) })
			},
		})
	}
	return all
}

// list is a dimension of what field points to: fewer of its items.
func list[T any](name string, least int, field func(scenario) *[]T, item func(T) string) shrink.List[scenario] {
	return shrink.List[scenario]{Name: name, Least: least,
		Len:  func(s scenario) int { return len(*field(s)) },
		Item: func(s scenario, i int) string { return item((*field(s))[i]) },
		Keep: func(s scenario, keep []int) scenario {
			return changed(s, func(c scenario, _ *scenarios.Tier) { *field(c) = chosen(*field(s), keep) })
		},
	}
}

func scheduleList() shrink.List[scenario] {
	return list("the schedule", 0, func(s scenario) *[]scenarios.Step { return &s.Schedule },
		func(st scenarios.Step) string { return st.Fault + " of " + st.Target })
}

func qosList() shrink.List[scenario] {
	return list("the traffic", 1, func(s scenario) *[]uint8 { return &s.Workload.QoS },
		func(qos uint8) string { return fmt.Sprintf("QoS %d", qos) })
}

// topicList takes with a topic who had filters for it alone.
func topicList() shrink.List[scenario] {
	l := list("the topics", 1, func(s scenario) *[]string { return &s.Workload.Topics },
		func(topic string) string { return "topic " + topic })
	fewer := l.Keep
	l.Keep = func(s scenario, keep []int) scenario {
		c := fewer(s, keep)
		c.Workload.Subscribers.Filtered = slices.DeleteFunc(slices.Clone(s.Workload.Subscribers.Filtered), func(filters []string) bool {
			return !c.Workload.Matches(filters)
		})
		return c
	}
	return l
}

func filterList() shrink.List[scenario] {
	return list("subscribers with filters of their own", 0, func(s scenario) *[][]string { return &s.Workload.Subscribers.Filtered },
		func(filters []string) string { return "subscriber of " + strings.Join(filters, ", ") })
}

func chosen[T any](list []T, keep []int) (out []T) {
	for _, i := range keep {
		out = append(out, list[i])
	}
	return out
}

func smoke(s scenario) scenarios.Tier { return s.Tiers["smoke"] }

// changed returns a copy of a scenario with a change. The least number of
// messages that the tier asks for shrinks with the traffic, because a run that
// could not reach it would show nothing.
func changed(s scenario, change func(scenario, *scenarios.Tier)) scenario {
	c, t := *s, smoke(s)
	c.Schedule, c.Workload.QoS = slices.Clone(s.Schedule), slices.Clone(s.Workload.QoS)
	change(&c, &t)
	was, is := traffic(s, smoke(s)), traffic(&c, t)
	if is < was {
		t.Messages = int64(math.Floor(float64(t.Messages) * is / was))
	}
	c.Tiers = map[string]scenarios.Tier{"smoke": t}
	return &c
}

// traffic is how many messages a run is to publish.
func traffic(s scenario, t scenarios.Tier) float64 {
	return s.Workload.RatePerS * t.PublishS(s.Schedule)
}
