package keeper

import (
	"context"
	"log/slog"
	"net"
)

// Calls drive a live experiment, from any number of servers and terminals at once. A new
// one is a method here and in [Client], and a route of the server.
type Calls interface {
	Inject(ctx context.Context, ask Inject) (FaultStatus, error)
	Heal(ctx context.Context, ask Heal) (FaultStatus, error)
	RunClient(ctx context.Context, ask RunClient) (ClientStatus, error)
	Logs(ctx context.Context, ask Logs) (LogLines, error)
	Metrics(ctx context.Context, ask Metrics) (MetricsAnswer, error)
	// Journal records the answer that a caller got. The call itself is recorded by the
	// code that carries it out, before it acts.
	Journal(ctx context.Context, caller Caller, answer any) error
	// Stop heals, ends, and judges what happened; Run returns after it.
	Stop(ctx context.Context, caller Caller) (Status, error)
}

// An Experiment is what a keeper keeps.
type Experiment interface {
	Calls
	// Run does the whole experiment, from start to sealed, and returns when
	// all is over. An error says that the harness could not do its job.
	Run(ctx context.Context) error
	Status(ctx context.Context) Status
	// Progress subscribes to what happens from now on, during the start with its earlier lines;
	// stop ends the subscription. A slow reader loses lines, it never holds up the run.
	Progress() (lines <-chan Progress, stop func())
	// HealAll heals every fault in place, for a reason.
	HealAll(ctx context.Context, why error) error
	// Forward dials a port of a node from inside the experiment.
	Forward(ctx context.Context, node string, port int) (net.Conn, error)
}

// A Runner makes the experiment that was asked for. It looks at what was asked
// and starts nothing: that is Run's.
type Runner func(ctx context.Context, env Env, start Start) (Experiment, error)

// Isolation of an experiment from the host.
const (
	IsolationNamespaces = "namespaces" // process 1 of pid, network and mount namespaces
	IsolationLoopback   = "loopback"   // nodes listen on the host's loopback
	IsolationHost       = "host"       // the host's network, for external brokers
)

// Env is where an experiment runs.
type Env struct {
	ID        string
	Dir       string   // the run directory
	StateDir  string   // of which it is part
	Self      []string // argv that executes this binary again
	Isolation string
	Log       *slog.Logger // keeper.log in the run directory

	// Announce notes a process that was started, so that it ends with the
	// keeper even if the kernel does not ensure it. Call Announce right after
	// every start. It does nothing if the kernel ends such processes.
	Announce func(pid int) error
}
