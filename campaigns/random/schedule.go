package random

import (
	"math"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A kind is a type of fault with what it can act on here.
type kind struct {
	faults.Kind
	roles []string
}

// least is the shortest time in which it was seen to land.
func (k kind) least() time.Duration {
	seconds, _ := k.Example.Params["duration_s"].(float64)
	return time.Duration(seconds * float64(time.Second))
}

// A plan is a schedule as it is drawn.
type plan struct {
	steps []scenarios.Step
	kinds []kind // of each step
}

func (p *plan) add(step scenarios.Step, k kind) {
	p.steps, p.kinds = append(p.steps, step), append(p.kinds, k)
}

// schedule draws one to four faults. Each begins while the one before it is in
// place, where both can then be told to have landed, or after it was healed.
func (s Space) schedule(d dice, w load, t times) plan {
	kinds := s.kinds(w)
	var p plan
	left := math.Inf(1)
	if s.Limits != nil && s.Limits.MaxTotalFaultS > 0 {
		left = s.Limits.MaxTotalFaultS
	}
	for range 1 + d.weighted(35, 30, 20, 15) {
		fits := slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool {
			return k.least().Seconds() > left || k.Draw.OneCopy && slices.ContainsFunc(p.kinds, func(other kind) bool { return other.Takes() }) ||
				k.Takes() && slices.ContainsFunc(p.kinds, func(other kind) bool { return other.Draw.OneCopy }) // two copies may be gone then
		})
		if len(fits) == 0 {
			break
		}
		k := pick(d, fits...)
		role := pick(d, k.roles...)
		setting := s.setting(w)
		setting.Role = role
		step := scenarios.Step{Fault: k.Type, Target: role, Params: params(d, k.Kind, setting)}
		step.DurationS = s.duration(d, k, t, left)
		left -= step.DurationS
		p.place(d, &step, k, s, t)
		p.add(step, k)
	}
	return p
}

// duration is at least what a landing takes to be seen.
func (s Space) duration(d dice, k kind, t times, left float64) float64 {
	seconds := math.Ceil(k.least().Seconds()) + float64(d.whole(1, 4)) + t.longer
	if s.Limits != nil {
		seconds = min(seconds, s.Limits.MaxFaultDurationS, left)
	}
	return min(seconds, k.MaxDuration.Seconds())
}

// place decides when a step begins.
func (p *plan) place(d dice, step *scenarios.Step, k kind, s Space, t times) {
	if len(p.steps) == 0 {
		return
	}
	last := p.steps[len(p.steps)-1]
	at := last.AtS + float64(d.whole(1, max(1, int(last.DurationS/2))))
	if d.chance(60) && p.overlaps(at, *step, k, s) {
		step.AtS = at
		return
	}
	for i, before := range p.steps {
		gap := 2.0
		if p.kinds[i].Takes() { // it has to come back
			gap = t.settle
		}
		step.AtS = max(step.AtS, before.AtS+before.DurationS+gap)
	}
}

// overlaps reports whether a step can begin at a time while others are in place,
// such that of all of them it can be told whether they landed: faults of one
// family would be each other's control, and a node that is gone answers no probe.
func (p *plan) overlaps(at float64, step scenarios.Step, k kind, s Space) bool {
	at, end, n := at, at+step.DurationS, 1
	for i, other := range p.steps {
		if other.AtS >= end || at >= other.AtS+other.DurationS {
			continue
		}
		n++
		if k.Family == p.kinds[i].Family || !s.apart(step, k, other, p.kinds[i]) {
			return false
		}
	}
	return s.Limits == nil || n <= s.Limits.MaxConcurrentFaults
}

// apart reports whether two faults at once do not hide each other.
func (s Space) apart(a scenarios.Step, ka kind, b scenarios.Step, kb kind) bool {
	_, clientsA := history.ClientTarget(a.Target)
	_, clientsB := history.ClientTarget(b.Target)
	taken := ka.Takes() || kb.Takes()
	several := func(target string) bool { return target == "all" || target == "majority" }
	switch {
	case clientsA && clientsB:
		return !ka.Draw.Silences && !kb.Draw.Silences
	case clientsA || clientsB: // what connections are is read at the nodes; packets pass while there is one
		family := map[bool]string{true: ka.Family, false: kb.Family}[clientsA]
		return !taken || family == "protocol" && s.Nodes > 1 && !several(a.Target) && !several(b.Target)
	case s.Limits != nil && !s.Limits.AllowMajority: // two nodes may be one
		return false
	}
	roles := []string{a.Target, b.Target}
	one := ka.Takes() != kb.Takes() || !taken // two that are gone leave none to find a leader with
	return one && s.Nodes > 2 && slices.Contains(roles, "leader") && slices.Contains(roles, "follower")
}
