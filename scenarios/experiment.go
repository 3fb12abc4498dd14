package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/journal"
	"github.com/robustmq/rmq-mcp/internal/keeper"
	"github.com/robustmq/rmq-mcp/internal/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// An Experiment is one cluster, what is done to it, and the run directory in
// which it is written down. Its keeper serves it.
type Experiment struct {
	env      keeper.Env
	version  string // of this program
	start    keeper.Start
	scenario *Scenario // nil while exploring by hand
	tier     Tier
	sdk      clients.SDK
	seed     int64
	header   string // eight characters in every payload of this run

	began   time.Time
	clock   history.Clock
	rec     *history.Recorder
	journal *journal.Journal
	network cluster.Network
	cluster *cluster.Cluster
	witness *cluster.Witness
	engine  *faults.Engine
	live    *live
	logs    *logs
	ready   atomic.Bool // cluster, witness, engine, logs and info are set; before, they are Run's alone

	halt      func() // ends the work; healing, draining and judging go on
	halted    chan struct{}
	over      chan struct{}
	exploring sync.WaitGroup // run_client calls that begin, run or drain
	landings  sync.Mutex     // of landings.json
	mu        sync.Mutex
	phase     string
	sessions  []*session
	notes     []string // what the harness could not do
	watchers  map[chan keeper.Progress]bool
	summary   *reports.Summary
	info      history.ClusterInfo
	verdict   *verdict.Verdict
}

// New prepares an experiment in its run directory. It starts nothing. An
// error is bad input and says what is valid.
func New(version string, env keeper.Env, start keeper.Start) (*Experiment, error) {
	e := &Experiment{
		version: version, env: env, start: start, live: newLive(),
		halted: make(chan struct{}), over: make(chan struct{}),
		phase: keeper.PhaseStarting, watchers: map[chan keeper.Progress]bool{},
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
	if e.start.Cluster, err = cluster.Check(e.start.Cluster); err != nil {
		return nil, err
	}
	return e, e.open()
}

// load takes from the scenario what the caller left out.
func (e *Experiment) load(start keeper.Start) (err error) {
	if e.scenario, err = Load(start.Scenario); err != nil {
		return err
	}
	c := &e.start.Cluster
	if c.Flavor == "" {
		c.Flavor = e.scenario.Cluster.Flavor
	}
	if c.Nodes == 0 && c.Flavor != "mosquitto" && c.Flavor != "external" { // those know themselves
		c.Nodes = e.scenario.Cluster.Nodes
	}
	if e.tier, err = e.scenario.Tier(start.Tier, c.Flavor); err != nil {
		return err
	}
	name := start.SDK
	if name == "" {
		name = e.scenario.SDK
	}
	e.sdk, err = clients.ResolveFor(name, e.scenario.Protocol)
	return err
}

// open makes the run directory and opens what is written as the run goes.
func (e *Experiment) open() (err error) {
	if err := os.MkdirAll(e.logDir(), 0o755); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	if e.scenario != nil {
		if err := os.WriteFile(filepath.Join(e.evidence(), "scenario.md"), []byte(e.scenario.Text), 0o644); err != nil {
			return fmt.Errorf("keep the scenario's text: %w", err)
		}
	}
	if e.journal, err = journal.Open(filepath.Join(e.evidence(), "journal.jsonl")); err != nil {
		return err
	}
	e.began, e.clock = time.Now().UTC(), history.NewClock()
	e.rec, err = history.Create(e.evidence(), history.Options{OnEvent: e.live.event})
	return err
}

func (e *Experiment) evidence() string { return filepath.Join(e.env.Dir, "evidence") }
func (e *Experiment) logDir() string   { return filepath.Join(e.evidence(), "logs") }

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
	e.journalled("start", e.start.Caller, nil)
	if err := e.up(work); err != nil {
		e.harness("start cluster: %v", err)
	} else {
		go e.observe(work)
		if e.scenario != nil {
			e.execute(work)
		} else {
			e.enter(keeper.PhaseReady)
			<-work.Done()
		}
	}
	return e.finish(context.WithoutCancel(ctx))
}

// up starts the cluster and the witness, and freezes what the run is.
func (e *Experiment) up(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, e.freeze()) }()
	if e.network, err = newNetwork(e.env); err != nil {
		return err
	}
	e.cluster, err = cluster.Start(ctx, cluster.Options{
		Config: e.start.Cluster, Network: e.network, Dir: filepath.Join(e.env.Dir, "nodes"),
		Logs: e.logDir(), Self: slices.Concat(e.env.Self, []string{"node"}), Seed: e.seed, Progress: e.say,
	})
	if err != nil {
		return err
	}
	e.info = e.cluster.Info()
	e.info.Isolation = e.network.Isolation()
	for _, n := range e.cluster.Nodes() {
		e.rec.Node(history.Node{Name: n.Name(), Address: n.Address(), Version: n.Version()})
	}
	if e.witness, err = cluster.StartWitness(e.network, slices.Concat(e.env.Self, []string{"witness"})); err != nil {
		return err
	}
	e.engine = e.newEngine()
	e.logs = followLogs(e)
	e.ready.Store(true)
	return nil
}

// freeze writes what the run is to do, before the first event of a client.
func (e *Experiment) freeze() error {
	run := &history.Run{
		Format: history.Format, ID: e.env.ID, Tool: e.version, Started: e.began,
		Seed: e.seed, Cluster: e.info, RunBits: e.header, Claims: explorationClaims(),
	}
	if s := e.scenario; s != nil {
		run.Scenario, run.ScenarioSHA, run.Tier = s.Name, s.SHA, tierName(e.start.Tier)
		run.Protocol, run.SDK, run.Claims = s.Protocol, e.sdk.String(), s.Claims
		if e.start.Cluster.Flavor == "external" { // whose logs are not ours to read
			run.Claims = slices.DeleteFunc(slices.Clone(s.Claims), func(c string) bool { return c == "no-panic" })
		}
		for range e.tier.Rounds {
			for _, step := range s.Schedule {
				run.Faults = append(run.Faults, history.PlannedFault{Type: step.Fault, Target: step.Target})
			}
		}
		run.Budget = history.Budget{
			DurationS: e.tier.SteadyS + e.tier.faultTime(s.Schedule), Messages: e.tier.Messages,
			Faults: len(run.Faults), MinRate: 0.5, ProgressS: e.tier.ProgressS, RecoveryS: e.tier.RecoveryS,
		}
	}
	return history.WriteRun(e.evidence(), run)
}

// finish heals, stops, closes what was recorded, and has it judged.
func (e *Experiment) finish(ctx context.Context) error {
	e.heal(ctx)
	e.halt() // whoever explores by hand stops, or drains to its end
	e.exploring.Wait()
	for _, s := range e.running() {
		s.drain(ctx, explorationDrain)
	}
	e.down(ctx)
	e.enter(keeper.PhaseJudge)
	err := errors.Join(
		e.writeLandings(),
		reports.WriteHarness(e.evidence(), e.noted()),
		e.rec.Close(),
	)
	e.journalled("end", keeper.Caller{Via: "keeper"}, map[string]any{"harness": e.noted()})
	err = errors.Join(err, e.journal.Close())
	if err != nil {
		return err
	}
	key, err := reports.LoadKey(e.env.StateDir)
	if err != nil {
		return err
	}
	summary, err := reports.Finish(e.env.Dir, key)
	if err != nil {
		return fmt.Errorf("judge and seal %s: %w", e.env.ID, err)
	}
	e.mu.Lock()
	e.summary, e.verdict = summary, &summary.Verdict
	e.mu.Unlock()
	e.enter(keeper.PhaseDone)
	return nil
}

func (e *Experiment) down(ctx context.Context) {
	if e.cluster != nil {
		if err := e.cluster.Stop(ctx); err != nil {
			e.harness("stop cluster: %v", err)
		}
	}
	if e.logs != nil {
		e.logs.close()
	}
	if e.witness != nil {
		if err := e.witness.Close(); err != nil {
			e.harness("end the witness: %v", err)
		}
	}
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

// Stop heals, ends the work and judges what happened until now. It returns
// when all is sealed.
func (e *Experiment) Stop(ctx context.Context, caller keeper.Caller) (keeper.Status, error) {
	e.journalled("stop", caller, nil)
	e.halt()
	select {
	case <-e.over:
	case <-ctx.Done():
	}
	return e.Status(ctx), nil
}

// heal is HealAll where nobody waits for an error: it is noted.
func (e *Experiment) heal(ctx context.Context) {
	if err := e.HealAll(ctx); err != nil {
		e.harness("heal: %v", err)
	}
}

// HealAll heals every fault in place now.
func (e *Experiment) HealAll(ctx context.Context) error {
	if !e.ready.Load() {
		return nil
	}
	return e.engine.HealAll(ctx)
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

// harness records what the harness itself could not do. It never becomes a
// pass.
func (e *Experiment) harness(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	e.mu.Lock()
	e.notes = append(e.notes, note)
	e.mu.Unlock()
	e.say(note)
}

// noted are the notes of harness so far.
func (e *Experiment) noted() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.notes)
}
