package checker

import (
	"slices"
	"testing"
)

func TestBitmap(t *testing.T) {
	var m, less bitmap
	for _, seq := range []int64{0, 63, 64, 1000} {
		if !m.add(seq) || m.add(seq) || !m.has(seq) {
			t.Errorf("%d is not added exactly once", seq)
		}
	}
	for _, seq := range []int64{-1, 1 << 60} {
		if m.add(seq) || m.has(seq) {
			t.Errorf("%d is in the set", seq)
		}
	}
	less.add(64)
	var got []int64
	m.each(1, &less, func(seq int64) { got = append(got, seq) })
	if want := []int64{63, 1000}; !slices.Equal(got, want) {
		t.Errorf("each = %v, want %v", got, want)
	}
	if !m.hasFrom(0) || !m.hasFrom(1000) || m.hasFrom(1001) || new(bitmap).hasFrom(0) {
		t.Error("the largest number is not known")
	}
	if n := m.countFrom(64); n != 2 || m.n != 4 {
		t.Errorf("%d from 64 on, %d in all", n, m.n)
	}
	if !m.remove(63) || m.remove(63) || m.has(63) || m.remove(-1) || m.n != 3 {
		t.Errorf("63 is not removed exactly once: %d are left", m.n)
	}
	m.reset()
	if m.n != 0 || m.hasFrom(0) || m.has(1000) {
		t.Errorf("%d are left of none", m.n)
	}
}
