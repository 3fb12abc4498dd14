// Package reference is the embedded broker: nats-server as a library, with
// JetStream and its MQTT 3.1.1 listener. One process is one node; the nodes of
// a cluster find each other by their routes.
package reference

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Version is the broker's own, as it reports itself.
const Version = server.VERSION

// Config is one node, as its file says it. Ports have no defaults.
type Config struct {
	Name          string   `json:"name"` // node-1; unique in the cluster
	Host          string   `json:"host"` // address of every listener
	MQTTPort      int      `json:"mqtt_port"`
	TLSPort       int      `json:"tls_port,omitempty"` // MQTT over TLS, WebSocket, and that over TLS; 0 for none
	WSPort        int      `json:"ws_port,omitempty"`
	WSSPort       int      `json:"wss_port,omitempty"`
	Cert          string   `json:"cert,omitempty"` // files of what TLS needs, PEM
	Key           string   `json:"key,omitempty"`
	NATSPort      int      `json:"nats_port"`
	ClusterPort   int      `json:"cluster_port"`      // between nodes
	HTTPPort      int      `json:"http_port"`         // /status, /metrics, and lists of mq9
	Routes        []string `json:"routes,omitempty"`  // host:port of every node's cluster port; none: a single node
	Dir           string   `json:"dir"`               // of its store
	Cluster       string   `json:"cluster,omitempty"` // name; all nodes the same
	Replicas      int      `json:"replicas"`          // of the MQTT streams, 1 to 3
	AckWaitMS     int      `json:"ack_wait_ms"`       // until an unacknowledged delivery is repeated; 0: the vendor's 30000
	MaxAckPending int      `json:"max_ack_pending"`   // unacknowledged deliveries per subscription; 0: the vendor's 1024
	SyncAlways    bool     `json:"sync_always"`       // fsync before a write is acknowledged; the vendor's default is every 2 minutes
	Plant         string   `json:"plant,omitempty"`   // a defect of mq9, or a leak, that the node shows, to test the judge
	Build         string   `json:"-"`                 // of the program that it is part of
	StdinGuard    bool     `json:"stdin_guard"`       // the node ends when its standard input does
}

// ReadConfig reads a node's configuration file.
func ReadConfig(path string) (Config, error) {
	var c Config
	b, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("read node configuration: %w", err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("read node configuration %s: %w", path, err)
	}
	c.Host = os.ExpandEnv(c.Host) // a pod learns its address when it starts
	return c, nil
}

// routePing is how often a node pings another. Two pings without an answer end the
// connection, on both sides of a cut, within the time of an election. With the
// default it would take minutes: after a cut heals, one side would keep using a
// connection that the other has given up.
const routePing = 2 * time.Second

// maxPayload is the largest message that a node takes, in bytes.
const maxPayload = 16 << 20

// maxControlLine is the longest line between nodes, in bytes. By default it is
// 4,096, and a client that publishes to a topic as long as MQTT allows, 65,535
// bytes, ends the connection of two nodes.
const maxControlLine = 1 << 20

// options are the broker's own for c.
func (c Config) options() *server.Options {
	o := &server.Options{
		ServerName:          c.Name,
		Host:                c.Host,
		Port:                c.NATSPort,
		NoSigs:              true,
		JetStream:           true,
		StoreDir:            c.Dir,
		SyncAlways:          c.SyncAlways,
		MaxPayload:          maxPayload,
		MaxControlLine:      maxControlLine,
		LameDuckDuration:    500 * time.Millisecond,
		LameDuckGracePeriod: 10 * time.Millisecond,
		MQTT: server.MQTTOpts{
			Host:           c.Host,
			Port:           c.MQTTPort,
			StreamReplicas: c.Replicas,
			AckWait:        time.Duration(c.AckWaitMS) * time.Millisecond,
			MaxAckPending:  uint16(c.MaxAckPending),
		},
	}
	if c.WSPort != 0 || c.WSSPort != 0 {
		o.Websocket = server.WebsocketOpts{Host: c.Host, Port: c.WSPort, NoTLS: true}
	}
	if len(c.Routes) > 0 {
		o.Cluster = server.ClusterOpts{
			Name: c.Cluster, Host: c.Host, Port: c.ClusterPort, PoolSize: -1,
			PingInterval: routePing, MaxPingsOut: 2,
		}
		for _, r := range c.Routes {
			o.Routes = append(o.Routes, server.RoutesFromStr("nats://"+r)...)
		}
	}
	return o
}
