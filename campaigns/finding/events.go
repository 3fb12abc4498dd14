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
		state, at := Open, f.First
		for _, h := range f.History {
			if h.State != Fixed && h.Since.Equal(f.First) {
				opened.Version = h.Version
			}
			if h.State != state {
				if h.Since.After(at) { // else it was known as soon as the one before
					at = h.Since
				}
				later = append(later, Event{f, h.State, h.Version, at})
			}
			state = h.State
		}
		list = append(append(list, opened), later...)
	}
	slices.SortStableFunc(list, func(a, b Event) int { return b.Time.Compare(a.Time) })
	return list
}
