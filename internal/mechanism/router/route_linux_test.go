package router

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestUnroute(t *testing.T) {
	if hosttest.Inside(t) {
		unroute(t)
	}
}

func TestUnrouteAsUser(t *testing.T) {
	if hosttest.InsideAsUser(t) {
		unroute(t)
	}
}

func unroute(t *testing.T) {
	s := newStar(t, 3)
	s.echo(t, "node-2")
	c := s.mustConnect(t, "tcp", "node-1", "node-2")
	if err := talks(c, hosttest.Bound); err != nil {
		t.Fatal(err)
	}
	// A route of somebody else is there before and after.
	h := s.host(t, "node-1")
	theirs := &netlink.Route{Dst: &net.IPNet{IP: net.IPv4(198, 18, 77, 0).To4(), Mask: net.CIDRMask(24, 32)}, Gw: net.IPv4(198, 18, 1, 1)}
	if err := netns.In(h.NetNS(), func() error { return netlink.RouteAdd(theirs) }); err != nil {
		t.Fatal(err)
	}
	if err := s.Unroute(t.Context(), "node-1", []string{"node-2"}); err != nil {
		t.Fatal(err)
	}
	s.routes(t, map[string]string{"node-2": "unreachable", "node-3": "reachable", "witness": "reachable"})
	if _, err := s.Dial(t.Context(), "node-1", "node-2", 0); !errors.Is(err, syscall.EHOSTUNREACH) {
		t.Errorf("dial: %v, want no route", err)
	}
	if n, err := s.NoRoute("node-1"); n != 0 || err != nil {
		t.Errorf("%d packets without a route, %v: a probe was counted", n, err)
	}
	if err := talks(c, 300*time.Millisecond); err == nil {
		t.Error("an old connection still talks")
	}
	if n, err := s.NoRoute("node-1"); n == 0 || err != nil {
		t.Errorf("%d packets without a route, %v: the connection's own were not counted", n, err)
	}
	if _, err := s.Dial(t.Context(), "node-3", "node-2", 0); err != nil {
		t.Errorf("another way: %v", err)
	}

	// Clients too, a node beside, and no clients again.
	if err := s.Unroute(t.Context(), "node-1", []string{"node-3", Clients}); err != nil {
		t.Fatal(err)
	}
	s.host(t, "publishers-0")
	s.routes(t, map[string]string{"node-2": "reachable", "node-3": "unreachable", "witness": "reachable", "publishers-0": "unreachable"})
	if err := s.Unroute(t.Context(), "node-1", nil); err != nil {
		t.Fatal(err)
	}
	s.routes(t, map[string]string{"node-2": "reachable", "node-3": "reachable", "witness": "reachable", "publishers-0": "reachable"})
	err := netns.In(h.NetNS(), func() error {
		if left, err := ours(); len(left) > 0 || err != nil {
			t.Errorf("left: %v, %v", left, err)
		}
		return netlink.RouteDel(theirs) // fails where it is not there any more
	})
	if err != nil {
		t.Errorf("somebody else's route: %v", err)
	}
}

func (s *testStar) routes(t *testing.T, want map[string]string) {
	t.Helper()
	for to, state := range want {
		if got, err := s.Route("node-1", to); got != state || err != nil {
			t.Errorf("route from node-1 to %s: %s, %v; want %s", to, got, err, state)
		}
	}
}
