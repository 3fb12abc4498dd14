package experiment

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/hostile"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// up starts the cluster and the witness, and freezes what the run is.
func (e *Experiment) up(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, e.freeze()) }()
	if e.network, err = newNetwork(e.env); err != nil {
		return err
	}
	e.cluster, err = cluster.Start(ctx, cluster.Options{
		Config: e.start.Cluster, Network: e.network, Dir: filepath.Join(e.env.Dir, "nodes"),
		Logs: e.logDir(), Self: slices.Concat(e.env.Self, []string{"node"}), Program: e.env.Self, Seed: e.seed, Progress: e.say,
		DiskGone: e.diskGone,
		Run:      e.env.ID, Ledger: ledger{e},
	})
	if err != nil {
		return err
	}
	e.info = e.cluster.Info()
	e.info.Isolation, e.info.Planted, e.info.Promises = e.network.Isolation(), e.planted, scenarios.Promised(e.cluster.Promises())
	for _, n := range e.cluster.Nodes() {
		e.rec.Node(history.Node{Name: n.Name(), Address: n.Address(), Version: n.Version()})
	}
	if e.witness, err = cluster.StartWitness(e.network, slices.Concat(e.env.Self, []string{"witness"}), e.witnessGone); err != nil {
		return err
	}
	if err = e.openRouter(); err != nil {
		return err
	}
	if err = e.openTap(); err != nil {
		return err
	}
	e.hostile = hostile.NewCrowd(e.dialNode, e.login())
	e.engine = e.newEngine()
	e.logs, e.exits = followLogs(e), watchExits(e)
	e.ready.Store(true)
	return nil
}

// down ends what up started, in the other order.
func (e *Experiment) down(ctx context.Context) {
	if e.hostile != nil {
		e.hostile.Close()
	}
	if e.tap != nil {
		e.tap.Close()
	}
	if e.liar != nil {
		e.liar.Close()
		ev := harnessEvent(e.clock.Now(), history.KindObserve, history.ObservePlanted)
		ev.Value = float64(e.liar.Shown())
		e.rec.Record(ev)
	}
	if e.cluster != nil {
		if err := e.cluster.Stop(ctx); err != nil {
			e.harness("stop cluster: %v", err)
		}
	}
	if e.exits != nil {
		e.exits.close()
	}
	if e.logs != nil {
		e.logs.close()
	}
	if e.witness != nil {
		if err := e.witness.Close(); err != nil {
			e.harness("end the witness: %v", err)
		}
	}
	e.closeRouter()
	if e.network != nil {
		if err := e.network.Close(); err != nil {
			e.harness("take down the network: %v", err)
		}
	}
	// What the nodes stored is not evidence; their logs are, and lie elsewhere.
	if err := os.RemoveAll(filepath.Join(e.env.Dir, "nodes")); err != nil {
		e.harness("remove the nodes' data: %v", err)
	}
}

// Forward dials a node's port from inside the experiment.
func (e *Experiment) Forward(ctx context.Context, node string, port int) (net.Conn, error) {
	if !e.ready.Load() {
		return nil, fmt.Errorf("forward %s: the cluster has not started yet", node)
	}
	n, err := e.node(node)
	if err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", net.JoinHostPort(n.Address(), fmt.Sprint(port)))
}

// site is what there is beside the nodes.
func (e *Experiment) site() faults.Site {
	s := faults.Site{Run: e.env.ID, Roles: e.cluster.Views, Clients: driversOf{e}, Disks: disks{e}, Hostile: e.hostile}
	if e.tap != nil {
		s.Tap = e.tap
	}
	if e.router != nil {
		s.Net, s.Queues, s.Shaper = e.router, e.queues, e.shaper
	}
	return s
}

// dialNode connects to a node as a client of its own protocol would.
func (e *Experiment) dialNode(ctx context.Context, node string) (net.Conn, error) {
	n, err := e.node(node)
	if err != nil {
		return nil, err
	}
	return n.Dial(ctx)
}

func (e *Experiment) login() hostile.Login {
	user, password := e.cluster.Credentials()
	return hostile.Login{User: user, Password: password}
}
