package netqueue_test

import (
	"slices"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestDelay(t *testing.T) {
	if !hosttest.Inside(t) {
		return
	}
	l := newLab(t)
	q := l.treat(t, netqueue.Treatment{Do: netqueue.Delay, Percent: 100, Delay: 50 * time.Millisecond})
	var sent uint64
	hosttest.Decide(t, "ms longer there than back, where nothing is delayed", 49.5, 52.5, func() (longer []float64) {
		const n = 20
		p := l.ping(t, n)
		if p.Arrived != n || p.Reordered != 0 {
			t.Fatalf("%+v; want all to arrive in order", p)
		}
		for i := range n {
			longer = append(longer, (p.There[i]-p.Back[i]).Seconds()*1e3)
		}
		sent += n
		return longer
	})
	c, err := q.Counts()
	if err != nil || c.Matched != sent || c.Hit != sent || c.Overflown != 0 || c.Held != 0 {
		t.Errorf("%+v, %v; want %d hit", c, err, sent)
	}
	for _, host := range []string{"node-1", "node-2"} {
		if a, err := l.Address(host); err != nil || len(c.Ends) != 2 || c.Ends[a] != sent {
			t.Errorf("hit of %s: %v, %v; want %d", host, c.Ends, err, sent)
		}
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

// Closing a queue releases the held packets at once. Later packets pass, whether the
// rule is there or not.
func TestCloseReleases(t *testing.T) {
	if !hosttest.Inside(t) {
		return
	}
	l := newLab(t)
	q := l.treat(t, netqueue.Treatment{Do: netqueue.Delay, Percent: 100, Delay: time.Minute})
	done := make(chan router.Pings)
	go func() {
		p, _ := l.Ping(t.Context(), router.Ping{From: "node-1", To: "node-2", Count: 10, Wait: 5 * time.Second})
		done <- p
	}()
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(time.Millisecond) {
		c, err := q.Counts()
		if err != nil || time.Now().After(end) {
			t.Fatalf("%+v, %v; want 10 held", c, err)
		}
		if c.Held == 10 {
			break
		}
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	if p := <-done; p.Arrived != 10 || p.Reordered != 0 {
		t.Errorf("%+v; want all to arrive in order", p)
	}
	if p := l.ping(t, 10); p.Arrived != 10 || slices.Min(p.There) > 40*time.Millisecond {
		t.Errorf("%+v; want a rule without a queue to let all pass", p)
	}
}

// TestActions checks that packets fare as the seed decides, one by one.
func TestActions(t *testing.T) {
	if !hosttest.Inside(t) {
		return
	}
	l := newLab(t)
	const n = 500
	lost := func(p router.Pings) int { return n - p.Arrived }
	tests := []struct {
		name  string
		treat netqueue.Treatment
		got   func(router.Pings) int // as many as were hit
		slack int                    // fewer may be seen
	}{
		{"loss", netqueue.Treatment{Do: netqueue.Drop, Percent: 20, Seed: 1}, lost, 0},
		{"burst", netqueue.Treatment{Do: netqueue.Drop, Percent: 20, Burst: 3, Seed: 1}, lost, 0},
		{"corrupt", netqueue.Treatment{Do: netqueue.Corrupt, Percent: 20, Seed: 3}, lost, 0},
		{"silent", netqueue.Treatment{Do: netqueue.Corrupt, Percent: 20, Silent: true, Seed: 4}, func(p router.Pings) int { return p.Corrupted }, 0},
		// Each copy that arrives is sent back too.
		{"duplicate", netqueue.Treatment{Do: netqueue.Duplicate, Percent: 20, Seed: 2}, func(p router.Pings) int { return p.Duplicated / 2 }, 0},
		{"reorder", netqueue.Treatment{Do: netqueue.Delay, Percent: 20, Delay: 5 * time.Millisecond, Seed: 5}, func(p router.Pings) int { return p.Reordered }, 20},
		{"jitter", netqueue.Treatment{Do: netqueue.Delay, Percent: 100, Delay: 5 * time.Millisecond, Jitter: 5 * time.Millisecond, Distribution: netqueue.Uniform}, func(p router.Pings) int { return p.Reordered }, n * 3 / 4},
	}
	for _, test := range tests {
		q := l.treat(t, test.treat)
		p := l.ping(t, n)
		c, err := q.Counts()
		p.RTT, p.There, p.Back = nil, nil, nil
		t.Logf("%s: %+v, %+v", test.name, c, p)
		want := netqueue.Hits(test.treat, n)
		if err != nil || c.Matched != n || c.Hit != uint64(want) || c.Overflown != 0 || c.Held != 0 {
			t.Errorf("%s: %+v, %v; want %d of %d hit", test.name, c, err, want, n)
		}
		if got := test.got(p); got > want || got < want-test.slack {
			t.Errorf("%s: seen on %d of %d; want %d, at most %d fewer", test.name, got, n, want, test.slack)
		}
		if test.treat.Do != netqueue.Delay && p.Reordered > 0 {
			t.Errorf("%s: %d were reordered too", test.name, p.Reordered)
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}
