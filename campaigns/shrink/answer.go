// Package shrink makes what fails smaller for as long as it still fails: delta
// debugging (Zeller and Hildebrandt, 2002) over lists, and bisection over
// numbers. It is pure: how a candidate is tried is its caller's.
package shrink

import "fmt"

// An Answer is whether a candidate fails the way that is looked for.
type Answer string

// The answers. Only what was really tried and did not fail passes.
const (
	Fails   Answer = "fails"
	Passes  Answer = "passes"
	Unknown Answer = "unknown"
)

// A Rule is when several tries of one candidate count as a failure: K of N fail.
type Rule struct {
	K int `json:"k"`
	N int `json:"n"`
}

func (r Rule) String() string { return fmt.Sprintf("%d of %d", r.K, r.N) }

// Check refuses a rule that nothing or everything fulfils.
func (r Rule) Check() error {
	if r.K < 1 || r.K > r.N {
		return fmt.Errorf("%s tries make no failure; the first is at least 1 and at most the second", r)
	}
	return nil
}

// Decide says what the tries so far amount to, and whether that is final: more
// tries could not change it, or there are no more.
func (r Rule) Decide(tries []Answer) (Answer, bool) {
	count := map[Answer]int{}
	for _, t := range tries {
		count[t]++
	}
	left := max(0, r.N-len(tries))
	switch {
	case count[Fails] >= r.K:
		return Fails, true
	case count[Passes] > r.N-r.K: // not even if all others fail
		return Passes, true
	}
	return Unknown, count[Fails]+left < r.K
}
