package faults

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/limits"
)

// FDs lowers the soft limit of open files of the target's live processes to
// those they have open and some to spare, so that opening another one, a
// client's connection for example, fails with EMFILE. A file that they close
// cannot be opened again: with none to spare the limit lies below all that they
// may close, otherwise it follows. The hard limit is left alone. A node that ends
// by it is started again at the heal.
type FDs struct{ Spare int }

// Name is fds.
func (FDs) Name() string { return "fds" }

// Plan looks at what every node has open and plans a limit just above.
func (f FDs) Plan(ctx context.Context, target Target) (*Injection, error) {
	in := &Injection{Mechanism: prlimit}
	for _, n := range target.Nodes {
		number, err := pid(ctx, n)
		if err != nil {
			return nil, err
		}
		if err := can(n, Killed); err != nil { // it may end by this, and is started again
			return nil, fmt.Errorf("limit the open files of %s: %w", n.Name(), err)
		}
		open, limit, err := leastOpen(ctx, number, f.Spare)
		if err != nil {
			return nil, fmt.Errorf("limit the open files of %s: %w", n.Name(), err)
		}
		if limit >= open.Soft {
			return nil, fmt.Errorf("limit the open files of %s: it has %d open and may have %d, which leaves no more than %d; ask for a smaller spare", n.Name(), open.Open, open.Soft, f.Spare)
		}
		in.Entries = append(in.Entries, Entry{Layer: "files/" + n.Name(), Want: "fds", Args: filesArgs{
			Limit: limit, Had: open.Soft, Process: number, Spare: f.Spare,
		}})
		in.Entries = append(in.Entries, Entry{Layer: "process/" + n.Name(), Want: Doomed})
		in.Proofs = append(in.Proofs, softLimit(n, limit), unreachable(n))
		in.Healed = append(in.Healed, raised(n, limit))
	}
	in.Proofs = append(in.Proofs, untouched(target.Control)...)
	return in, nil
}

const prlimit = "prlimit"

// leastOpen looks a few times, as a broker opens files for a moment all the
// time, and returns the lowest limit that leaves some to spare.
func leastOpen(ctx context.Context, number, spare int) (open limits.Files, limit uint64, err error) {
	for i := range 15 {
		if open, err = limits.OpenFiles(number); err != nil {
			return open, 0, err
		}
		if free := open.Free(spare); i == 0 || free < limit {
			limit = free
		}
		select {
		case <-ctx.Done():
			return open, 0, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return open, limit, nil
}

// softLimit is the mechanism: the limit as the kernel shows it.
func softLimit(n Node, limit uint64) Proof {
	var last history.Sample
	ours := fmt.Sprintf("at most %d", limit)
	return Proof{
		Name: "soft limit of open files of " + n.Name(), Node: n.Name(),
		Role: history.RoleMechanism, Want: history.WantState, Expect: ours, Unit: "files",
		Read: func(ctx context.Context) history.Sample {
			number, err := pid(ctx, n)
			if err != nil && last.State == ours {
				return last // the process ended with it
			}
			if err != nil {
				return failed(err)
			}
			open, err := limits.OpenFiles(number)
			if err != nil {
				return failed(err)
			}
			last = history.Sample{OK: true, State: fmt.Sprint(open.Soft), Value: float64(open.Open)}
			if open.Soft <= limit {
				last.State = ours
			}
			return last
		},
	}
}

// raised reads back that a node has no limit of ours.
func raised(n Node, limit uint64) Check {
	return Check{Name: "soft limit of open files of " + n.Name(), Node: n.Name(), Unit: "files", Read: func(ctx context.Context) (float64, error) {
		number, err := pid(ctx, n)
		if err != nil {
			return 0, err
		}
		open, err := limits.OpenFiles(number)
		if err == nil && open.Soft <= limit {
			err = fmt.Errorf("%s may still open no more than %d files", n.Name(), open.Soft)
		}
		return float64(open.Soft), err
	}}
}

func fds() Kind {
	return Kind{
		Type:         "fds",
		NeedsRestart: true, Ends: true, ByPID: true,
		Summary: "the process can open no more files and connections than it has and a few to spare, whatever it closes; the next fails with EMFILE",
		Params: []Param{{
			Name: "spare", Doc: "files and connections it may still open", Default: 0.0, Min: 0, Max: 100000,
		}},
		Targets: processTargets(),
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 4.0}},
		New: func(p Params) (Fault, error) {
			spare, err := p.whole("spare")
			return FDs{Spare: spare}, err
		},
		Available: func(context.Context) (mechanism, missing string) {
			if _, err := limits.OpenFiles(os.Getpid()); err != nil {
				missing = err.Error()
			}
			return prlimit, missing
		},
	}
}
