//go:build !linux

package shaper

import "fmt"

// A Shaper needs queueing disciplines, which only Linux has.
type Shaper struct{}

// New answers that there are none.
func New(uint16) (*Shaper, error) {
	return nil, fmt.Errorf("%w: queueing disciplines exist on Linux only", ErrMissing)
}

// Close does nothing.
func (*Shaper) Close() error { return nil }

// Missing says what is missing.
func (*Shaper) Missing(string) string { return "queueing disciplines exist on Linux only" }

// Render is unsupported.
func (*Shaper) Render([]Rule) error {
	return fmt.Errorf("%w: queueing disciplines exist on Linux only", ErrMissing)
}

// Rules are none.
func (*Shaper) Rules() []Rule { return nil }

// Stats is unsupported.
func (*Shaper) Stats(string) ([]Stats, error) {
	return nil, fmt.Errorf("%w: queueing disciplines exist on Linux only", ErrMissing)
}
