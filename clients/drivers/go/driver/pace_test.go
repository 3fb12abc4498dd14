package driver

import (
	"testing"
	"testing/synctest"
	"time"
)

// A pace leaves out what a stall kept from being sent, and goes on when it would have
// without the stall.
func TestPaceAfterAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		p := newPace(0.5, time.Second) // every two seconds from 1 s on
		var at []time.Duration
		for _, stall := range []time.Duration{0, 50 * time.Millisecond, 6500 * time.Millisecond, 0, 0} {
			if !p.wait(nil) {
				t.Fatal("it was stopped")
			}
			time.Sleep(stall)
			p.step()
			at = append(at, time.Since(begin))
		}
		for i, want := range []time.Duration{1000, 3050, 11500, 13000, 15000} {
			if at[i] != want*time.Millisecond {
				t.Errorf("message %d goes after %s, want %s; all: %v", i, at[i], want*time.Millisecond, at)
				break
			}
		}
	})
}
