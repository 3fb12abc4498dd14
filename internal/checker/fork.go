package checker

import (
	"maps"
	"slices"
)

// forks copies a list whose elements hold more than themselves.
func forks[T any](list []T, fork func(T) T) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = fork(v)
	}
	return out
}

func (m bitmap) fork() bitmap {
	m.words = slices.Clone(m.words)
	return m
}

func (m marks) fork() marks { return marks{slices.Clone(m.list)} }

func (t timeline) fork() timeline { return timeline{slices.Clone(t.count), slices.Clone(t.last)} }

func (f findings) fork() findings {
	f.list = slices.Clone(f.list)
	return f
}

func (l line) fork() line {
	l.got = l.got.fork()
	return l
}

func (c *loss) fork() Checker {
	f := *c
	f.got = c.got.fork()
	return &f
}

func (c *once) fork() Checker {
	f := *c
	f.first, f.found = forks(c.first, marks.fork), c.found.fork()
	return &f
}

func (c *dupFlag) fork() Checker {
	f := *c
	f.conn, f.doubts = forks(c.conn, marks.fork), slices.Clone(c.doubts)
	return &f
}

func (c *granted) fork() Checker {
	f := *c
	f.grant, f.came = slices.Clone(c.grant), slices.Clone(c.came)
	return &f
}

func (c *unexpected) fork() Checker {
	f := *c
	f.suspects = slices.Clone(c.suspects)
	if c.looks != nil {
		f.looks = c.looks.fork()
	}
	return &f
}

func (c *corruption) fork() Checker {
	f := *c
	f.found = c.found.fork()
	return &f
}

func (c *order) fork() Checker {
	f := *c
	f.lines, f.late = forks(c.lines, line.fork), slices.Clone(c.late)
	return &f
}

func (c *kept) fork() Checker {
	f := *c
	f.of, f.dials, f.found = slices.Clone(c.of), maps.Clone(c.dials), c.found.fork()
	return &f
}

func (c *progress) fork() Checker {
	f := *c
	f.acks = c.acks.fork()
	return &f
}

func (c *recovery) fork() Checker {
	f := *c
	f.node, f.acks, f.seen, f.began = slices.Clone(c.node), slices.Clone(c.acks), slices.Clone(c.seen), maps.Clone(c.began)
	f.canary = true
	return &f
}

func (c *exits) fork() Checker {
	f := *c
	f.seen.starved, f.found = maps.Clone(c.seen.starved), c.found.fork()
	return &f
}

func (c *panics) fork() Checker {
	f := *c
	f.found = c.found.fork()
	return &f
}

func (c *register) fork() Checker {
	f := *c
	f.open, f.reads, f.ended = maps.Clone(c.open), slices.Clone(c.reads), slices.Clone(c.ended)
	for i := range f.reads {
		f.reads[i] = slices.Clone(c.reads[i])
	}
	return &f
}
