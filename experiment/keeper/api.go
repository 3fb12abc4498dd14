// Package keeper is the process that owns one experiment, and how the server
// and the command line reach it. A keeper outlives whoever started it: it
// speaks HTTP on a unix socket in the state directory, to any number of
// servers and terminals.
package keeper

import (
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/loglines"
	"github.com/robustmq/rmq-mcp/internal/secret"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Caller is who asks, for the run's journal.
type Caller struct {
	Via     string         `json:"via"`              // mcp, cli
	Client  string         `json:"client,omitempty"` // claude-code 2.1.329
	Tool    string         `json:"tool"`             // inject_fault, run
	Args    map[string]any `json:"args,omitempty"`
	UseID   string         `json:"use_id,omitempty"`  // the model's own id of the call
	Session string         `json:"session,omitempty"` // of the host, where it tells it
}

// Start asks for an experiment: a scenario from beginning to verdict, or a
// cluster to explore by hand.
type Start struct {
	Scenario  string         `json:"scenario,omitempty"`  // name or path of a file; "" to explore by hand
	Cluster   cluster.Config `json:"cluster"`             // zero fields: the scenario's
	SDK       string         `json:"sdk,omitempty"`       // lang@version; "": the scenario's
	Protocol  string         `json:"protocol,omitempty"`  // "": the scenario's
	Transport string         `json:"transport,omitempty"` // tcp, tls, ws, wss; "": tcp
	Seed      int64          `json:"seed,omitempty"`      // 0: the clock's
	Tier      string         `json:"tier,omitempty"`      // smoke, hardening, release; "": smoke
	Drivers   int            `json:"drivers,omitempty"`   // processes for the clients of a side, publishers or subscribers; 0: 1
	NoFaults  bool           `json:"no_faults,omitempty"` // the scenario's workload alone: a control
	OffNodes  bool           `json:"off_nodes,omitempty"` // without the scenario's faults on nodes
	GraceS    int            `json:"grace_s,omitempty"`   // by hand: how long after the last caller is gone it is stopped
	Caller    Caller         `json:"caller,omitzero"`

	// Envelope are the limits of whoever asks; nil for a person, who has none.
	Envelope *envelope.Envelope `json:"envelope,omitempty"`
}

// Frozen returns the part of a start that a run's record keeps, so that the run
// can be made again. It leaves out the caller, the limits, the grace and the
// password.
func (s Start) Frozen() Start {
	s.Caller, s.Envelope, s.GraceS, s.Cluster.Password = Caller{}, nil, 0, secret.Text{}
	return s
}

// Status is all that is known about an experiment now.
type Status struct {
	ID       string               `json:"run_id"`
	Dir      string               `json:"dir"`
	Scenario string               `json:"scenario,omitempty"`
	Phase    string               `json:"phase"`
	Live     bool                 `json:"live"` // its keeper is running
	Elapsed  float64              `json:"elapsed_s"`
	Expected float64              `json:"expected_s,omitempty"` // of the whole scenario
	Started  time.Time            `json:"started"`
	Cluster  *history.ClusterInfo `json:"cluster,omitempty"`
	Nodes    []NodeStatus         `json:"nodes"`
	Faults   []FaultStatus        `json:"faults"`
	Clients  []ClientStatus       `json:"clients"`
	Counts   Counts               `json:"counts"`
	Error    string               `json:"error,omitempty"`   // the harness could not do its job
	Verdict  *verdict.Verdict     `json:"verdict,omitempty"` // once judged
	Root     string               `json:"root,omitempty"`    // of the seal
}

// NodeStatus is one node as it is now.
type NodeStatus struct {
	Name    string   `json:"name"`
	State   string   `json:"state"` // running, frozen, exited: signal 9
	MQTT    string   `json:"mqtt"`  // host:port, inside the experiment
	Version string   `json:"version,omitempty"`
	Roles   []string `json:"roles"` // leader, follower
	Faults  []string `json:"faults"`
}

// FaultStatus is one injection.
type FaultStatus struct {
	ID      string               `json:"fault_id"`
	Type    string               `json:"type"`
	Target  string               `json:"target"`
	Nodes   []string             `json:"nodes"`
	State   history.LandingState `json:"landing"`
	Healed  history.HealState    `json:"healed"` // [history.Landing.Heal]
	HealsIn float64              `json:"heals_in_s,omitempty"`
	Reasons []string             `json:"reasons,omitempty"`
}

// ClientStatus is one run_client, or the workload of a scenario.
type ClientStatus struct {
	Number   int    `json:"number"`
	Workload string `json:"workload"`
	SDK      string `json:"sdk"`
	State    string `json:"state"` // running, draining, done, failed
	Counts   Counts `json:"counts"`
	Error    string `json:"error,omitempty"`
}

// Counts reconcile what was sent with what arrived, so far. Lost is only known
// once drained.
type Counts struct {
	Sent        int64   `json:"sent"`  // publishes called
	Acked       int64   `json:"acked"` // the broker acknowledged
	Unknown     int64   `json:"unknown"`
	Received    int64   `json:"received"` // deliveries, over all subscribers
	Lost        int64   `json:"lost"`
	Duplicated  int64   `json:"duplicated"`
	PublishPerS float64 `json:"publish_per_s"`
	DeliverPerS float64 `json:"deliver_per_s"`
}

// Inject asks for one fault.
type Inject struct {
	Type   string         `json:"type"`
	Target string         `json:"target"`
	Params map[string]any `json:"params,omitempty"` // duration_s and the fault's own
	Caller Caller         `json:"caller"`

	// Envelope is the limits of the caller, beside those of the start; nil for a person.
	Envelope *envelope.Envelope `json:"envelope,omitempty"`
}

// Heal asks to heal one fault now.
type Heal struct {
	Fault  string `json:"fault_id"`
	Caller Caller `json:"caller"`
}

// RunClient asks for a scenario's workload, with one SDK, on the cluster as it
// is.
type RunClient struct {
	Scenario  string `json:"scenario"` // its workload
	SDK       string `json:"sdk"`      // lang@version
	Protocol  string `json:"protocol"`
	Transport string `json:"transport,omitempty"` // "": that of the start

	DurationS float64 `json:"duration_s,omitempty"` // of the traffic; 0: a minute, or as long as the scenario would

	Caller   Caller             `json:"caller"`
	Envelope *envelope.Envelope `json:"envelope,omitempty"` // as that of [Inject]
}

// Logs asks for lines of the nodes' logs.
type Logs struct {
	loglines.Query
	Caller Caller
}

// LogLines answers Logs.
type LogLines struct {
	Lines  []loglines.Line `json:"lines"`
	Total  int             `json:"total"` // matches in the range
	Levels map[string]int  `json:"levels"`
	Next   string          `json:"next,omitempty"` // cursor for more
}

// Metrics asks for a node's metrics; no node means all.
type Metrics struct {
	Node   string   `json:"node,omitempty"`
	Names  []string `json:"names,omitempty"` // regular expressions; none: the summary's own choice
	Series bool     `json:"series,omitempty"`
	Caller Caller   `json:"caller"`
}

// MetricsAnswer summarizes each metric before, during and after the faults.
type MetricsAnswer struct {
	Metrics []Metric `json:"metrics"`
	Left    int      `json:"left_out"` // metrics that exist and did not match or fit
}

// Metric is one metric of one node.
type Metric struct {
	Node   string       `json:"node"`
	Name   string       `json:"name"`
	Now    float64      `json:"now"`
	Before *Range       `json:"before,omitempty"`
	During *Range       `json:"during,omitempty"`
	After  *Range       `json:"after,omitempty"`
	Series [][2]float64 `json:"series,omitempty"` // seconds since the start, value
}

// Range is how a metric moved over a time.
type Range struct {
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Last float64 `json:"last"`
}

// Progress is one line for people, as the run goes.
type Progress struct {
	At     float64  `json:"at_s"`
	Phase  string   `json:"phase"`
	Text   string   `json:"text"` // an event worth a line; "" for a tick
	Counts Counts   `json:"counts"`
	Faults []string `json:"faults,omitempty"` // in place now: "kill node-2, heals in 4 s"
	Waits  string   `json:"waits,omitempty"`  // what a drain waits for, and until when
	Share  float64  `json:"share"`            // of the expected time, 0 to 1
}
