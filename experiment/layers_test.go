package experiment

import (
	"maps"
	"slices"
	"testing"

	"github.com/robustmq/rmq-mcp/faults"
)

// Each layer has an undo for a keeper that dies, and each undo has a layer. Containers, pods and foreign
// nodes are journalled and never rendered.
func TestLayersHaveUndos(t *testing.T) {
	layers := append(slices.Collect(maps.Keys((&stage{}).layers())), "driver", "containers", "pods", "leases", "foreign")
	undos := slices.Collect(maps.Keys(faults.Undoers()))
	slices.Sort(layers)
	slices.Sort(undos)
	if !slices.Equal(layers, undos) {
		t.Errorf("layers %q, undos %q", layers, undos)
	}
}
