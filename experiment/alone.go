package experiment

import "github.com/robustmq/rmq-mcp/experiment/keeper"

// Alone reports whether a start has faults that other runs at the same brokers would feel,
// and hold against them. Only external brokers have other runs. One by hand
// may have such faults at any time if it was given their processes, containers or pods.
func Alone(start keeper.Start) (bool, error) {
	c := start.Cluster
	if len(c.Endpoints) == 0 {
		return false, nil
	}
	if start.Scenario == "" {
		return !c.Untouchable(), nil
	}
	s, err := checked(start)
	if err != nil {
		return false, err
	}
	return s.scenario.Felt(), nil
}
