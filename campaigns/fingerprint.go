package campaigns

import (
	"cmp"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Failure is one claim that failed, and the checker that says so.
type Failure struct {
	Claim   string `json:"claim"`
	Checker string `json:"checker"` // name and version: lost@1
}

// A Fingerprint is what failed in a run, by name. Runs that have it fail the
// same way.
type Fingerprint []Failure

// FingerprintOf is that of a judged run; none for one that did not fail.
func FingerprintOf(v verdict.Verdict) Fingerprint {
	f := Fingerprint{}
	for _, r := range v.Results {
		if r.Status == verdict.Fail {
			f = append(f, Failure{r.Claim.Name, r.Checker})
		}
	}
	slices.SortFunc(f, func(a, b Failure) int {
		return cmp.Or(strings.Compare(a.Claim, b.Claim), strings.Compare(a.Checker, b.Checker))
	})
	return f
}

// In reports whether another run failed in all of this, and maybe in more.
func (f Fingerprint) In(other Fingerprint) bool {
	return !slices.ContainsFunc(f, func(x Failure) bool { return !slices.Contains(other, x) })
}

// Meets reports whether another run failed in any of this; in anything if this is empty.
func (f Fingerprint) Meets(other Fingerprint) bool {
	if len(f) == 0 {
		return len(other) > 0
	}
	return slices.ContainsFunc(f, func(x Failure) bool { return slices.Contains(other, x) })
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
	names := make([]string, len(f))
	for i, x := range f {
		names[i] = x.Claim + " (" + x.Checker + ")"
	}
	return strings.Join(names, ", ")
}
