package exam

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/internal/near"
)

// knownOf are the violations that a flavor is known for: those of its document, if it has one
// with a list.
func knownOf(flavor string) ([]conformance.Known, error) {
	f := cluster.FlavorNamed(flavor)
	if f.Document == nil || len(f.Document.Known) == 0 {
		return conformance.KnownOf(cmp.Or(f.SameAs, f.Name)), nil
	}
	var names []string
	for _, s := range conformance.Statements() {
		names = append(names, s.Name)
	}
	var all []conformance.Known
	for _, k := range f.Document.Known {
		if !slices.Contains(names, k.Check) {
			return nil, fmt.Errorf("the document of %s: known: no check %q%s", f.Name, k.Check, near.Hint(k.Check, names, ""))
		}
		all = append(all, conformance.Known{Name: k.Check, Version: versions[k.Protocol], What: k.What, Cite: k.Cite, Until: k.Until})
	}
	return all, nil
}

// versions are the standards by the protocol's name in the contract.
var versions = map[string]conformance.Version{contract.MQTT3: conformance.V311, contract.MQTT5: conformance.V5, contract.MQ9: conformance.MQ9}
