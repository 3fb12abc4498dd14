package faults

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/hostile"
)

// Hostile faults are clients of our own that mean harm, beside those of the
// workload. Their effect on a broker is judged by the broker's claims: it
// neither panics nor goes down, and other clients are served as before.
func hostileKinds() []Kind {
	return []Kind{
		malformed(),
		connectionFlood(),
		publishFlood(),
	}
}

// Hostile is the crowd of such clients.
type Hostile interface {
	Show(node string, rules []hostile.Rule)
	Tally(node, fault string) hostile.Tally
	Busy(fault string) bool
}

// hostileLayer is what hostile clients do to a node.
type hostileLayer struct {
	node  string
	crowd Hostile
}

// NewHostileLayer is the layer hostile/<name of the node>.
func NewHostileLayer(node Node, crowd Hostile) Layer { return hostileLayer{node.Name(), crowd} }

func (l hostileLayer) Render(_ context.Context, active []Entry) error {
	var rules []hostile.Rule
	for _, e := range active {
		r, err := argsOf[hostile.Rule](e)
		if err != nil {
			return err
		}
		r.Fault = e.Fault
		rules = append(rules, r)
	}
	l.crowd.Show(l.node, rules)
	return nil
}

// undoHostile has nothing to do: the clients are in the keeper's own process.
func undoHostile(context.Context, string, []Entry) (string, error) {
	return "nothing to undo: the hostile clients ended with their keeper", nil
}

// hostile plans what clients do to every node of the target that a number of
// theirs falls to. A node that ends of it shows what it did, and so the control
// is the witness alone.
func (t Target) hostile(r hostile.Rule, proofs func(n Node, fault func() string) []Proof) (*Injection, error) {
	if t.Site.Hostile == nil {
		return nil, fmt.Errorf("%w: no client is there to be hostile", ErrUnsupported)
	}
	in := &Injection{Mechanism: history.MechanismClients}
	fault := in.id
	for i, n := range t.Nodes {
		share := ofNode(r, i, len(t.Nodes))
		if share.Do == hostile.Talk && share.First > share.Last {
			continue
		}
		in.Entries = append(in.Entries, Entry{Layer: "hostile/" + n.Name(), Want: r.Do, Args: share})
		in.Proofs = append(in.Proofs, proofs(n, fault)...)
	}
	in.Proofs = append(in.Proofs, answers(t.witness()))
	in.Healed = append(in.Healed, unnumbered("hostile clients", func(context.Context) error {
		if t.Site.Hostile.Busy(fault()) {
			return fmt.Errorf("the hostile clients of %s have not ended", fault())
		}
		return nil
	}))
	return in, nil
}

// ofNode is a rule at the i-th of n nodes. A number is said to one of them, the
// same one wherever the first is: at another its client would take the session.
func ofNode(r hostile.Rule, i, n int) hostile.Rule {
	r.First, r.Step = r.First+((i-r.First)%n+n)%n, n
	return r
}

func hostileAvailable(context.Context) (mechanism, missing string) {
	return history.MechanismClients, ""
}
