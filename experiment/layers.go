package experiment

import (
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/faults"
)

// layers are what faults act on, by what the name of a layer begins with. The
// rest of the name, after a slash, says which one: process/node-2.
func (e *Experiment) layers() map[string]func(of string) (faults.Layer, error) {
	return map[string]func(string) (faults.Layer, error){
		"process": e.nodeLayer(faults.NewProcessLayer),
		"net":     e.netLayer,
		"tap":     e.tapLayer,
		"driver":  e.driverLayer,
		"route":   e.routeLayer,
		"queue":   e.queueLayer,
		"shape":   e.shapeLayer,
		"limits":  e.nodeLayer(faults.NewLimitsLayer),
		"files":   e.nodeLayer(faults.NewFilesLayer),
		"disk":    e.diskLayer,
		"clock":   e.nodeLayer(faults.NewClockLayer),
		"hostile": e.nodeLayer(func(n faults.Node) faults.Layer { return faults.NewHostileLayer(n, e.hostile) }),
	}
}

// layer answers what a fault's entries of that name act on.
func (e *Experiment) layer(name string) (faults.Layer, error) {
	kind, of, _ := strings.Cut(name, "/")
	open, ok := e.layers()[kind]
	if !ok {
		return nil, fmt.Errorf("no layer %q", name)
	}
	return open(of)
}

// nodeLayer opens a layer that belongs to one node.
func (e *Experiment) nodeLayer(open func(faults.Node) faults.Layer) func(of string) (faults.Layer, error) {
	return func(of string) (faults.Layer, error) {
		n, err := e.node(of)
		if err != nil {
			return nil, err
		}
		return open(n), nil
	}
}
