package history

// Tables give the numbers of events their names. A row is written before its
// first use and never changed, to tables.jsonl, one row a line.
type Tables struct {
	Nodes     []Node
	Processes []Process
	Streams   []Stream
	Workloads []Workload
}

// A Workload is the work that one run_client call of a run by hand started.
type Workload struct {
	Scenario string   `json:"scenario"`
	SDK      string   `json:"sdk"`
	Protocol string   `json:"protocol"`
	Claims   []string `json:"claims"`             // of the scenario, those that can be judged by hand
	ExpiryS  float64  `json:"expiry_s,omitempty"` // see [Budget]
}

// A Node is one broker process of the cluster.
type Node struct {
	Name    string `json:"name"`              // node-1
	Address string `json:"address"`           // host of its listeners
	Version string `json:"version,omitempty"` // as it reports itself
}

// A Process is a logical client: one MQTT session or one mq9 worker.
type Process struct {
	Name     string   `json:"name"` // pub-1, offline-1
	ClientID string   `json:"client_id"`
	Group    string   `json:"group"`    // publisher, online, offline, paused, probe, …
	SDK      string   `json:"sdk"`      // go/paho.mqtt.golang@1.5.1
	Protocol string   `json:"protocol"` // mqtt3, mqtt5
	Clean    bool     `json:"clean"`    // clean session or clean start
	ExpiryS  int      `json:"expiry_s"` // session expiry it asked for; 0 for mqtt3
	Filters  []Filter `json:"filters,omitempty"`
	Dedupes  bool     `json:"dedupes"`          // the SDK removes QoS 2 duplicates by packet id itself
	Cannot   []string `json:"cannot,omitempty"` // things that its driver declared it cannot see: dup, packet_id, …
	Run      int      `json:"run_client"`       // which run_client call started it, from 0: of a run by hand, an index into Tables.Workloads
}

// A Filter is one subscription of a process.
type Filter struct {
	Filter string `json:"filter"`
	QoS    uint8  `json:"qos"`
}

// A Stream is all messages of one producer on one topic with one QoS. With
// its sequence number it is the identity of a message.
type Stream struct {
	Producer int32  `json:"producer"` // index into Tables.Processes
	Topic    string `json:"topic"`
	QoS      uint8  `json:"qos"`
	Retain   bool   `json:"retain,omitempty"`
	Register bool   `json:"register,omitempty"` // its topic is judged as a register, not as a queue
	Will     bool   `json:"will,omitempty"`     // its messages are wills: one for each CONNECT of its producer

	// Only for mq9.
	Priority    string `json:"priority,omitempty"`      // critical, urgent, normal; "" is normal
	TTLS        int    `json:"ttl_s,omitempty"`         // time to live of each message but end markers
	MailboxTTLS int    `json:"mailbox_ttl_s,omitempty"` // time to live of the mailbox that its topic is
}
