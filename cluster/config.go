// Package cluster is the broker under test. A flavor says what the nodes are,
// the network where they run; only this package starts brokers.
package cluster

import "github.com/robustmq/rmq-mcp/internal/secret"

// Config asks for a cluster. Zero fields take the scenario's or the flavor's
// defaults.
type Config struct {
	Flavor        string         `json:"flavor,omitempty"`         // a name of [Flavors]
	Broker        string         `json:"broker,omitempty"`         // path of the document that describes the broker; see [Config.Load]
	Document      *Document      `json:"document,omitempty"`       // what was read from it
	Runtime       string         `json:"runtime,omitempty"`        // a name of [Runtimes]; process by default
	Image         string         `json:"image,omitempty"`          // docker, kubernetes: what the nodes are made of
	Version       string         `json:"version,omitempty"`        // such as v0.4.11; downloaded, installed from a registry, or the tag of the vendor's image
	VersionSHA256 string         `json:"version_sha256,omitempty"` // of its archive; else what is published with it
	Nodes         int            `json:"nodes,omitempty"`          // 1 to 5
	Binary        string         `json:"binary,omitempty"`         // path; else RMQ_ROBUSTMQ_BIN for robustmq, PATH for mosquitto. In docker: in the image
	Endpoints     []string       `json:"endpoints,omitempty"`      // external: host:port of each broker
	Protocol      string         `json:"protocol,omitempty"`       // external: mq9, where the endpoints are NATS listeners; else they are of MQTT
	Transports    []string       `json:"transports,omitempty"`     // tls, ws, wss: what nodes listen on besides tcp. External: the one way that its endpoints are spoken to
	CA            string         `json:"ca,omitempty"`             // external: file of the certificate that clients trust, PEM
	Containers    []string       `json:"containers,omitempty"`     // external: the container of each, on this machine's docker engine
	Vanishing     string         `json:"-"`                        // external: one of the containers that is removed when it ends; see [Vanishing]
	PIDs          []int          `json:"pids,omitempty"`           // external: the process of each, on this machine
	Pods          []string       `json:"pods,omitempty"`           // external: the pod of each, namespace/name, in the cluster of kubectl
	QueueLimit    int            `json:"queue_limit,omitempty"`    // external: messages of QoS 1 and 2 that a broker keeps for a session; 0: not known
	Username      string         `json:"username,omitempty"`       // external
	Password      secret.Text    `json:"password,omitzero"`        // external; never recorded
	Profile       string         `json:"profile,omitempty"`        // tested (default), or as-shipped: the vendor's own defaults
	Settings      map[string]any `json:"settings,omitempty"`       // the flavor's own keys, on top of the profile
	Arm           []string       `json:"arm,omitempty"`            // what must be in place before a node starts for faults to act on: disk, clock, tap
	Plant         string         `json:"plant,omitempty"`          // with the tap: a defect of rmq-mcp's own that a proxy before the nodes shows, to test the judge
	DiskModel     string         `json:"disk_model,omitempty"`     // what the armed disk takes for durable: ext4 (default), xfs, strict
}
