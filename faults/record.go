package faults

import (
	"fmt"

	"github.com/robustmq/rmq-mcp/history"
)

// Kinds of the journal's lines that [Pending] reads.
const (
	KindPlan    = "plan"    // [Planned]: on disk before anything is done
	KindMade    = "made"    // [Planned]: something beside a fault that outlives its keeper, on disk before it is made
	KindApplied = "applied" // [Applied]
	KindHealed  = "healed"  // [Healed]: nothing of it is left
)

// Planned is a fault about to be applied, with all that must be undone if
// nobody is left to heal it.
type Planned struct {
	Fault      string   `json:"fault"`
	Type       string   `json:"type"`
	Nodes      []string `json:"nodes"`
	DurationNS int64    `json:"duration_ns"`
	Entries    []Entry  `json:"entries"`
}

// Applied is a fault that is in place.
type Applied struct {
	Fault string `json:"fault"`
}

// Healed is a fault of which nothing is left, and how that came about.
type Healed struct {
	Fault string `json:"fault"`
	Did   string `json:"did"`
}

func (e *Engine) append(kind string, data any) error {
	if _, err := e.opt.Journal.Append(kind, data); err != nil {
		return fmt.Errorf("journal %s: %w", kind, err)
	}
	return nil
}

// call records that an injection or a heal begins, and answers its index.
func (e *Engine) call(kind history.Kind, p *placement) int64 {
	return e.record(kind, p, history.Call, history.None, history.OutcomeNone)
}

func (e *Engine) returned(kind history.Kind, p *placement, call int64, o history.Outcome) {
	e.record(kind, p, history.Return, call, o)
}

func (e *Engine) record(kind history.Kind, p *placement, edge history.Edge, call int64, o history.Outcome) int64 {
	node := int16(history.None)
	if len(p.landing.Nodes) == 1 {
		node = e.opt.Nodes(p.landing.Nodes[0])
	}
	return e.opt.Record(history.Event{
		Call: call, Time: e.opt.Clock.Now(),
		Process: history.None, Stream: history.None, Seq: history.None, ID: history.None,
		Kind: kind, Edge: edge, Via: history.ViaHarness, Outcome: o,
		Node: node, Text: p.id(),
	})
}
