package faults

import (
	"context"
	"math"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/clock"
)

// ClockJump puts the time of day of the target's processes forward or back,
// all at once; healing puts it right again, which is a jump too.
type ClockJump struct{ Offset time.Duration }

// Name is clock_jump.
func (ClockJump) Name() string { return "clock_jump" }

// Plan plans the jump of every node.
func (f ClockJump) Plan(ctx context.Context, target Target) (*Injection, error) {
	return shift{
		want: "jump", args: clockArgs{OffsetS: f.Offset.Seconds()},
		file: func(_ clocked, control string) Proof {
			return Proof{Margin: f.Offset.Abs().Seconds() - 0.001, Read: func(context.Context) history.Sample {
				ahead, err := clock.Ahead(control)
				return reading(math.Copysign(1, f.Offset.Seconds())*ahead.Seconds(), err)
			}}
		},
		effect: func(c clocked, _ Node) Proof {
			return believed(c, f.Offset.Seconds(), shiftMargin(f.Offset))
		},
	}.plan(ctx, target)
}

func clockJump() Kind {
	return Kind{
		Type: "clock_jump", Arms: "clock",
		Draw:    Draw{All: true, Params: jump},
		Summary: "the process's time of day jumps, and back when it heals; its monotonic clock goes on",
		Params:  []Param{offsetParam("seconds forward, or back when negative")},
		Targets: processTargets(),
		Example: Example{Target: "leader", Params: map[string]any{"duration_s": 4.0, "offset_s": 3600.0}},
		New: func(p Params) (Fault, error) {
			by, err := offset(p)
			return ClockJump{Offset: by}, err
		},
		Available: clockAvailable,
	}
}
