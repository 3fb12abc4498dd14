package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// driverLayer is a driver's process. A driver that is both paused and killed is
// killed, and one that was killed stays so.
type driverLayer struct{ driver Driver }

// NewDriverLayer is the layer driver/<name of the driver>.
func NewDriverLayer(d Driver) Layer { return driverLayer{d} }

func (l driverLayer) Render(ctx context.Context, active []Entry) error {
	want, err := worst(active)
	if err != nil {
		return err
	}
	return l.driver.Set(ctx, want)
}

// driverFault brings the driver processes of the target's clients into a
// state, and shows an effect on each. All clients of a process share its fate.
func (t Target) driverFault(mechanism string, want ProcessState, expect string, effect func(Driver) Proof) (*Injection, error) {
	if t.Site.Clients == nil {
		return nil, fmt.Errorf("%w: this experiment has no clients of its own", ErrUnsupported)
	}
	in := &Injection{Mechanism: mechanism}
	seen := map[string]bool{}
	for _, c := range t.Clients {
		if seen[c.Driver] {
			continue
		}
		seen[c.Driver] = true
		d, err := t.Site.Clients.Driver(c.Driver)
		if err != nil {
			return nil, err
		}
		if state, err := d.State(); err != nil || hasEnded(state) {
			return nil, errors.Join(fmt.Errorf("the driver %s is not running: %s", d.Name(), state), err)
		}
		in.Entries = append(in.Entries, Entry{Layer: "driver/" + d.Name(), Want: want})
		in.Proofs = append(in.Proofs, driverState(d, expect), effect(d))
	}
	in.Proofs = slices.Concat(in.Proofs, t.bystanders(tap.Rule{}))
	return in, nil
}

func driverState(d Driver, expect string) Proof {
	return Proof{
		Name: "process of " + d.Name(), Role: history.RoleMechanism, Want: history.WantState, Expect: expect,
		Read: func(context.Context) history.Sample {
			state, err := d.State()
			s := sampleOf(err)
			s.State = state
			return s
		},
	}
}

// silenceIs how long a driver reports nothing for it to be silent. One with
// work to do reports many times a second.
const silenceIs = time.Second

// silent is the effect on the clients: their driver reports nothing any more.
func silent(d Driver) Proof {
	const silence = "silent"
	return Proof{
		Name: "what " + d.Name() + " reports", Role: history.RoleEffect, Want: history.WantState, Expect: silence,
		Read: func(ctx context.Context) history.Sample {
			before := d.Lines()
			select {
			case <-time.After(silenceIs):
			case <-ctx.Done():
				return failed(ctx.Err())
			}
			if n := d.Lines() - before; n > 0 {
				return history.Sample{OK: true, State: "speaks", Value: float64(n)}
			}
			return history.Sample{OK: true, State: silence}
		},
	}
}

// unconnected is the effect of a driver's end: the kernel shows none of its connections
// any more. A client that waits has a connection, and may say nothing for long.
func unconnected(d Driver) Proof {
	const none = "none"
	return Proof{
		Name: "connections of the process of " + d.Name(), Role: history.RoleEffect, Want: history.WantState, Expect: none,
		Read: func(context.Context) history.Sample {
			n, err := d.Connections()
			s := sampleOf(err)
			if s.Value, s.State = float64(n), "established"; n == 0 {
				s.State = none
			}
			return s
		},
	}
}
