package checker

// chunk is the number of messages made at once.
const chunk = 256

// messages holds the messages of one stream by number, dense from 0, in chunks: a
// stream that grows is never copied.
type messages struct {
	chunks []*[chunk]message
	n      int64
}

// at is the message of a number, or nil beyond the last.
func (m *messages) at(seq int64) *message {
	if uint64(seq) >= uint64(m.n) {
		return nil
	}
	return &m.chunks[uint64(seq)/chunk][uint64(seq)%chunk]
}

// reach is the message of a number, made with all before it where there was
// none.
func (m *messages) reach(seq int64) *message {
	for int64(len(m.chunks))*chunk <= seq {
		m.chunks = append(m.chunks, new([chunk]message))
	}
	m.n = max(m.n, seq+1)
	return m.at(seq)
}

// each goes through the messages in order, until f returns false.
func (m *messages) each(f func(seq int64, m *message) bool) {
	for seq := range m.n {
		if !f(seq, m.at(seq)) {
			return
		}
	}
}
