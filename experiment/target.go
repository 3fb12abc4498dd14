package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// target resolves a role, or the two of a link, by asking the brokers. Control
// is every node that is neither in the target nor under a fault already, and
// the witness.
func (n *nemesis) target(ctx context.Context, asked string) (faults.Target, error) {
	t := faults.Target{Asked: asked, Site: n.ground.site()}
	t.Site.Clients = n.crowd
	nodes, err := n.resolve(ctx, &t)
	all := n.ground.nodes()
	if errors.Is(err, errors.ErrUnsupported) && len(all) == 1 {
		nodes, err = all, nil
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return faults.Target{}, fmt.Errorf("resolve target %q: these brokers do not say who leads; name a node (%s), or any, majority, minority, all", asked, strings.Join(names(all), ", "))
	}
	if err != nil {
		return faults.Target{}, fmt.Errorf("resolve target %q: %w", asked, err)
	}
	t.Nodes = nodes
	disturbed := n.disturbed()
	for _, node := range all {
		if slices.Contains(nodes, node) {
			continue
		}
		t.Peers = append(t.Peers, node)
		if len(disturbed[node.Name()]) == 0 {
			t.Control = append(t.Control, node)
		}
	}
	t.Control = append(t.Control, n.ground.control())
	return t, nil
}

// resolve returns the nodes of a target, of both sides where it is a link;
// none where it is clients.
func (n *nemesis) resolve(ctx context.Context, t *faults.Target) ([]faults.Node, error) {
	if _, ok := history.ClientTarget(t.Asked); ok {
		var err error
		t.Clients, err = n.crowd.clientTarget(t.Asked)
		return nil, err
	}
	near, far, oneWay, link := faults.SplitLink(t.Asked)
	if !link {
		return n.ground.resolve(ctx, t.Asked, n.topic())
	}
	l := &faults.Link{OneWay: oneWay}
	a, err := n.side(ctx, near, &l.Near)
	if err != nil {
		return nil, err
	}
	b, err := n.side(ctx, far, &l.Far)
	if err != nil {
		return nil, err
	}
	for _, node := range b {
		if slices.Contains(a, node) {
			return nil, fmt.Errorf("%s is on both sides; name two that have no node in common", node.Name())
		}
	}
	t.Link = l
	return slices.Concat(a, b), nil
}

// side resolves one side of a link.
func (n *nemesis) side(ctx context.Context, role string, to *faults.Side) ([]faults.Node, error) {
	if role == router.Clients {
		to.Clients = true
		return nil, nil
	}
	nodes, err := n.ground.resolve(ctx, role, n.topic())
	if err != nil {
		return nil, fmt.Errorf("%w; or clients", err)
	}
	to.Nodes = nodes
	return nodes, nil
}

// topic is one of the workload's, for asking who leads its data.
func (r *record) topic() string {
	streams := r.rec.Tables().Streams
	if len(streams) == 0 {
		return ""
	}
	return streams[0].Topic
}
