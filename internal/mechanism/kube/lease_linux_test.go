package kube_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
)

// A pod has one holder at a time, and a holder that renews nothing loses it.
func TestLeases(t *testing.T) {
	s, api := open(t)
	n := made(t, api)
	pod := n.Name() + "/mq-0"
	one := api.Leases(kube.Held{Pods: []string{pod}, Holder: "host-1, run one"})[0]
	two := api.Leases(kube.Held{Pods: []string{pod}, Holder: "host-2, run two"})[0]
	if err := one.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := two.Take(t.Context()); !errors.Is(err, kube.ErrHeld) || !strings.Contains(err.Error(), pod+": another run tests it: host-1, run one") {
		t.Errorf("a second holder: %v", err)
	}
	if err := two.Free(t.Context()); err != nil {
		t.Error(err)
	}
	if left := s.Names("leases"); len(left) != 1 {
		t.Errorf("leases after the second freed it: %s", left)
	}
	renewed := func(ago time.Duration) {
		at := time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000000Z")
		s.Change("leases", n.Name(), "rmq-mcp-mq-0", map[string]any{"spec": map[string]any{"renewTime": at}})
	}
	two.Watched(100 * time.Millisecond)
	renewed(time.Hour)
	looks := 0
	s.Refuse = func(verb, kind, name string) error {
		if verb == "get" && kind == "leases" {
			if looks++; looks == 2 {
				renewed(59 * time.Minute)
			}
		}
		return nil
	}
	if err := two.Take(t.Context()); !errors.Is(err, kube.ErrHeld) {
		t.Errorf("the lease of a holder whose clock is slow: %v", err)
	}
	if err := two.Take(t.Context()); err != nil {
		t.Errorf("a lease that is over: %v", err)
	}
	if err := one.Take(t.Context()); !errors.Is(err, kube.ErrHeld) || !strings.Contains(err.Error(), "host-2, run two") {
		t.Errorf("the first again: %v", err)
	}
	for range 2 {
		if err := two.Free(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := one.Take(t.Context()); err != nil {
		t.Error(err)
	}
}
