package shaper

import (
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/microvm"
)

// to is a rule about what some hosts send to another.
func (l *lab) to(t testing.TB, host string, from ...string) Rule {
	t.Helper()
	r := Rule{Fault: "f1"}
	var err error
	if r.Interface, err = l.Interface(host); err != nil {
		t.Fatal(err)
	}
	for _, name := range from {
		a, err := netip.ParseAddr(l.Host(t, name).Address())
		if err != nil {
			t.Fatal(err)
		}
		r.From = append(r.From, a)
	}
	return r
}

func (l *lab) render(t testing.TB, rules ...Rule) {
	t.Helper()
	if err := l.shaper.Render(rules); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) burst(t testing.TB, from, to string, count, size int) router.Pings {
	t.Helper()
	p, err := l.Ping(t.Context(), router.Ping{From: from, To: to, Count: count, Size: size, Interval: 20 * time.Microsecond, Wait: 2 * time.Second, Linger: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A rate holds for what it is about, and for nothing else.
func TestRate(t *testing.T) {
	if !inside(t) {
		return
	}
	l := newLab(t)
	if missing := l.shaper.Missing("htb"); missing != "" {
		hosttest.Skip(t, missing)
	}
	const rate = 1_250_000 // bytes/s
	for _, except := range []bool{false, true} {
		r := l.to(t, "node-2", map[bool]string{false: "node-1", true: "witness"}[except])
		r.RateBytes, r.Except = rate, except
		l.render(t, r)
		hosttest.Decide(t, "of the rate asked for", 0.5, 1.3, func() []float64 {
			p := l.burst(t, "node-1", "node-2", 40, 1400)
			if p.Arrived != 40 {
				t.Fatalf("except %t: %d arrived", except, p.Arrived)
			}
			return []float64{39 * 1428 / p.Span.Seconds() / rate}
		})
		if p := l.burst(t, "witness", "node-2", 40, 1400); p.Arrived != 40 || slices.Min(p.There) > 10*time.Millisecond {
			t.Errorf("except %t: witness to node-2 takes %v", except, p.There)
		}
		st, err := l.shaper.Stats("f1")
		if err != nil || len(st) != 1 || st[0].Packets != 0 || st[0].Probes < 40 || st[0].RateBytes != rate {
			t.Errorf("except %t: %+v, %v; want 40 probes and nothing else", except, st, err)
		}
	}
	l.render(t)
	if p := l.burst(t, "node-1", "node-2", 40, 1400); p.Arrived != 40 || slices.Min(p.There) > 10*time.Millisecond {
		t.Errorf("after: %v", p.There)
	}
	if st, err := l.shaper.Stats("f1"); err != nil || len(st) > 0 {
		t.Errorf("after: %+v, %v", st, err)
	}
}

// A discipline of somebody else is refused, and stays.
func TestSomebodyElses(t *testing.T) {
	if !inside(t) {
		return
	}
	l := newLab(t)
	if missing := l.shaper.Missing("htb"); missing != "" {
		hosttest.Skip(t, missing)
	}
	name, err := l.Interface("node-2")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tc", "qdisc", "add", "dev", name, "root", "handle", "9:", "tbf", "rate", "1gbit", "burst", "100k", "latency", "50ms").CombinedOutput(); err != nil {
		hosttest.Skip(t, "tc: "+string(out))
	}
	r := l.to(t, "node-2", "node-1")
	r.RateBytes = 1000
	if err := l.shaper.Render([]Rule{r}); err == nil || !strings.Contains(err.Error(), "not from rmq-mcp") {
		t.Errorf("%v, want it refused", err)
	}
	if out, err := exec.Command("tc", "qdisc", "show", "dev", name).CombinedOutput(); err != nil || !strings.Contains(string(out), "tbf 9:") {
		t.Errorf("%s %v, want it left alone", out, err)
	}
}

func TestApart(t *testing.T) {
	a, b := netip.MustParseAddr("198.18.1.2"), netip.MustParseAddr("198.18.2.2")
	one := Rule{Fault: "f1", Interface: "x", From: []netip.Addr{a}}
	for _, test := range []struct {
		other Rule
		meets bool
	}{
		{Rule{Interface: "x", From: []netip.Addr{a, b}}, true},
		{Rule{Interface: "x", From: []netip.Addr{b}}, false},
		{Rule{Interface: "y", From: []netip.Addr{a}}, false},
		{Rule{Interface: "x", From: []netip.Addr{b}, Except: true}, true},
		{Rule{Interface: "x", From: []netip.Addr{a}, Except: true}, false},
	} {
		if got := one.meets(test.other); got != test.meets || test.other.meets(one) != got {
			t.Errorf("%+v: %t, want %t", test.other, got, test.meets)
		}
	}
}

// TestNetem is everything that netem does. It runs in a microVM where this
// kernel has no netem.
func TestNetem(t *testing.T) {
	if !inside(t) {
		return
	}
	l := newLab(t)
	if missing := l.shaper.Missing("netem"); missing != "" {
		if microvm.Inside() {
			t.Fatal(missing)
		}
		t.Log(missing + "; TestNetemInMicroVM runs this where there is one")
		return
	}
	const n = 500
	about := func(got, percent int) bool { return got > n*percent/200 && got < n*percent*2/100 }
	for _, test := range []struct {
		name  string
		netem Netem
		ok    func(router.Pings) bool
	}{
		{"delay", Netem{Delay: 50 * time.Millisecond}, func(p router.Pings) bool {
			slices.Sort(p.There)
			return p.Arrived == n && p.There[n/2] >= 49*time.Millisecond && p.There[0] < 80*time.Millisecond
		}},
		{"jitter", Netem{Delay: 50 * time.Millisecond, Jitter: 20 * time.Millisecond}, func(p router.Pings) bool {
			return p.Arrived == n && p.Reordered > n/5 && slices.Min(p.There) > 25*time.Millisecond
		}},
		{"loss", Netem{Loss: 20}, func(p router.Pings) bool { return about(n-p.Arrived, 20) }},
		{"corrupt", Netem{Corrupt: 20}, func(p router.Pings) bool { return about(n-p.Arrived, 20) || about(p.Corrupted, 20) }},
		{"reorder", Netem{Delay: 20 * time.Millisecond, Reorder: 20}, func(p router.Pings) bool { return p.Arrived == n && p.Reordered > n/10 }},
	} {
		r := l.to(t, "node-2", "node-1")
		r.Netem = test.netem
		l.render(t, r)
		p := l.burst(t, "node-1", "node-2", n, 64)
		beside := l.burst(t, "witness", "node-2", 20, 64)
		fastest := slices.Min(p.There)
		ok := test.ok(p)
		p.RTT, p.There, p.Back = nil, nil, nil
		t.Logf("%s: fastest %v, %+v", test.name, fastest, p)
		if !ok {
			t.Errorf("%s: %+v", test.name, p)
		}
		if beside.Received != 20 || slices.Min(beside.There) > 10*time.Millisecond {
			t.Errorf("%s: the link beside it: %+v", test.name, beside)
		}
	}
}
