package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/judge/checker"
)

// A Query describes scenarios of the library that somebody looks for. Its zero value
// describes all of them.
type Query struct {
	Claim    string             // that it is judged by
	Protocol string             // that it can be run with
	Flavor   string             // of a broker that has all that it needs, some of its faults too
	Faults   *bool              // whether it injects any
	Limits   *envelope.Envelope // that allow all of its faults
}

// Find returns the scenarios of the library that a query describes, by name; none is no
// error. It is an error if the query names anything that does not exist.
func (q Query) Find() ([]*Scenario, error) {
	if q.Claim != "" {
		if _, err := checker.Find(q.Claim); err != nil {
			return nil, err
		}
	}
	for _, word := range []struct {
		what, is string
		valid    []string
	}{{"protocol", q.Protocol, contract.Protocols()}, {"flavor", q.Flavor, cluster.FlavorNames(cluster.Any)}} {
		if word.is != "" && !slices.Contains(word.valid, word.is) {
			return nil, fmt.Errorf("no %s %q; there are %s", word.what, word.is, strings.Join(word.valid, ", "))
		}
	}
	all, err := Library()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s *Scenario) bool { return !q.describes(s) }), nil
}

func (q Query) describes(s *Scenario) bool {
	return (q.Faults == nil || *q.Faults == (len(s.Schedule) > 0)) && q.allows(s) &&
		slices.ContainsFunc(s.Protocols(), func(protocol string) bool {
			return (q.Protocol == "" || q.Protocol == protocol) &&
				(q.Flavor == "" || s.servedBy(q.Flavor, protocol)) &&
				(q.Claim == "" || s.judgedBy(q.Claim, protocol, q.Flavor))
		})
}

// allows reports whether the limits allow all that the scenario does in the tier smoke.
func (q Query) allows(s *Scenario) bool {
	if q.Limits == nil {
		return true
	}
	t, err := s.Tier("smoke", s.Cluster.Flavor)
	return err == nil && s.On(cluster.Config{Flavor: q.Flavor}).Within(*q.Limits, t) == nil
}

// judgedBy reports whether the scenario asks a claim, or has messages of the QoS that the
// claim is about and is judged by it without being asked.
func (s *Scenario) judgedBy(claim, protocol, flavor string) bool {
	if slices.Contains(s.Claims, claim) {
		return true
	}
	var qos uint8
	if _, err := fmt.Sscanf(claim, "qos%d-", &qos); err != nil || !slices.Contains(s.Workload.QoS, qos) {
		return false
	}
	flavor = cmp.Or(flavor, s.Cluster.Flavor)
	sdk, err := s.SDKFor("", protocol, flavor)
	if err != nil {
		return false
	}
	beside, _ := s.Beside(Conditions{SDK: sdk, Protocol: protocol, Cluster: history.ClusterInfo{Flavor: flavor, Nodes: cluster.Config{Flavor: flavor}.Size(s.Cluster.Nodes)}})
	return slices.Contains(beside, claim)
}

// servedBy reports whether a flavor has all that the scenario needs, in a protocol.
// Brokers that somebody else runs have the faults on clients alone, and those on packets.
func (s *Scenario) servedBy(flavor, protocol string) bool {
	on := s.On(cluster.Config{Flavor: flavor})
	if s.Withheld(cluster.Config{Flavor: flavor}) || cluster.FlavorNamed(flavor).OwnSize && on.Fits(cluster.Config{Nodes: 1}) != nil {
		return false
	}
	return s.RunsOn(flavor, protocol) == nil
}
