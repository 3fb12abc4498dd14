package clients

import (
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// lookEvery is how often a driver's process is looked at.
const lookEvery = time.Second

// watch records each time for which the process was stopped and no [Driver.Set] held it,
// until the process is gone. Its clients neither publish nor read meanwhile, which is no
// doing of their SDK or of a broker.
func (d *Driver) watch() {
	defer close(d.watched)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	ran := d.opts.Clock.Now() // when it was last seen to run
	for still, over := false, false; !over; {
		select {
		case <-d.gone:
			over = true
		case <-tick.C:
		}
		was, now := still, d.opts.Clock.Now()
		if stood := d.proc.Stood(); stood >= lookEvery {
			d.record(history.Event{Kind: history.KindObserve, Text: history.ObserveDriverStill, Value: stood.Seconds()})
		}
		if still = !over && d.stopped(); still {
			continue
		}
		if was {
			d.record(history.Event{Kind: history.KindObserve, Text: history.ObserveDriverStill, Value: (now - ran).Seconds()})
		}
		ran = now
	}
}

// stopped reports whether somebody else has stopped the process. A fault may come or go
// while the kernel is asked.
func (d *Driver) stopped() bool {
	if d.held.Load() {
		return false
	}
	state, err := d.State()
	return err == nil && state == history.StateFrozen && !d.held.Load()
}
