// Package experiment is one run: a cluster, the clients and faults that a scenario or
// a caller asks for, and the record of what happened.
package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/internal/mechanism/hostile"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/mechanism/shaper"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// An Experiment is one cluster, what is done to it, and the run directory in
// which it is written down. Its keeper serves it.
type Experiment struct {
	env      keeper.Env
	version  string // of this program
	decide   Decide
	start    keeper.Start
	binary   string              // the broker's, as the caller named it; start has it as it was found
	scenario *scenarios.Scenario // nil while exploring by hand
	tier     scenarios.Tier
	rate     float64 // of the scenario's publishers together
	lowered  string  // why that is less than it asks for; "" where it is not
	sdk      clients.SDK
	seed     int64
	planted  string // the defect of our own, "" for none
	header   string // eight characters in every payload of this run

	endpoints []string         // the tap's, one for each node
	tapped    map[string]int16 // and whose they are

	began   time.Time
	clock   history.Clock
	rec     *history.Recorder
	journal *journal.Journal
	network cluster.Network
	cluster *cluster.Cluster
	witness *cluster.Witness
	router  *router.Router // nil where there are no namespaces
	shaper  *shaper.Shaper // beside the router
	queues  *netqueue.Set  // beside the router
	tap     *tap.Tap       // nil where it was not armed
	hostile *hostile.Crowd // clients of ours that mean harm
	liar    *tap.Liar      // nil where no defect is planted
	engine  *faults.Engine
	live    *live
	logs    *logs
	exits   *exits
	ready   atomic.Bool // cluster, witness, engine, logs and info are set; before, they are Run's alone
	gone    atomic.Bool // a process of ours under the cluster is: what follows tells nothing of the broker

	// Place notes what the run belongs to, before it is judged; nil for nothing.
	Place func() error

	halt      func() // ends the work; healing, draining and judging go on
	halted    chan struct{}
	over      chan struct{}
	exploring sync.WaitGroup // run_client calls that begin, run or drain
	landings  sync.Mutex     // of landings.json
	mu        sync.Mutex
	phase     string
	sessions  []*session
	drivers   []*running
	notes     []string          // what the harness could not do
	news      map[string]string // last told of each fault
	watchers  map[chan keeper.Progress]bool
	notice    string // said before anything is started
	summary   *reports.Summary
	info      history.ClusterInfo
}

// Decide says whether an injection had effect, from its samples; see [faults.Options].
type Decide func(history.Landing) (history.LandingState, []string, []history.ProofRecord)

// New prepares an experiment in its run directory. It starts nothing. An
// error is bad input and says what is valid.
func New(version string, env keeper.Env, start keeper.Start, decide Decide) (*Experiment, error) {
	e := &Experiment{
		version: version, env: env, start: start, decide: decide, binary: start.Cluster.Binary, live: newLive(), news: map[string]string{},
		halted: make(chan struct{}), over: make(chan struct{}),
		phase: history.PhaseStarting, watchers: map[chan keeper.Progress]bool{},
	}
	e.halt = sync.OnceFunc(func() { close(e.halted) })
	e.seed = start.Seed
	if e.seed == 0 {
		e.seed = time.Now().UnixNano() & (1<<31 - 1)
	}
	e.header = fmt.Sprintf("%08x", rand.Uint32())
	if start.Scenario != "" {
		if err := e.load(start); err != nil {
			return nil, err
		}
	}
	var err error
	if err := e.checkLimits(); err != nil {
		return nil, err
	}
	if err := e.listen(); err != nil {
		return nil, err
	}
	if e.start.Cluster, err = cluster.Check(e.start.Cluster); err != nil {
		return nil, err
	}
	if e.scenario != nil && e.start.Cluster.Nodes > 0 {
		if err := e.scenario.Fits(e.start.Cluster.Nodes); err != nil {
			return nil, err
		}
	}
	return e, e.open()
}

// listen has the nodes listen on the transport of the run. Brokers that somebody
// else runs have one, which then is the run's.
func (e *Experiment) listen() error {
	c := &e.start.Cluster
	if c.Flavor == external && len(c.Transports) > 0 {
		e.start.Transport = cmp.Or(e.start.Transport, c.Transports[0])
	}
	e.start.Transport = cmp.Or(e.start.Transport, contract.TCP)
	if e.start.Transport != contract.TCP && !slices.Contains(c.Transports, e.start.Transport) {
		c.Transports = append(c.Transports, e.start.Transport)
	}
	if err := e.plants(); err != nil {
		return err
	}
	if c.Plant != "" && e.start.Transport != contract.TCP {
		return fmt.Errorf("plant %s: defects are planted in packets, which cannot be read over %s; leave the transport out", c.Plant, e.start.Transport)
	}
	if e.scenario == nil {
		return nil
	}
	return e.sdk.Carry(e.start.Transport)
}

// load takes from the scenario what the caller left out.
func (e *Experiment) load(start keeper.Start) (err error) {
	if e.scenario, err = scenarios.Load(start.Scenario); err != nil {
		return err
	}
	c := &e.start.Cluster
	if c.Flavor == "" {
		c.Flavor = e.scenario.Cluster.Flavor
	}
	if c.Nodes == 0 && c.Flavor != "mosquitto" && c.Flavor != external { // those know themselves
		c.Nodes = e.scenario.Cluster.Nodes
	}
	if untouchable(*c) && e.scenario.OnNodes() && !start.NoFaults {
		e.start.NoFaults = true
		e.notice = "nothing may be done to nodes that somebody else runs; name their pids or containers to have the faults"
	}
	asked := e.scenario
	e.start.NoFaults = e.start.NoFaults && len(asked.Schedule) > 0 // a scenario that has none is its own control
	if e.start.NoFaults {
		e.scenario, _ = asked.Control(scenarios.Tier{})
	}
	if c.Arm == nil && c.Flavor != external {
		c.Arm = asked.Arms() // of a control too: it is to be the same but for the faults
	}
	if err := e.scenario.Speak(start.Protocol, c.Flavor); err != nil {
		return err
	}
	if e.tier, err = e.scenario.Tier(start.Tier, c.Flavor); err != nil {
		return err
	}
	if e.start.NoFaults {
		_, e.tier = asked.Control(e.tier)
	}
	e.spare()
	e.sdk, err = e.scenario.SDKFor(start.SDK, e.scenario.Protocol, c.Flavor)
	return err
}

// untouchable reports whether nothing may be done to the nodes: somebody else runs
// them, and has named neither their processes nor their containers.
func untouchable(c cluster.Config) bool {
	return c.Flavor == external && len(c.PIDs)+len(c.Containers) == 0
}

// Run is the whole experiment, from start to sealed. It ends early, but in
// order, when ctx ends or Stop is called.
func (e *Experiment) Run(ctx context.Context) error {
	defer close(e.over)
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-e.rec.Failed(): // a full disk: what goes on is not recorded
			e.harness("record what happens: %v", e.rec.Err())
		case <-e.halted:
		case <-work.Done():
		}
		cancel()
	}()
	e.journalled(journal.KindStart, e.start.Caller, nil)
	if e.lowered != "" {
		e.say(fmt.Sprintf("%s publishes %s", e.scenario.Name, e.lowered))
	}
	if e.notice != "" {
		e.say(fmt.Sprintf("%s runs without its faults, as a control: %s", e.scenario.Name, e.notice))
	}
	if err := e.up(work); err != nil {
		e.harness("start cluster: %v", err)
	} else {
		go e.observe(work)
		go e.listMailboxes(work)
		if e.scenario != nil {
			e.execute(work)
		} else {
			e.enter(history.PhaseReady)
			<-work.Done()
		}
	}
	return e.finish(context.WithoutCancel(ctx))
}

// Stop heals, ends the work and judges what happened until now. It returns
// when all is sealed.
func (e *Experiment) Stop(ctx context.Context, caller keeper.Caller) (keeper.Status, error) {
	e.journalled(journal.KindStop, caller, nil)
	e.halt()
	select {
	case <-e.over:
	case <-ctx.Done():
	}
	return e.Status(ctx), nil
}
