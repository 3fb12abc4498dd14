package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/mechanism/chaosmesh"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/mechanism/shaper"
)

// A routing is what faults act on between the nodes: a router, its queues, and the disciplines of a
// star.
type routing struct {
	network
	queues queues
	shaper *shaper.Shaper
	remote *router.Remote // between pods; nil in a star

	injector *chaosmesh.Injector // between pods; nil for the rules of remote
}

// queues treat packets until they are closed.
type queues interface {
	faults.Queues
	Close() error
}

// A network is a router between the nodes.
type network interface {
	faults.Net
	Close() error
}

// openRouting makes the router between the hosts of a star, or between pods, something that
// faults can act on. Other networks have none.
func (s *stage) openRouting() error {
	if s.start.Cluster.Beyond() {
		var mesh *chaosmesh.Injector
		if slices.Contains(s.start.Cluster.Arm, cluster.ArmChaosMesh) {
			mesh = chaosmesh.New(s.cluster.Namespace(), s.cluster.PodOf)
		}
		r := s.remote(mesh)
		s.routing = &routing{network: r, queues: r, remote: r, injector: mesh}
		return nil
	}
	star, ok := s.network.(interface{ Hosts() []cluster.Host })
	if !ok {
		return nil
	}
	r, err := router.New(router.Options{
		Hosts: func() (out []router.Host) {
			for _, h := range star.Hosts() {
				if h, ok := h.(router.Host); ok {
					out = append(out, h)
				}
			}
			return out
		},
		AddHost: func(name string) (router.Host, error) {
			h, err := s.network.Host(name)
			if err != nil {
				return nil, err
			}
			return h.(router.Host), nil
		},
		Client: func(host string) bool {
			return host != s.witness.Name() && !slices.Contains(names(s.cluster.Nodes()), host)
		},
	})
	if err != nil {
		return err
	}
	s.routing = &routing{network: r, queues: netqueue.NewSet(router.ProbePort)}
	s.routing.shaper, err = shaper.New(router.ProbePort)
	return err
}

// remote is the router between nodes that are pods. Mesh is nil for rules of its own.
func (s *stage) remote(mesh *chaosmesh.Injector) *router.Remote {
	opt := router.RemoteOptions{
		Nodes:   func() []string { return names(s.cluster.Nodes()) },
		Clients: s.cluster.DriverPods().Names,
		Others:  func() bool { return s.here.Load() > 0 },
		Attach: func(ctx context.Context, name string) (io.ReadWriteCloser, netip.Addr, error) {
			if drivers := s.cluster.DriverPods(); slices.Contains(drivers.Names(), name) {
				return drivers.Attach(ctx, name, "network")
			}
			n, err := s.node(name)
			if err != nil {
				return nil, netip.Addr{}, err
			}
			return n.Attach(ctx, "network")
		},
		Reach: func(name string) (netip.AddrPort, error) {
			n, err := s.node(name)
			if err != nil {
				return netip.AddrPort{}, err
			}
			at, err := netip.ParseAddr(n.Address())
			return netip.AddrPortFrom(at, router.ProbePort), err
		},
		Witness: s.witness.Name(),
	}
	if mesh != nil {
		opt.Injector = mesh
	}
	return router.NewRemote(opt)
}

// close takes down what is in the router. A nil one has nothing.
func (r *routing) close() error {
	if r == nil {
		return nil
	}
	failed := func(err error, what string) error {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	err := failed(r.Close(), "take down the rules of the router")
	if r.remote != nil { // it is the queues too
		return err
	}
	err = errors.Join(err, failed(r.queues.Close(), "let go of held packets"))
	if r.shaper == nil { // it could not be opened
		return err
	}
	return errors.Join(err, failed(r.shaper.Close(), "take off the queueing disciplines"))
}
