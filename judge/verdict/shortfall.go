package verdict

import "slices"

// A Kind is one way in which a run falls short of its claim to a better state.
type Kind string

const (
	NeverRun           Kind = "never-run"
	FaultUnsupported   Kind = "fault-unsupported"
	NodeEnded          Kind = "node-ended"
	PartGone           Kind = "part-gone"
	FaultMissing       Kind = "fault-missing"
	FaultNotLanded     Kind = "fault-not-landed"
	FaultPartial       Kind = "fault-partial"
	FaultIndeterminate Kind = "fault-indeterminate"
	FaultIdle          Kind = "fault-idle"
	NotReached         Kind = "not-reached"
	HealUnverified     Kind = "heal-unverified"
	NodeDown           Kind = "node-down"
	CheckerMissing     Kind = "checker-missing"
	NoClaims           Kind = "no-claims"
	HistoryIncomplete  Kind = "history-incomplete"
	CheckerUnknown     Kind = "checker-unknown"
	CanaryGreen        Kind = "canary-green"
	HostStarved        Kind = "host-starved"
	HarnessError       Kind = "harness-error"
	Underload          Kind = "underload"
	TooIndeterminate   Kind = "too-indeterminate"
	EventsUnread       Kind = "events-unread"
	BudgetMissed       Kind = "budget-missed"
	BudgetShort        Kind = "budget-short"
	Unjudged           Kind = "unjudged"
	NoFault            Kind = "no-fault"
	SmokeTier          Kind = "smoke-tier"
	OneSeed            Kind = "one-seed"
)

// States maps every kind of shortfall to exactly one state. The order is the
// order of decision: of several shortfalls the first in this table names the
// state, the others are reasons.
var States = [...]struct {
	Kind  Kind
	State State
}{
	{NeverRun, NotRun},
	{FaultUnsupported, InconclusiveEnv},
	// These are the cause, whatever else came of them.
	{PartGone, InconclusiveEnv},
	{NodeEnded, InconclusiveEnv},
	{FaultMissing, InconclusiveFault},
	{FaultNotLanded, InconclusiveFault},
	{FaultPartial, InconclusiveFault},
	{FaultIndeterminate, InconclusiveFault},
	{FaultIdle, InconclusiveFault},
	{HealUnverified, InconclusiveFault},
	// A node that stays down is the broker's doing, and recovery judges it. This keeps
	// a run without that claim from passing.
	{NodeDown, InconclusiveFault},
	{CheckerMissing, PartialSurface},
	{NoClaims, PartialSurface},
	// A broken or starved harness also leaves broken histories, so the cause is named
	// before the symptom.
	{HostStarved, InconclusiveEnv},
	{HarnessError, InconclusiveEnv},
	{HistoryIncomplete, InconclusiveOracle},
	{CheckerUnknown, InconclusiveOracle},
	{CanaryGreen, InconclusiveOracle},
	{NotReached, InconclusiveOracle},
	{EventsUnread, PartialModel},
	{Underload, InconclusiveOracle},
	{TooIndeterminate, InconclusiveOracle},
	{BudgetMissed, InconclusiveOracle},
	{BudgetShort, PassSmoke},
	{Unjudged, PassSmoke},
	{NoFault, PassSmoke},
	{SmokeTier, PassSmoke},
	{OneSeed, PassSmoke},
}

// A Shortfall is one of them, with what was seen.
type Shortfall struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// State is the best state that this shortfall leaves. A kind that is not known, such as of a
// later version, leaves nothing.
func (s Shortfall) State() State {
	if i := s.rank(); i < len(States) {
		return States[i].State
	}
	return NotRun
}

func (s Shortfall) rank() int {
	for i, row := range States {
		if row.Kind == s.Kind {
			return i
		}
	}
	return len(States)
}

// cap reports whether the shortfall leaves a pass a pass, only a lesser one.
func (s Shortfall) cap() bool { return s.State() == PassSmoke }

// byRank orders shortfalls as the table does, those of one kind as they came.
func byRank(list []Shortfall) []Shortfall {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Shortfall) int { return a.rank() - b.rank() })
	return list
}
