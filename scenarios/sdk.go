package scenarios

import (
	"cmp"
	"strings"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
)

// SDKFor returns the SDK of that name, or by "" the one that the scenario's clients have
// by default in a protocol on a flavor. It is an error where its driver cannot do what
// the workload needs.
func (s *Scenario) SDKFor(sdk, protocol, flavor string) (clients.SDK, error) {
	found, err := s.named(cmp.Or(sdk, cluster.FlavorNamed(flavor).SDKs[protocol]), protocol)
	if err == nil {
		err = s.Suits(found)
	}
	return found, err
}

// named is the SDK of that name, or the scenario's. Where that does not speak the
// protocol it is one that does, in the same language.
func (s *Scenario) named(sdk, protocol string) (clients.SDK, error) {
	if sdk != "" {
		return clients.ResolveFor(sdk, protocol)
	}
	found, err := clients.ResolveFor(s.SDK, protocol)
	if err != nil {
		lang, _, _ := strings.Cut(s.SDK, "/")
		if other, none := clients.ResolveFor(lang, protocol); none == nil {
			return other, nil
		}
	}
	return found, err
}
