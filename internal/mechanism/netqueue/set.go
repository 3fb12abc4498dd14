package netqueue

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// A Set is the queues of a network namespace, by number.
type Set struct {
	probePort uint16
	mu        sync.Mutex
	open      map[uint16]*Queue
}

// NewSet is a set in which nothing is treated. Packets of the probe port are
// counted apart.
func NewSet(probePort uint16) *Set {
	return &Set{probePort: probePort, open: map[uint16]*Queue{}}
}

// Treat begins to treat the packets of a queue, and ends their former treatment. If
// the treatment is the same, it goes on. Treat must be called before the rule that
// queues is made: once packets arrive, the kernel's answers to the opening of a queue
// cannot be told apart from them.
func (s *Set) Treat(queue uint16, t Treatment) error {
	s.mu.Lock()
	had := s.open[queue]
	s.mu.Unlock()
	if had != nil && had.opt.Treatment == t {
		return nil
	}
	if err := s.Release(queue); err != nil {
		return err
	}
	q, err := Open(Options{Queue: queue, Treatment: t, ProbePort: s.probePort})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[queue] = q
	return nil
}

// Release lets all packets of a queue pass, the held ones at once. It does nothing to
// a queue that is not treated.
func (s *Set) Release(queue uint16) error {
	s.mu.Lock()
	q := s.open[queue]
	delete(s.open, queue)
	s.mu.Unlock()
	if q == nil {
		return nil
	}
	if err := q.Close(); err != nil {
		return fmt.Errorf("close queue %d: %w", queue, err)
	}
	return nil
}

// Counts are what a queue met since it is treated; zero where it is not.
func (s *Set) Counts(queue uint16) (Counts, error) {
	s.mu.Lock()
	q := s.open[queue]
	s.mu.Unlock()
	if q == nil {
		return Counts{}, nil
	}
	c, err := q.Counts()
	c.Treated = true
	return c, err
}

// Numbers are the queues whose packets are treated.
func (s *Set) Numbers() []uint16 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.open))
}

// Close releases all queues.
func (s *Set) Close() error {
	var errs []error
	for _, n := range s.Numbers() {
		errs = append(errs, s.Release(n))
	}
	return errors.Join(errs...)
}
