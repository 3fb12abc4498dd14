package router

import (
	"fmt"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
)

// A testStar is nodes, the witness, and a router between them.
type testStar struct {
	*Router
	net cluster.Network
}

func newStar(t testing.TB, nodes int) *testStar {
	t.Helper()
	s := newStarNow(t, nodes)
	t.Cleanup(func() { s.down(t) })
	return s
}

func (s *testStar) down(t testing.TB) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.net.Close(); err != nil {
		t.Error(err)
	}
}

// in runs a function in the network namespace of a host.
func (s *testStar) in(host string, f func() error) error {
	h, err := s.Router.host(host)
	if err != nil {
		return err
	}
	return netns.In(h.NetNS(), f)
}

func newStarNow(t testing.TB, nodes int) *testStar {
	t.Helper()
	net, err := cluster.NewStar()
	if err != nil {
		t.Fatal(err)
	}
	s := &testStar{net: net}
	for i := range nodes {
		s.host(t, fmt.Sprintf("node-%d", i+1))
	}
	s.host(t, "witness")
	s.Router, err = New(Options{
		Hosts: func() (out []Host) {
			for _, h := range net.(interface{ Hosts() []cluster.Host }).Hosts() {
				out = append(out, h.(Host))
			}
			return out
		},
		AddHost: func(name string) (Host, error) {
			h, err := net.Host(name)
			if err != nil {
				return nil, err
			}
			return h.(Host), nil
		},
		Client: func(host string) bool { return !strings.HasPrefix(host, "node-") && host != "witness" },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *testStar) host(t testing.TB, name string) Host {
	t.Helper()
	h, err := s.net.Host(name)
	if err != nil {
		t.Fatal(err)
	}
	return h.(Host)
}
