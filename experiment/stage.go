package experiment

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/hostile"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A stage is the cluster under test with all that is around it.
type stage struct {
	*spec
	*record
	network cluster.Network
	cluster *cluster.Cluster
	info    history.ClusterInfo
	witness *cluster.Witness
	routing *routing       // nil where there are no namespaces
	tap     *tapping       // nil where it was not armed
	hostile *hostile.Crowd // clients of ours that mean harm
	here    atomic.Int32   // drivers that run on this machine
	gone    atomic.Bool    // a process of ours under the cluster is: what follows tells nothing of the broker
	halt    func()         // ends the work of the run
}

// up starts the cluster, the witness, and the mechanisms between hosts, and follows the
// nodes.
func (s *stage) up(ctx context.Context) (err error) {
	if s.network, err = newNetwork(s.env); err != nil {
		return err
	}
	s.info = history.ClusterInfo{Flavor: s.start.Cluster.Flavor, Nodes: s.start.Cluster.Nodes} // of one that does not come up
	s.cluster, err = cluster.Start(ctx, cluster.Options{
		Config: s.start.Cluster, Network: s.network, Dir: filepath.Join(s.env.Dir, "nodes"),
		Logs: s.logDir(), Self: slices.Concat(s.env.Self, []string{"node"}), Program: s.env.Self, Seed: s.seed, Progress: s.say,
		DiskGone: s.diskGone, Lost: s.nodesLost,
		Run: s.env.ID, Ledger: ledger{s.journal}, ProbePort: router.ProbePort,
	})
	if err != nil {
		return err
	}
	s.info = s.cluster.Info()
	s.info.Planted, s.info.Promises = s.planted, scenarios.Promised(s.cluster.Promises())
	for _, n := range s.cluster.Nodes() {
		s.rec.Node(history.Node{Name: n.Name(), Address: n.Address(), Version: n.Version()})
	}
	if s.witness, err = cluster.StartWitness(s.network, slices.Concat(s.env.Self, []string{"witness"}), s.witnessGone); err != nil {
		return err
	}
	if err = s.openRouting(); err != nil {
		return err
	}
	if err = s.openTap(); err != nil {
		return err
	}
	s.hostile = hostile.NewCrowd(s.dialNode, s.login())
	s.follow(s.cluster, s.indexOf)
	return nil
}

// down ends what up started, in the other order.
func (s *stage) down(ctx context.Context) {
	if s.hostile != nil {
		s.hostile.Close()
	}
	if shown, planted := s.tap.close(); planted {
		ev := harnessEvent(s.clock.Now(), history.KindObserve, history.ObservePlanted)
		ev.Value = float64(shown)
		s.rec.Record(ev)
	}
	if s.cluster != nil {
		if err := s.cluster.Stop(ctx); err != nil {
			s.harness("stop cluster: %v", err)
		}
	}
	s.unfollow()
	if s.witness != nil {
		if err := s.witness.Close(); err != nil {
			s.harness("end the witness: %v", err)
		}
	}
	if err := s.routing.close(); err != nil {
		s.harness("%v", err)
	}
	if s.network != nil {
		if err := s.network.Close(); err != nil {
			s.harness("take down the network: %v", err)
		}
	}
	// The nodes' data are not evidence. Their logs are, and lie elsewhere.
	if err := os.RemoveAll(filepath.Join(s.env.Dir, "nodes")); err != nil {
		s.harness("remove the nodes' data: %v", err)
	}
}

// nodesLost records that the nodes are gone, or another run's too, by no doing of the broker.
func (s *stage) nodesLost(err error) {
	s.harness("%v", err)
	s.abandon()
}

// abandon ends a scenario: what follows tells nothing of the broker.
func (s *stage) abandon() {
	if s.scenario != nil {
		s.gone.Store(true)
		s.halt()
	}
}

// freeze writes what the run is to do and what it is judged by, before the first event
// of a client.
func (s *stage) freeze() error {
	run := &history.Run{
		Format: history.Format, ID: s.env.ID, Tool: s.version, Started: s.began,
		Seed: s.seed, Transport: s.start.Transport, Drivers: s.start.Drivers, Wire: s.recordsWire(), Cluster: s.info, RunBits: s.header,
	}
	if s.podded() {
		run.ClocksS = history.ClocksWithin.Seconds()
	}
	doc := s.scenario
	if doc != nil {
		run.Scenario, run.ScenarioSHA, run.Tier, run.Control = doc.Name, doc.SHA, scenarios.TierName(s.start.Tier), s.start.NoFaults
		run.ControlWhy, run.Lowered, run.LeftOut, run.Spread = s.notice, s.lowered, s.leftOut, spread
		run.Protocol, run.SDK, run.InPods = doc.Protocol, s.sdk.String(), s.podded() && s.sdk.Builtin
		run.Faults, run.Budget = doc.Planned(s.tier), doc.Budget(s.tier)
	}
	c := s.conditions(s.sdk, run.Protocol)
	if doc != nil {
		run.Claims = doc.Claimed(c)
		run.Beside, run.NotClaimed = doc.Beside(c)
	} else {
		run.Claims, run.Beside = c.Explored()
	}
	run.WireClaims, run.Reaches = c.WireClaims(), c.Reaches(doc, run.Control || len(run.LeftOut) > 0)
	return history.WriteRun(s.evidence(), run)
}

// conditions are those of a run with an SDK; packets are recorded of plain MQTT alone.
func (s *stage) conditions(sdk clients.SDK, protocol string) scenarios.Conditions {
	return scenarios.Conditions{
		SDK: sdk, Protocol: protocol, Transport: s.start.Transport,
		Cluster: s.info, Wire: s.recordsWire(), ExpiryS: s.tier.ExpiryS,
	}
}

func (s *stage) node(name string) (*cluster.Node, error) {
	for _, n := range s.cluster.Nodes() {
		if n.Name() == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no node %q; there are %s", name, strings.Join(names(s.cluster.Nodes()), ", "))
}

// indexOf returns the place of a node in the tables, or None.
func (s *stage) indexOf(name string) int16 {
	return int16(slices.IndexFunc(s.cluster.Nodes(), func(n *cluster.Node) bool { return n.Name() == name }))
}

// nodeOf returns the node behind an endpoint that a client used.
func (s *stage) nodeOf(endpoint string) int16 {
	if s.tap != nil {
		if i, ok := s.tap.nodes[endpoint]; ok {
			return i
		}
	}
	for i, n := range s.cluster.Nodes() {
		if slices.Contains(n.Listeners(), endpoint) {
			return int16(i)
		}
	}
	return history.None
}

func names[N interface{ Name() string }](nodes []N) []string {
	out := make([]string, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, n.Name())
	}
	return out
}

// dialNode connects to a node as a client of its own protocol would.
func (s *stage) dialNode(ctx context.Context, node string) (net.Conn, error) {
	n, err := s.node(node)
	if err != nil {
		return nil, err
	}
	return n.Dial(ctx)
}

func (s *stage) login() hostile.Login {
	user, password := s.cluster.Credentials()
	return hostile.Login{User: user, Password: password}
}
