package experiment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/reports"
)

// A record is what is written down of a run as it goes, and what people are told of it.
type record struct {
	env     keeper.Env
	began   time.Time
	clock   interface{ Now() time.Duration } // since the run began
	shared  history.Clock                    // the same, for processes that read it themselves
	rec     *history.Recorder
	journal *journal.Journal
	logs    *logs                  // of the nodes, from when they are up
	exits   *exits                 // likewise
	fill    func(*keeper.Progress) // completes what people are told
	file    sync.Mutex             // of landings.json

	mu       sync.Mutex // of the rest
	phase    string
	notes    []string // what the harness could not do
	watchers map[chan keeper.Progress]bool
	starting []keeper.Progress // lines of that phase
}

// startLines is how many lines of the start are kept for a watcher that comes late.
const startLines = 32

// open makes the run directory and opens the files that are written as the run goes.
// watch is shown every event.
func (r *record) open(s *spec, watch func(history.Event), fill func(*keeper.Progress)) (err error) {
	// Before anything else, so that a run without room for its end has not begun.
	if err := reports.Reserve(r.env.Dir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, reports.Release(r.env.Dir))
		}
	}()
	if err := os.MkdirAll(r.logDir(), 0o755); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	if s.scenario != nil {
		if err := os.WriteFile(filepath.Join(r.evidence(), reports.ScenarioFile), []byte(s.scenario.Text), 0o644); err != nil {
			return fmt.Errorf("keep the scenario's text: %w", err)
		}
	}
	if d := s.start.Cluster.Document; d != nil {
		if err := os.WriteFile(filepath.Join(r.evidence(), reports.DocumentFile), []byte(d.Text()), 0o644); err != nil {
			return fmt.Errorf("keep the document of the broker: %w", err)
		}
	}
	if err := s.keep(r.evidence()); err != nil {
		return err
	}
	if r.journal, err = journal.Open(filepath.Join(r.evidence(), "journal.jsonl")); err != nil {
		return err
	}
	r.phase, r.watchers, r.fill = history.PhaseStarting, map[chan keeper.Progress]bool{}, fill
	r.began, r.shared = time.Now().UTC(), history.NewClock()
	r.clock = r.shared
	r.rec, err = history.Create(r.evidence(), history.Options{OnEvent: watch})
	return err
}

// follow records the logs of a cluster's nodes and the ends of their processes, until
// unfollow. index returns a node's place in the tables.
func (r *record) follow(c *cluster.Cluster, index func(node string) int16) {
	r.logs, r.exits = followLogs(r, c, index), watchExits(r, c)
}

// unfollow returns when all of it is recorded.
func (r *record) unfollow() {
	if r.exits != nil {
		r.exits.close()
		r.logs.close()
	}
}

func (r *record) evidence() string { return filepath.Join(r.env.Dir, "evidence") }
func (r *record) logDir() string   { return filepath.Join(r.evidence(), "logs") }

// enter begins a phase, in the history and before people's eyes.
func (r *record) enter(phase string) {
	r.mu.Lock()
	r.phase = phase
	r.mu.Unlock()
	if phase != history.PhaseDone && phase != history.PhaseJudge {
		r.rec.Record(harnessEvent(r.clock.Now(), history.KindPhase, phase))
	}
	r.say(phase)
}

func harnessEvent(at time.Duration, kind history.Kind, text string) history.Event {
	return history.Event{
		Time: at, Kind: kind, Edge: history.Point, Via: history.ViaHarness, Text: text,
		Call: history.None, Process: history.None, Conn: history.None, Node: history.None,
		Stream: history.None, Seq: history.None, ID: history.None,
	}
}

// harness records what the harness itself could not do. It never becomes a
// pass.
func (r *record) harness(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	r.mu.Lock()
	r.notes = append(r.notes, note)
	r.mu.Unlock()
	r.say(note)
}

// noted are the notes of harness so far.
func (r *record) noted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.notes)
}

// A callRecord is one call in the journal, and its answer once there is one.
type callRecord struct {
	keeper.Caller
	Answer any `json:"answer,omitempty"`
}

// journalled writes one entry and returns its number. A journal that cannot
// be written is the harness's failure, and is said.
func (r *record) journalled(kind string, caller keeper.Caller, answer any) int {
	n, err := r.journal.Append(kind, callRecord{caller, answer})
	if err != nil {
		r.harness("write the journal: %v", err)
	}
	return n
}

// say tells people one thing worth a line.
func (r *record) say(text string) {
	r.env.Log.Info(text)
	r.tell(keeper.Progress{Text: text})
}

// tell sends a line, or a tick, to everybody who watches. A watcher that does not keep
// up misses ticks.
func (r *record) tell(p keeper.Progress) {
	p.At = r.clock.Now().Seconds()
	r.fill(&p)
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Phase = r.phase
	if p.Text != "" && p.Phase == history.PhaseStarting && len(r.starting) < startLines {
		r.starting = append(r.starting, p)
	}
	for ch := range r.watchers {
		select {
		case ch <- p:
		default:
		}
	}
}

// Progress subscribes to what people watch. While the start lasts, it begins with the lines of the start.
func (r *record) Progress() (<-chan keeper.Progress, func()) {
	ch := make(chan keeper.Progress, 2*startLines)
	r.mu.Lock()
	if r.phase == history.PhaseStarting {
		for _, p := range r.starting {
			ch <- p
		}
	}
	r.watchers[ch] = true
	r.mu.Unlock()
	return ch, func() {
		r.mu.Lock()
		delete(r.watchers, ch)
		r.mu.Unlock()
	}
}

// writeLandings writes down the landings so far.
func (r *record) writeLandings(all func() []history.Landing) error {
	r.file.Lock()
	defer r.file.Unlock()
	return history.WriteLandings(r.evidence(), all())
}
