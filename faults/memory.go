package faults

import (
	"context"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/limits"
)

// Memory bounds how much more memory the target's processes can take than they
// have: what a process had before stays charged to where it was. Files that it
// reads and writes count, and are what the kernel takes back first. A node
// that needs no more is not disturbed, and the fault did not land.
type Memory struct {
	HeadroomMiB float64
	OOM         bool // else the node is held up until the heal, or ends by itself
}

// Name is memory.
func (Memory) Name() string { return "memory" }

// Plan plans a limit for every node.
func (f Memory) Plan(ctx context.Context, target Target) (*Injection, error) {
	return f.quota().plan(ctx, target)
}

func (f Memory) quota() quota {
	q := quota{
		controller: limits.Memory,
		args:       limitArgs{HeadroomMiB: f.HeadroomMiB, OOM: f.OOM},
		limit:      mebibytesMore(f.HeadroomMiB, !f.OOM),
		doomed:     true, // also where it is held up: its own watchdog may end it
		proofs:     pressed,
	}
	if f.OOM {
		q.proofs = outOfMemory
	}
	return q
}

// pressed are the counter of how often the limit was run into, and the effect:
// the node is slow or, as only page faults are held up and a system call that
// needs memory is refused (mmap(2): ENOMEM), it gave up and ended.
func pressed(n, witness Node, dir string) []Proof {
	m := &meter{count: func() (int64, error) {
		c, err := limits.Count(dir)
		return c.Reclaims, err
	}}
	return []Proof{m.grows(n, "memory refused to", "times"), orEnded(n, m.slower(n, witness))}
}

// orEnded counts a process that ended by itself as one that keeps its clients
// waiting. One that was killed or told to stop did not end of what it lacked.
func orEnded(n Node, slower Proof) Proof {
	probe := slower.Read
	slower.Read = func(ctx context.Context) history.Sample {
		s := probe(ctx)
		if s.OK {
			return s
		}
		if state := stateInTheEnd(ctx, n); gaveIn(state) {
			s.OK, s.State = true, state
			s.Value = max(s.Value, float64(time.Second.Milliseconds()))
		}
		return s
	}
	return slower
}

// stateInTheEnd waits a little for a process to be seen ended: it closes what
// it has open before that.
func stateInTheEnd(ctx context.Context, n Node) string {
	for range breaths {
		if state, err := n.State(ctx); err != nil || state != Running {
			return state
		}
		select {
		case <-ctx.Done():
			return Running
		case <-time.After(breath):
		}
	}
	return Running
}

// gaveIn reports whether a process ended as one does that gets no memory: with
// an error (Go) or by abort(3) (Rust, C++).
func gaveIn(state string) bool {
	how, ended := strings.CutPrefix(state, history.StateExited)
	return ended && how != "status 0" && (strings.HasPrefix(how, "status ") || how == "signal 6 (aborted)")
}

// outOfMemory are the kernel's count of the processes that it killed, and the
// node's own death.
func outOfMemory(n, _ Node, dir string) []Proof {
	m := &meter{count: func() (int64, error) {
		c, err := limits.Count(dir)
		return c.Kills, err
	}}
	return []Proof{m.grows(n, "out-of-memory kills of", "processes"), {
		Name: "deaths by SIGKILL of " + n.Name(), Node: n.Name(),
		Role: history.RoleEffect, Want: history.WantGrows,
		Read: func(ctx context.Context) history.Sample {
			s := readState(ctx, n)
			if s.State == sigkill().expect {
				s.Value = 1
			}
			return s
		},
	}}
}

func memory() Kind {
	return Kind{
		Type: "memory",
		Ends: true, ByPID: true,
		Draw:    Draw{Takes: true},
		Summary: "the process can take only so much more memory; then the kernel kills it (oom) or holds it up (pressure)",
		Params: []Param{
			{Name: "headroom_mib", Doc: "memory a node may take beyond what it has, file cache included", Default: 16.0, Min: 0, Max: 1 << 20},
			{Name: "mode", Doc: "what follows at the limit", Default: "pressure", OneOf: []string{"pressure", "oom"}},
		},
		Targets: processTargets(),
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 8.0, "headroom_mib": 0.125, "mode": "oom"}},
		New: func(p Params) (Fault, error) {
			headroom := p.number("headroom_mib")
			return Memory{HeadroomMiB: headroom, OOM: p["mode"] == "oom"}, nil
		},
		Available: Memory{}.quota().available,
	}
}
