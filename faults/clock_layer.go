package faults

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/clock"
)

// clockArgs are what an entry makes of the time.
type clockArgs struct {
	OffsetS  float64 `json:"offset_s,omitempty"`  // of jump and strobe
	Factor   float64 `json:"factor,omitempty"`    // of rate
	PeriodMS float64 `json:"period_ms,omitempty"` // of strobe
}

// clockLayer is what a node's process believes the time to be. Jumps add up,
// and so does what rates gain; with no entries it is our time.
type clockLayer struct {
	node  Node
	since map[string]time.Time // when each fault's entry was first shown

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// NewClockLayer is the layer clock/<name of the node>.
func NewClockLayer(node Node) Layer {
	return &clockLayer{node: node, since: map[string]time.Time{}}
}

func (l *clockLayer) Render(ctx context.Context, active []Entry) error {
	if l.cancel != nil {
		l.cancel()
	}
	l.done.Wait() // so that nothing sets the clock after this
	c, ok := l.node.(clocked)
	if !ok {
		return fmt.Errorf("%w: %s has no clock of its own", ErrUnsupported, l.node.Name())
	}
	control, _, err := c.Clock()
	if err != nil {
		return err
	}
	now := time.Now()
	for _, e := range active {
		if _, err := argsOf[clockArgs](e); err != nil {
			return err
		}
		if _, known := l.since[e.Fault]; !known {
			l.since[e.Fault] = now
		}
	}
	shown := l.ahead(active, now)
	if err := clock.Set(control, shown); err != nil || step(active) == 0 {
		return err
	}
	watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	l.done.Go(func() {
		tick := time.NewTicker(step(active))
		defer tick.Stop()
		for {
			select {
			case <-watch.Done():
				return
			case <-tick.C:
			}
			// A failed Set is tried again at the next tick. Until then the proofs
			// do not show the change.
			if now := l.ahead(active, time.Now()); now != shown && clock.Set(control, now) == nil {
				shown = now
			}
		}
	})
	return nil
}

// ahead is what the entries make of a moment.
func (l *clockLayer) ahead(active []Entry, now time.Time) (sum time.Duration) {
	for _, e := range active {
		args, _ := argsOf[clockArgs](e) // Render has read them
		by := time.Duration(args.OffsetS * float64(time.Second))
		since := now.Sub(l.since[e.Fault])
		switch e.Want {
		case "jump":
			sum += by
		case "rate":
			sum += time.Duration((args.Factor - 1) * float64(since))
		case "strobe":
			if half := since / (args.period() / 2); half%2 == 0 {
				sum += by
			}
		}
	}
	return sum
}

// period of a strobe, which is never so short that halves of it are nothing.
func (a clockArgs) period() time.Duration {
	return max(time.Duration(a.PeriodMS*float64(time.Millisecond)), 2*time.Millisecond)
}

// step is how often the clock has to be set, 0 where once is enough.
func step(active []Entry) (out time.Duration) {
	for _, e := range active {
		args, _ := argsOf[clockArgs](e)
		every := map[string]time.Duration{"rate": rateStep, "strobe": args.period() / 10}[e.Want]
		if every > 0 && (out == 0 || every < out) {
			out = every
		}
	}
	return out
}

// undoClock has nothing to do: a clock ends with its process, and that ended
// with its keeper.
func undoClock(_ context.Context, layer string, _ []Entry) (string, error) {
	return "nothing to undo: " + layer + " ended with its keeper", nil
}
