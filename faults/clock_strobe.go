package faults

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/clock"
)

// ClockStrobe has the time of day of the target's processes jump there and
// back all the time.
type ClockStrobe struct{ Offset, Period time.Duration }

// Name is clock_strobe.
func (ClockStrobe) Name() string { return "clock_strobe" }

// Plan plans the jumps of every node.
func (f ClockStrobe) Plan(ctx context.Context, target Target) (*Injection, error) {
	return shift{
		want: "strobe", args: clockArgs{OffsetS: f.Offset.Seconds(), PeriodMS: float64(f.Period.Milliseconds())},
		file: func(_ clocked, control string) Proof {
			margin := f.Offset.Abs() - time.Millisecond
			return f.span(margin, func(context.Context) (time.Duration, error) {
				return clock.Ahead(control)
			})
		},
		effect: func(c clocked, _ Node) Proof { return f.span(shiftMargin(f.Offset), c.TimeOff) },
	}.plan(ctx, target)
}

// spanBound is how long to look for a jump at least: a reading takes a while
// on a busy host.
const spanBound = time.Second

// span reads the time until it was seen to jump, for two periods or longer,
// and says how far apart the readings were.
func (f ClockStrobe) span(margin time.Duration, read func(context.Context) (time.Duration, error)) Proof {
	return Proof{Margin: margin.Seconds(), Read: func(ctx context.Context) history.Sample {
		low, err := read(ctx)
		high := low
		began := time.Now()
		for turn := 1; err == nil && high-low < margin && time.Since(began) < max(2*f.Period, spanBound); turn++ {
			time.Sleep(f.until(time.Since(began), turn))
			var off time.Duration
			off, err = read(ctx)
			low, high = min(low, off), max(high, off)
		}
		s := reading((high - low).Seconds(), err)
		s.State = fmt.Sprintf("from %+.1f s to %+.1f s", low.Seconds(), high.Seconds())
		return s
	}}
}

// until is how long to wait for the next reading. The golden ratio has them
// fall on all parts of the period, however long they take.
func (f ClockStrobe) until(elapsed time.Duration, turn int) time.Duration {
	_, part := math.Modf(float64(turn) * math.Phi)
	next := time.Duration(part * float64(f.Period))
	return (next - elapsed%f.Period + f.Period) % f.Period
}

func clockStrobe() Kind {
	return Kind{
		Type: "clock_strobe", Arms: "clock",
		Draw:    Draw{Params: jump},
		Summary: "the process's time of day jumps there and back all the time",
		Params: []Param{
			offsetParam("seconds that it jumps, forward, or back when negative"),
			{Name: "period_ms", Doc: "from one jump there to the next; half of it is spent there", Default: 200.0, Min: 50, Max: 1000},
		},
		Targets: processTargets(),
		Example: Example{Target: "leader", Params: map[string]any{"duration_s": 4.0, "offset_s": 3600.0, "period_ms": 200.0}},
		New: func(p Params) (Fault, error) {
			by, err := offset(p)
			period := p.number("period_ms")
			return ClockStrobe{Offset: by, Period: time.Duration(period * float64(time.Millisecond))}, err
		},
		Available: clockAvailable,
	}
}
