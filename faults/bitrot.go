package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"sync"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// BitRot kills a node, flips one bit in each of some bytes of its files, and
// lets it start on them when it is healed. Nothing puts the bits back.
type BitRot struct {
	Bytes int
	Path  string
	Seed  uint64
}

// Name is bit_rot.
func (BitRot) Name() string { return "bit_rot" }

// DiskFiles are the files of a disk whose broker is down.
type DiskFiles interface {
	Files(ctx context.Context) ([]disk.File, error)
	Rot(ctx context.Context, rot disk.Rot) (disk.Rotten, error)
	Erase(ctx context.Context, keep ...string) (disk.Loss, error)
}

// A rot is one node's part of it.
type rot struct {
	BitRot
	node Node
	disk Disk

	mu      sync.Mutex
	spoiled []disk.Rotten
}

// Plan plans the end of every node, and the bytes' after it.
func (f BitRot) Plan(ctx context.Context, target Target) (*Injection, error) {
	var all []*rot
	in, err := target.onDisksOfKilled(ctx, diskArgs{}, func(n Node, d Disk) []Proof {
		r := &rot{BitRot: f, node: n, disk: d}
		all = append(all, r)
		return []Proof{r.flipped(), r.seen()}
	})
	if err != nil {
		return nil, err
	}
	in.Step = func(ctx context.Context) error {
		for _, r := range all {
			if err := r.spoil(ctx); err != nil {
				return fmt.Errorf("spoil files of %s: %w", r.node.Name(), err)
			}
		}
		return nil
	}
	in.Detail = func() any { return rotten(all) }
	return in, nil
}

// spoil flips the bits. The seed and the present files decide which ones. No
// byte is chosen twice: the second flip could undo the first.
func (r *rot) spoil(ctx context.Context) error {
	files, err := r.disk.Files(ctx)
	if err != nil {
		return err
	}
	for _, bit := range choose(files, r.BitRot) {
		done, err := r.disk.Rot(ctx, bit)
		if err != nil {
			return err
		}
		r.mu.Lock()
		r.spoiled = append(r.spoiled, done)
		r.mu.Unlock()
	}
	return nil
}

// choose chooses bits by chance, each byte of the files that match being as
// likely as any other.
func choose(files []disk.File, f BitRot) []disk.Rot {
	var total int64
	var fit []disk.File
	for _, file := range files {
		if disk.Matches(f.Path, file.Path) && file.Size > 0 {
			fit, total = append(fit, file), total+file.Size
		}
	}
	dice := rand.New(rand.NewPCG(f.Seed, 0))
	taken := map[int64]bool{}
	var out []disk.Rot
	for int64(len(out)) < min(total, int64(f.Bytes)) {
		at := dice.Int64N(total)
		if taken[at] {
			continue
		}
		taken[at] = true
		for _, file := range fit {
			if at < file.Size {
				out = append(out, disk.Rot{Path: file.Path, Offset: at, Bit: dice.IntN(8)})
				break
			}
			at -= file.Size
		}
	}
	return out
}

func (r *rot) bits() []disk.Rotten {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.spoiled
}

// flipped is the mechanism's own word.
func (r *rot) flipped() Proof {
	return Proof{
		Name: "bytes spoiled on " + r.node.Name(), Node: r.node.Name(),
		Role: history.RoleMechanism, Want: history.WantGrows, Unit: "bytes",
		Read: func(context.Context) history.Sample {
			bits := r.bits()
			s := history.Sample{OK: true, Value: float64(len(bits))}
			if len(bits) > 0 {
				b := bits[0]
				s.State = fmt.Sprintf("%d bytes, the first: %s at %d: %#02x to %#02x, SHA-256 %.12s to %.12s",
					len(bits), b.Path, b.Offset, b.From, b.To, b.Before.SHA256, b.After.SHA256)
			}
			return s
		},
	}
}

// seen is the effect: these bytes read so through the mount.
func (r *rot) seen() Proof {
	return Proof{
		Name: "spoiled bytes read on " + r.node.Name(), Node: r.node.Name(),
		Role: history.RoleEffect, Want: history.WantGrows, Unit: "bytes",
		Read: func(ctx context.Context) history.Sample {
			n := 0
			for _, b := range r.bits()[:min(len(r.bits()), looked)] {
				now, err := r.disk.Byte(ctx, b.Path, b.Offset)
				if err != nil {
					return failed(err)
				}
				if now == b.To && b.To != b.From {
					n++
				}
			}
			return history.Sample{OK: true, Value: float64(n)}
		},
	}
}

// looked is how many spoiled bytes are looked at.
const looked = 10

func rotten(all []*rot) map[string][]disk.Rotten {
	out := map[string][]disk.Rotten{}
	for _, r := range all {
		out[r.node.Name()] = r.bits()
	}
	return out
}

func bitRot() Kind {
	return diskKind(Kind{
		Type:    "bit_rot",
		Draw:    Draw{OneCopy: true},
		Summary: "the node is killed and bits of its files are flipped; healing starts it on them",
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 2.0}},
		Params: []Param{
			{Name: "bytes", Default: 1.0, Min: 1, Max: 1000, Less: true, Doc: "in how many bytes one bit is flipped"},
			pathParam(), seedParam(),
		},
		New: func(p Params) (Fault, error) {
			bytes, err := p.whole("bytes")
			if err != nil {
				return nil, err
			}
			pattern := p.text("path")
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("parameter path: %q: %w", pattern, err)
			}
			return BitRot{Bytes: bytes, Path: pattern, Seed: p.seed()}, nil
		},
	})
}
