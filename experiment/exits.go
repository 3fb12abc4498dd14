package experiment

import (
	"context"
	"fmt"
	"sync"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
)

// exits records how processes of nodes end, from the start of the cluster until
// after its end.
type exits struct {
	stop  context.CancelFunc
	group sync.WaitGroup
}

func watchExits(r *record, c *cluster.Cluster) *exits {
	ctx, stop := context.WithCancel(context.Background())
	x := &exits{stop: stop}
	for i, n := range c.Nodes() {
		x.group.Go(func() { n.Exits(ctx, func(exit cluster.Exit) { r.exited(int16(i), n.Name(), exit) }) })
	}
	return x
}

// close returns when every end until now is recorded.
func (x *exits) close() {
	x.stop()
	x.group.Wait()
}

func (r *record) exited(node int16, name string, exit cluster.Exit) {
	at := r.clock.Now()
	if exit.OutOfMemory {
		killer := harnessEvent(at, history.KindObserve, history.ObserveMemoryKill)
		killer.Node = node
		r.rec.Record(killer)
	}
	ev := harnessEvent(at, history.KindObserve, history.ObserveExit)
	ev.Node = node
	ev.Value, ev.Reason = ending(exit.State)
	if exit.Asked {
		ev.Outcome = history.OK
	} else {
		r.say(fmt.Sprintf("the process of %s ended (%s)", name, exit.State))
	}
	r.rec.Record(ev)
}

// ending is the status of a process that exited, or the signal that ended it and
// status -1; without both nobody knows how it ended.
func ending(state string) (status float64, signal uint8) {
	if _, err := fmt.Sscanf(state, history.StateExited+"status %g", &status); err == nil {
		return status, 0
	}
	fmt.Sscanf(state, history.StateExited+"signal %d", &signal)
	return -1, signal
}
