package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// A contest is a driver whose clients publish in turns, one on each path.
type contest struct {
	*meter
	turn   time.Duration
	paths  int
	ctx    context.Context // ends when the driver fails
	close  func()
	driver *Driver
}

func (c *contest) start(ctx context.Context, opts Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	opts.OnError = cancel
	driver, err := Start(ctx, opts)
	if err != nil {
		cancel(nil)
		return err
	}
	c.ctx, c.driver = ctx, driver
	c.close = func() {
		cancel(nil)
		driver.Close()
		<-driver.Done()
	}
	return nil
}

// run gives each path a first turn that does not count: the client connects and the
// SDK warms up. Each path then has so many rounds that count, and a different path
// begins each round.
func (c *contest) run(rounds int) error {
	if len(c.driver.opts.Spec.Clients) > c.paths {
		if err := c.makeMailbox(int32(c.paths)); err != nil {
			return err
		}
	}
	for round := range 1 + rounds {
		for i := range c.paths {
			process := int32((i + round) % c.paths)
			do := "resume"
			if round == 0 {
				do = "connect"
			}
			if err := c.publish(process, do); err != nil {
				return err
			}
			if round > 0 {
				c.count(process)
			}
		}
	}
	return nil
}

// makeMailbox has a client of mq9 make its mailbox, and go: it is to fetch
// nothing.
func (c *contest) makeMailbox(process int32) error {
	if err := c.do("connect", process); err != nil {
		return err
	}
	if err := c.wait("make a mailbox", process, func(l *lane) bool { return l.subscribed }); err != nil {
		return err
	}
	return c.do("disconnect", process)
}

// publish has a client publish for one turn, and waits for all that it
// published to be acknowledged.
func (c *contest) publish(process int32, do string) error {
	if err := c.do(do, process); err != nil {
		return err
	}
	if err := c.wait("wait for an acknowledgement", process, func(l *lane) bool { return !l.paused && len(l.took) > 0 }); err != nil {
		return err
	}
	turn := time.NewTimer(c.turn)
	defer turn.Stop()
	select {
	case <-turn.C:
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
	if err := c.do("pause", process); err != nil {
		return err
	}
	return c.wait("wait for the last acknowledgement of a turn", process, func(l *lane) bool { return l.paused && len(l.open) == 0 })
}

func (c *contest) do(command string, process int32) error {
	return c.driver.Do(contract.Command{Do: command, Process: process})
}

// wait waits until it is so of a client that does nothing wrong.
func (c *contest) wait(what string, process int32, so func(*lane) bool) error {
	for {
		is, wrong := c.look(process, so)
		switch {
		case wrong != "":
			return errors.New(wrong)
		case is:
			return nil
		}
		select {
		case <-c.changed:
		case <-c.ctx.Done():
			return fmt.Errorf("%s: %w", what, context.Cause(c.ctx))
		}
	}
}

// A meter measures clients by their events.
type meter struct {
	changed chan struct{} // has one where something happened since it was read

	mu    sync.Mutex
	lanes map[int32]*lane
}

// A lane is one client of a meter.
type lane struct {
	open       map[int64]time.Duration // publishes that have not returned, by their call: when that was
	paused     bool
	subscribed bool
	wrong      string // what went wrong first

	began, last time.Duration   // of the turn: when it may publish, the last acknowledgement
	took        []time.Duration // of the turn, from call to acknowledgement

	rates []float64       // of the turns that count
	all   []time.Duration // what publishes took in these
}

func newMeter() *meter { return &meter{changed: make(chan struct{}, 1), lanes: map[int32]*lane{}} }

// lane is that of a process; the meter is locked.
func (m *meter) lane(process int32) *lane {
	l := m.lanes[process]
	if l == nil {
		l = &lane{open: map[int64]time.Duration{}, paused: true}
		m.lanes[process] = l
	}
	return l
}

// see is told every event of the history.
func (m *meter) see(e history.Event) {
	if e.Via != history.ViaDriver || e.Process == history.None {
		return
	}
	m.mu.Lock()
	m.lane(e.Process).see(e)
	m.mu.Unlock()
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

func (l *lane) see(e history.Event) {
	switch {
	case e.Kind == history.KindPublish && e.Edge == history.Call:
		l.open[e.Index] = e.Time
	case e.Edge == history.Return && e.Outcome != history.OK:
		l.wrong = cmp.Or(l.wrong, fmt.Sprintf("%s is %s: %s", e.Kind, e.Outcome, cmp.Or(e.Text, "it does not say why")))
	case e.Kind == history.KindPublish:
		l.took, l.last = append(l.took, e.Time-l.open[e.Call]), e.Time
		delete(l.open, e.Call)
	case e.Kind == history.KindSubscribe && e.Edge == history.Return:
		l.subscribed = true
	case e.Kind == history.KindDisconnect:
		l.wrong = cmp.Or(l.wrong, "it lost its connection: "+cmp.Or(e.Text, "it does not say why"))
	case e.Kind == history.KindPause:
		l.paused = true
	case e.Kind == history.KindResume, e.Kind == history.KindConnect && e.Edge == history.Return:
		// Messages in flight when the last turn ended count for neither turn.
		l.paused, l.began, l.took = false, e.Time, nil
	}
}

// look looks at a client.
func (m *meter) look(process int32, so func(*lane) bool) (is bool, wrong string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lane(process)
	return so(l), l.wrong
}

// count has the turn count that a client is done with.
func (m *meter) count(process int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lane(process)
	l.rates = append(l.rates, float64(len(l.took))/(l.last-l.began).Seconds())
	l.all = append(l.all, l.took...)
}

// pace is what the turns that count show of a client.
func (m *meter) pace(process int32) Pace {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.lane(process)
	slices.Sort(l.rates)
	slices.Sort(l.all)
	at := func(percent int) float64 { return float64(l.all[len(l.all)*percent/100].Nanoseconds()) / 1000 }
	return Pace{PerS: l.rates[len(l.rates)/2], P50US: at(50), P99US: at(99)}
}
