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
	NATSPort      int      `json:"nats_port"`
	ClusterPort   int      `json:"cluster_port"`      // between nodes
	HTTPPort      int      `json:"http_port"`         // /status and /metrics
	Routes        []string `json:"routes,omitempty"`  // host:port of every node's cluster port; none: a single node
	Dir           string   `json:"dir"`               // of its store
	Cluster       string   `json:"cluster,omitempty"` // name; all nodes the same
	Replicas      int      `json:"replicas"`          // of the MQTT streams, 1 to 3
	AckWaitMS     int      `json:"ack_wait_ms"`       // until an unacknowledged delivery is repeated; 0: the vendor's 30000
	MaxAckPending int      `json:"max_ack_pending"`   // unacknowledged deliveries per subscription; 0: the vendor's 1024
	SyncAlways    bool     `json:"sync_always"`       // fsync before a write is acknowledged; the vendor's default is every 2 minutes
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
	return c, nil
}

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
	if len(c.Routes) > 0 {
		o.Cluster = server.ClusterOpts{Name: c.Cluster, Host: c.Host, Port: c.ClusterPort, PoolSize: -1}
		for _, r := range c.Routes {
			o.Routes = append(o.Routes, server.RoutesFromStr("nats://"+r)...)
		}
	}
	return o
}
