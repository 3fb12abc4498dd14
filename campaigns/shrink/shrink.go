package shrink

import "math"

// A Test answers whether a candidate fails; what says in words how it differs
// from the smallest that failed until now. An error ends the reduction: the
// budget is used up, or somebody stopped it.
type Test[C any] func(candidate C, what string) (Answer, error)

// A Dimension is one respect in which candidates can be smaller.
type Dimension[C any] interface {
	// Shrink returns the smallest candidate it finds that fails, and whether it
	// differs from c. The caller guarantees that c fails. The results hold on
	// an error too.
	Shrink(c C, test Test[C]) (smallest C, smaller bool, err error)
}

// Minimize goes through the dimensions, over and over, until none of them makes
// the candidate smaller. The returned candidate has failed, also beside an
// error. A failure that comes only now and then, or only for some sizes, never
// leads Minimize to a candidate that did not fail.
func Minimize[C any](c C, dimensions []Dimension[C], test Test[C]) (C, error) {
	for {
		again := false
		for _, d := range dimensions {
			smallest, smaller, err := d.Shrink(c, test)
			c, again = smallest, again || smaller
			if err != nil {
				return c, err
			}
		}
		if !again {
			return c, nil
		}
	}
}

// A Number is a size that can be less.
type Number[C any] struct {
	Name  string
	Floor float64 // the least that makes sense
	Whole bool    // no fractions
	Value func(C) float64
	With  func(C, float64) C // a copy with another value
}

// Shrink tries the floor. If the floor does not fail, it bisects between the
// greatest value known not to fail and the least value known to fail, until a
// quarter is left.
func (n Number[C]) Shrink(c C, test Test[C]) (C, bool, error) {
	high, low := n.Value(c), n.Floor
	smaller := false
	for at := low; at < high; at = n.middle(low, high) {
		next := n.With(c, at)
		answer, err := test(next, describe(n.Name, high, at))
		if err != nil {
			return c, smaller, err
		}
		switch {
		case answer == Fails:
			c, high, smaller = next, at, true
		default:
			low = at
		}
	}
	return c, smaller, nil
}

// middle is the next value to try, or high for none.
func (n Number[C]) middle(low, high float64) float64 {
	if high <= low || high-low <= high/4 {
		return high
	}
	at := (low + high) / 2
	if n.Whole || high > 10 {
		at = math.Round(at)
	}
	if at <= low || at >= high {
		return high
	}
	return at
}

// A List has items of which fewer may do.
type List[C any] struct {
	Name  string
	Least int // how many must stay
	Len   func(C) int
	Item  func(C, int) string // in words
	Keep  func(C, []int) C    // a copy with these items alone, by their places in ascending order
}

// Shrink is ddmin. Where nothing at all may stay, that is tried first.
func (l List[C]) Shrink(c C, test Test[C]) (C, bool, error) {
	all := c
	items := make([]int, l.Len(c))
	for i := range items {
		items[i] = i
	}
	smaller := false
	try := func(keep []int) (bool, error) {
		next := l.Keep(all, keep)
		answer, err := test(next, l.without(all, items, keep))
		if err != nil || answer != Fails {
			return false, err
		}
		c, items, smaller = next, keep, true
		return true, nil
	}
	if l.Least == 0 && len(items) > 0 {
		if done, err := try(nil); done || err != nil {
			return c, smaller, err
		}
	}
	for parts := 2; len(items) > max(l.Least, 1); {
		found := false
		for _, keep := range l.subsets(items, parts) {
			var err error
			if found, err = try(keep); err != nil {
				return c, smaller, err
			}
			if found {
				break
			}
		}
		switch {
		case found:
			parts = max(2, min(parts-1, len(items)))
		case parts >= len(items):
			return c, smaller, nil
		default:
			parts = min(2*parts, len(items))
		}
	}
	return c, smaller, nil
}

// subsets are the parts of a list, and what is left without each of them.
func (l List[C]) subsets(items []int, parts int) (list [][]int) {
	var without [][]int
	for i := range parts {
		from, to := i*len(items)/parts, (i+1)*len(items)/parts
		list = append(list, items[from:to:to])
		if parts > 2 { // of two, one is what is left without the other
			without = append(without, append(items[:from:from], items[to:]...))
		}
	}
	var enough [][]int
	for _, keep := range append(list, without...) {
		if len(keep) >= max(l.Least, 1) {
			enough = append(enough, keep)
		}
	}
	return enough
}
