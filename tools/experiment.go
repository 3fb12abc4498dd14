package tools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/keeper"
)

// experiment reaches the live experiment of that id; "" is the only live one.
func (a *agent) experiment(id string) (Experiment, error) {
	live, err := a.backend.Live()
	if err != nil {
		return nil, fmt.Errorf("list the live experiments: %w", err)
	}
	if id == "" {
		switch len(live) {
		case 0:
			return nil, errors.New("no experiment is live; start one with cluster_start or run_scenario")
		case 1:
			return a.backend.Connect(live[0].ID)
		}
		return nil, fmt.Errorf("several experiments are live; say which with `experiment`: %s", describeLive(live))
	}
	for _, l := range live {
		if l.ID == id {
			return a.backend.Connect(id)
		}
	}
	if len(live) == 0 {
		return nil, fmt.Errorf("experiment %q is not live, and none is; call get_run for what it left, or start one with cluster_start or run_scenario", id)
	}
	return nil, fmt.Errorf("experiment %q is not live; live are: %s. Call get_run for what it left", id, describeLive(live))
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

// pollEvery is how often a wait looks: a status is one round trip on a unix
// socket.
const pollEvery = 100 * time.Millisecond

// await looks at an experiment until the condition holds or the time is over,
// and answers the last it saw. Progress goes to the call meanwhile. When the
// caller gives up the experiment goes on.
func await(ctx context.Context, call *Call, e Experiment, wait float64, until func(keeper.Status) bool) (keeper.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, seconds(min(wait, maxWaitS)))
	defer cancel()
	go watch(ctx, call, e)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	// The first look is not bound to the wait, so that wait_s: 0 answers too.
	last, err := e.Status(context.WithoutCancel(ctx))
	for err == nil && !until(last) {
		select {
		case <-ctx.Done():
			return last, nil
		case <-tick.C:
		}
		var next keeper.Status
		if next, err = e.Status(ctx); err == nil {
			last = next
		} else if ctx.Err() != nil {
			return last, nil
		}
	}
	return last, err
}

// watch passes an experiment's progress on. It ends with the wait; an
// experiment that cannot be watched is still waited for.
func watch(ctx context.Context, call *Call, e Experiment) {
	if call.Progress == nil {
		return
	}
	_ = e.Watch(ctx, func(p keeper.Progress) {
		text := p.Phase
		if p.Text != "" {
			text += ": " + p.Text
		} else {
			text = fmt.Sprintf("%s: %.0f published/s, %.0f delivered/s", p.Phase, p.Counts.PublishPerS, p.Counts.DeliverPerS)
		}
		if len(p.Faults) > 0 {
			text += "; " + strings.Join(p.Faults, "; ")
		}
		call.Progress(p.At, 0, text)
	})
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ended reports whether an experiment came to its end.
func ended(s keeper.Status) bool { return s.Phase == keeper.PhaseDone || s.Error != "" || !s.Live }
