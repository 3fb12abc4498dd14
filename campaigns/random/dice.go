package random

import (
	"math/rand/v2"

	"github.com/robustmq/rmq-mcp/faults"
)

// A dice is all the chance there is in a scenario.
type dice struct{ *rand.Rand }

func newDice(seed int64) dice {
	return dice{rand.New(rand.NewPCG(uint64(seed), 0x726d712d6d6370))} // rmq-mcp
}

// whole is a number of a range, both ends inclusive.
func (d dice) whole(from, to int) int { return from + d.IntN(to-from+1) }

// chance is true so many times of a hundred.
func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// pick takes one of several.
func pick[T any](d dice, list ...T) T { return list[d.IntN(len(list))] }

// weighted answers the place of one of several numbers, as often as it is large.
func (d dice) weighted(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := d.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	panic("more than the sum of its parts")
}

// seedOf is a seed for a fault's own chance, where it has one.
func (d dice) seedOf(k faults.Kind, params map[string]any) {
	for _, p := range k.Params {
		if p.Name == "seed" {
			params["seed"] = d.whole(1, 1<<20)
		}
	}
}
