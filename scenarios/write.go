package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/robustmq/rmq-mcp/cluster"
)

// Alone returns the scenario reduced to one tier and one flavor. The tier
// becomes its smoke tier, with the flavor's overrides. It asks for no situation: its
// callers take faults and load out. The result shares nothing with s.
func (s *Scenario) Alone(tier, flavor string) (*Scenario, error) {
	t, err := s.Tier(tier, flavor)
	if err != nil {
		return nil, err
	}
	alone := *s
	alone.Cluster.Flavor = flavor
	alone.Workload.RatePerS = s.Rate(flavor)
	alone.Tiers = map[string]Tier{TierName(""): t}
	alone.Flavors = nil
	alone.Workload.QoS = slices.Clone(s.Workload.QoS)
	alone.Schedule = slices.Clone(s.Schedule)
	alone.Claims, alone.Reaches = slices.Clone(s.Claims), nil
	return &alone, nil
}

// PublishS is how long a tier's traffic lasts at least.
func (t Tier) PublishS(schedule []Step) float64 {
	return t.SteadyS + t.faultTime(schedule) + t.AfterS
}

// Markdown writes the scenario as a file that [Parse] reads. Zero values are
// left out. It is an error if the result is not a scenario that can be run.
func (s *Scenario) Markdown() ([]byte, error) {
	var root yaml.Node
	if err := root.Encode(s); err != nil {
		return nil, fmt.Errorf("write scenario %s: %w", s.Name, err)
	}
	prune(&root)
	flow(&root, 0)
	var out bytes.Buffer
	out.WriteString("---\n")
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(&root), enc.Close()); err != nil {
		return nil, fmt.Errorf("write scenario %s: %w", s.Name, err)
	}
	out.WriteString("---\n")
	out.WriteString(s.Prose)
	read, err := Parse(s.Name, out.Bytes())
	if err == nil {
		err = read.Fits(cluster.Config{Nodes: s.Cluster.Nodes})
	}
	return out.Bytes(), err
}

// prune leaves zero values out of mappings, but for the parameters of faults,
// whose defaults are not zero.
func prune(n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		var kept []*yaml.Node
		for i := 0; i < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if key.Value != "params" {
				prune(value)
			}
			if !zero(value) {
				kept = append(kept, key, value)
			}
		}
		n.Content = kept
		return
	}
	for _, item := range n.Content {
		prune(item)
	}
}

func zero(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return len(n.Content) == 0
	}
	return n.Tag == "!!null" || n.Value == "" || n.Value == "0" || n.Value == "false"
}

// flow puts what is below the first two levels on one line.
func flow(n *yaml.Node, depth int) {
	if n.Kind == yaml.SequenceNode && depth == 1 && len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode {
		depth = 0 // the steps of a schedule, a line each
	}
	if depth >= 2 || depth == 1 && n.Kind == yaml.SequenceNode {
		n.Style = yaml.FlowStyle
	}
	for _, item := range n.Content {
		flow(item, depth+1)
	}
}
