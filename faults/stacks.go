package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// layers holds the active entries of every layer. Each layer is rendered by
// one goroutine at a time, from all entries it then has.
type layers struct {
	open func(name string) (Layer, error)
	mu   sync.Mutex
	by   map[string]*stack
}

// A stack is one layer and its active entries, in order of injection.
type stack struct {
	mu     sync.Mutex
	layer  Layer
	active []Entry
}

func newLayers(open func(string) (Layer, error)) *layers {
	return &layers{open: open, by: map[string]*stack{}}
}

// add puts entries into their layers and renders those.
func (l *layers) add(ctx context.Context, entries []Entry, rolling bool) error {
	return l.each(ctx, entries, rolling, func(s *stack, name string) {
		for _, e := range entries {
			if e.Layer == name {
				s.active = append(s.active, e)
			}
		}
	})
}

// remove takes a fault's entries out of their layers and renders those. A
// layer that could not be opened shows nothing, and stays as it is.
func (l *layers) remove(ctx context.Context, fault string, entries []Entry, rolling bool) error {
	entries = slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return !l.opened(e.Layer) })
	return l.each(ctx, entries, rolling, func(s *stack, _ string) {
		s.active = slices.DeleteFunc(s.active, func(e Entry) bool { return e.Fault == fault })
	})
}

// each changes and renders every layer of the entries, all at once: the first
// node of a majority may serve only when the second one is back. Rolling, it
// is one after the other, up to the first that fails.
func (l *layers) each(ctx context.Context, entries []Entry, rolling bool, change func(*stack, string)) error {
	names := touched(entries)
	if rolling {
		for _, name := range names {
			if err := l.render(ctx, name, change); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { errs[i] = l.render(ctx, name, change) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (l *layers) render(ctx context.Context, name string, change func(*stack, string)) error {
	s, err := l.stack(name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s, name)
	if err := s.layer.Render(ctx, slices.Clone(s.active)); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	return nil
}

// holds reports whether a layer shows anything.
func (l *layers) holds(name string) bool {
	l.mu.Lock()
	s := l.by[name]
	l.mu.Unlock()
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.active) > 0
}

func (l *layers) opened(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[name] != nil
}

func (l *layers) stack(name string) (*stack, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.by[name]; ok {
		return s, nil
	}
	layer, err := l.open(name)
	if err != nil {
		return nil, fmt.Errorf("open layer %s: %w", name, err)
	}
	l.by[name] = &stack{layer: layer}
	return l.by[name], nil
}

// touched are the names of the layers of entries, sorted.
func touched(entries []Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Layer)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
