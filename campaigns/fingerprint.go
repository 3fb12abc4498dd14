package campaigns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Failure is one claim that failed, the checker that says so, and how it failed.
type Failure struct {
	Claim   string        `json:"claim"`
	Checker string        `json:"checker"`        // name and version: lost@1
	Ways    []verdict.Way `json:"ways,omitempty"` // none where an earlier version wrote it down
}

// is reports whether two failures may be one: of a claim, by a checker, and in one way at least.
func (f Failure) is(o Failure) bool {
	return f.Claim == o.Claim && f.Checker == o.Checker && verdict.Share(f.Ways, o.Ways)
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
			f = append(f, Failure{Claim: r.Claim.Name, Checker: r.Checker, Ways: r.Ways(c.Panics)})
		}
	}
	slices.SortFunc(f, func(a, b Failure) int {
		return cmp.Or(strings.Compare(a.Claim, b.Claim), strings.Compare(a.Checker, b.Checker))
	})
	return f
}

// PanicPlaces are the places of a run's panics, "" for those that its report does not list.
func PanicPlaces(d *reports.RunDir, v verdict.Verdict) (places []string, err error) {
	panicked := func(r verdict.Result) bool {
		return slices.ContainsFunc(r.Violations, func(v verdict.Violations) bool { return v.Kind == verdict.KindPanic })
	}
	if !slices.ContainsFunc(v.Results, panicked) {
		return nil, nil
	}
	events, err := d.Events()
	if err != nil {
		return nil, err
	}
	defer events.Close()
	panics, cut, err := d.Panics(events.Tables().Nodes)
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
