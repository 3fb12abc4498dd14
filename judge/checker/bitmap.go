package checker

import (
	"math/bits"
	"slices"
)

// far is how far a bitmap may grow beyond its end at once. Nobody counted up to a
// number further out: it is nonsense, and must not cost memory.
const far = 1 << 20

// A bitmap is a set of small numbers that are counted up from 0.
type bitmap struct {
	words []uint64
	n     int64 // numbers in it
	top   int64 // the largest that was added
}

// add puts seq into the set. It reports whether it was not there before; a
// number that is negative or far out is never new.
func (m *bitmap) add(seq int64) (fresh bool) {
	w := uint64(seq) >> 6
	if w >= uint64(len(m.words)) && !m.grow(w) {
		return false
	}
	bit := uint64(1) << (uint64(seq) & 63)
	if m.words[w]&bit != 0 {
		return false
	}
	m.words[w] |= bit
	m.n++
	m.top = max(m.top, seq)
	return true
}

// remove takes seq out of the set. It reports whether it was there.
func (m *bitmap) remove(seq int64) bool {
	if !m.has(seq) {
		return false
	}
	m.words[uint64(seq)>>6] &^= 1 << (uint64(seq) & 63)
	m.n--
	return true
}

// reset takes everything out of the set.
func (m *bitmap) reset() {
	clear(m.words)
	m.n, m.top = 0, 0
}

func (m *bitmap) grow(w uint64) bool {
	if w >= uint64(len(m.words))+far/64 {
		return false
	}
	need := max(int(w)+1, 2*len(m.words), 16)
	words := make([]uint64, need)
	copy(words, m.words)
	m.words = words
	return true
}

func (m *bitmap) has(seq int64) bool {
	w := uint64(seq) >> 6
	return w < uint64(len(m.words)) && m.words[w]>>(uint64(seq)&63)&1 == 1
}

func (m *bitmap) word(w int) uint64 {
	if w < len(m.words) {
		return m.words[w]
	}
	return 0
}

// hasFrom reports whether some number of the set is lo or more.
func (m *bitmap) hasFrom(lo int64) bool { return m.n > 0 && m.top >= lo }

// countFrom returns how many numbers of the set are lo or more.
func (m *bitmap) countFrom(lo int64) (n int64) {
	for w := int(lo >> 6); w < len(m.words); w++ {
		n += int64(bits.OnesCount64(m.words[w] & from(lo, w)))
	}
	return n
}

// each calls f with every number of m that is lo or more and not in less.
func (m *bitmap) each(lo int64, less *bitmap, f func(seq int64)) {
	for w := int(lo >> 6); w < len(m.words); w++ {
		rest := m.words[w] & from(lo, w) &^ less.word(w)
		for ; rest != 0; rest &= rest - 1 {
			f(int64(w)<<6 + int64(bits.TrailingZeros64(rest)))
		}
	}
}

// from masks the bits of word w that are lo or more.
func from(lo int64, w int) uint64 {
	if int64(w) > lo>>6 {
		return ^uint64(0)
	}
	return ^uint64(0) << (uint64(lo) & 63)
}

func (m bitmap) fork() bitmap {
	m.words = slices.Clone(m.words)
	return m
}
