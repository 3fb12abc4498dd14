package disk

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestKernelBelieves does random things through a mount, loses power again
// and again, and compares what the kernel shows with what is there.
func TestKernelBelieves(t *testing.T) {
	c, dir := started(t, never(Ext4()))
	random := rand.New(rand.NewPCG(1, 2))
	p := program{t, dir}
	dropped := 0
	for round := range 60 {
		for range 30 {
			p.anything(random)
		}
		look(t, c, dir, fmt.Sprintf("round %d, before", round))
		policy := Policies()[round%len(Policies())]
		o, err := c.Crash(t.Context(), Crash{Policy: policy, Seed: uint64(round)})
		p.must(err)
		if !o.Dropped.Nothing() {
			dropped++
		}
		look(t, c, dir, fmt.Sprintf("round %d, after %s", round, policy))
	}
	if dropped < 30 {
		t.Errorf("of 60 crashes %d took something", dropped)
	}
}

func look(t *testing.T, c *Client, dir, when string) {
	t.Helper()
	if diff := same(onDisk(t, c.Info().Tree), onDisk(t, dir)); diff != "" {
		t.Fatalf("%s:\n%s", when, diff)
	}
}

// anything does one thing, whether it can be done or not.
func (p program) anything(random *rand.Rand) {
	name := func() string {
		n := string(rune('a' + random.IntN(4)))
		if random.IntN(2) == 0 {
			return filepath.Join(string(rune('A'+random.IntN(2))), n)
		}
		return n
	}
	a, b := p.path(name()), p.path(name())
	switch random.IntN(12) {
	case 0, 1, 2:
		if f, err := os.OpenFile(a, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err == nil {
			_, err := f.Write(make([]byte, 1+random.IntN(9000)))
			p.must(err)
			p.must(f.Close())
		}
	case 3:
		if f, err := os.OpenFile(a, os.O_RDWR, 0); err == nil {
			_, err := f.WriteAt([]byte("overwritten"), random.Int64N(5000))
			p.must(err)
			if random.IntN(2) == 0 {
				p.must(f.Sync())
			}
			p.must(f.Close())
		}
	case 4, 5:
		_ = os.Rename(a, b)
	case 6:
		_ = os.Link(a, b)
	case 7:
		_ = os.Truncate(a, random.Int64N(3000))
	case 8:
		_ = os.Remove(a)
	case 9:
		_ = os.MkdirAll(p.path(string(rune('A'+random.IntN(2)))), 0o755)
	case 10:
		_ = os.Rename(p.path("A"), p.path("B"))
	case 11:
		_, _ = os.Stat(a)
		_, _ = os.Stat(b)
	}
}
