package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
)

// connections are those to the experiments this server works with. They stay
// open between calls: an experiment driven by hand is healed and stopped when
// the last connection to it closes, which is at the latest when this process
// ends.
type connections struct {
	mu   sync.Mutex
	open map[string]Experiment
}

// keep remembers an experiment until it is gone.
func (c *connections) keep(e Experiment) Experiment {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := e.Info().ID
	if c.open == nil {
		c.open = map[string]Experiment{}
	}
	c.open[id] = e
	go func() {
		<-e.Gone()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open[id] == e {
			delete(c.open, id)
		}
	}()
	return e
}

func (c *connections) find(id string) Experiment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[id]
}

// start starts an experiment, which outlives the call that asked for it.
func (a *agent) start(ctx context.Context, call *Call, ask keeper.Start) (Experiment, error) {
	ask.Envelope = a.limits()
	a.starting.Lock() // two calls at once would both find room for one
	defer a.starting.Unlock()
	live, err := a.backend.Live()
	if err != nil {
		return nil, fmt.Errorf("list the live experiments: %w", err)
	}
	if err := a.envelope.Experiment(len(live)); err != nil {
		return nil, err
	}
	e, err := a.backend.Start(context.WithoutCancel(ctx), ask)
	if err != nil {
		return nil, err
	}
	call.touched = e
	return a.connections.keep(e), nil
}

// limits are the operator's, for a keeper to hold.
func (a *agent) limits() *envelope.Envelope {
	limits := a.envelope
	return &limits
}

// experiment reaches the live experiment of that id; "" is the only live one.
func (a *agent) experiment(call *Call, id string) (Experiment, error) {
	live, err := a.backend.Live()
	if err != nil {
		return nil, fmt.Errorf("list the live experiments: %w", err)
	}
	if id == "" {
		switch len(live) {
		case 0:
			return nil, errors.New("no experiment is live; start one with cluster_start or run_scenario")
		case 1:
			return a.connect(call, live[0].ID)
		}
		return nil, fmt.Errorf("several experiments are live; say which with `experiment`: %s", describeLive(live))
	}
	for _, l := range live {
		if l.ID == id {
			return a.connect(call, id)
		}
	}
	if len(live) == 0 {
		return nil, fmt.Errorf("experiment %q is not live, and none is; call get_run for what it left, or start one with cluster_start or run_scenario", id)
	}
	return nil, fmt.Errorf("experiment %q is not live; live are: %s. Call get_run for what it left", id, describeLive(live))
}

func (a *agent) connect(call *Call, id string) (Experiment, error) {
	e := a.connections.find(id)
	if e == nil {
		made, err := a.backend.Connect(id)
		if err != nil {
			return nil, err
		}
		e = a.connections.keep(made)
	}
	call.touched = e
	return e, nil
}

func describeLive(live []keeper.Info) string {
	list := make([]string, len(live))
	for i, l := range live {
		what := l.Scenario
		if what == "" {
			what = "by hand"
		}
		list[i] = fmt.Sprintf("%s (%s, for %.0f s)", l.ID, what, time.Since(l.Started).Seconds())
	}
	return strings.Join(list, "; ")
}

// pollEvery is how often an experiment driven by hand is looked at: looking
// asks its brokers who leads.
const pollEvery = 500 * time.Millisecond

// await looks at an experiment until the condition holds or the time is over,
// and answers the last it saw. Progress goes to the call meanwhile. When the
// caller gives up, the experiment goes on.
func await(ctx context.Context, call *Call, e Experiment, wait float64, until func(keeper.Status) bool) (keeper.Status, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go watch(ctx, call, e)
	deadline := call.deadline(wait)
	for {
		left := time.Until(deadline)
		s, err := e.Wait(ctx, max(0, left))
		if err != nil || until(s) || left <= 0 {
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(min(pollEvery, max(0, time.Until(deadline)))):
		}
	}
}

// watch passes an experiment's progress on. It ends with the wait; an
// experiment that cannot be watched is still waited for.
func watch(ctx context.Context, call *Call, e Experiment) {
	if call.Progress == nil {
		return
	}
	_ = e.Watch(ctx, func(p keeper.Progress) { call.Progress(p.At, 0, progressText(p)) })
}

func progressText(p keeper.Progress) string {
	text := fmt.Sprintf("%s: %.0f published/s, %.0f delivered/s", p.Phase, p.Counts.PublishPerS, p.Counts.DeliverPerS)
	if p.Text != "" {
		text = p.Phase + ": " + p.Text
	}
	if len(p.Faults) > 0 {
		text += "; " + strings.Join(p.Faults, "; ")
	}
	return text
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ended reports whether an experiment came to its end.
func ended(s keeper.Status) bool { return s.Phase == history.PhaseDone || !s.Live }
