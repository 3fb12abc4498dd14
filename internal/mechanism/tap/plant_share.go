package tap

import (
	"slices"
	"strings"
)

// A loan is a message that one member of a shared subscription was sent, for
// another to have too.
type loan struct {
	from   *planted
	packet []byte
}

// shared is the shared subscription that a SUBSCRIBE asks for first, "" for none.
func shared(p packet, b []byte, level byte) string {
	if p.kind != Subscribe {
		return ""
	}
	filter, _, ok := text(afterProperties(b[p.head:], level))
	if !ok || !strings.HasPrefix(filter, "$share/") {
		return ""
	}
	return filter
}

// shareTwice lends a message to the next of the other members that is sent one
// of its own.
func shareTwice(c *planted, p packet, b []byte, way Direction) error {
	if filter := shared(p, b, c.level); way == ToBroker && filter != "" {
		c.share = filter
	}
	if way != ToClient || c.share == "" || !message(p, b, 1) {
		return c.on(way, b)
	}
	out := [][]byte{b}
	if lent := c.liar.borrow(c); lent != nil {
		of, _, err := scan(lent)
		if err != nil {
			return err
		}
		again, id := ofOurs(of, lent)
		c.ours[id]++
		out = append(out, again)
	}
	if c.hits() {
		c.liar.lend(c, b)
	}
	return c.on(way, out...)
}

func (l *Liar) lend(from *planted, b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loans[from.share] = append(l.loans[from.share], loan{from, slices.Clone(b)})
}

// borrow answers a message that another member of c's shared subscription was
// sent, nil where there is none.
func (l *Liar) borrow(c *planted) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.loans[c.share]
	i := slices.IndexFunc(list, func(of loan) bool { return of.from != c })
	if i < 0 {
		return nil
	}
	packet := list[i].packet
	l.loans[c.share] = slices.Delete(list, i, i+1)
	return packet
}

// shareForget counts the messages of a connection that it did not have before.
func shareForget(c *planted, p packet, b []byte, way Direction) error {
	if present(p, b) {
		c.over = 3
	}
	if way == ToClient && message(p, b, 1) && p.flags&8 == 0 && c.over > 0 && c.shows() {
		c.over--
		return c.accept(p, way)
	}
	return c.on(way, b)
}
