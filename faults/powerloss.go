package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// PowerLoss takes from a node's disk what was not durable at one moment, and
// the node's process with it.
type PowerLoss struct {
	Keep disk.Policy
	Seed uint64
}

// Name is power_loss.
func (PowerLoss) Name() string { return "power_loss" }

// Plan plans the end of every node and of what its disk did not keep.
func (f PowerLoss) Plan(ctx context.Context, target Target) (*Injection, error) {
	return crash{
		ask: disk.Crash{Policy: f.Keep, Seed: f.Seed},
		took: func(o disk.Outcome) (int, string) {
			return o.Dropped.Files + o.Dropped.Entries, "files and entries lost"
		},
	}.plan(ctx, target)
}

// survivors maps each value of the parameter keep to the part of the pending
// data that survives.
func survivors() map[string]disk.Policy {
	return map[string]disk.Policy{
		"nothing": disk.LoseAll, "prefix": disk.Prefix, "subset": disk.Subset, "entries": disk.ZeroLength,
	}
}

func powerLoss() Kind {
	return diskKind(Kind{
		Type: "power_loss",
		Draw: Draw{Takes: true, Params: func(d Dice, _ Setting, p map[string]any) {
			p["keep"] = oneOf(d, "nothing", "prefix", "subset", "entries")
		}},
		Summary: "the node is killed and loses its unsynced writes; healing starts it on the rest",
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 2.0}},
		Params: []Param{
			{
				Name: "keep", Default: "nothing", OneOf: []string{"nothing", "prefix", "subset", "entries"},
				Doc: "what survives of what was not durable: nothing; prefix: all until a moment; subset: of each file its own prefix; entries: names, but no bytes",
			},
			seedParam(),
		},
		New: func(p Params) (Fault, error) {
			keep := p.text("keep")
			return PowerLoss{Keep: survivors()[keep], Seed: p.seed()}, nil
		},
	})
}
