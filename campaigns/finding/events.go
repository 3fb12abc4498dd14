package finding

import (
	"slices"
	"time"
)

// An Event is a change of a finding's status.
type Event struct {
	Finding Finding
	State   string // open, fixed, regressed
	Version string // that brought it about; "" where nobody knows it
	Time    time.Time
}

// Events are the changes of all findings, the newest first: each was opened, some were fixed
// or came back.
func (all Findings) Events() (list []Event) {
	for _, f := range all.Findings {
		opened := Event{Finding: f, State: Open, Time: f.First}
		var later []Event
		state := Open
		for _, h := range f.History {
			switch {
			case opened.Version == "" && h.Failed > 0:
				opened.Version = h.Version
			case h.State == state:
			case h.State == Fixed: // by its last run
				later = append(later, Event{f, h.State, h.Version, h.Last})
			case h.Of == 0: // only runs that do not count show that it came back
				later = append(later, Event{f, h.State, h.Version, f.Last})
			default: // by its first
				later = append(later, Event{f, h.State, h.Version, h.First})
			}
			state = h.State
		}
		list = append(append(list, opened), later...)
	}
	slices.SortStableFunc(list, func(a, b Event) int { return b.Time.Compare(a.Time) })
	return list
}
