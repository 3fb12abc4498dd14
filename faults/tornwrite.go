package faults

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// TornWrite is a power loss in the middle of a write: of one write a part
// survives that ends where a sector does, and nothing that came after it.
type TornWrite struct {
	Path   string
	Sector int64 // bytes; 0: chosen by the seed
	Seed   uint64
}

// Name is torn_write.
func (TornWrite) Name() string { return "torn_write" }

// Plan plans the end of every node within a write of its own.
func (f TornWrite) Plan(ctx context.Context, target Target) (*Injection, error) {
	return crash{
		ask: disk.Crash{Policy: disk.Torn, Seed: f.Seed, Sector: f.Sector, Path: f.Path},
		took: func(o disk.Outcome) (int, string) {
			if o.Torn == nil {
				return 0, "writes torn: none was pending"
			}
			return 1, fmt.Sprintf("write torn: of %d bytes at %d of %s the first %d survive", o.Torn.Length, o.Torn.Offset, o.Torn.Path, o.Torn.Kept)
		},
	}.plan(ctx, target)
}

func tornWrite() Kind {
	return diskKind(Kind{
		Type:    "torn_write",
		Draw:    Draw{Takes: true},
		Summary: "as power_loss, in the middle of a write that was not synced: only its first sectors survive",
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 2.0}},
		Params: []Param{
			pathParam(),
			{Name: "sector_bytes", Default: 0.0, Min: 0, Max: 4096, Doc: "512 or 4096; 0: chosen by the seed"},
			seedParam(),
		},
		New: func(p Params) (Fault, error) {
			pattern := p.text("path")
			sector := p.number("sector_bytes")
			if !slices.Contains([]float64{0, 512, 4096}, sector) {
				return nil, fmt.Errorf("parameter sector_bytes: got %g; valid: 512, 4096, or 0 for either", sector)
			}
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("parameter path: %q: %w", pattern, err)
			}
			return TornWrite{Path: pattern, Sector: int64(sector), Seed: p.seed()}, nil
		},
	})
}
