package tap

import (
	"sync"
	"sync/atomic"
)

// answers are the answers that a connection withholds. The sender of a PUBLISH that
// the tap falsified must not believe it was accepted. The sender of a PUBLISH that
// the tap repeated sees one answer, as it sent one packet. Otherwise an answer could
// be taken for that of a later message with the same id.
type answers struct {
	any atomic.Int32 // a look without the lock
	mu  sync.Mutex
	of  map[answer]int // how many still pass before one is withheld
}

type answer struct {
	way Direction // it goes
	id  uint16
}

// add withholds the answer to a PUBLISH with an id, after as many that pass.
func (s *answers) add(way Direction, p packet, id uint16, pass int) {
	if p.kind != Publish || p.qos() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[answer]int{}
	}
	s.of[answer{way.back(), id}] = pass
	s.any.Store(int32(len(s.of)))
}

// withholds reports whether a packet is such an answer, and counts it.
func (s *answers) withholds(way Direction, p packet) bool {
	if s.any.Load() == 0 || p.kind != Puback && p.kind != Pubrec {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := answer{way, p.id}
	pass, ok := s.of[key]
	if !ok {
		return false
	}
	if pass > 0 {
		s.of[key] = pass - 1
		return false
	}
	delete(s.of, key)
	s.any.Store(int32(len(s.of)))
	return true
}
