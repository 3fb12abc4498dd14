package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// open makes the run directory and opens what is written as the run goes.
func (e *Experiment) open() (err error) {
	// Before anything else, so that a run without room for its end has not begun.
	if err := reports.Reserve(e.env.Dir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, reports.Release(e.env.Dir))
		}
	}()
	if err := os.MkdirAll(e.logDir(), 0o755); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	if e.scenario != nil {
		if err := os.WriteFile(filepath.Join(e.evidence(), reports.ScenarioFile), []byte(e.scenario.Text), 0o644); err != nil {
			return fmt.Errorf("keep the scenario's text: %w", err)
		}
	}
	if err := e.keepStart(); err != nil {
		return err
	}
	if e.journal, err = journal.Open(filepath.Join(e.evidence(), "journal.jsonl")); err != nil {
		return err
	}
	e.began, e.clock = time.Now().UTC(), history.NewClock()
	e.rec, err = history.Create(e.evidence(), history.Options{OnEvent: e.live.event})
	return err
}

// keepStart writes how the experiment was started, with what the scenario and
// the flavor filled in, so that a replay starts the same. Where the broker is
// found again by itself, its path is left out: run.json has its hash.
func (e *Experiment) keepStart() error {
	start := e.start.Frozen()
	start.Seed, start.Cluster.Binary = e.seed, e.binary
	if e.scenario != nil {
		start.Scenario, start.Protocol, start.SDK, start.Tier = e.scenario.Name, e.scenario.Protocol, e.sdk.String(), scenarios.TierName(start.Tier)
	}
	text, err := json.MarshalIndent(start, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(e.evidence(), reports.StartFile), append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("keep how the experiment was started: %w", err)
	}
	return nil
}

func (e *Experiment) evidence() string { return filepath.Join(e.env.Dir, "evidence") }
func (e *Experiment) logDir() string   { return filepath.Join(e.evidence(), "logs") }

// conditions are those of a run with an SDK; packets are recorded of plain MQTT alone.
func (e *Experiment) conditions(sdk clients.SDK, protocol string) scenarios.Conditions {
	return scenarios.Conditions{
		SDK: sdk, Protocol: protocol, Transport: e.start.Transport,
		Flavor: e.info.Flavor, Nodes: e.info.Nodes, Promises: e.info.Promises, Lacks: e.info.Lacks,
		Wire: e.recordsWire(), ExpiryS: e.tier.ExpiryS,
	}
}

// freeze writes what the run is to do and what it is judged by, before the first event
// of a client.
func (e *Experiment) freeze() error {
	run := &history.Run{
		Format: history.Format, ID: e.env.ID, Tool: e.version, Started: e.began,
		Seed: e.seed, Transport: e.start.Transport, Wire: e.recordsWire(), Cluster: e.info, RunBits: e.header,
	}
	if s := e.scenario; s != nil {
		run.Scenario, run.ScenarioSHA, run.Tier, run.Control = s.Name, s.SHA, scenarios.TierName(e.start.Tier), e.start.NoFaults
		run.ControlWhy, run.Lowered = e.notice, e.lowered
		run.Protocol, run.SDK = s.Protocol, e.sdk.String()
		run.Faults, run.Budget = s.Planned(e.tier), s.Budget(e.tier)
	}
	c := e.conditions(e.sdk, run.Protocol)
	if s := e.scenario; s != nil {
		run.Claims = s.Claimed(c)
		run.Beside, run.NotClaimed = s.Beside(c)
	} else {
		run.Claims, run.Beside = c.Explored()
	}
	run.WireClaims = c.WireClaims()
	return history.WriteRun(e.evidence(), run)
}

// finish heals, stops, closes what was recorded, and has it judged.
// A disk that is full by now has room for that: what was reserved. Little of it is
// given back for healing, for a broker that still writes may take it.
func (e *Experiment) finish(ctx context.Context) error {
	if err := reports.ReleaseSome(e.env.Dir); err != nil {
		e.harness("%v", err)
	}
	e.heal(ctx)
	e.halt() // whoever explores by hand stops, or drains to its end
	e.exploring.Wait()
	for _, s := range e.running() {
		s.drain(ctx, explorationDrain)
	}
	e.forget(ctx)
	e.down(ctx)
	if err := reports.Release(e.env.Dir); err != nil {
		e.harness("%v", err)
	}
	if e.ready.Load() {
		if err := e.engine.Retire(ctx); err != nil {
			e.harness("undo what was not healed: %v", err)
		}
	}
	e.enter(history.PhaseJudge)
	if err := e.rec.Close(); err != nil { // it has no end, and is judged so
		e.harness("end the history: %v", err)
	}
	e.journalled(journal.KindEnd, keeper.Caller{Via: "keeper"}, map[string]any{"harness": e.noted()})
	err := errors.Join(e.writeLandings(), reports.WriteHarness(e.evidence(), e.noted()), e.journal.Close())
	if err != nil {
		return err
	}
	key, err := reports.LoadKey(e.env.StateDir)
	if err != nil {
		return err
	}
	if e.Place != nil {
		if err := e.Place(); err != nil { // it is of no weight for the verdict
			e.say(fmt.Sprintf("note the plans of this run: %v", err))
		}
	}
	summary, err := reports.Finish(e.env.Dir, key, e.start.Cluster.Password.Reveal())
	if err != nil {
		return fmt.Errorf("judge and seal %s: %w", e.env.ID, err)
	}
	e.mu.Lock()
	e.summary = summary
	e.mu.Unlock()
	e.enter(history.PhaseDone)
	return nil
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
