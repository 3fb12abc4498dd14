package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// A Check reads back, after a heal, one thing that must be as if the fault had
// never been: its rule is gone, probes pass. It answers a number in its unit,
// where it has one. An error says what is still there.
type Check struct {
	Name string
	Node string // whose it is, "" where it is of no one node
	Unit string
	Read func(context.Context) (float64, error)
}

// errShared is what a check answers that cannot tell: another fault acts on the
// same thing, and its own heal will be read back.
var errShared = errors.New(history.UnreadLink)

// unnumbered is a check that answers no number.
func unnumbered(name string, read func(context.Context) error) Check {
	return Check{Name: name, Read: func(ctx context.Context) (float64, error) { return 0, read(ctx) }}
}

// serving are the checks of every heal: the nodes run, and answer a new client.
func serving(nodes []Node) []Check {
	out := make([]Check, len(nodes))
	for i, n := range nodes {
		out[i] = Check{Name: "service of " + n.Name(), Node: n.Name(), Unit: "ms", Read: func(ctx context.Context) (float64, error) {
			took, err := serves(ctx, n)
			return milliseconds(took), err
		}}
	}
	return out
}

// serves checks that a node runs and answers, and says how long that took. The answer
// alone decides where somebody else runs the broker and its state cannot be read.
func serves(ctx context.Context, n Node) (time.Duration, error) {
	state, err := n.State(ctx)
	if errors.Is(err, ErrUnsupported) {
		state, err = Running, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the state of %s: %w", n.Name(), err)
	}
	if state != Running {
		return 0, absent{fmt.Errorf("%s is not running: %s", n.Name(), state)}
	}
	took, err := n.Probe(ctx)
	if err != nil {
		return 0, absent{fmt.Errorf("%s does not answer: %w", n.Name(), err)}
	}
	return took, nil
}

// checkRecords are the checks as data, without samples yet.
func checkRecords(checks []Check) []history.ProofRecord {
	out := make([]history.ProofRecord, len(checks))
	for i, c := range checks {
		out[i] = history.ProofRecord{
			Name: c.Name, Node: c.Node, Role: history.RoleHeal, Want: history.WantBack, Unit: c.Unit, Samples: []history.Sample{},
		}
	}
	return out
}

// check reads the checks of a heal from one on, up to the first that fails,
// which is its error.
func (e *Engine) check(ctx context.Context, p *placement, from int) error {
	for i := from; i < len(p.plan.Healed); i++ {
		if err := e.checkOne(ctx, p, i); err != nil {
			return err
		}
	}
	return nil
}

// checkOne keeps what the check reads in the landing, in place of what it read
// before.
func (e *Engine) checkOne(ctx context.Context, p *placement, i int) error {
	v, err := p.plan.Healed[i].Read(ctx)
	s := history.Sample{Moment: history.After, TimeNS: int64(e.opt.Clock.Now()), OK: err == nil, Value: v}
	switch {
	case errors.Is(err, errShared):
		s.OK, s.State, err = true, err.Error(), nil
	case err != nil:
		s.Error = err.Error()
	}
	p.change(func(l *history.Landing) { put(&l.Proofs[len(p.plan.Proofs)+i], s, true) })
	return err
}

// missing are the fault's nodes that do not serve now, by name, and their states.
func (e *Engine) missing(ctx context.Context, p *placement) map[string]string {
	out := map[string]string{}
	for i, n := range p.target.Nodes {
		if e.checkOne(ctx, p, i) != nil {
			out[n.Name()], _ = n.State(ctx)
		}
	}
	return out
}
