// Package routertest is hosts with a router between them, for tests.
package routertest

import (
	"errors"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A Star is hosts and the router between them.
type Star struct {
	*router.Router
	net cluster.Network
}

// New makes the network of the calling process a star of these hosts, until
// the test ends. All but the nodes, node-…, and the witness are clients.
func New(t testing.TB, hosts ...string) *Star {
	t.Helper()
	net, err := cluster.NewStar()
	if err != nil {
		t.Fatal(err)
	}
	s := &Star{net: net}
	for _, name := range hosts {
		s.Host(t, name)
	}
	s.Router, err = router.New(router.Options{
		Hosts: s.hosts, AddHost: s.add,
		Client: func(host string) bool { return !strings.HasPrefix(host, "node-") && host != "witness" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), net.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *Star) hosts() (out []router.Host) {
	for _, h := range s.net.(interface{ Hosts() []cluster.Host }).Hosts() {
		out = append(out, h.(router.Host))
	}
	return out
}

func (s *Star) add(name string) (router.Host, error) {
	h, err := s.net.Host(name)
	if err != nil {
		return nil, err
	}
	return h.(router.Host), nil
}

// Host answers the host of this name, and makes it where there is none.
func (s *Star) Host(t testing.TB, name string) router.Host {
	t.Helper()
	h, err := s.add(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
