//go:build !linux

package netqueue

import "fmt"

// A Queue needs NFQUEUE, which only Linux has.
type Queue struct{ opt Options }

// Open answers that there is none.
func Open(Options) (*Queue, error) {
	return nil, fmt.Errorf("%w: NFQUEUE exists on Linux only", ErrMissing)
}

// Close does nothing.
func (*Queue) Close() error { return nil }

// Counts is unsupported.
func (*Queue) Counts() (Counts, error) {
	return Counts{}, fmt.Errorf("%w: NFQUEUE exists on Linux only", ErrMissing)
}
