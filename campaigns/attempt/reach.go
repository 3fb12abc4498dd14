package attempt

import (
	"context"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// Reach checks before a run that nodes can run in its runtime. To an external broker it connects
// as the smallest client of the scenario's protocol, and sends itself a message of the scenario's
// size. The scenario is text, or that of the start's name if there is none. A scenario or a broker
// that does not exist is an error.
func Reach(ctx context.Context, start keeper.Start, text string) (err error) {
	config := start.Cluster
	if !config.Foreign() {
		runtime, err := cluster.RuntimeNamed(config.Runtime)
		if err != nil {
			return err
		}
		return runtime.Check(ctx)
	}
	bytes := contract.HeaderLen
	if start.Scenario != "" {
		var s *scenarios.Scenario
		if text != "" {
			s, err = scenarios.Parse(start.Scenario, []byte(text))
		} else {
			s, err = scenarios.Load(start.Scenario)
		}
		if err != nil {
			return err
		}
		config, bytes = s.At(config), s.Workload.PayloadBytes
	}
	return cluster.Reach(ctx, Login(config), start.Transport, bytes)
}
