package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// phases take a run from its cluster to its end: load, steady, fault, recovery and drain, or ready
// for a run by hand. The parts of a run are interfaces, of which tests have their own.
type phases struct {
	notes
	place   place
	load    traffic
	nemesis func() disturber // nil until the cluster is up
	room    room

	name   string // of the scenario; "" for a run by hand
	after  time.Duration
	halt   func() // ends the work; healing and draining follow
	halted <-chan struct{}
	failed <-chan struct{} // closed when nothing more is recorded
	why    func() error    // likewise
}

// notes take a run's progress, for people, and the failures of the harness.
type notes interface {
	enter(phase string)
	say(text string)
	harness(format string, args ...any)
}

// A place has the brokers under test and all that is around them.
type place interface {
	up(ctx context.Context) error          // starts it, and freezes the run
	observe(work, watched context.Context) // in the background: the nodes during the work, the host longer
	answers(ctx context.Context)           // says which nodes do not answer
	lost() bool                            // what follows says nothing of the broker
	forget(ctx context.Context)            // removes the run's traces at brokers of others
	down(ctx context.Context)              // also after an up that failed
}

// A traffic is the clients of a scenario's workload, and those by hand.
type traffic interface {
	begin(ctx context.Context) error
	loaded(ctx context.Context) bool // at most of its rate, within a bound
	steady(ctx context.Context)
	probes(ctx context.Context) error // through every node
	drain(ctx context.Context)
	close(ctx context.Context) // ends workloads by hand, and drains them
}

// A disturber injects the faults of a run.
type disturber interface {
	disturb(ctx context.Context) // runs the schedule through
	healAll(ctx context.Context)
	acted() bool                      // a fault was injected
	retire(ctx context.Context) error // undoes what was not healed, when its cluster is gone
}

// room is the disk space that is reserved for the end of a run.
type room interface {
	some() error // gives a little of it back
	all() error
}

// run is the whole run, up to the judge. It ends early, but in order, when ctx ends, at a
// halt, or when the record fails.
func (p *phases) run(ctx context.Context) {
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.failed: // a full disk: what follows is not recorded
			p.harness("record what happens: %v", p.why())
		case <-p.halted:
		case <-work.Done():
		}
		cancel()
	}()
	watched, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	defer unwatch()
	if err := p.place.up(work); err != nil {
		p.harness("start cluster: %v", err)
	} else {
		p.place.observe(work, watched)
		if p.name != "" {
			p.execute(work, p.nemesis())
		} else {
			p.enter(history.PhaseReady)
			<-work.Done()
		}
	}
	p.end(context.WithoutCancel(ctx), unwatch)
}

// execute runs the scenario: load, steady, fault (once a round, by the nemesis),
// recovery, drain. After a load that did not come up only the drain follows: the
// phases in the record show it. Failures of the harness are noted.
func (p *phases) execute(ctx context.Context, n disturber) {
	p.enter(history.PhaseLoad)
	if err := p.load.begin(ctx); err != nil && ctx.Err() != nil {
		p.say(fmt.Sprintf("stopped before %s had come up", p.name)) // it had more time to come up
	} else if errors.As(err, new(keptOut)) {
		p.say(err.Error())
	} else if err != nil {
		p.harness("%v", err)
	} else if p.load.loaded(ctx) {
		p.enter(history.PhaseSteady)
		p.load.steady(ctx)
		n.disturb(ctx)
		if ctx.Err() != nil { // stopped: faults in place must not hold up the drain
			n.healAll(context.WithoutCancel(ctx))
		}
		if !p.place.lost() && (ctx.Err() == nil || n.acted()) {
			p.recover(ctx)
		}
	}
	p.enter(history.PhaseDrain)
	p.load.drain(context.WithoutCancel(ctx))
}

// recover publishes and receives through every node, until each has served or
// the bound has passed, and continues the workload for a while. No node is
// waited for before the others are asked: one that stays away says nothing of
// them. A run that was stopped after a fault recovers too: late deliveries are
// no loss.
func (p *phases) recover(ctx context.Context) {
	p.enter(history.PhaseRecovery)
	onwards := context.WithoutCancel(ctx)
	if err := p.load.probes(onwards); err != nil {
		p.harness("probe the nodes after the heal: %v", err)
	}
	p.place.answers(onwards)
	hold(ctx, p.after)
}

// end heals, drains workloads that run by hand, removes the run's traces at brokers of
// others, takes the cluster down, and undoes faults that did not heal. The room reserved
// for the end of the run serves for this even if the disk is full by now. Only a little
// of it is given back for healing, because a broker that still writes may take it.
// The host is watched until all is drained, in a run that was stopped too.
func (p *phases) end(ctx context.Context, unwatch func()) {
	if err := p.room.some(); err != nil {
		p.harness("%v", err)
	}
	n := p.nemesis()
	if n != nil {
		n.healAll(ctx)
	}
	p.halt() // observers end, and workloads by hand stop, or drain to their end
	p.load.close(ctx)
	unwatch()
	if n != nil { // the cluster came up
		p.place.forget(ctx)
	}
	p.place.down(ctx)
	if err := p.room.all(); err != nil {
		p.harness("%v", err)
	}
	if n != nil {
		if err := n.retire(ctx); err != nil {
			p.harness("undo what was not healed: %v", err)
		}
	}
}
