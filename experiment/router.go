package experiment

import (
	"slices"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/mechanism/shaper"
)

// openRouter makes the router between the hosts of a star something that
// faults can act on. Other networks have none.
func (e *Experiment) openRouter() (err error) {
	star, ok := e.network.(interface{ Hosts() []cluster.Host })
	if !ok {
		return nil
	}
	e.router, err = router.New(router.Options{
		Hosts: func() (out []router.Host) {
			for _, h := range star.Hosts() {
				if h, ok := h.(router.Host); ok {
					out = append(out, h)
				}
			}
			return out
		},
		AddHost: func(name string) (router.Host, error) {
			h, err := e.network.Host(name)
			if err != nil {
				return nil, err
			}
			return h.(router.Host), nil
		},
		Client: func(host string) bool {
			return host != e.witness.Name() && !slices.Contains(names(e.cluster.Nodes()), host)
		},
	})
	if err != nil {
		return err
	}
	e.queues = netqueue.NewSet(router.ProbePort)
	e.shaper, err = shaper.New(router.ProbePort)
	return err
}

// closeRouter takes down what is in the router, where there is one.
func (e *Experiment) closeRouter() {
	if e.router == nil {
		return
	}
	if err := e.router.Close(); err != nil {
		e.harness("take down the rules of the router: %v", err)
	}
	if err := e.queues.Close(); err != nil {
		e.harness("let go of held packets: %v", err)
	}
	if e.shaper == nil {
		return // it could not be opened
	}
	if err := e.shaper.Close(); err != nil {
		e.harness("take off the queueing disciplines: %v", err)
	}
}

func (e *Experiment) shapeLayer(string) (faults.Layer, error) {
	return faults.NewShapeLayer(e.router, e.shaper), nil
}

func (e *Experiment) queueLayer(number string) (faults.Layer, error) {
	return faults.NewQueueLayer(e.queues, number)
}

func (e *Experiment) netLayer(string) (faults.Layer, error) {
	return faults.NewNetLayer(e.router), nil
}

func (e *Experiment) routeLayer(node string) (faults.Layer, error) {
	return faults.NewRouteLayer(e.router, node), nil
}
