package verdict

import "github.com/robustmq/rmq-mcp/history"

// Input is everything that decides one run. Nothing else may.
type Input struct {
	Run      *history.Run
	Landings []history.Landing
	Results  []Result
	Complete Completeness
	Coverage Coverage
	Harness  []string // failures of the harness itself, in words; a broken broker is not in here
	Root     string   // root hash of the run's seal, "" before it is sealed
}

// Completeness says whether missing rows could explain a missing event. Only a complete
// history can show a loss, and only to a subscriber that had the time to get its
// waiting messages.
type Completeness struct {
	Closed    bool     `json:"closed"`              // the file ends in order, and every driver said how much it had written, and that much arrived
	Why       []string `json:"why,omitempty"`       // the missing parts
	Undrained []string `json:"undrained,omitempty"` // subscribers that may have had something still to get
}

// Coverage is how much load a run really had. Rates are acknowledged publishes
// per second; before and after are the later halves of the steady and of the
// recovery phase, when clients had time to settle.
type Coverage struct {
	SteadyPerS    float64          `json:"steady_per_s"`
	BeforePerS    float64          `json:"before_per_s"`
	FaultPerS     float64          `json:"fault_per_s"`
	AfterPerS     float64          `json:"after_per_s"`
	LongestGapS   float64          `json:"longest_gap_s"` // longest silence of acknowledged publishes while publishing
	DurationS     float64          `json:"duration_s"`    // of the publishing phase
	Acked         int64            `json:"acked"`
	Indeterminate float64          `json:"indeterminate"`         // share of publishes whose outcome is unknown, 0 to 1
	HostStarvedS  float64          `json:"host_starved_s"`        // time in which the host kept the harness from running
	Recorded      int64            `json:"recorded"`              // events in the history
	Idle          []string         `json:"idle,omitempty"`        // faults in whose time no message was on its way
	Ended         []string         `json:"ended,omitempty"`       // nodes, and the witness, that ended by nothing of the run's doing, nor of their own; in words
	Gone          []string         `json:"gone,omitempty"`        // processes of ours that ended or stood still without being asked; in words
	Unjudged      []string         `json:"unjudged,omitempty"`    // observations that no claim of the run judges; in words
	Reached       map[string]int64 `json:"reached,omitempty"`     // how often the run came into each situation that it counts, by name
	PlantShown    *int64           `json:"plant_shown,omitempty"` // how often the defect that rmq-mcp planted before the nodes showed
}

// Totals reconcile what was sent with what arrived, over the whole run.
type Totals struct {
	Sent       int64 `json:"sent"`       // publishes called
	Acked      int64 `json:"acked"`      // of QoS 1 and 2: the broker acknowledged them
	Unknown    int64 `json:"unknown"`    // of QoS 1 and 2: whether it did is unknown
	Received   int64 `json:"received"`   // deliveries, over all subscribers
	Lost       int64 `json:"lost"`       // acknowledged, due and never delivered: per subscriber, and per group whose members share them
	Duplicated int64 `json:"duplicated"` // further deliveries of a message to the same subscriber
	Recovered  int64 `json:"recovered"`  // outcome unknown, yet delivered: allowed
}

// A NodePair counts the messages from publishers connected to one node to subscribers
// connected to another, or to the same one.
type NodePair struct {
	From      string  `json:"from"`
	To        string  `json:"to"`
	Delivered int64   `json:"delivered"`
	Lost      int64   `json:"lost"`     // of Totals.Lost, by the node that the subscriber was at last; those of groups count at none
	SilentS   float64 `json:"silent_s"` // the longest time without a delivery behind a publish, while a publisher and a subscriber of it were connected
}

// A Member is what came to one member of a shared subscription.
type Member struct {
	Group     string  `json:"group"` // $share/NAME/FILTER
	Name      string  `json:"name"`
	Node      string  `json:"node,omitempty"` // that it was connected to at last
	Delivered int64   `json:"delivered"`
	SilentS   float64 `json:"silent_s"` // the longest time without a delivery, while it was connected and others of its group were sent something
}

// maxIndeterminate is the share of unknown outcomes above which a history says
// too little.
const maxIndeterminate = 0.05

// MaxStarvedS is the longest standstill of the host, in seconds, that does not explain
// a delay.
const MaxStarvedS = 1.0
