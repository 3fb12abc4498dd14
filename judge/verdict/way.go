package verdict

import (
	"cmp"
	"slices"
)

// KindPanic is the kind of violation that has a place.
const KindPanic = "panic"

// KindExit is the kind of a violation by a node that ended by itself.
const KindExit = "exit"

// A Way is how a claim failed: what tells failures of one claim apart.
type Way struct {
	Kind  string `json:"kind"`            // of violation
	Party Party  `json:"party,omitempty"` // whom the packets blame; "" where they do not tell
	Place string `json:"place,omitempty"` // of a panic; "" where nobody knows
}

func (w Way) String() string {
	text := w.Kind
	if w.Place != "" {
		text += " at " + w.Place
	}
	if w.Party != "" {
		text += " by the " + string(w.Party)
	}
	return text
}

func (w Way) compare(o Way) int {
	return cmp.Or(cmp.Compare(w.Kind, o.Kind), cmp.Compare(w.Party, o.Party), cmp.Compare(w.Place, o.Place))
}

// may reports whether two ways may be one: what is not known of one of them is no difference.
func (w Way) may(o Way) bool {
	same := func(a, b string) bool { return a == b || a == "" || b == "" }
	return w.Kind == o.Kind && same(string(w.Party), string(o.Party)) && same(w.Place, o.Place)
}

// Share reports whether two failures of one claim may be one: they have a way in common, or
// the ways of one are not known.
func Share(a, b []Way) bool {
	shared := func(w Way) bool { return slices.ContainsFunc(b, w.may) }
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, shared)
}

// Ways returns those in which a claim failed. The places of the run's panics are in no
// result.
func (r Result) Ways(panics []string) (list []Way) {
	add := func(kind string, party Party) {
		switch {
		case kind == KindPanic && len(panics) > 0:
			for _, place := range panics {
				list = append(list, Way{Kind: kind, Place: place})
			}
			return
		case r.Claim.Of == SDK:
			party = SDK
		case party == Undecided:
			party = ""
		}
		list = append(list, Way{Kind: kind, Party: party})
	}
	for _, v := range r.Violations {
		add(v.Kind, v.Blame)
	}
	if len(r.Violations) == 0 { // of a verdict that does not count them
		for _, a := range r.Anomalies {
			add(a.Kind, a.Blame)
		}
	}
	slices.SortFunc(list, Way.compare)
	return slices.Compact(list)
}
