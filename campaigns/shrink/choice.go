package shrink

import "fmt"

// A Choice is a value of several, of which some are simpler than others.
type Choice[C any] struct {
	Name    string
	Value   func(C) string
	Simpler func(string) []string // values that are simpler than one, in the order in which to try them
	With    func(C, string) C     // a copy with another value
}

// Shrink takes the first simpler value that fails, and goes on from there.
func (ch Choice[C]) Shrink(c C, test Test[C]) (C, bool, error) {
	smaller := false
	for {
		found := false
		was := ch.Value(c)
		for _, value := range ch.Simpler(was) {
			next := ch.With(c, value)
			answer, err := test(next, fmt.Sprintf("%s %s instead of %s", ch.Name, value, was))
			if err != nil {
				return c, smaller, err
			}
			if answer == Fails {
				c, found, smaller = next, true, true
				break
			}
		}
		if !found {
			return c, smaller, nil
		}
	}
}
