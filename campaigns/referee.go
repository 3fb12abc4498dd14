package campaigns

import (
	"slices"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/reports"
)

// Referees, by what they are run for.
const (
	RefereeTap     = "tap"
	RefereeAgain   = "again"
	RefereeControl = "control"
)

// referees are runs beside the matrix that decide what deviates: with the tap
// armed, on the control broker, and once more with the same seed. Each deviation
// gets one of each before any gets a second, as far as the budget goes. Where the control
// broker decides, a deviation gets as many there as that takes, and no repetition.
func (m *Matrix) referees() (list []Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var wanted [][]Entry // by deviation and kind
	rounds := 0
	attributions := Compare(m.all()).Attributions
	for _, kind := range []string{RefereeTap, RefereeControl, RefereeAgain} {
		for _, a := range attributions {
			entries := m.refereesOf(a, kind)
			wanted, rounds = append(wanted, entries), max(rounds, len(entries))
		}
	}
	for r := range rounds {
		for _, entries := range wanted {
			if r < len(entries) && len(m.extra)+len(list) < m.limits.Referees && !has(list, entries[r]) && !has(m.extra, entries[r]) {
				list = append(list, entries[r])
			}
		}
	}
	return list
}

func has(list []Entry, e Entry) bool {
	return slices.ContainsFunc(list, func(o Entry) bool { return o.String() == e.String() })
}

// refereesOf returns the referees of one kind that an attribution needs. An
// attribution decided by the wire needs no referee but a repetition.
func (m *Matrix) refereesOf(a reports.Attribution, kind string) (list []Entry) {
	if len(a.Claims) == 0 && a.Cause != reports.CauseUndecided || a.Proof == ProofWire && kind != RefereeAgain || a.Controls > 0 && kind == RefereeAgain {
		return nil
	}
	for _, e := range m.store.Plan.Entries {
		if e.NoFaults != a.NoFaults || !slices.Contains(a.SDKs, e.SDK) || e.Protocol != a.Protocol || e.Transport != a.Transport || !m.deviates(e, a) {
			continue
		}
		switch kind {
		case RefereeTap:
			if slices.Contains(e.Arm, cluster.ArmTap) {
				continue
			}
			e.Arm = cluster.WithArms(e.Arm, cluster.ArmTap)
		case RefereeControl:
			if e.Flavor = ControlFlavor(e.Flavor, e.Protocol, !e.NoFaults && m.crashes(e.Scenario)); e.Flavor == "" {
				continue
			}
		case RefereeAgain:
			if m.store.Plan.Repeat > 1 {
				continue
			}
		}
		e.Referee, e.Number = kind, 0 // whichever repetition deviates
		if !has(list, e) {
			list = append(list, e)
		}
	}
	// One of each library comes first: what they agree on is not theirs.
	var first, rest []Entry
	for _, e := range list {
		if slices.ContainsFunc(first, func(f Entry) bool { return library(f.SDK) == library(e.SDK) }) {
			rest = append(rest, e)
		} else {
			first = append(first, e)
		}
	}
	list = append(first, rest...)
	if kind == RefereeControl && len(list) > 0 && a.Controls <= m.limits.Referees-len(m.extra) {
		for n := len(list); n < a.Controls; n++ {
			e := list[n%len(first)]
			e.Number = n / len(first)
			list = append(list, e)
		}
	}
	return list
}

// deviates reports whether an entry's own run is one of those attributed.
func (m *Matrix) deviates(e Entry, a reports.Attribution) bool {
	o, done := m.store.outcome(e)
	return done && o.RunID != "" && slices.Contains(a.Runs, o.RunID)
}

func (m *Matrix) crashes(scenario string) bool {
	return slices.ContainsFunc(m.store.Plan.Scenarios, func(s Scene) bool { return s.Name == scenario && s.Crashes })
}
