package campaigns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Failure is one claim that failed, the checker that says so, and how it failed.
type Failure struct {
	Claim   string `json:"claim"`
	Checker string `json:"checker"`        // name and version: lost@1
	Ways    []Way  `json:"ways,omitempty"` // none where an earlier version wrote it down
}

// A Way is what findings tell failures of one claim apart by.
type Way struct {
	Kind  string        `json:"kind"`            // of violation
	Party verdict.Party `json:"party,omitempty"` // whom the packets blame; "" where they do not tell
	Place string        `json:"place,omitempty"` // of a panic; "" where nobody knows
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

// is reports whether two failures may be one: of a claim, by a checker, and in one way at least.
func (f Failure) is(o Failure) bool {
	if f.Claim != o.Claim || f.Checker != o.Checker {
		return false
	}
	shared := func(w Way) bool { return slices.ContainsFunc(o.Ways, w.may) }
	return len(f.Ways) == 0 || len(o.Ways) == 0 || slices.ContainsFunc(f.Ways, shared)
}

func (f Failure) String() string {
	text := f.Checker
	for i, w := range f.Ways {
		text += map[bool]string{true: ": ", false: ", "}[i == 0] + w.String()
	}
	return fmt.Sprintf("%s (%s)", f.Claim, text)
}

// A Fingerprint is what failed in a run, and how. Runs that have it fail the same way.
type Fingerprint []Failure

// Failures is the fingerprint of the run; none for one that did not fail.
func (c Cell) Failures() Fingerprint {
	f := Fingerprint{}
	for _, r := range c.Verdict.Results {
		if r.Status == verdict.Fail {
			f = append(f, Failure{Claim: r.Claim.Name, Checker: r.Checker, Ways: c.ways(r)})
		}
	}
	slices.SortFunc(f, func(a, b Failure) int {
		return cmp.Or(strings.Compare(a.Claim, b.Claim), strings.Compare(a.Checker, b.Checker))
	})
	return f
}

// ways are those in which a claim failed.
func (c Cell) ways(r verdict.Result) (list []Way) {
	add := func(kind string, party verdict.Party) {
		switch {
		case kind == reports.KindPanic && len(c.Panics) > 0:
			for _, place := range c.Panics {
				list = append(list, Way{Kind: kind, Place: place})
			}
			return
		case r.Claim.Of == verdict.SDK:
			party = verdict.SDK
		case party == verdict.Undecided:
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

// panicPlaces are the places of a run's panics, "" for those that its report does not list.
func panicPlaces(d *reports.RunDir, v verdict.Verdict) (places []string, err error) {
	panicked := func(r verdict.Result) bool {
		return slices.ContainsFunc(r.Violations, func(v verdict.Violations) bool { return v.Kind == reports.KindPanic })
	}
	if !slices.ContainsFunc(v.Results, panicked) {
		return nil, nil
	}
	events, err := history.Open(d.Evidence())
	if err != nil {
		return nil, err
	}
	defer events.Close()
	panics, cut, err := reports.PanicsIn(d.Path, events.Tables().Nodes)
	if err != nil {
		return nil, fmt.Errorf("read the panics of run %s: %w", d.Run.ID, err)
	}
	for _, p := range panics {
		places = union(places, []string{p.Place()})
	}
	if cut {
		places = append(places, "")
	}
	return places, nil
}

// has reports whether a failure may be one of these.
func (f Fingerprint) has(x Failure) bool { return slices.ContainsFunc(f, x.is) }

// In reports whether another run failed in all of this, and maybe in more.
func (f Fingerprint) In(other Fingerprint) bool {
	return !slices.ContainsFunc(f, func(x Failure) bool { return !other.has(x) })
}

// like reports whether two runs failed in the same.
func (f Fingerprint) like(other Fingerprint) bool { return f.In(other) && other.In(f) }

// Meets reports whether another run failed in any of this; in anything if this is empty.
func (f Fingerprint) Meets(other Fingerprint) bool {
	if len(f) == 0 {
		return len(other) > 0
	}
	return slices.ContainsFunc(f, other.has)
}

// Only keeps the failures of some claims; all for none.
func (f Fingerprint) Only(claims []string) Fingerprint {
	if len(claims) == 0 {
		return f
	}
	return slices.DeleteFunc(slices.Clone(f), func(x Failure) bool { return !slices.Contains(claims, x.Claim) })
}

// Claims are their names.
func (f Fingerprint) Claims() []string {
	names := make([]string, len(f))
	for i, x := range f {
		names[i] = x.Claim
	}
	return names
}

func (f Fingerprint) String() string {
	if len(f) == 0 {
		return "nothing"
	}
	texts := make([]string, len(f))
	for i, x := range f {
		texts[i] = x.String()
	}
	return strings.Join(texts, ", ")
}
