package history

import (
	"strings"
	"time"
)

// A Landing is the server's own proof that an injection had effect: its intent, the
// measurements before, during and after it, and the conclusion.
type Landing struct {
	Fault     string            `json:"fault"`             // f1, f2, … in order of injection
	Type      string            `json:"type"`              // kill, pause, …
	Target    string            `json:"target"`            // as asked: leader
	Nodes     []string          `json:"nodes"`             // as resolved: node-2
	Params    map[string]any    `json:"params,omitempty"`  // with defaults filled in
	Mechanism string            `json:"mechanism"`         // sigkill, freezer, nft, …
	Ends      bool              `json:"ends,omitempty"`    // the processes of its nodes may end by it
	Rolling   bool              `json:"rolling,omitempty"` // each node in turn, and so back: its heal ends the processes of nodes
	Forges    bool              `json:"forges,omitempty"`  // bytes may arrive changed, and nobody can notice
	Call      int               `json:"call"`              // the journal's entry that asked for it
	ByHand    bool              `json:"by_hand,omitempty"` // a person or an agent asked for it, and not the scenario
	Times     LandingTimes      `json:"times"`
	Proofs    []ProofRecord     `json:"proofs"`
	State     LandingState      `json:"state"`
	Healed    HealState         `json:"healed"`
	Down      map[string]string `json:"down,omitempty"`       // nodes that did not come back from it, and the states of their processes
	HealedFor string            `json:"healed_for,omitempty"` // why it was healed before its time was over, if not on request
	Reasons   []string          `json:"reasons,omitempty"`    // why it is not landed, or not healed
	Detail    any               `json:"detail,omitempty"`     // report of the fault beside its proofs: a list of lost things
}

// MechanismClients is the mechanism of faults that clients of our own cause at a node.
const MechanismClients = "clients of ours"

// LandingTimes are nanoseconds since the start of the run; 0 is not yet.
type LandingTimes struct {
	ApplyNS    int64 `json:"apply_ns,omitempty"`   // applying it began
	EffectNS   int64 `json:"effect_ns,omitempty"`  // a reading that began then was the first in which every proof held
	TriggerNS  int64 `json:"trigger_ns,omitempty"` // the event that it waited for came
	AppliedNS  int64 `json:"applied_ns"`
	AskedNS    int64 `json:"asked_ns,omitempty"` // somebody asked to heal it before its time was over
	HealNS     int64 `json:"heal_ns"`            // the heal began
	HealedNS   int64 `json:"healed_ns"`          // read back healed
	PlannedNS  int64 `json:"planned_ns"`
	DurationNS int64 `json:"duration_ns"` // the bound asked for
}

// StartNS returns when the system first felt the fault: a fault that goes from node to
// node takes its time until all of it is in place.
func (t LandingTimes) StartNS() int64 {
	if t.ApplyNS > 0 {
		return t.ApplyNS
	}
	return t.AppliedNS
}

// MovesClock reports whether the fault changes the time of day that nodes see.
func (l Landing) MovesClock() bool { return strings.HasPrefix(l.Type, "clock") }

// Heal is the result of its heal: "" for a fault that was never in place, which has none.
func (l Landing) Heal() HealState {
	if l.Healed == HealVerified && l.Times.StartNS() == 0 {
		return ""
	}
	return l.Healed
}

// LandingState is the result of the proofs of an injection.
type LandingState string

const (
	Landed        LandingState = "landed"
	NotLanded     LandingState = "not_landed"
	Partial       LandingState = "partial"
	Indeterminate LandingState = "indeterminate"
	Unsupported   LandingState = "unsupported"
)

// HealState is the result of reading back after a heal.
type HealState string

const (
	HealPending  HealState = "pending"
	HealVerified HealState = "verified"
	HealFailed   HealState = "failed"
	// HealDown: nothing of the fault's means is left, and a node that was
	// started in order ended again or does not serve. That is the broker's.
	HealDown HealState = "node-down"
)

// Role is the part that a proof plays.
type Role string

const (
	RoleMechanism Role = "mechanism" // the means: a counter, an exit status, a process state
	RoleEffect    Role = "effect"    // the end: a probe, as a client or a peer would see it
	RoleControl   Role = "control"   // the same probe on something untouched
	RoleHeal      Role = "heal"      // read back after the heal: nothing is left of it, and its nodes serve
)

// Want is the expectation of a proof for the samples taken while the fault is in place,
// against those taken before. For a heal it is the expectation for the last sample
// after it.
type Want string

const (
	WantState   Want = "state"   // the sample's State is Expect, and was not before
	WantChanges Want = "changes" // the sample's State is another than before
	WantSame    Want = "same"    // control: the sample's State is what it was before
	WantFails   Want = "fails"   // the probe succeeded before and fails during
	WantGrows   Want = "grows"   // the counter is larger
	WantSlower  Want = "slower"  // the value grew by at least Margin, and still has at last
	WantSlowed  Want = "slowed"  // the value grew by at least Margin at some time
	WantReaches Want = "reaches" // the value is at least Margin, and was less before
	WantStill   Want = "still"   // control: the probe succeeds throughout, its value within Margin
	WantBack    Want = "back"    // heal: read last, it is as if the fault had never been
)

// A ProofRecord is one signal: what it expects and what was sampled. Those of a
// heal have samples of [After] alone; runs older than they are have none of them.
type ProofRecord struct {
	Name    string   `json:"name"`           // exit status of node-2
	Node    string   `json:"node,omitempty"` // the node that it is about, "" where it is about no single one
	Role    Role     `json:"role"`
	Want    Want     `json:"want"`
	Expect  string   `json:"expect,omitempty"`
	Margin  float64  `json:"margin,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	Samples []Sample `json:"samples"`
	Holds   bool     `json:"holds"`
	Why     string   `json:"why,omitempty"`
}

// UnreadLink is the state of a check of a heal that could not look at its link.
const UnreadLink = "not read: another fault acts there"

// Moment is the part of an injection in which a sample was taken.
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
	Ours   bool    `json:"ours,omitempty"` // the probe failed for want of something on the host of rmq-mcp
}

// Window is the time a fault was in place.
type Window struct {
	Fault      string
	Start, End time.Duration
}
