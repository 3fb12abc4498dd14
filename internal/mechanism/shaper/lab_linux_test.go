package shaper

import (
	"testing"

	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/microvm"
	"github.com/robustmq/rmq-mcp/internal/testing/routertest"
)

// inside reports whether the test runs in namespaces, or a machine, of its own.
func inside(t testing.TB) bool {
	t.Helper()
	return microvm.Inside() || hosttest.Inside(t)
}

// A lab is three hosts, the router between them, and a shaper.
type lab struct {
	*routertest.Star
	shaper *Shaper
}

func newLab(t testing.TB) *lab {
	t.Helper()
	l := &lab{Star: routertest.New(t, "node-1", "node-2", "witness")}
	var err error
	if l.shaper, err = New(router.ProbePort); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.shaper.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}
