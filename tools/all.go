package tools

import (
	"sync"

	"github.com/robustmq/rmq-mcp/internal/envelope"
)

// All are the tools, in the order of the list an agent reads about them. Each
// family has a file of its own.
func All(b Backend, e envelope.Envelope) []Tool {
	return (&agent{backend: b, envelope: e}).tools()
}

func (a *agent) tools() []Tool {
	return []Tool{
		a.clusterStart(), a.clusterStop(), a.clusterStatus(),
		a.injectFault(), a.healFault(),
		a.runClient(),
		a.runScenario(), a.getRun(), a.stopRun(), a.compareRuns(), a.replayRun(), a.reduceRun(),
		a.getLogs(), a.getMetrics(),
		a.listScenarios(), a.listRuns(), a.listFindings(), a.findCode(), a.preflight(),
		a.freezePlan(),
		a.pushReport(),
	}
}

// agent is what the tools of one server share.
type agent struct {
	backend  Backend
	envelope envelope.Envelope

	connections connections
	starting    sync.Mutex // held while an experiment is started
}

func experimentParam() Param {
	return Param{Name: "experiment", Type: String}
}
