package mq9

import (
	"context"
	"sync"
)

// came is before nobody.
var came = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// lanes let requests of one lane take effect in the order in which they came,
// while those of others go on.
type lanes struct {
	mu   sync.Mutex
	last map[string]chan struct{} // of each lane, closed when who entered last has left
}

// A turn is a place in a lane. The zero turn is in none.
type turn struct {
	before <-chan struct{} // closed when it has come
	leave  func()          // lets the next one pass; also without having waited
}

// come waits until it has come.
func (t turn) come(ctx context.Context) error {
	select {
	case <-t.before:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter takes the place behind all that entered before.
func (l *lanes) enter(lane string) turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = map[string]chan struct{}{}
	}
	before, ok := l.last[lane]
	if !ok {
		before = came
	}
	mine := make(chan struct{})
	l.last[lane] = mine
	return turn{before: before, leave: sync.OnceFunc(func() {
		l.mu.Lock()
		if l.last[lane] == mine {
			delete(l.last, lane)
		}
		l.mu.Unlock()
		select {
		case <-before:
			close(mine)
		default: // one that gave up waiting holds its place
			go func() {
				<-before
				close(mine)
			}()
		}
	})}
}
