package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// A quantity is something that each node takes, and that is to be steady.
type quantity struct {
	name    string
	metrics []string // observed, the first that a node has; none for the latency of acknowledgements
	unit    string   // of a level
	scale   float64  // a level for each unit that was recorded
	rate    string   // unit of a slope
	percent bool     // a slope is told as a share of the level
	// floor is growth, in the unit of a level, which a process takes for no reason
	// and which is never a failure, however fast it came in a short run.
	floor  float64
	budget func(history.Growth) float64
}

// The memory of mapped files is left out where possible: a broker that maps its log has
// as much of it as was written.
var quantities = [...]quantity{
	{"memory", []string{history.ObserveAnonymous, history.ObserveMemory}, "MiB", 1. / (1 << 20), "MiB/h", false, 16, func(g history.Growth) float64 { return g.MemoryMiB }},
	{"descriptors", []string{history.ObserveDescriptors}, "", 1, "/h", false, 16, func(g history.Growth) float64 { return g.Descriptors }},
	{"connections", []string{history.ObserveConnections}, "", 1, "/h", false, 8, func(g history.Growth) float64 { return g.Connections }},
	{"latency", nil, "ms", 1e-6, "%/h", true, 5, func(g history.Growth) float64 { return g.LatencyPercent }},
}

// observed is the quantity that a row has a sample of; nil for none.
func observed(b *history.Batch, i int) *quantity {
	if b.Kind[i] != history.KindObserve || b.Node[i] < 0 {
		return nil
	}
	name := b.Text(i)
	for q := range quantities {
		if slices.Contains(quantities[q].metrics, name) {
			return &quantities[q]
		}
	}
	return nil
}

// Scale returns the factor from a reading of a metric to the unit of its trend's
// levels. ok is false for a metric without a trend.
func Scale(metric string) (scale float64, ok bool) {
	for _, q := range quantities {
		if slices.Contains(q.metrics, metric) {
			return q.scale, true
		}
	}
	return 0, false
}
