// Package faults disturbs a cluster and proves that it did. One fault is one
// file; what all share (landing, healing, the undo journal) is the engine's.
package faults

import (
	"context"
	"errors"
	"time"

	"github.com/robustmq/rmq-mcp/internal/history"
)

// ErrUnsupported is what a fault wraps that cannot be done to this target:
// what it needs was not armed when the cluster was started, or the host does
// not have it. The error names what is missing. It is the standard library's
// own, so that a node can answer it without knowing this package.
var ErrUnsupported = errors.ErrUnsupported

// A Fault disturbs its target until it is healed.
type Fault interface {
	Name() string
	// Plan looks and changes nothing. It answers what would be done and what
	// will prove it, or an error wrapping [ErrUnsupported].
	Plan(ctx context.Context, target Target) (*Injection, error)
}

// A Target is what a fault acts on, resolved: which nodes, and what else there
// is to compare them with.
type Target struct {
	Asked   string // leader
	Nodes   []Node // as resolved
	Control []Node // untouched ones, the witness last; never empty
}

// A Node is a broker process, as far as faults need it.
type Node interface {
	Name() string
	// State reads the process itself: running, frozen, or how it exited
	// ("exited: status 0", "exited: signal 9 (killed)"). It is the mechanism's
	// own word. A node that is not ours to touch answers [ErrUnsupported].
	State(ctx context.Context) (string, error)
	// Probe does what a new client would do, connect and be answered, and says
	// how long that took. It never uses an existing connection, and gives up by
	// itself after a few seconds.
	Probe(ctx context.Context) (time.Duration, error)
	// Set brings the process into a state, one of the four below, and returns
	// when it is in it.
	Set(ctx context.Context, want string) error
}

// ProcessState is what a process can be brought into. It is a string by
// another name, so that a node need not import this package to be one.
type ProcessState = string

const (
	Running ProcessState = "running" // started, or thawed; serving again when Set returns
	Frozen  ProcessState = "frozen"
	Killed  ProcessState = "killed"  // SIGKILL
	Stopped ProcessState = "stopped" // SIGTERM, the node's own shutdown
)

// A Layer is one thing that faults act on: a process, a link, a disk, a node's
// resources. It shows exactly its active entries, rendered from scratch;
// healing removes entries and renders again, and a layer with none is healthy.
type Layer interface {
	Render(ctx context.Context, active []Entry) error
}

// An Entry is one fault's part of a layer, as data: it is in the undo journal,
// on disk, before it is rendered.
type Entry struct {
	Fault string         `json:"fault"` // f1
	Layer string         `json:"layer"` // process/node-2
	Want  string         `json:"want"`  // killed
	Args  map[string]any `json:"args,omitempty"`
}

// An Injection is one fault, planned or in place.
type Injection struct {
	Mechanism string                      // sigkill, sigstop, freezer, …
	Entries   []Entry                     // rendered while the fault is in place
	Step      func(context.Context) error // what happens once and is not undone; may be nil
	Proofs    []Proof                     // the mechanism's own word, the effect, the control
}

// A Proof is one signal and how to read it.
type Proof struct {
	Name   string
	Node   string // the node it reads, where it reads one
	Role   history.Role
	Want   history.Want
	Expect string  // of WantState
	Margin float64 // in Unit
	Unit   string
	Read   func(context.Context) history.Sample // Moment and TimeNS are the engine's
}
