// Package cluster is the broker under test. A flavor says what the nodes are,
// the network where they run; only this package starts brokers.
package cluster

// Config asks for a cluster. Zero fields take the scenario's or the flavor's
// defaults.
type Config struct {
	Flavor    string         `json:"flavor,omitempty"`    // reference, robustmq, mosquitto, external
	Nodes     int            `json:"nodes,omitempty"`     // 1 to 5
	Binary    string         `json:"binary,omitempty"`    // path; else RMQ_ROBUSTMQ_BIN for robustmq, PATH for mosquitto
	Endpoints []string       `json:"endpoints,omitempty"` // external: host:port of each broker
	Username  string         `json:"username,omitempty"`  // external
	Password  string         `json:"password,omitempty"`  // external; never recorded
	Profile   string         `json:"profile,omitempty"`   // tested (default), or as-shipped: the vendor's own defaults
	Settings  map[string]any `json:"settings,omitempty"`  // the flavor's own keys, on top of the profile
}
