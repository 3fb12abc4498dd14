package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// treatedTypes are the faults that treat packets one by one.
func treatedTypes() map[string][]map[string]any {
	return map[string][]map[string]any{
		"delay": {
			{"delay_ms": 50},
			{"delay_ms": 40, "jitter_ms": 10, "distribution": "pareto", "direction": "out"},
		},
		"duplicate": {{"percent": 30, "direction": "in"}},
		"reorder":   {{"percent": 20}},
		"corrupt":   {{"percent": 20}, {"percent": 30, "checksum": "mended", "direction": "in"}},
		"bandwidth": {{"rate_kbit": 300}}, // less than the traffic of the test
		"loss":      {{"percent": 20, "burst_packets": 3, "direction": "out"}},
	}
}

// On real links with traffic of the test's own each of them lands, is healed,
// and leaves other links alone.
func TestTreated(t *testing.T) {
	hosttest.Long(t, "it injects each fault of packets")
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	l := newNetLab(t, 3)
	l.traffic(t, "node-1", "node-2", "node-3", client)
	for typ, all := range treatedTypes() {
		for _, params := range all {
			t.Run(fmt.Sprint(typ, params), func(t *testing.T) {
				landing := l.heldFor(t, typ, params, l.on(1), func() { l.undisturbed(t, "node-2", "node-3") })
				if landing.State != history.Landed || landing.Healed != history.HealVerified {
					t.Errorf("%s %q, healed %s", landing.State, landing.Reasons, landing.Healed)
				}
				if forges := params["checksum"] == "mended"; landing.Forges != forges {
					t.Errorf("forges: %v", landing.Forges)
				}
				l.undisturbed(t, "node-1", "node-2")
			})
		}
	}
}

// undisturbed looks at a link itself.
func (l *netLab) undisturbed(t *testing.T, from, to string) {
	t.Helper()
	p, err := l.Ping(t.Context(), router.Ping{From: from, To: to, Count: 100, Linger: 5 * time.Millisecond})
	if err != nil || p.Received != 100 || p.Duplicated+p.Reordered+p.Corrupted > 0 {
		t.Fatalf("%s to %s: %+v, %v", from, to, p, err)
	}
	if fastest := slices.Min(p.RTT); fastest > 20*time.Millisecond {
		t.Errorf("%s to %s: round trip of %v", from, to, fastest)
	}
}

// No treatment lands on links without traffic of the system, such as a delay at
// the wrong node.
func TestTreatedWithoutTraffic(t *testing.T) {
	hosttest.Long(t, "proofs wait for traffic")
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	l := newNetLab(t, 3)
	l.traffic(t, "node-2", "node-3") // elsewhere
	for typ, all := range treatedTypes() {
		t.Run(typ, func(t *testing.T) {
			landing := l.heldFor(t, typ, all[0], l.on(1), func() {})
			if landing.State != history.NotLanded {
				t.Errorf("%s %q, want not landed", landing.State, landing.Reasons)
			}
		})
	}
}

// A rate that the traffic is far below lands nowhere, whatever its bursts wait.
func TestBandwidthOfLittleTraffic(t *testing.T) {
	hosttest.Long(t, "proofs wait for traffic")
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	l := newNetLab(t, 3)
	l.traffic(t, "node-1", "node-2", "node-3")
	landing := l.heldFor(t, "bandwidth", map[string]any{"rate_kbit": 20000}, l.on(1), func() {})
	if landing.State != history.NotLanded || !strings.Contains(strings.Join(landing.Reasons, "; "), "share of the rate") {
		t.Errorf("%s %q, want not landed", landing.State, landing.Reasons)
	}
}

// A rate that one target alone needs lands in part.
func TestBandwidthOfOneNode(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	l := newNetLab(t, 3)
	l.traffic(t, "node-1", client)
	landing := l.heldFor(t, "bandwidth", map[string]any{"rate_kbit": 100, "with": "clients"}, l.on(1, 2), func() {})
	if landing.State != history.Partial || !strings.Contains(strings.Join(landing.Reasons, "; "), "node-2") {
		t.Errorf("%s %q, want partial", landing.State, landing.Reasons)
	}
}

// Faults on one link add up, and are healed in either order.
func TestTreatedOverlap(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	l := newNetLab(t, 3)
	l.traffic(t, "node-1", "node-2", "node-3")
	for first := range 2 {
		var ids []string
		for _, ms := range []float64{30, 60} {
			r, err := Parse("delay", map[string]any{"delay_ms": ms, "with": "nodes", "duration_s": 60})
			if err != nil {
				t.Fatal(err)
			}
			landing, err := l.Inject(t.Context(), r, l.on(1))
			if err != nil || landing.State != history.Landed {
				t.Fatalf("%s %q, %v", landing.State, landing.Reasons, err)
			}
			ids = append(ids, landing.Fault)
		}
		l.takes(t, 90*time.Millisecond)
		// It is read back when the other one, on the same node, is healed too.
		if _, err := l.Heal(t.Context(), ids[first]); err != nil {
			t.Error(err)
		}
		l.takes(t, []time.Duration{60, 30}[first]*time.Millisecond)
		if err := l.HealAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.undisturbed(t, "node-1", "node-2")
	}
	for _, landing := range l.Landings() {
		if landing.State != history.Landed || landing.Healed != history.HealVerified {
			t.Errorf("%s: %s %q, healed %s", landing.Fault, landing.State, landing.Reasons, landing.Healed)
		}
	}
}

func (l *netLab) takes(t *testing.T, want time.Duration) {
	t.Helper()
	p, err := l.Ping(t.Context(), router.Ping{From: "node-1", To: "node-2", Count: 21, Wait: 3 * time.Second})
	if err != nil || p.Arrived != 21 {
		t.Fatalf("%+v, %v", p, err)
	}
	// The fastest one: a busy machine makes some slower, and none faster.
	if got := slices.Min(p.There); got < want || got > want+20*time.Millisecond {
		t.Errorf("node-1 to node-2 takes %v, want %v", got, want)
	}
}

func TestTreatedParameters(t *testing.T) {
	for typ, params := range map[string]map[string]any{
		"delay": {"delay_ms": 10, "jitter_ms": 20},
		"loss":  {"percent": 90, "burst_packets": 2},
	} {
		if _, err := Parse(typ, params); err == nil || !strings.Contains(err.Error(), "fault "+typ) {
			t.Errorf("%s %v: %v", typ, params, err)
		}
	}
}
