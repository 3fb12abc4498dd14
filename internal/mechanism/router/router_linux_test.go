package router

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func both(a, b string) []Link {
	return []Link{{From: []string{a}, To: []string{b}}, {From: []string{b}, To: []string{a}}}
}

func TestDrop(t *testing.T) {
	if hosttest.Inside(t) {
		drop(t)
	}
}

func TestDropAsUser(t *testing.T) {
	if hosttest.InsideAsUser(t) {
		drop(t)
	}
}

// drop cuts one direction, and looks at all.
func drop(t *testing.T) {
	s := newStar(t, 3)
	for _, a := range []Action{Drop, Reject, Lose, Queue} {
		if missing := s.Missing(a); missing != "" {
			t.Errorf("%s: %s", a, missing)
		}
	}
	t.Logf("native queue: %t", s.table.native)
	s.passes(t, "node-1", "node-2")
	began := time.Now()
	if err := s.Render(t.Context(), []Rule{{Fault: "f1", Do: Drop, Links: []Link{{From: []string{"node-1"}, To: []string{"node-2"}}}}}); err != nil {
		t.Fatal(err)
	}
	t.Logf("rendered in %v", time.Since(began))
	s.blocked(t, "node-1", "node-2")
	back, err := s.Ping(t.Context(), Ping{From: "node-2", To: "node-1", Wait: 100 * time.Millisecond})
	if err != nil || back.Arrived != 5 || back.Received != 0 {
		t.Errorf("node-2 to node-1: %+v, %v; want all to arrive and none to come back", back, err)
	}
	s.passes(t, "node-1", "node-3")
	h, err := s.Hits("f1")
	if err != nil || h.Hit.Packets != 0 || h.Matched.Packets != 0 || h.Probes.Packets != 10 {
		t.Errorf("hits %+v, %v; want 10 probes", h, err)
	}
	t.Log(ruleset(t))
	if err := s.Render(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s.passes(t, "node-1", "node-2")
	if got := ruleset(t); strings.Contains(got, tableName) {
		t.Errorf("left behind:\n%s", got)
	}
}

func (s *testStar) passes(t *testing.T, from, to string) {
	t.Helper()
	p, err := s.Ping(t.Context(), Ping{From: from, To: to})
	if err != nil || p.Arrived != 5 || p.Received != 5 || p.Duplicated+p.Reordered+p.Corrupted > 0 {
		t.Errorf("%s to %s: %+v, %v; want all to come back", from, to, p, err)
	}
}

func (s *testStar) blocked(t *testing.T, from, to string) {
	t.Helper()
	p, err := s.Ping(t.Context(), Ping{From: from, To: to, Wait: 50 * time.Millisecond})
	if err != nil || p.Arrived != 0 {
		t.Errorf("%s to %s: %+v, %v; want none to arrive", from, to, p, err)
	}
}

func ruleset(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("nft", "-a", "list", "ruleset").CombinedOutput()
	if err != nil {
		hosttest.Skip(t, "nft list ruleset: "+err.Error()+string(out))
	}
	return string(out)
}
