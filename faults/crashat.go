package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// CrashAt waits for something to happen on a node, and ends it by SIGKILL
// within milliseconds of that. It stays down until it is healed.
type CrashAt struct {
	Trigger string // log, metric, role, file
	Pattern string // what to wait for, in the trigger's own terms
	Op      string // of file: which operation
	Nth     int    // which of several
	Wait    time.Duration
}

// Name is crash_at.
func (CrashAt) Name() string { return "crash_at" }

// Plan plans to wait, then a SIGKILL.
func (f CrashAt) Plan(ctx context.Context, target Target) (*Injection, error) {
	if len(target.Nodes) != 1 {
		return nil, fmt.Errorf("crash_at waits on one node, and %s is %d; target one", target.Asked, len(target.Nodes))
	}
	in, err := sigkill().plan(ctx, target)
	if err != nil {
		return nil, err
	}
	node := target.Nodes[0]
	if f.Trigger == triggerFile {
		if err := f.setTrap(ctx, in, target); err != nil {
			return nil, err
		}
	}
	wait, err := f.waiter(in, target)
	if err != nil {
		return nil, err
	}
	var came atomic.Bool
	in.Mechanism = "sigkill at a " + f.what()
	in.Until = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, f.Wait)
		defer cancel()
		if err := wait(ctx); err != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				err = fmt.Errorf("%s did not come on %s within %v", f.describe(), node.Name(), f.Wait)
			}
			return err
		}
		came.Store(true)
		return nil
	}
	in.Proofs = slices.Insert(in.Proofs, 0, Proof{
		Name: f.describe() + " on " + node.Name(), Node: node.Name(),
		Role: history.RoleMechanism, Want: history.WantState, Expect: "came",
		Read: func(context.Context) history.Sample {
			if came.Load() {
				return history.Sample{OK: true, State: "came"}
			}
			return history.Sample{OK: true, State: "not yet"}
		},
	})
	return in, nil
}

// what is the trigger in words.
func (f CrashAt) what() string {
	return map[string]string{triggerLog: "log line", triggerMetric: "metric", triggerRole: "role", triggerFile: "file operation"}[f.Trigger]
}

// describe says what is waited for.
func (f CrashAt) describe() string {
	text := fmt.Sprintf("%s %q", f.what(), f.Pattern)
	if f.Trigger == triggerFile {
		text = fmt.Sprintf("file operation %s on %q", f.Op, f.Pattern)
	}
	if f.Nth > 1 {
		text += fmt.Sprintf(", number %d", f.Nth)
	}
	return text
}

func crashAt() Kind {
	return Kind{
		Type:    "crash_at",
		Ends:    true,
		Summary: "SIGKILL within milliseconds of a log line, a metric's threshold, a role or a file operation, which is held until then; a trigger that never comes is not_landed",
		Params: []Param{
			{Name: "trigger", Doc: "what to wait for", Default: triggerLog, OneOf: triggers()},
			{Name: "pattern", Doc: "log: a regular expression for a line; metric: name >= number (get_metrics lists them); role: leader or follower; file: a pattern for the path below the data directory, as *.blk", Default: "", Required: true},
			{Name: "op", Doc: "file: which operation, as fsync", Default: ""},
			{Name: "nth", Doc: "which of several", Default: 1.0, Min: 1, Max: 1e6},
			{Name: "wait_s", Doc: "how long to wait for it; the call answers after that", Default: 20.0, Min: 0.1, Max: 300},
		},
		Targets:   []string{"node-N", "leader", "follower", "any"},
		Example:   Example{Target: "leader", Params: map[string]any{"duration_s": 2.0, "trigger": triggerMetric, "pattern": "process_cpu_s > 0"}},
		New:       newCrashAt,
		Available: sigkill().available,
	}
}

func newCrashAt(p Params) (Fault, error) {
	f := CrashAt{Wait: p.Seconds("wait_s")}
	f.Trigger = p.text("trigger")
	f.Pattern = p.text("pattern")
	f.Op = p.text("op")
	nth := p.number("nth")
	f.Nth = int(nth)
	if f.Op != "" && f.Trigger != triggerFile {
		return nil, fmt.Errorf("parameter op: it belongs to trigger file, not to %s; leave it out", f.Trigger)
	}
	return f, f.check()
}
