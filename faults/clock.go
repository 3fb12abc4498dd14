package faults

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/clock"
)

// Time faults act on what a process believes the time of day to be. Its
// monotonic clock, timers and time-outs go on as they were.
func timeKinds() []Kind {
	return []Kind{
		clockJump(),
		clockRate(),
		clockStrobe(),
	}
}

// A clocked node has something between it and its clock.
type clocked interface {
	numbered
	// Clock returns the control file with the time for the process to see, and
	// the library that reads the file.
	Clock() (control, library string, err error)
	// TimeOff asks the process for the time and says how far it is ahead of
	// ours, exact to a second.
	TimeOff(ctx context.Context) (time.Duration, error)
}

// offExact is how exact two readings of a process's time compare: each may be
// half a second off, as logs count whole ones, and takes a moment.
const offExact = 1500 * time.Millisecond

// A shift is what the time faults have in common: an entry in the clock layer
// of every node, the control file with a process that reads it, and the
// process's own idea of the time.
type shift struct {
	want   string // of the entry: jump, rate, strobe
	args   clockArgs
	file   func(n clocked, control string) Proof
	effect func(n clocked, node Node) Proof
}

const libfaketime = "libfaketime"

func (s shift) plan(ctx context.Context, target Target) (*Injection, error) {
	in := &Injection{Mechanism: libfaketime}
	for _, n := range target.Nodes {
		c, control, err := armedClock(ctx, n)
		if err != nil {
			return nil, err
		}
		in.Entries = append(in.Entries, Entry{Layer: "clock/" + n.Name(), Want: s.want, Args: s.args})
		in.Proofs = append(in.Proofs, named("what "+n.Name()+" reads as its clock", n, history.RoleMechanism, s.file(c, control)),
			named("time as "+n.Name()+" writes it", n, history.RoleEffect, s.effect(c, n)))
		in.Healed = append(in.Healed, inStep(n))
	}
	in.Proofs = append(in.Proofs, untouched(target.Control)...)
	return in, nil
}

func named(name string, n Node, role history.Role, p Proof) Proof {
	p.Name, p.Node, p.Role, p.Unit, p.Want = name, n.Name(), role, "s", history.WantSlower
	return p
}

// armedClock is a node whose running process has the library loaded.
func armedClock(ctx context.Context, n Node) (clocked, string, error) {
	c, ok := n.(clocked)
	if !ok {
		return nil, "", fmt.Errorf("%w: %s has no clock of its own; start the cluster with arm: [clock]", ErrUnsupported, n.Name())
	}
	control, library, err := c.Clock()
	if err != nil {
		return nil, "", err
	}
	number, err := pid(ctx, n)
	if err != nil {
		return nil, "", err
	}
	loaded, err := clock.Loaded(number, library)
	if err == nil && !loaded {
		err = fmt.Errorf("%w: %s does not have %s loaded", ErrUnsupported, n.Name(), library)
	}
	return c, control, err
}

// reading makes a sample of a number of seconds.
func reading(value float64, err error) history.Sample {
	if err != nil {
		return failed(err)
	}
	return history.Sample{OK: true, Value: value, State: fmt.Sprintf("%+.1f s", value)}
}

// believed reads how far the process's time has moved, in the direction that
// it is meant to.
func believed(c clocked, direction float64, margin time.Duration) Proof {
	return Proof{Margin: margin.Seconds(), Read: func(ctx context.Context) history.Sample {
		off, err := c.TimeOff(ctx)
		return reading(math.Copysign(1, direction)*off.Seconds(), err)
	}}
}

// shiftMargin is how much of a shift has to be seen for it to have happened.
func shiftMargin(by time.Duration) time.Duration {
	return max(by.Abs()/2, by.Abs()-offExact)
}

// inStep reads back that a process writes the same time as we do again.
func inStep(n Node) Check {
	return Check{Name: "time as " + n.Name() + " writes it", Node: n.Name(), Unit: "s", Read: func(ctx context.Context) (float64, error) {
		c, control, err := armedClock(ctx, n)
		if err != nil {
			return 0, err
		}
		off, err := agrees(ctx, n, c, control)
		return off.Seconds(), err
	}}
}

// agrees answers how far off a process's time is.
func agrees(ctx context.Context, n Node, c clocked, control string) (time.Duration, error) {
	ahead, err := clock.Ahead(control)
	if err != nil {
		return 0, err
	}
	if ahead != 0 {
		return ahead, fmt.Errorf("%s still reads a clock that is %v off", n.Name(), ahead)
	}
	off, err := c.TimeOff(ctx)
	if err == nil && off.Abs() > offExact {
		err = fmt.Errorf("%s still writes a time that is %+.1f s off", n.Name(), off.Seconds())
	}
	return off, err
}

// clockAvailable answers for a broker that uses the C library.
func clockAvailable(context.Context) (mechanism, missing string) {
	if _, err := clock.Library(); err != nil {
		missing = err.Error()
	}
	return libfaketime, missing
}

// offsetParam is checked by [offset].
func offsetParam(doc string) Param {
	return Param{Name: "offset_s", Doc: doc, Default: 3600.0, Min: -1e9, Max: 1e9}
}

// minOffset is the smallest shift that the times in a log can show.
const minOffset = 3 * time.Second

func offset(p Params) (time.Duration, error) {
	by := p.Seconds("offset_s")
	if by.Abs() < minOffset {
		return 0, fmt.Errorf("parameter offset_s: got %g; valid: %g or more, or %g or less, as a node's log shows no less", by.Seconds(), minOffset.Seconds(), -minOffset.Seconds())
	}
	return by, nil
}
