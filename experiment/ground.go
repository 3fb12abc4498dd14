package experiment

import (
	"context"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
)

// The stage is the ground of the faults.

func (s *stage) nodes() []faults.Node { return asFaults(s.cluster.Nodes()) }

func (s *stage) resolve(ctx context.Context, role, topic string) ([]faults.Node, error) {
	nodes, err := s.cluster.Resolve(ctx, role, topic)
	return asFaults(nodes), err
}

func (s *stage) control() faults.Node        { return s.witness }
func (s *stage) restartBound() time.Duration { return s.cluster.RestartBound() }

func (s *stage) site() faults.Site {
	site := faults.Site{Run: s.env.ID, Roles: s.cluster.Views, Disks: disks{s}, Hostile: s.hostile}
	if t := s.tap; t != nil {
		site.Tap = t.Tap
	}
	if r := s.routing; r != nil {
		site.Net, site.Queues = r.network, r.queues
		if r.shaper != nil {
			site.Shaper = r.shaper
		}
		if r.injector != nil {
			site.Injector = r.injector
		}
	}
	return site
}

func asFaults(nodes []*cluster.Node) []faults.Node {
	out := make([]faults.Node, len(nodes))
	for i, n := range nodes {
		out[i] = n
	}
	return out
}
