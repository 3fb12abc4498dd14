package experiment

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/broker/mq9"
	"github.com/robustmq/rmq-mcp/internal/broker/reference"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// mqttPort is what the tap listens at for the first node, where it can choose.
const mqttPort = 1883

// plantPort is what the planted proxy listens at for the first node.
const plantPort = 2883

// A tapping is the tap between clients and nodes, and the proxy behind it that has a
// defect of our own.
type tapping struct {
	*tap.Tap
	wire      *wire
	liar      *tap.Liar        // nil where no defect is planted
	endpoints []string         // the tap's, one for each node
	nodes     map[string]int16 // by endpoint
}

// openTap puts the tap between clients and nodes, where it is armed. In a star
// it is on a host of its own, so that its packets to a node pass the router as
// those of clients do.
func (s *stage) openTap() error {
	if !slices.Contains(s.start.Cluster.Arm, cluster.ArmTap) {
		return nil
	}
	host, err := s.network.Host("tap")
	if err != nil {
		return fmt.Errorf("make a host for the tap: %w", err)
	}
	opt := onHost(host)
	t := &tapping{wire: newWire(s.rec, s.shared, s.header, names(s.cluster.Nodes())), nodes: map[string]int16{}}
	opt.Observe = t.wire.connect
	if t.liar, err = s.plant(opt); err != nil {
		return err
	}
	if t.liar != nil {
		opt.Seen = t.liar.Seen
	}
	t.Tap = tap.New(opt)
	s.tap = t
	for i, n := range s.cluster.Nodes() {
		port, err := host.Port("mqtt-"+n.Name(), mqttPort+i)
		if err != nil {
			return fmt.Errorf("find a port for the tap: %w", err)
		}
		upstream, err := t.behind(host, n.Endpoint(s.start.Transport), i)
		if err != nil {
			return err
		}
		at, err := t.Listen(n.Name(), net.JoinHostPort(host.Address(), strconv.Itoa(port)), upstream)
		if err != nil {
			return err
		}
		t.endpoints = append(t.endpoints, at)
		t.nodes[at] = int16(i)
	}
	return nil
}

// close ends the tap and the proxy behind it. It returns how often the planted defect
// showed, and whether one was planted. A nil one has neither.
func (t *tapping) close() (shown int64, planted bool) {
	if t == nil {
		return 0, false
	}
	t.Close()
	if t.liar == nil {
		return 0, false
	}
	t.liar.Close()
	return t.liar.Shown(), true
}

// plants says whether the defect that is asked for, if any, can be planted.
func (s *spec) plants() error {
	c := s.start.Cluster
	switch {
	case c.Plant == "":
		return nil
	case strings.HasPrefix(c.Plant, mq9.PlantPrefix):
		p, err := mq9.FindPlant(c.Plant)
		s.planted = p.String()
		return cmp.Or(err, embedded(c))
	case strings.HasPrefix(c.Plant, reference.LeakPrefix):
		l, err := reference.FindLeak(c.Plant)
		s.planted = l.String()
		return cmp.Or(err, embedded(c))
	}
	p, err := tap.FindPlant(c.Plant)
	if err == nil && !slices.Contains(c.Arm, cluster.ArmTap) {
		err = fmt.Errorf("plant %s: it is planted behind the tap; arm that: --arm tap", c.Plant)
	}
	s.planted = p.String()
	return err
}

// embedded refuses a defect of the embedded broker's for any other.
func embedded(c cluster.Config) error {
	if !cluster.FlavorNamed(c.Flavor).Embedded {
		return fmt.Errorf("plant %s: it is one of the embedded broker, and this is %s; leave the flavor out", c.Plant, c.Flavor)
	}
	return nil
}

// plant makes the proxy with a defect of our own that stands between the tap and
// the nodes; nil where none is asked for.
func (s *stage) plant(opt tap.Options) (*tap.Liar, error) {
	p := s.start.Cluster.Plant
	if p == "" || strings.HasPrefix(p, mq9.PlantPrefix) || strings.HasPrefix(p, reference.LeakPrefix) {
		return nil, nil
	}
	plant, err := tap.FindPlant(p)
	if err != nil {
		return nil, err
	}
	return tap.NewLiar(plant, opt), nil
}

// behind returns where the tap finds a node: itself, or the planted proxy.
func (t *tapping) behind(host cluster.Host, node string, i int) (string, error) {
	if t.liar == nil {
		return node, nil
	}
	port, err := host.Port(fmt.Sprintf("plant-%d", i), plantPort+i)
	if err != nil {
		return "", fmt.Errorf("find a port for the plant: %w", err)
	}
	return t.liar.Listen(net.JoinHostPort(host.Address(), strconv.Itoa(port)), node)
}

// reach are the endpoints that clients of a protocol use by a transport, one for
// each node: in MQTT the tap's where it is armed for that transport.
func (s *stage) reach(protocol, transport string) []string {
	if protocol == contract.MQ9 {
		var all []string
		for _, n := range s.cluster.Nodes() {
			all = append(all, n.NATS())
		}
		return all
	}
	if s.tap != nil && transport == s.start.Transport {
		return s.tap.endpoints
	}
	return s.cluster.Endpoints(transport)
}

// recordsWire reports whether the packets of clients are in the history: TLS and
// WebSocket pass the tap unread.
func (s *stage) recordsWire() bool {
	return s.tap != nil && s.start.Transport == contract.TCP
}
