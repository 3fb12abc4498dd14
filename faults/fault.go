// Package faults disturbs a cluster and proves that it did. One fault is one
// file; what all share (landing, healing, the undo journal) is the engine's.
package faults

import (
	"context"
	"errors"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// ErrUnsupported is wrapped by the error of a fault that cannot be done to this
// target: something it needs was not armed when the cluster was started, or is
// missing on the host. The error names the missing thing. ErrUnsupported is the
// standard library's own, so that a node can return it without this package.
var ErrUnsupported = errors.ErrUnsupported

// A Fault disturbs its target until it is healed.
type Fault interface {
	Name() string
	// Plan looks and changes nothing. It returns what would be done and what
	// will prove it, or an error wrapping [ErrUnsupported].
	Plan(ctx context.Context, target Target) (*Injection, error)
}

// A Target is the resolved target of a fault: nodes, a link or clients, and the
// other nodes to compare them with.
type Target struct {
	Asked   string   // leader
	Nodes   []Node   // as resolved
	Peers   []Node   // the cluster's other nodes, whatever state they are in
	Control []Node   // untouched ones, the witness last; never empty
	Link    *Link    // where a link was asked for; Nodes are those of both sides
	Clients []Client // where clients were asked for; nil for nodes. Nodes are none then
	Site    Site
}

// A Site is what an experiment has beside its nodes that faults can act on. A
// nil field is not there: it was not armed, or this host cannot have it.
type Site struct {
	Run    string // names what is made on the host for this experiment, and nobody else's
	Net    Net    // the router between all hosts
	Shaper Shaper // the queueing disciplines at its interfaces
	Queues Queues // what treats the packets that its rules queue
	// Injector does what is asked of Net and Queues; nil if these do it themselves.
	Injector Injector
	Tap      Tap     // the proxy between clients and nodes
	Clients  Clients // the drivers
	Hostile  Hostile // clients of ours that mean harm
	Disks    Disks   // the layers under the nodes' data directories
	// Roles are the roles of each node now: leader, follower.
	Roles func(context.Context) map[string][]string
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
	Running ProcessState = history.StateRunning // started, or thawed; serving again when Set returns
	Frozen  ProcessState = history.StateFrozen
	Killed  ProcessState = history.EndKilled  // SIGKILL
	Stopped ProcessState = history.EndStopped // SIGTERM, the node's own shutdown
)

// Doomed is the Want of an entry of a process layer if the fault may end the
// process by other means. The process is left alone while the fault lasts, and
// runs again when the fault is healed.
const Doomed ProcessState = "doomed"

// A Layer is one thing that faults act on: a process, a link, a disk, a node's
// resources. It shows exactly its active entries, rendered from scratch;
// healing removes entries and renders again, and a layer with none is healthy.
type Layer interface {
	Render(ctx context.Context, active []Entry) error
}

// An Entry is one fault's part of a layer, as data: it is in the undo journal,
// on disk, before it is rendered.
type Entry struct {
	Fault string `json:"fault"`          // f1
	Layer string `json:"layer"`          // process/node-2
	Want  string `json:"want"`           // killed
	Args  any    `json:"args,omitempty"` // of the layer's type; see argsOf
}

// An Injection is one fault, planned or in place.
type Injection struct {
	Mechanism string                      // sigkill, sigstop, freezer, …
	Entries   []Entry                     // rendered while the fault is in place
	First     func(context.Context) error // what happens once before that; healing the entries undoes it; may be nil
	Step      func(context.Context) error // what happens once and is not undone; may be nil
	Traps     []Entry                     // rendered before Until waits: what it waits with
	// Until waits for the moment to do it, once everything was sampled; nil is
	// at once. Its error says what did not come: then nothing is done.
	Until func(context.Context) error
	// Watch looks on while the entries are put in place, for what no sample
	// before or after would see. It answers how to end it; nil is nothing.
	Watch   func(context.Context) (stop func())
	Rolling bool    // one layer after the other, in the order of their names, and so back
	Forges  bool    // what it changes on the way reaches a process as if it had been sent so
	Brief   bool    // it heals itself as soon as it was measured
	Proofs  []Proof // the mechanism's own word, the effect, the control
	// Healed reads back, after the heal, that nothing of it is left. It is read
	// again until all of it holds or the recovery's bound is over; that the nodes
	// serve is read before it, of every fault.
	Healed []Check
	// Detail is what the landing keeps beside the proofs, as JSON: the list of
	// what was lost. It is read once the fault is in place and when it is healed,
	// and may be nil.
	Detail func() any
}

// A Proof is one signal and how to read it.
type Proof struct {
	Name   string
	Node   string // the node it reads, where it reads one
	Peer   string // the other one, where it reads the link between two
	Role   history.Role
	Want   history.Want
	Expect string  // of WantState
	Margin float64 // in Unit
	Unit   string
	Read   func(context.Context) history.Sample // Moment and TimeNS are the engine's
}
