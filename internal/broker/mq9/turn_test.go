package mq9

import (
	"context"
	"errors"
	"testing"
)

// Turns come in the order of entering, whoever gives up or leaves without
// having come, and lanes do not wait for each other.
func TestTurns(t *testing.T) {
	var l lanes
	ctx, given := t.Context(), func() context.Context { c, cancel := context.WithCancel(t.Context()); cancel(); return c }()
	first, second, third := l.enter("a"), l.enter("a"), l.enter("a")
	other := l.enter("b")
	if err := other.come(ctx); err != nil {
		t.Error("another lane waits:", err)
	}
	if err := first.come(ctx); err != nil {
		t.Error("the first waits:", err)
	}
	if err := second.come(given); !errors.Is(err, context.Canceled) {
		t.Error("the second came before the first had left:", err)
	}
	second.leave() // it gave up, and holds its place
	if err := third.come(given); !errors.Is(err, context.Canceled) {
		t.Error("the third came before the first had left:", err)
	}
	first.leave()
	if err := third.come(ctx); err != nil {
		t.Error(err)
	}
	third.leave()
	third.leave()
	other.leave()
	if len(l.last) != 0 {
		t.Errorf("%d lanes are left", len(l.last))
	}
}
