package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// witnessMargin is how much slower the witness may answer before the host
// itself is suspected.
const witnessMargin = time.Second

// stateIs is the mechanism's proof of a process fault: the node's own state.
// Reading turns the node's word into what is compared; nil takes it as it is.
func stateIs(n Node, expect string, reading func(string) string) Proof {
	return Proof{
		Name: "process of " + n.Name(), Node: n.Name(),
		Role: history.RoleMechanism, Want: history.WantState, Expect: expect,
		Read: func(ctx context.Context) history.Sample {
			s := readState(ctx, n)
			if reading != nil {
				s.State = reading(s.State)
			}
			return s
		},
	}
}

// unreachable is the effect on a node's clients: a new one is not answered.
func unreachable(n Node) Proof {
	return Proof{
		Name: "new client of " + n.Name(), Node: n.Name(),
		Role: history.RoleEffect, Want: history.WantFails, Unit: "ms",
		Read: func(ctx context.Context) history.Sample { return readProbe(ctx, n) },
	}
}

// untouched are the controls. The other nodes must keep running: the fault hit
// the node it was meant for and no other. They are not asked to answer new
// clients: a cluster whose leader is paused may keep them waiting too (6 s on
// the embedded broker, 17 s of refusals on RobustMQ), which is an effect of the
// fault and no second cause. Whether the host and the harness work at all is
// the witness's to show, the last of the controls, which answers as before.
func untouched(control []Node) []Proof {
	var out []Proof
	for i, n := range control {
		if i == len(control)-1 {
			out = append(out, answers(n))
			continue
		}
		out = append(out, runs(n))
	}
	return out
}

// witness is the last of the controls, which every target has.
func (t Target) witness() Node { return t.Control[len(t.Control)-1] }

// answers is the control by probe.
func answers(n Node) Proof {
	return Proof{
		Name: "new client of " + n.Name(), Node: n.Name(),
		Role: history.RoleControl, Want: history.WantStill,
		Margin: float64(witnessMargin.Milliseconds()), Unit: "ms",
		Read: func(ctx context.Context) history.Sample { return readProbe(ctx, n) },
	}
}

// runs is the control by state: reading fails unless the node is running.
func runs(n Node) Proof {
	return Proof{
		Name: "process of " + n.Name(), Node: n.Name(),
		Role: history.RoleControl, Want: history.WantStill,
		Read: func(ctx context.Context) history.Sample {
			s := readState(ctx, n)
			if s.OK && s.State != Running {
				s.OK, s.Error = false, fmt.Sprintf("%s is not running: %s", n.Name(), s.State)
			}
			return s
		},
	}
}

func readState(ctx context.Context, n Node) history.Sample {
	state, err := n.State(ctx)
	if err != nil {
		return failed(err)
	}
	return history.Sample{OK: true, State: state}
}

func readProbe(ctx context.Context, n Node) history.Sample {
	took, err := n.Probe(ctx)
	s := history.Sample{OK: err == nil, Value: float64(took) / float64(time.Millisecond)}
	if err != nil {
		s.Error = err.Error()
	}
	return s
}

// quickest reads how long something takes up to five times within a bound, and returns the
// least: other work of the machine only adds to it.
func quickest(read func() history.Sample) history.Sample {
	const times, bound = 5, 300 * time.Millisecond
	began := time.Now()
	best := read()
	for i := 1; i < times && best.OK && time.Since(began) < bound; i++ {
		if s := read(); !s.OK || s.Value < best.Value {
			best = s
		}
	}
	return best
}
