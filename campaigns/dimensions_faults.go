package campaigns

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// lesser is the dimension of the effects of the remaining faults: their targets
// and the parameters of their steps. The set of these is known only once the
// schedule is as short as can be.
type lesser struct{}

func (lesser) Shrink(c scenario, test shrink.Test[scenario]) (scenario, bool, error) {
	smaller := false
	for i := range c.Schedule {
		for _, d := range stepDimensions(c, i) {
			next, less, err := d.Shrink(c, test)
			c, smaller = next, smaller || less
			if err != nil {
				return c, smaller, err
			}
		}
	}
	return c, smaller, nil
}

func stepDimensions(s scenario, i int) []shrink.Dimension[scenario] {
	step := s.Schedule[i]
	kinds := faults.Catalog()
	at := slices.IndexFunc(kinds, func(k faults.Kind) bool { return k.Type == step.Fault })
	list := []shrink.Dimension[scenario]{targetOf(i, kinds[at])}
	for _, p := range kinds[at].Parameters() {
		_, given := step.Params[p.Name]
		switch {
		case !given:
		case p.Name == "duration_s":
			list = append(list, paramNumber(i, p.Name, leastFaultS))
		case p.UpTo != "":
			if _, given := step.Params[p.UpTo]; given {
				list = append(list, paramDistance(i, p.Name, p.UpTo, p.Name), paramDistance(i, p.Name, p.UpTo, p.UpTo))
			}
		case p.Less:
			list = append(list, paramNumber(i, p.Name, p.Min))
		case slices.Contains(p.OneOf, "all") || slices.Contains(p.OneOf, "both"):
			list = append(list, paramChoice(i, p))
		}
	}
	return list
}

// withStep is a copy in which one step is changed.
func withStep(s scenario, i int, change func(*scenarios.Step)) scenario {
	return changed(s, func(c scenario, _ *scenarios.Tier) {
		c.Schedule[i].Params = maps.Clone(c.Schedule[i].Params)
		change(&c.Schedule[i])
	})
}

// targetOf is one target of several, that the same fault can have.
func targetOf(i int, k faults.Kind) shrink.Choice[scenario] {
	return shrink.Choice[scenario]{Name: fmt.Sprintf("step %d target", i+1),
		Value: func(s scenario) string { return s.Schedule[i].Target },
		With:  func(s scenario, v string) scenario { return withStep(s, i, func(st *scenarios.Step) { st.Target = v }) },
		Simpler: func(v string) []string {
			return slices.DeleteFunc(fewer(v), func(less string) bool {
				generic, _, named := strings.Cut(less, ":")
				return !slices.Contains(k.Targets, map[bool]string{true: generic + ":NAME", false: less}[named])
			})
		},
	}
}

// fewer are targets that are some of those of another.
func fewer(target string) []string {
	switch target {
	case "all", "majority", "minority":
		return []string{"leader", "follower"}
	case history.TargetClients:
		return []string{history.TargetPublishers, history.TargetSubscribers}
	case history.TargetPublishers:
		return []string{"client:publisher-1"}
	}
	return nil
}

func paramNumber(i int, name string, floor float64) shrink.Number[scenario] {
	return shrink.Number[scenario]{Name: fmt.Sprintf("step %d %s", i+1, name), Floor: floor, Whole: floor == math.Trunc(floor),
		Value: func(s scenario) float64 { return asNumber(s.Schedule[i].Params[name]) },
		With: func(s scenario, v float64) scenario {
			return withStep(s, i, func(st *scenarios.Step) { st.Params[name] = v })
		},
	}
}

// paramDistance is how far a number is below another, one of which moves.
func paramDistance(i int, name, upTo, moves string) shrink.Number[scenario] {
	number := func(s scenario, name string) float64 { return asNumber(s.Schedule[i].Params[name]) }
	return shrink.Number[scenario]{Name: fmt.Sprintf("step %d %s to %s by %s", i+1, name, upTo, moves), Whole: true,
		Value: func(s scenario) float64 { return number(s, upTo) - number(s, name) },
		With: func(s scenario, v float64) scenario {
			at := number(s, name) + v
			if moves == name {
				at = number(s, upTo) - v
			}
			return withStep(s, i, func(st *scenarios.Step) { st.Params[moves] = at })
		},
	}
}

// paramChoice is one of what all or both are.
func paramChoice(i int, p faults.Param) shrink.Choice[scenario] {
	return shrink.Choice[scenario]{Name: fmt.Sprintf("step %d %s", i+1, p.Name),
		Value: func(s scenario) string { return fmt.Sprint(s.Schedule[i].Params[p.Name]) },
		With: func(s scenario, v string) scenario {
			return withStep(s, i, func(st *scenarios.Step) { st.Params[p.Name] = v })
		},
		Simpler: func(value string) []string {
			if value != "all" && value != "both" {
				return nil
			}
			return slices.DeleteFunc(slices.Clone(p.OneOf), func(v string) bool { return v == value })
		},
	}
}

// asNumber is what YAML read, or what was put in its place.
func asNumber(v any) float64 {
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return float64(r.Int())
	case r.CanFloat():
		return r.Float()
	}
	return 0
}

// stepChanges are what the same fault has otherwise in another scenario.
func stepChanges(from, to scenario, note func(what, was, is string)) {
	left := slices.Clone(from.Schedule)
	for _, step := range to.Schedule {
		i := slices.IndexFunc(left, func(st scenarios.Step) bool { return st.Fault == step.Fault })
		if i < 0 {
			continue
		}
		note(step.Fault+" at_s", fmt.Sprint(left[i].AtS), fmt.Sprint(step.AtS))
		note(step.Fault+" duration_s", fmt.Sprint(left[i].DurationS), fmt.Sprint(step.DurationS))
		for _, name := range slices.Sorted(maps.Keys(step.Params)) {
			note(step.Fault+" "+name, fmt.Sprint(left[i].Params[name]), fmt.Sprint(step.Params[name]))
		}
		left = slices.Delete(left, i, i+1)
	}
}
