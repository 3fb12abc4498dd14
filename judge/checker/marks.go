package checker

import "slices"

// marks keeps a small number for each message of a stream.
type marks struct {
	list []int32 // the number plus one; 0 is none
}

// swap returns the number that seq had, or -1, and gives it value where it had none, or
// where replace is set. A seq that is negative or far out has none.
func (m *marks) swap(seq, value int64, replace bool) int64 {
	if uint64(seq) >= uint64(len(m.list)) && !m.grow(seq) {
		return -1
	}
	at := &m.list[seq]
	had := int64(*at) - 1
	if had < 0 || replace {
		*at = int32(value) + 1
	}
	return had
}

// get returns the number that seq has, or -1.
func (m *marks) get(seq int64) int64 {
	if uint64(seq) >= uint64(len(m.list)) {
		return -1
	}
	return int64(m.list[seq]) - 1
}

func (m *marks) grow(seq int64) bool {
	if uint64(seq) >= uint64(len(m.list))+far {
		return false
	}
	list := make([]int32, max(int(seq)+1, 2*len(m.list), 256))
	copy(list, m.list)
	m.list = list
	return true
}

func (m marks) fork() marks { return marks{slices.Clone(m.list)} }
