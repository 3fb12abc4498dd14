package faults

import (
	"testing"
	"testing/synctest"
	"time"
)

// A node that a fault has ended may still be there when that is healed, busy
// with its end: it is started again. One that lives, whether it answers or not,
// is left alone.
func TestDoomedNodeAtItsHeal(t *testing.T) {
	for _, test := range []struct {
		name   string
		node   *fakeNode
		ends   time.Duration // after the heal began; 0 is never
		births int
	}{
		{"lives", &fakeNode{}, 0, 0},
		{"lives, and answers nobody", &fakeNode{mute: true}, 0, 0},
		{"is gone", &fakeNode{state: "exited: status 2"}, 0, 1},
		{"ends", &fakeNode{}, 150 * time.Millisecond, 1},
		{"ends, and answers nobody meanwhile", &fakeNode{mute: true}, time.Second, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := test.node
				n.name, n.tell = "node-1", t.Logf
				ended := n.state
				n.state = Running
				l := NewProcessLayer(n)
				if err := l.Render(t.Context(), []Entry{{Fault: "f1", Want: Doomed}}); err != nil {
					t.Fatal(err)
				}
				if ended != "" {
					n.state = ended
				}
				if test.ends > 0 {
					time.AfterFunc(test.ends, func() {
						n.mu.Lock()
						defer n.mu.Unlock()
						n.state = "exited: status 2"
					})
				}
				if err := l.Render(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				if n.now() != Running || n.births != test.births {
					t.Errorf("%s, started %d times, want %d", n.now(), n.births, test.births)
				}
			})
		})
	}
}
