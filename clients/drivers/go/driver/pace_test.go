package driver

import (
	"testing"
	"testing/synctest"
	"time"
)

// Clients that begin together publish evenly, whatever their numbers are, and each as
// often as it is to. One that publishes often begins at once.
func TestACrowdIsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients, interval, seconds = 900, 3 * time.Second, 30
		perSecond := make([]int, seconds)
		begin := time.Now()
		for client := range int32(clients) {
			p := newPace(1/interval.Seconds(), 3*client+7)
			for p.next.Sub(begin) < seconds*time.Second {
				perSecond[p.next.Sub(begin)/time.Second]++
				p.next = p.next.Add(p.interval)
			}
		}
		for s, n := range perSecond {
			if n < 280 || n > 320 {
				t.Errorf("%d messages in second %d, want 300", n, s)
			}
		}
		if p := newPace(1000, 5); !p.wait(nil) || !time.Now().Equal(begin) {
			t.Errorf("the first of a thousand a second came after %s", time.Since(begin))
		}
		if p := newPace(1/interval.Seconds(), 1); !p.wait(nil) || time.Since(begin) == 0 || time.Since(begin) >= interval {
			t.Errorf("the first message came after %s", time.Since(begin))
		}
	})
}
