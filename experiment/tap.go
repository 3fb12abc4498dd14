package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/broker/mq9"
	"github.com/robustmq/rmq-mcp/internal/broker/reference"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// mqttPort is what the tap listens at for the first node, where it can choose.
const mqttPort = 1883

// plantPort is what the planted proxy listens at for the first node.
const plantPort = 2883

// openTap puts the tap between clients and nodes, where it is armed. In a star
// it is on a host of its own, so that what it sends to a node passes the
// router as what clients send does.
func (e *Experiment) openTap() error {
	if !slices.Contains(e.start.Cluster.Arm, cluster.ArmTap) {
		return nil
	}
	host, err := e.network.Host("tap")
	if err != nil {
		return fmt.Errorf("make a host for the tap: %w", err)
	}
	var nodes []string
	for _, n := range e.cluster.Nodes() {
		nodes = append(nodes, n.Name())
	}
	opt := onHost(host)
	opt.Observe = Observe(e.rec, e.clock, e.header, nodes...)
	if err := e.plant(opt); err != nil {
		return err
	}
	if e.liar != nil {
		opt.Seen = e.liar.Seen
	}
	e.tap, e.tapped = tap.New(opt), map[string]int16{}
	for i, n := range e.cluster.Nodes() {
		port, err := host.Port("mqtt-"+n.Name(), mqttPort+i)
		if err != nil {
			return fmt.Errorf("find a port for the tap: %w", err)
		}
		upstream, err := e.behind(host, n.Endpoint(e.start.Transport), i)
		if err != nil {
			return err
		}
		at, err := e.tap.Listen(n.Name(), net.JoinHostPort(host.Address(), strconv.Itoa(port)), upstream)
		if err != nil {
			return err
		}
		e.endpoints = append(e.endpoints, at)
		e.tapped[at] = int16(i)
	}
	return nil
}

// plants says whether the defect that is asked for, if any, can be planted.
func (e *Experiment) plants() error {
	c := e.start.Cluster
	switch {
	case c.Plant == "":
		return nil
	case strings.HasPrefix(c.Plant, mq9.PlantPrefix):
		p, err := mq9.FindPlant(c.Plant)
		e.planted = p.String()
		return cmp.Or(err, embedded(c))
	case strings.HasPrefix(c.Plant, reference.LeakPrefix):
		l, err := reference.FindLeak(c.Plant)
		e.planted = l.String()
		return cmp.Or(err, embedded(c))
	}
	p, err := tap.FindPlant(c.Plant)
	if err == nil && !slices.Contains(c.Arm, cluster.ArmTap) {
		err = fmt.Errorf("plant %s: it is planted behind the tap; arm that: --arm tap", c.Plant)
	}
	e.planted = p.String()
	return err
}

// embedded refuses a defect of the embedded broker's for any other.
func embedded(c cluster.Config) error {
	if cmp.Or(c.Flavor, "reference") != "reference" {
		return fmt.Errorf("plant %s: it is one of the embedded broker, and this is %s; leave the flavor out", c.Plant, c.Flavor)
	}
	return nil
}

// plant makes the proxy with a defect of our own that stands between the tap and
// the nodes, where one is asked for.
func (e *Experiment) plant(opt tap.Options) error {
	p := e.start.Cluster.Plant
	if p == "" || strings.HasPrefix(p, mq9.PlantPrefix) || strings.HasPrefix(p, reference.LeakPrefix) {
		return nil
	}
	plant, err := tap.FindPlant(p)
	if err == nil {
		e.liar = tap.NewLiar(plant, opt)
	}
	return err
}

// behind answers where the tap finds a node: itself, or the planted proxy.
func (e *Experiment) behind(host cluster.Host, node string, i int) (string, error) {
	if e.liar == nil {
		return node, nil
	}
	port, err := host.Port(fmt.Sprintf("plant-%d", i), plantPort+i)
	if err != nil {
		return "", fmt.Errorf("find a port for the plant: %w", err)
	}
	return e.liar.Listen(net.JoinHostPort(host.Address(), strconv.Itoa(port)), node)
}

// reach are the endpoints that clients of a protocol use by a transport, one for
// each node: in MQTT the tap's where it is armed for that transport.
func (e *Experiment) reach(protocol, transport string) []string {
	if protocol == contract.MQ9 {
		var all []string
		for _, n := range e.cluster.Nodes() {
			all = append(all, n.NATS())
		}
		return all
	}
	if e.tap != nil && transport == e.start.Transport {
		return e.endpoints
	}
	return e.cluster.Endpoints(transport)
}

// recordsWire reports whether the packets of clients are in the history: TLS and
// WebSocket pass the tap unread.
func (e *Experiment) recordsWire() bool {
	return e.tap != nil && e.start.Transport == contract.TCP
}

func (e *Experiment) tapLayer(string) (faults.Layer, error) {
	if e.tap == nil {
		return nil, errors.New("the tap was not armed")
	}
	if !e.recordsWire() {
		return nil, fmt.Errorf("the tap cannot read MQTT over %s; start with transport tcp", e.start.Transport)
	}
	return faults.NewTapLayer(e.tap), nil
}
