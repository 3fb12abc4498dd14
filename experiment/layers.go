package experiment

import (
	"errors"
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/faults"
)

// layers are what faults act on, by what the name of a layer begins with. The
// rest of the name, after a slash, says which one: process/node-2.
func (s *stage) layers() map[string]func(of string) (faults.Layer, error) {
	return map[string]func(string) (faults.Layer, error){
		"process": s.nodeLayer(faults.NewProcessLayer),
		"net":     s.routed(func(r *routing, _ string) (faults.Layer, error) { return faults.NewNetLayer(r.network), nil }),
		"tap":     s.tapLayer,
		"route":   s.routed(func(r *routing, node string) (faults.Layer, error) { return faults.NewRouteLayer(r.network, node), nil }),
		"queue":   s.routed(func(r *routing, number string) (faults.Layer, error) { return faults.NewQueueLayer(r.queues, number) }),
		"shape": s.routed(func(r *routing, _ string) (faults.Layer, error) {
			return faults.NewShapeLayer(r.network, r.shaper), nil
		}),
		"limits":  s.nodeLayer(faults.NewLimitsLayer),
		"files":   s.nodeLayer(faults.NewFilesLayer),
		"disk":    s.diskLayer,
		"clock":   s.nodeLayer(faults.NewClockLayer),
		"hostile": s.nodeLayer(func(node faults.Node) faults.Layer { return faults.NewHostileLayer(node, s.hostile) }),
	}
}

// layer returns what a fault's entries of that name act on.
func (s *stage) layer(name string) (faults.Layer, error) {
	kind, of, _ := strings.Cut(name, "/")
	open, ok := s.layers()[kind]
	if !ok {
		return nil, fmt.Errorf("no layer %q", name)
	}
	return open(of)
}

// layer returns what a fault's entries of that name act on: of the brokers, or a driver.
func (n *nemesis) layer(name string) (faults.Layer, error) {
	driver, ok := strings.CutPrefix(name, "driver/")
	if !ok {
		return n.ground.layer(name)
	}
	d, err := n.crowd.Driver(driver)
	if err != nil {
		return nil, err
	}
	return faults.NewDriverLayer(d), nil
}

// nodeLayer opens a layer that belongs to one node.
func (s *stage) nodeLayer(open func(faults.Node) faults.Layer) func(of string) (faults.Layer, error) {
	return func(of string) (faults.Layer, error) {
		node, err := s.node(of)
		if err != nil {
			return nil, err
		}
		return open(node), nil
	}
}

// routed opens a layer that lies between the hosts of a star.
func (s *stage) routed(open func(r *routing, of string) (faults.Layer, error)) func(of string) (faults.Layer, error) {
	return func(of string) (faults.Layer, error) {
		if s.routing == nil {
			return nil, errors.New("there is no router between the nodes; network faults need namespaces")
		}
		return open(s.routing, of)
	}
}

func (s *stage) tapLayer(string) (faults.Layer, error) {
	if s.tap == nil {
		return nil, errors.New("the tap was not armed")
	}
	if !s.recordsWire() {
		return nil, fmt.Errorf("the tap cannot read MQTT over %s; start with transport tcp", s.start.Transport)
	}
	return faults.NewTapLayer(s.tap.Tap), nil
}

func (s *stage) diskLayer(node string) (faults.Layer, error) {
	d, err := disks{s}.Disk(node)
	if err != nil {
		return nil, err
	}
	return faults.NewDiskLayer(d), nil
}
