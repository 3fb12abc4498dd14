package reports

import (
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Report is report.json: everything that is known about a run, in one
// document. report.schema.json describes it.
type Report struct {
	Format     int                  `json:"format"`
	ID         string               `json:"run_id"`
	Tool       string               `json:"tool"` // version of rmq-mcp that ran it
	Started    time.Time            `json:"started"`
	DurationS  float64              `json:"duration_s"`
	Scenario   ScenarioInfo         `json:"scenario"`
	Protocol   string               `json:"protocol"`
	Transport  string               `json:"transport,omitempty"` // tls, ws, wss; "" is tcp
	LeftOut    []string             `json:"left_out,omitempty"`  // faults of the scenario that the run was without, beside others
	Lowered    string               `json:"lowered,omitempty"`   // how much less was published than the scenario asks for, and why
	Wire       bool                 `json:"wire,omitempty"`      // the packets were recorded
	SDKs       []SDK                `json:"sdks"`
	InPods     bool                 `json:"clients_in_pods,omitempty"` // of a scenario: the drivers of its workload ran in pods, beside the nodes
	Seed       int64                `json:"seed"`
	Tier       string               `json:"tier"`
	Cluster    history.ClusterInfo  `json:"cluster"`
	Nodes      []history.Node       `json:"nodes"`
	Phases     []Phase              `json:"phases"`
	Calls      []CallRecord         `json:"calls"` // what was asked and answered, in order
	Totals     verdict.Totals       `json:"totals"`
	NodePairs  []verdict.NodePair   `json:"node_pairs,omitempty"` // of a cluster
	Members    []verdict.Member     `json:"members,omitempty"`    // of shared subscriptions
	Coverage   verdict.Coverage     `json:"coverage"`
	Complete   verdict.Completeness `json:"completeness"`
	Verdict    verdict.Verdict      `json:"verdict"`              // with a result per claim
	Shortfalls []verdict.Shortfall  `json:"shortfalls,omitempty"` // that keep it from a better state, beside violations
	Landings   []history.Landing    `json:"landings"`
	FaultLogs  []FaultLog           `json:"fault_logs,omitempty"`
	Losses     Losses               `json:"losses"`
	Violations []Violations         `json:"violations"` // what the claims found, counted
	Story      *Story               `json:"story,omitempty"`
	Panics     []Panic              `json:"panics,omitempty"`
	PanicsCut  bool                 `json:"panics_cut,omitempty"` // there are more places of panics
	Harness    []string             `json:"harness_errors"`
	Notes      []Note               `json:"notes"` // the agent's own words, quoted
	Logs       []LogFile            `json:"logs"`
	Evidence   Evidence             `json:"evidence"`
	Reproduce  string               `json:"reproduce"`            // the command
	NotChosen  []string             `json:"not_chosen,omitempty"` // what the command does not choose
	Blame      *Blame               `json:"blame,omitempty"`
	Matrix     *Membership          `json:"matrix,omitempty"`
	Series     *Series              `json:"series,omitempty"` // the run and its repetitions
	Plans      []PlanPlace          `json:"plans,omitempty"`  // that it is an attempt of
}

// ScenarioInfo is the scenario as it was when the run began.
type ScenarioInfo struct {
	Name   string `json:"name"` // "" for an exploration by hand; that of a control says so
	Title  string `json:"title"`
	SHA256 string `json:"sha256"`
	Text   string `json:"text"` // front matter and prose
}

// An SDK is a client library that took part.
type SDK struct {
	Name     string `json:"name"` // go/paho.mqtt.golang
	Version  string `json:"version"`
	Protocol string `json:"protocol"`
	Clients  int    `json:"clients"`
}

// A CallRecord is one entry of the journal.
type CallRecord struct {
	Number int       `json:"number"`
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"` // start, call, answer, stop, end
	Via    string    `json:"via,omitempty"`
	Client string    `json:"client,omitempty"`
	Tool   string    `json:"tool,omitempty"`
	Args   any       `json:"args,omitempty"`
	Answer any       `json:"answer,omitempty"`
	Hash   string    `json:"hash"`
}

// Losses are the messages that were acknowledged and never delivered.
type Losses struct {
	Total  int64       `json:"total"`         // as counted, per subscriber, and per group whose members share them
	Proven bool        `json:"proven"`        // a claim failed by them
	Why    string      `json:"why,omitempty"` // they, or some of them, prove no loss
	Listed int64       `json:"listed"`        // of them in Ranges
	Ranges []LossRange `json:"ranges"`
}

// A LossRange is consecutive messages of one stream that one subscriber, or all members of a
// shared subscription, missed.
type LossRange struct {
	Subscriber string `json:"subscriber"` // or $share/NAME/FILTER
	Group      string `json:"group"`
	Publisher  string `json:"publisher,omitempty"` // older reports have none
	Topic      string `json:"topic"`
	QoS        uint8  `json:"qos"`
	First      int64  `json:"first_seq"`
	Last       int64  `json:"last_seq"`
	FromNS     int64  `json:"published_from_ns"`
	ToNS       int64  `json:"published_to_ns"`
	When       string `json:"when"` // relative to the faults
}

// A LogFile is one log of the run, relative to its directory.
type LogFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Evidence is what the seal holds, in short.
type Evidence struct {
	Root           string    `json:"root"`
	Files          int       `json:"files"`
	JournalHead    string    `json:"journal_head"`
	JournalEntries int       `json:"journal_entries"`
	PublicKey      string    `json:"public_key"`
	Sealed         time.Time `json:"sealed"`
}
