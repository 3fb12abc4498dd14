package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/mechanism/shaper"
)

// A Shaper has the queueing disciplines at the router's ends of the cables.
type Shaper interface {
	// Missing says why the kernel has no discipline of a kind, "" where it has.
	Missing(kind string) string
	Render(rules []shaper.Rule) error
	Rules() []shaper.Rule
	Stats(fault string) ([]shaper.Stats, error)
}

// Cables are the router's ends of the cables to hosts.
type Cables interface {
	// Ends are where the packets of links leave the router.
	Ends(links []router.Link) ([]router.End, error)
}

// layerShape is the layer of disciplines. A fault has at most one entry in it.
const layerShape = "shape"

// shape is what an entry's Args are.
type shape struct {
	Links     []router.Link `json:"links"`
	RateBytes uint64        `json:"rate_bytes"`
}

type shapeLayer struct {
	net    Cables
	shaper Shaper
}

// NewShapeLayer is the layer shape.
func NewShapeLayer(net Cables, s Shaper) Layer { return shapeLayer{net, s} }

func (l shapeLayer) Render(_ context.Context, active []Entry) error {
	var rules []shaper.Rule
	for _, e := range active {
		s, err := argsOf[shape](e)
		if err != nil {
			return err
		}
		ends, err := l.net.Ends(s.Links)
		if err != nil {
			return err
		}
		for _, end := range ends {
			rules = append(rules, shaper.Rule{Fault: e.Fault, Interface: end.Interface, From: end.From, Except: end.Except, RateBytes: s.RateBytes})
		}
	}
	return l.shaper.Render(rules)
}

// shaper answers what there is, if it can do a discipline.
func (t Target) shaper(kind string) (Shaper, error) {
	if t.Site.Shaper == nil {
		return nil, fmt.Errorf("%w: links are shaped only if the nodes run in network namespaces, and these do not", ErrUnsupported)
	}
	if missing := t.Site.Shaper.Missing(kind); missing != "" {
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, missing)
	}
	return t.Site.Shaper, nil
}

// unshaped reads back that nothing of a fault is shown any more.
func unshaped(s Shaper, in *Injection) Check {
	return unnumbered("queueing discipline", func(context.Context) error {
		if slices.ContainsFunc(s.Rules(), func(r shaper.Rule) bool { return r.Fault == in.id() }) {
			return errors.New("its queueing discipline is still there")
		}
		return nil
	})
}
