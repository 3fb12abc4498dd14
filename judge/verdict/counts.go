package verdict

import "slices"

// unproven are the shortfalls of a run that was not as its scenario has it. It may show a
// violation, and says nothing of how often one comes. Shortfalls that a violation may bring
// about are not among them, such as a low load.
var unproven = [...]Kind{
	NeverRun, FaultUnsupported, FaultMissing, FaultNotLanded, FaultPartial, FaultIndeterminate, FaultIdle,
	PartGone, NodeEnded, HostStarved, HarnessError, HistoryIncomplete, EventsUnread, TooIndeterminate, BudgetMissed,
}

// Counts reports whether a run with these shortfalls counts, whatever it shows: it was as its
// scenario has it, with each fault in place, and nothing of ours was missing.
func Counts(list []Shortfall) bool {
	return !slices.ContainsFunc(list, func(s Shortfall) bool { return slices.Contains(unproven[:], s.Kind) })
}

// Holds reports whether a claim that passes in a run with these shortfalls was held: the run
// counts, and was under load.
func Holds(list []Shortfall) bool {
	return Counts(list) && !slices.ContainsFunc(list, func(s Shortfall) bool { return s.Kind == Underload })
}
