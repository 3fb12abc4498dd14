package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Ways to speak MQTT to a node.
const (
	transportTCP = "tcp"
	transportTLS = "tls"
	transportWS  = "ws" // path /mqtt
	transportWSS = "wss"
)

// Transports are all of them. Every flavor has them.
func Transports() []string { return []string{transportTCP, transportTLS, transportWS, transportWSS} }

// servicePorts returns the usual ports of the transports besides tcp, by the service
// names that a node's ports have.
func servicePorts() map[string]int { return map[string]int{"mqtts": 8883, "ws": 8083, "wss": 8084} }

// service is the name of a transport among a node's ports.
func service(transport string) string {
	switch transport {
	case "", transportTCP:
		return "mqtt"
	case transportTLS:
		return "mqtts"
	}
	return transport
}

// checkTransports refuses what nobody speaks, and leaves each once, without tcp.
func checkTransports(config *Config) error {
	var extra []string
	for _, t := range config.Transports {
		if !slices.Contains(Transports(), t) {
			return fmt.Errorf("no transport %q; there are %s", t, strings.Join(Transports(), ", "))
		}
		if t != transportTCP && !slices.Contains(extra, t) {
			extra = append(extra, t)
		}
	}
	config.Transports = extra
	if !config.Foreign() {
		if config.CA != "" {
			return errors.New("ca is for the flavor external; leave it out: other nodes get a certificate of ours")
		}
		return nil
	}
	if len(extra) > 1 {
		return fmt.Errorf("transports %s: each endpoint of external has one", strings.Join(extra, ", "))
	}
	if config.secure() {
		if _, err := os.Stat(config.CA); err != nil {
			return fmt.Errorf("ca, the certificate that clients trust, is needed for %s: %w", extra[0], err)
		}
	}
	return nil
}

// secure reports whether any of its listeners has TLS.
func (c Config) secure() bool {
	return slices.Contains(c.Transports, transportTLS) || slices.Contains(c.Transports, transportWSS)
}

// listeners are the ports that a node needs for the transports asked for,
// besides those that it has anyway.
func (c Config) listeners(ports map[string]int) map[string]int {
	for _, t := range c.Transports {
		ports[service(t)] = servicePorts()[service(t)]
	}
	return ports
}

// Endpoint is its MQTT listener of a transport, host:port; "" where it has none.
// An empty transport is tcp.
func (n *Node) Endpoint(transport string) string {
	if service(transport) == "mqtt" || n.ports == nil {
		return n.mqtt
	}
	port, ok := n.ports[service(transport)]
	if !ok {
		return ""
	}
	return net.JoinHostPort(n.Address(), strconv.Itoa(port))
}

// Listeners are all that clients may use, host:port.
func (n *Node) Listeners() []string {
	all := []string{n.NATS()}
	for _, t := range Transports() {
		all = append(all, n.Endpoint(t))
	}
	return all
}

// CA is the file of the certificate that clients trust; "" without TLS.
func (c *Cluster) CA() string { return c.plan.ca }
