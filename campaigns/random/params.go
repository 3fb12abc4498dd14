package random

import (
	"maps"

	"github.com/robustmq/rmq-mcp/faults"
)

// params draws a fault's parameters around those of its example, which lands. A
// parameter that is not drawn keeps the example's value.
func params(d dice, k faults.Kind, s faults.Setting) map[string]any {
	p := map[string]any{}
	maps.Copy(p, k.Example.Params)
	delete(p, "duration_s")
	if k.Draw.Params != nil {
		k.Draw.Params(d, s, p)
	}
	d.seedOf(k, p)
	return p
}
