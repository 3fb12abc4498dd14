package faults

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/clock"
)

// rateStep is how often the clock is set while it runs at another speed. One
// that is slow goes back a little at every step.
const rateStep = 10 * time.Millisecond

// ClockRate makes the time of day of the target's processes run faster or
// slower from the injection on, by setting it every 10 ms; healing has it jump
// back to ours.
type ClockRate struct {
	Factor   float64
	Duration time.Duration // how long it will run so
}

// Name is clock_rate.
func (ClockRate) Name() string { return "clock_rate" }

// Plan plans the rate of every node.
func (f ClockRate) Plan(ctx context.Context, target Target) (*Injection, error) {
	direction := f.Factor - 1
	return shift{
		want: "rate", args: clockArgs{Factor: f.Factor},
		file: func(_ clocked, control string) Proof {
			return Proof{Margin: math.Abs(direction) / 2, Read: func(context.Context) history.Sample {
				rate, err := measuredRate(control)
				s := reading(math.Copysign(1, direction)*rate, err)
				s.State = fmt.Sprintf("%.3g times the speed", rate)
				return s
			}}
		},
		effect: func(c clocked, _ Node) Proof {
			return believed(c, direction, shiftMargin(f.drift()))
		},
	}.plan(ctx, target)
}

// measuredRate watches a control file for a while.
func measuredRate(control string) (float64, error) {
	const while = 20 * rateStep
	first, err := clock.Ahead(control)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	time.Sleep(while)
	last, err := clock.Ahead(control)
	return 1 + float64(last-first)/float64(time.Since(began)), err
}

// drift is how far off the clock is in the end.
func (f ClockRate) drift() time.Duration {
	return time.Duration((f.Factor - 1) * float64(f.Duration))
}

func clockRate() Kind {
	return Kind{
		Type: "clock_rate", Arms: "clock",
		Draw:    Draw{Params: func(d Dice, _ Setting, p map[string]any) { p["factor"] = oneOf(d, 5, 10, 20) }},
		Summary: "the process's time of day runs faster or slower; healing has it jump back to ours",
		Params: []Param{{
			Name: "factor", Doc: "seconds that pass for the process in one of ours", Default: 2.0, Min: 0.001, Max: 1000,
		}},
		Targets: processTargets(),
		Example: Example{Target: "leader", Params: map[string]any{"duration_s": 5.0, "factor": 10.0}},
		New: func(p Params) (Fault, error) {
			factor := p.number("factor")
			f := ClockRate{Factor: factor, Duration: p.Seconds("duration_s")}
			if f.drift().Abs() < minOffset {
				return nil, fmt.Errorf("parameter factor: %g is %.2g s off after duration_s %g, and a node's log shows %g s or more; take another factor or a longer duration", factor, f.drift().Seconds(), f.Duration.Seconds(), minOffset.Seconds())
			}
			return f, nil
		},
		Available: clockAvailable,
	}
}
