package history

import "time"

// A Landing is the server's own proof that an injection had effect: what was
// meant, what was measured before, during and after it, and what follows.
type Landing struct {
	Fault     string         `json:"fault"`            // f1, f2, … in order of injection
	Type      string         `json:"type"`             // kill, pause, …
	Target    string         `json:"target"`           // as asked: leader
	Nodes     []string       `json:"nodes"`            // as resolved: node-2
	Params    map[string]any `json:"params,omitempty"` // with defaults filled in
	Mechanism string         `json:"mechanism"`        // sigkill, freezer, nft, …
	Call      int            `json:"call"`             // the journal's entry that asked for it
	Times     LandingTimes   `json:"times"`
	Proofs    []ProofRecord  `json:"proofs"`
	State     LandingState   `json:"state"`
	Healed    HealState      `json:"healed"`
	Reasons   []string       `json:"reasons,omitempty"` // why it is not landed, or not healed
}

// LandingTimes are nanoseconds since the start of the run; 0 is not yet.
type LandingTimes struct {
	AppliedNS  int64 `json:"applied_ns"`
	HealNS     int64 `json:"heal_ns"`   // the heal began
	HealedNS   int64 `json:"healed_ns"` // read back healed
	PlannedNS  int64 `json:"planned_ns"`
	DurationNS int64 `json:"duration_ns"` // the bound asked for
}

// LandingState is what the proofs say of an injection.
type LandingState string

const (
	Landed        LandingState = "landed"
	NotLanded     LandingState = "not_landed"
	Partial       LandingState = "partial"
	Indeterminate LandingState = "indeterminate"
	Unsupported   LandingState = "unsupported"
)

// HealState is what reading back said of a heal.
type HealState string

const (
	HealPending  HealState = "pending"
	HealVerified HealState = "verified"
	HealFailed   HealState = "failed"
)

// Role is what a proof stands for.
type Role string

const (
	RoleMechanism Role = "mechanism" // the means: a counter, an exit status, a process state
	RoleEffect    Role = "effect"    // the end: a probe, as a client or a peer would see it
	RoleControl   Role = "control"   // the same probe on something untouched
)

// Want is what a proof expects of the samples taken while the fault is in
// place, against those taken before.
type Want string

const (
	WantState  Want = "state"  // the sample's State is Expect, and was not before
	WantFails  Want = "fails"  // the probe succeeded before and fails during
	WantGrows  Want = "grows"  // the counter is larger
	WantSlower Want = "slower" // the value grew by at least Margin
	WantStill  Want = "still"  // control: the probe succeeds throughout, its value within Margin
)

// A ProofRecord is one signal: what it expects and what was sampled.
type ProofRecord struct {
	Name    string   `json:"name"` // exit status of node-2
	Role    Role     `json:"role"`
	Want    Want     `json:"want"`
	Expect  string   `json:"expect,omitempty"`
	Margin  float64  `json:"margin,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	Samples []Sample `json:"samples"`
	Holds   bool     `json:"holds"`
	Why     string   `json:"why,omitempty"`
}

// Moment is when, within an injection, a sample was taken.
type Moment string

const (
	Before Moment = "before"
	During Moment = "during"
	After  Moment = "after"
)

// A Sample is one reading of a proof's probe.
type Sample struct {
	Moment Moment  `json:"moment"`
	TimeNS int64   `json:"t_ns"`
	OK     bool    `json:"ok"`              // the probe itself succeeded
	Value  float64 `json:"value,omitempty"` // in the proof's unit
	State  string  `json:"state,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// Window is the time a fault was in place.
type Window struct {
	Fault      string
	Start, End time.Duration
}
