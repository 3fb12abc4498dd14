package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A spec is what one run is to do, worked out before anything is started.
type spec struct {
	version  string              // of this program
	start    keeper.Start        // as asked, and what was left out filled in
	binary   string              // the broker's, as the caller named it; start has it as it was found
	image    string              // likewise
	scenario *scenarios.Scenario // nil while exploring by hand
	tier     scenarios.Tier
	rate     float64  // of the scenario's publishers together
	lowered  string   // why that is less than it asks for; "" where it is not
	led      []string // faults of the leader or of a follower that act on any node, as the brokers do not say who leads
	notice   string   // why it runs without its faults, or without some; "" where somebody asked for that
	leftOut  []string // faults that were left out; the others are injected
	sdk      clients.SDK
	seed     int64
	planted  string // the defect of our own, "" for none
	header   string // eight characters in every payload of this run
}

// newSpec returns what a start asks for. An error is bad input and says what is valid.
func newSpec(version string, start keeper.Start) (*spec, error) {
	start.Cluster.Vanishing = cluster.Vanishing(context.Background(), start.Cluster)
	s, err := checked(start)
	if err != nil {
		return nil, err
	}
	if s.start.Cluster, err = cluster.Check(s.start.Cluster); err != nil {
		return nil, err
	}
	s.version, s.binary, s.image, s.header = version, start.Cluster.Binary, start.Cluster.Image, fmt.Sprintf("%08x", rand.Uint32())
	if err := s.suits(s.start.Envelope); err != nil {
		return nil, err
	}
	s.seed = cmp.Or(start.Seed, time.Now().UnixNano()&(1<<31-1))
	return s, s.fits()
}

// checked takes from the scenario what a start leaves out. The error says what does not
// fit together, as far as that can be told before the broker is there.
func checked(start keeper.Start) (*spec, error) {
	var err error
	if start.Cluster, err = start.Cluster.Load(); err != nil {
		return nil, err
	}
	s := &spec{start: start}
	if start.Scenario != "" {
		if err := s.fromScenario(start); err != nil {
			return nil, err
		}
	}
	if err := s.checkLimits(); err != nil {
		return nil, err
	}
	if n := start.Drivers; n < 0 || n > maxDrivers {
		return nil, fmt.Errorf("%d drivers: choose 1 to %d", n, maxDrivers)
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	return s, s.fits()
}

// fits is an error if the scenario needs another number of nodes, or nodes of another kind.
func (s *spec) fits() error {
	if s.scenario == nil {
		return nil
	}
	if c := s.start.Cluster; c.Beyond() && s.scenario.AmongClients() && (!s.sdk.Builtin || slices.Contains(c.Arm, cluster.ArmTap)) {
		return fmt.Errorf("scenario %s: a fault between nodes and clients needs clients in pods: choose an SDK that is part of rmq-mcp, such as go, and arm no tap, or set with to nodes", s.scenario.Name)
	}
	return s.scenario.Fits(s.start.Cluster)
}

// fromScenario takes from the scenario what the caller left out.
func (s *spec) fromScenario(start keeper.Start) (err error) {
	if s.scenario, err = scenarios.Load(start.Scenario); err != nil {
		return err
	}
	c := &s.start.Cluster
	if c.Flavor == "" {
		c.Flavor = s.scenario.Cluster.Flavor
	}
	if c.Nodes == 0 && !cluster.FlavorNamed(c.Flavor).OwnSize {
		c.Nodes = min(s.scenario.Cluster.Nodes, c.Size(s.scenario.Cluster.Nodes))
	}
	s.leaveOut()
	s.leaderless()
	asked := s.scenario
	if s.tier, err = asked.Tier(start.Tier, c.Flavor); err != nil {
		return err
	}
	s.start.NoFaults = s.start.NoFaults && len(asked.Schedule) > 0 // a scenario that has none is its own control
	if s.start.NoFaults {
		s.scenario, s.tier = asked.Control(s.tier)
	}
	if err := s.scenario.Speak(start.Protocol, c.Flavor); err != nil {
		return err
	}
	*c = s.scenario.At(*c)
	c.Arm = s.arms(asked)
	if s.grantsUnsaid() {
		c.Arm = cluster.WithArms(c.Arm, cluster.ArmTap)
	}
	s.scenario, s.tier, s.rate, s.lowered = s.scenario.Spared(*c, s.tier)
	s.sdk, err = s.scenario.SDKFor(start.SDK, s.scenario.Protocol, c.Flavor)
	return err
}

// arms is what is put in place before the nodes start. A control has it too, so that it is
// the same but for the faults, unless these cannot be done there.
func (s *spec) arms(asked *scenarios.Scenario) []string {
	c := s.start.Cluster
	return slices.DeleteFunc(asked.ArmsOn(c), func(arm string) bool {
		return s.start.NoFaults && c.Imaged() && arm != cluster.ArmTap && !slices.Contains(c.Arm, arm)
	})
}

// grantsUnsaid reports whether the packets alone can tell how long the broker keeps a
// session: with MQTT 5 it may grant less time than is asked for, in its CONNACK, and of some
// brokers no limit is known. Without that no lost session could be held against them.
func (s *spec) grantsUnsaid() bool {
	c := s.start.Cluster
	return c.Lacks()[history.LacksLimits] != "" && s.scenario.Protocol == contract.MQTT5 && len(c.Transports) == 0 && cmp.Or(s.start.Transport, contract.TCP) == contract.TCP
}

// leaveOut leaves out the scenario's faults that cannot be had on its cluster, and all on
// nodes if somebody asked for that. It makes a scenario without others a control.
func (s *spec) leaveOut() {
	if s.start.NoFaults {
		s.start.OffNodes = false
		return
	}
	rest := s.scenario.On(s.start.Cluster)
	s.leftOut, s.notice = s.scenario.LeftOut(s.start.Cluster)
	if s.start.OffNodes {
		rest, s.leftOut = s.scenario.OffNodes()
	}
	switch {
	case len(s.leftOut) == 0:
		s.start.OffNodes = false
	case len(rest.Schedule) == 0:
		s.leftOut, s.start.OffNodes, s.start.NoFaults = nil, false, true
	default:
		s.scenario = rest
	}
}

// leaderless has faults of a leader or a follower act on any node where several brokers do
// not say who leads.
func (s *spec) leaderless() {
	if c := s.start.Cluster; cluster.FlavorNamed(c.Flavor).Leaderless && c.Size(0) > 1 && !s.start.NoFaults {
		s.led, s.scenario = s.scenario.Led(), s.scenario.Leaderless()
	}
}

// listen has the nodes listen on the transport of the run. Brokers that somebody
// else runs have one, which then is the run's.
func (s *spec) listen() error {
	c := &s.start.Cluster
	if c.Foreign() && len(c.Transports) > 0 {
		s.start.Transport = cmp.Or(s.start.Transport, c.Transports[0])
	}
	s.start.Transport = cmp.Or(s.start.Transport, contract.TCP)
	if s.start.Transport != contract.TCP && !slices.Contains(c.Transports, s.start.Transport) {
		c.Transports = append(c.Transports, s.start.Transport)
	}
	if err := s.plants(); err != nil {
		return err
	}
	if c.Plant != "" && s.start.Transport != contract.TCP {
		return fmt.Errorf("plant %s: defects are planted in packets, which cannot be read over %s; leave the transport out", c.Plant, s.start.Transport)
	}
	if s.scenario == nil {
		return nil
	}
	return s.sdk.Carry(s.start.Transport)
}

// keep writes down how the experiment was started, with what the scenario and
// the flavor filled in, so that a replay starts the same. Where the broker is
// found again by itself, its path is left out: run.json has its hash.
func (s *spec) keep(evidence string) error {
	start := s.start.Frozen()
	start.Seed, start.Cluster.Binary = s.seed, s.binary
	if s.scenario != nil {
		start.Scenario, start.Protocol, start.SDK, start.Tier = s.scenario.Name, s.scenario.Protocol, s.sdk.String(), scenarios.TierName(start.Tier)
	}
	text, err := json.MarshalIndent(start, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(evidence, reports.StartFile), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep how the experiment was started: %w", err)
	}
	return nil
}

// Lasts returns about how long a run of a scenario takes that passes, and how long one that
// fails may take: its drain waits for the missing messages twice.
func Lasts(s *scenarios.Scenario, t scenarios.Tier) (passes, fails time.Duration) {
	passes = seconds(s.ExpectedS(t))
	return passes, passes + stallBound(t) + quietFor
}

// stallBound is how long a drain waits for the first time while nothing is delivered: a stall that
// lasts as long is one that the judge sees.
func stallBound(t scenarios.Tier) time.Duration {
	return max(quietFor, seconds(max(t.ProgressS, t.RecoveryS))) + slack
}

// expected is how long the run takes, in seconds; 0 where nobody knows.
func (s *spec) expected() float64 {
	if s.scenario == nil {
		return 0
	}
	return s.scenario.ExpectedS(s.tier)
}
