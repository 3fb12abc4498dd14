package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// layerNet is the layer of rules in the router. A fault has at most one entry
// in it for each thing it does: Want is a [router.Action], Args a
// [router.Rule].
const layerNet = "net"

func netEntry(rule router.Rule) Entry {
	return Entry{Layer: layerNet, Want: string(rule.Do), Args: rule}
}

// netLayer is the router's rules.
type netLayer struct{ net Filter }

// NewNetLayer is the layer net.
func NewNetLayer(net Filter) Layer { return netLayer{net} }

func (l netLayer) Render(ctx context.Context, active []Entry) error {
	rules := make([]router.Rule, 0, len(active))
	for _, e := range active {
		rule, err := argsOf[router.Rule](e)
		if err != nil {
			return err
		}
		rule.Fault, rule.Do = e.Fault, router.Action(e.Want)
		rules = append(rules, rule)
	}
	return l.net.Render(ctx, rules)
}
