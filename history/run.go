package history

import "time"

// Format is the version of the run directory's layout.
const Format = 1

// A Run is the frozen plan of a run and its cluster, written before the first event:
// evidence/run.json. The verdict is decided from it, the tables, the events and the
// landings, and from nothing else.
type Run struct {
	Format      int         `json:"format"`
	ID          string      `json:"id"`
	Tool        string      `json:"tool"` // version of rmq-mcp
	Started     time.Time   `json:"started"`
	Scenario    string      `json:"scenario"`              // mqtt/broker-kill-9; "" for an exploration by hand
	Control     bool        `json:"control,omitempty"`     // without the scenario's faults
	ControlWhy  string      `json:"control_why,omitempty"` // why it is without faults, or without some, where nobody asked for that
	LeftOut     []string    `json:"left_out,omitempty"`    // faults of the scenario that it was without, beside others: kill of node-3
	Spread      int         `json:"spread,omitempty"`      // by which rule clients begin at nodes; 0 in older runs, which had others
	Lowered     string      `json:"lowered,omitempty"`     // how much less was published than the scenario asks for, and why
	ScenarioSHA string      `json:"scenario_sha256"`       // of its text, which is kept beside this file
	Seed        int64       `json:"seed"`
	Tier        string      `json:"tier"`     // smoke, hardening, release
	Protocol    string      `json:"protocol"` // mqtt3, mqtt5, mq9
	SDK         string      `json:"sdk"`
	Transport   string      `json:"transport,omitempty"` // tcp, tls, ws, wss; "" is tcp
	Wire        bool        `json:"wire,omitempty"`      // the tap records what passes: packets are in the history
	Drivers     int         `json:"drivers,omitempty"`   // processes of the publishers, and of the subscribers, as asked; 0 is 1
	ClocksS     float64     `json:"clocks_s,omitempty"`  // bound of the error of clients' times; 0: they were taken by the clock of the run
	InPods      bool        `json:"in_pods,omitempty"`   // of a scenario: the drivers of its workload run in pods, beside the nodes
	Cluster     ClusterInfo `json:"cluster"`
	Claims      []string    `json:"claims"` // names of the claims to judge: the question
	// Claims that are judged beside those where there is something to judge, and why
	// others are not, by name. They are frozen: a later version judges a run by the same.
	Beside     []string          `json:"beside,omitempty"`
	NotClaimed map[string]string `json:"not_claimed,omitempty"`
	WireClaims []string          `json:"wire_claims,omitempty"` // that packets are judged by; frozen likewise
	Reaches    map[string]int64  `json:"reaches,omitempty"`     // situations that are counted, and how often the scenario asks for each; frozen likewise
	Faults     []PlannedFault    `json:"faults"`                // the faults that must land
	Budget     Budget            `json:"budget"`                // the demands of the tier
	RunBits    string            `json:"run_header"`            // the eight characters by which payloads name this run
}

// OfControl ends the name of a control: the workload of a scenario without its faults.
const OfControl = " (control)"

// Name returns the scenario's name. A control has another name, because its runs say
// nothing of the effects of the faults.
func (r *Run) Name() string {
	if r.Control {
		return r.Scenario + OfControl
	}
	return r.Scenario
}

// ClusterInfo is the cluster as it really ran.
type ClusterInfo struct {
	Flavor    string            `json:"flavor"`  // reference, robustmq, mosquitto, external
	Runtime   string            `json:"runtime"` // process, docker
	Image     string            `json:"image,omitempty"`
	Planted   string            `json:"planted,omitempty"` // a defect of rmq-mcp's own, which the broker has not
	Isolation string            `json:"isolation"`         // namespaces, loopback
	Nodes     int               `json:"nodes"`
	Version   string            `json:"version"`
	Binary    string            `json:"binary,omitempty"` // file name
	BinarySHA string            `json:"binary_sha256,omitempty"`
	Document  string            `json:"document_sha256,omitempty"` // of the document that describes the broker
	Profile   string            `json:"profile"`                   // tested, as-shipped
	Config    map[string]any    `json:"config"`                    // effective configuration
	Differs   map[string]string `json:"differs_from_vendor"`       // key → "vendor's → ours"
	Promises  []string          `json:"promises"`                  // claims the vendor makes for this flavor and configuration
	Queue     int               `json:"queue_limit,omitempty"`     // messages of QoS 1 and 2 that a node keeps for a session; 0: no limit; [UnknownQueue]; with lacks.limits what many brokers keep
	QueueTold bool              `json:"queue_told,omitempty"`      // its operator or its document said so, and nothing of what is dropped when it is full
	InFlight  int               `json:"in_flight,omitempty"`       // messages of QoS 1 and 2 that a node has on their way to a client at most, by its settings; 0: not known
	SessionS  float64           `json:"session_s,omitempty"`       // how long a node keeps the session of an absent MQTT 3.1.1 client, by its settings; 0: for ever; with lacks.limits not known
	WaitS     float64           `json:"wait_s,omitempty"`          // how long a message waits for an absent MQTT client, by the settings; likewise
	Lacks     map[string]string `json:"lacks,omitempty"`           // the things it lacks (words.go), and why
	Host      map[string]string `json:"host"`                      // kernel, cores, memory
}

// A PlannedFault is one fault that the scenario's schedule requires.
type PlannedFault struct {
	Type   string         `json:"type"`
	Target string         `json:"target"`
	Params map[string]any `json:"params,omitempty"` // as asked, without defaults; older runs have none
}

// A Budget is the least a run must reach to count for its tier.
type Budget struct {
	DurationS float64 `json:"duration_s"`         // of the publishing phase
	Messages  int64   `json:"messages"`           // acknowledged
	Faults    int     `json:"faults"`             // landed
	MinRate   float64 `json:"min_rate"`           // share of the steady rate that must be reached before and after the fault
	ProgressS float64 `json:"progress_s"`         // longest allowed silence of all publishers during a fault; 0 for no such claim
	RecoveryS float64 `json:"recovery_s"`         // bound on recovery after the heal
	ExpiryS   float64 `json:"expiry_s,omitempty"` // how long after its time to live a mailbox or a message may be there; at least 1
	Fair      Fair    `json:"fair,omitzero"`      // how others may be served while a client misbehaves; all 0 for no such claim
	Growth    Growth  `json:"growth,omitzero"`    // how fast what a node takes may grow in the steady time
}

// Fair bounds how much worse a group of clients may be served while another client
// misbehaves than it was before. All 0, nothing is bound. With fewer than 200 messages
// only the rate is judged: their 99th percentile says nothing.
type Fair struct {
	Times    float64 `json:"times" yaml:"times"`       // the 99th percentile of their latencies: at most so many times that before
	FloorS   float64 `json:"floor_s" yaml:"floor_s"`   // one below this is never too slow
	Share    float64 `json:"share" yaml:"share"`       // their rate: at least this share of that before
	Messages int64   `json:"messages" yaml:"messages"` // decided over so many of a group, before and in the time of the fault
}

// Growth bounds how fast the resources of each node may grow under a steady load. A
// bound of 0 is not judged.
type Growth struct {
	MemoryMiB      float64 `yaml:"memory_mib_per_h" json:"memory_mib_per_h"`           // resident, without that of mapped files where it is told apart
	Descriptors    float64 `yaml:"descriptors_per_h" json:"descriptors_per_h"`         // open
	Connections    float64 `yaml:"connections_per_h" json:"connections_per_h"`         // of clients
	LatencyPercent float64 `yaml:"latency_percent_per_h" json:"latency_percent_per_h"` // of acknowledgements
}
