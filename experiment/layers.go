package experiment

import (
	"errors"
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/faults"
)

// layers are what faults act on, by what the name of a layer begins with. The
// rest of the name, after a slash, says which one: process/node-2.
func (n *nemesis) layers() map[string]func(of string) (faults.Layer, error) {
	return map[string]func(string) (faults.Layer, error){
		"process": n.nodeLayer(faults.NewProcessLayer),
		"net":     n.routed(func(r *routing, _ string) (faults.Layer, error) { return faults.NewNetLayer(r.Router), nil }),
		"tap":     n.tapLayer,
		"driver":  n.driverLayer,
		"route":   n.routed(func(r *routing, node string) (faults.Layer, error) { return faults.NewRouteLayer(r.Router, node), nil }),
		"queue":   n.routed(func(r *routing, number string) (faults.Layer, error) { return faults.NewQueueLayer(r.queues, number) }),
		"shape":   n.routed(func(r *routing, _ string) (faults.Layer, error) { return faults.NewShapeLayer(r.Router, r.shaper), nil }),
		"limits":  n.nodeLayer(faults.NewLimitsLayer),
		"files":   n.nodeLayer(faults.NewFilesLayer),
		"disk":    n.diskLayer,
		"clock":   n.nodeLayer(faults.NewClockLayer),
		"hostile": n.nodeLayer(func(node faults.Node) faults.Layer { return faults.NewHostileLayer(node, n.stage.hostile) }),
	}
}

// layer returns what a fault's entries of that name act on.
func (n *nemesis) layer(name string) (faults.Layer, error) {
	kind, of, _ := strings.Cut(name, "/")
	open, ok := n.layers()[kind]
	if !ok {
		return nil, fmt.Errorf("no layer %q", name)
	}
	return open(of)
}

// nodeLayer opens a layer that belongs to one node.
func (n *nemesis) nodeLayer(open func(faults.Node) faults.Layer) func(of string) (faults.Layer, error) {
	return func(of string) (faults.Layer, error) {
		node, err := n.stage.node(of)
		if err != nil {
			return nil, err
		}
		return open(node), nil
	}
}

// routed opens a layer that lies between the hosts of a star.
func (n *nemesis) routed(open func(r *routing, of string) (faults.Layer, error)) func(of string) (faults.Layer, error) {
	return func(of string) (faults.Layer, error) {
		if n.stage.routing == nil {
			return nil, errors.New("there is no router between the nodes; network faults need namespaces")
		}
		return open(n.stage.routing, of)
	}
}

func (n *nemesis) tapLayer(string) (faults.Layer, error) {
	if n.stage.tap == nil {
		return nil, errors.New("the tap was not armed")
	}
	if !n.stage.recordsWire() {
		return nil, fmt.Errorf("the tap cannot read MQTT over %s; start with transport tcp", n.start.Transport)
	}
	return faults.NewTapLayer(n.stage.tap.Tap), nil
}

func (n *nemesis) driverLayer(name string) (faults.Layer, error) {
	d, err := n.load.Driver(name)
	if err != nil {
		return nil, err
	}
	return faults.NewDriverLayer(d), nil
}

func (n *nemesis) diskLayer(node string) (faults.Layer, error) {
	d, err := disks{n.stage}.Disk(node)
	if err != nil {
		return nil, err
	}
	return faults.NewDiskLayer(d), nil
}
