package experiment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/mechanism/shaper"
)

// A routing is what faults act on between the hosts of a star.
type routing struct {
	*router.Router
	queues *netqueue.Set
	shaper *shaper.Shaper
}

// openRouting makes the router between the hosts of a star something that
// faults can act on. Other networks have none.
func (s *stage) openRouting() error {
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
	s.routing = &routing{Router: r, queues: netqueue.NewSet(router.ProbePort)}
	s.routing.shaper, err = shaper.New(router.ProbePort)
	return err
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
	err := errors.Join(failed(r.Close(), "take down the rules of the router"), failed(r.queues.Close(), "let go of held packets"))
	if r.shaper == nil { // it could not be opened
		return err
	}
	return errors.Join(err, failed(r.shaper.Close(), "take off the queueing disciplines"))
}
