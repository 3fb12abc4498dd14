package campaigns

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// Kind of a job.
type Kind string

// The kinds.
const (
	Replay Kind = "replay"
	Reduce Kind = "reduce"
	Blame  Kind = "blame"
	Series Kind = "series"
)

// Tool is the agent's tool that waits on it.
func (k Kind) Tool() string {
	switch k {
	case Series:
		return "get_run"
	case Reduce:
		return "reduce_run"
	}
	return "replay_run"
}

// A Job is a run to be repeated, as it was or varied, or to be reduced, or a scenario to
// be run several times: what to do, written down before it is begun.
type Job struct {
	Format  int          `json:"format"`
	Kind    Kind         `json:"kind"`
	RunID   string       `json:"run_id"` // of a series: its scenario, as a part of a name
	Dir     string       `json:"dir"`    // of the run; "" of a series
	Root    string       `json:"root"`   // of the run's seal
	Was     string       `json:"was"`    // the run's headline
	Broker  string       `json:"broker"` // as its run named it
	Build   Build        `json:"build"`  // on which its run was; none of a series
	Start   keeper.Start `json:"start"`  // of every run; its scenario is the job's own file
	Wanted  Fingerprint  `json:"wanted"` // the failure
	Rule    shrink.Rule  `json:"rule"`   // a replay makes N runs
	MaxRuns int          `json:"max_runs,omitempty"`
	MaxS    float64      `json:"max_s,omitempty"` // of all runs
	Begun   time.Time    `json:"begun"`

	Variations []Variation `json:"variations,omitempty"`  // of blame and of a series: a run of each
	Blame      bool        `json:"blame,omitempty"`       // of a series: where one fails, runs that differ in one thing, too
	For        string      `json:"for,omitempty"`         // what it is a part of, which does it once
	UntilFails bool        `json:"until_fails,omitempty"` // of a series: no run is made once each of Wanted has failed
	Added      []Variation `json:"added,omitempty"`       // those, once the runs that were asked for are made; of blame: more on the control broker
	NotTried   []string    `json:"not_tried,omitempty"`   // failures for which none were added, and why
}

// NewJob is what it takes to repeat a run.
func NewJob(kind Kind, r Recipe, rule shrink.Rule) Job {
	on := BrokerOf(r.Run.Cluster)
	return Job{Format: jobFormat, Kind: kind, RunID: r.Run.ID, Dir: r.Dir, Root: r.Root, Was: r.Headline, Broker: on.String(), Build: on.build(), Start: r.Start, Wanted: r.Wanted, Rule: rule}
}

// same reports whether two jobs do the same, whoever asked.
func (j Job) same(other Job) bool {
	plain := func(j Job) []byte {
		j.Begun, j.Start, j.Added, j.NotTried = time.Time{}, j.Start.Frozen(), nil, nil
		j.Build = Build{} // that of the run, which earlier versions did not write down
		text, err := json.Marshal(j)
		if err != nil {
			panic(err) // of strings and numbers
		}
		return text
	}
	return bytes.Equal(plain(j), plain(other))
}

// A JobDir is a job's directory: the job, the scenario, each trial as it is made,
// and what came of it all.
type JobDir struct {
	Dir    string
	Job    Job
	Trials []Trial // made so far, maybe by a process that was killed
}

// Names in a job's directory, beside the scenarios that it makes.
const (
	JobsDir    = "jobs" // in the state directory
	jobFile    = "job.json"
	trialsFile = "trials.jsonl"
	ResultFile = "result.json"
	stopFile   = "stop" // it is there: stop in order
	JobLog     = "job.log"
	jobFormat  = 1
)

// NewJobDir begins a job below the state directory. Its name is that of the kind
// and the run, with a number where there is one of that name.
func NewJobDir(stateDir string, j Job, scenario string, now time.Time) (*JobDir, error) {
	j.Begun = now.UTC().Truncate(time.Second)
	id := fmt.Sprintf("%s-%s", j.Kind, j.RunID)
	parent := filepath.Join(stateDir, JobsDir)
	err := os.MkdirAll(parent, 0o755)
	dir := filepath.Join(parent, id)
	for n := 2; err == nil; n++ {
		if err = os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			break
		}
		dir, err = filepath.Join(parent, fmt.Sprintf("%s-%d", id, n)), nil
	}
	d := &JobDir{Dir: dir, Job: j}
	if err == nil {
		err = os.WriteFile(d.Scenario(), []byte(scenario), 0o644)
	}
	if err == nil {
		err = reports.WriteJSON(filepath.Join(dir, jobFile), j)
	}
	if err != nil {
		return nil, fmt.Errorf("begin the %s of run %s: %w", j.Kind, j.RunID, err)
	}
	return d, nil
}

// OpenJobDir reads a job that was begun.
func OpenJobDir(dir string) (*JobDir, error) {
	d := &JobDir{Dir: dir}
	err := stored.ReadJSON(filepath.Join(dir, jobFile), &d.Job)
	if err == nil && d.Job.Format != jobFormat {
		err = fmt.Errorf("it has format %d and this version reads format %d", d.Job.Format, jobFormat)
	}
	if err == nil {
		d.Trials, err = stored.ReadJSONs[Trial](filepath.Join(dir, trialsFile))
	}
	if err != nil {
		return nil, fmt.Errorf("open job %s: %w", dir, err)
	}
	return d, nil
}

// FindJob answers a job by its id.
func FindJob(stateDir, id string) (*JobDir, bool) {
	dir := filepath.Join(stateDir, JobsDir, id)
	if id == "" || filepath.Base(dir) != id {
		return nil, false
	}
	d, err := OpenJobDir(dir)
	return d, err == nil
}

// BusyJobs are the directories of the jobs below a state directory on which a process
// works. Nothing else of them is read.
func BusyJobs(stateDir string) (busy []*JobDir, err error) {
	dirs, err := filepath.Glob(filepath.Join(stateDir, JobsDir, "*"))
	for _, dir := range dirs {
		if d := (&JobDir{Dir: dir}); d.Busy() {
			busy = append(busy, d)
		}
	}
	return busy, err
}

// Unended answers a job like this one that did not come to its end, if there is
// one: it goes on, or can.
func Unended(stateDir string, j Job) (*JobDir, error) {
	dirs, err := filepath.Glob(filepath.Join(stateDir, JobsDir, fmt.Sprintf("%s-%s*", j.Kind, j.RunID)))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		d, err := OpenJobDir(dir)
		if err != nil || !d.Job.same(j) { // one that cannot be read is nothing to go on with
			continue
		}
		if r, err := d.Result(); err != nil || !r.Ended {
			return d, nil
		}
	}
	return nil, nil
}

// PartOf returns the job that is the same part of something, ended or not; nil for none. Its
// runs that could not be made are made again.
func PartOf(stateDir string, j Job) (*JobDir, error) {
	dirs, err := filepath.Glob(filepath.Join(stateDir, JobsDir, string(j.Kind)+"-*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		d, err := OpenJobDir(dir)
		if err == nil && j.For != "" && d.Job.For == j.For && d.Job.Kind == j.Kind {
			return d, d.forgetUnmade()
		}
	}
	return nil, nil
}

// Admit replaces the caller and the limits from the beginning of the job by
// those of the present caller.
func (d *JobDir) Admit(by keeper.Start) error {
	d.Job.Start.Caller, d.Job.Start.Envelope = by.Caller, by.Envelope
	return d.rewrite()
}

// rewrite writes what the job is once more.
func (d *JobDir) rewrite() error {
	if err := reports.WriteJSON(filepath.Join(d.Dir, jobFile), d.Job); err != nil {
		return fmt.Errorf("resume %s: %w", d.ID(), err)
	}
	return nil
}

// ID of the job.
func (d *JobDir) ID() string { return filepath.Base(d.Dir) }

// Scenario is the path of the scenario's text, whose name the runs bear.
func (d *JobDir) Scenario() string {
	return filepath.Join(d.Dir, path.Base(d.Job.Start.Scenario)+".md")
}

// keep adds a trial to those made, on disk.
func (d *JobDir) keep(t Trial) error {
	if err := stored.AppendJSON(filepath.Join(d.Dir, trialsFile), t); err != nil {
		return fmt.Errorf("keep what run %s showed: %w", t.RunID, err)
	}
	d.Trials = append(d.Trials, t)
	return nil
}

// forgetUnmade takes out the trials from the first of which no run could be made.
func (d *JobDir) forgetUnmade() error {
	// The place of a trial tells how it varied: those after one that goes, go too.
	first := slices.IndexFunc(d.Trials, func(t Trial) bool { return t.State == "" })
	if first < 0 || d.Busy() {
		return nil
	}
	made := d.Trials[:first]
	var text bytes.Buffer
	for _, t := range made {
		line, err := json.Marshal(t)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	if err := reports.WriteFile(filepath.Join(d.Dir, trialsFile), text.Bytes()); err != nil {
		return fmt.Errorf("resume %s: %w", d.ID(), err)
	}
	d.Trials = made
	return nil
}

// of are the trials of one scenario, by the hash of its text.
func (d *JobDir) of(sum string) (list []Trial) {
	for _, t := range d.Trials {
		if t.Scenario == sum {
			list = append(list, t)
		}
	}
	return list
}

// Planned is how many runs the job makes: 0 for a reduction, which cannot say. A series
// may add runs to find the cause of a failure.
func (d *JobDir) Planned() int {
	if d.Job.Kind == Reduce { // its rule is for each candidate
		return 0
	}
	return max(d.Job.Rule.N, len(d.Job.Variations)+len(d.Job.Added))
}

// Spent are the runs made, and how long they took in seconds.
func (d *JobDir) Spent() (runs int, seconds float64) {
	for _, t := range d.Trials {
		seconds += t.DurationS
	}
	return len(d.Trials), seconds
}

// LeftS is how long the planned runs still take, in seconds: each as long as those that
// were made, or as the scenario says. It is 0 where that cannot be told.
func (d *JobDir) LeftS() float64 {
	made, took := d.Spent()
	left := float64(max(0, d.Planned()-made))
	if made > 0 {
		return left * took / float64(made)
	}
	s, err := scenarios.Load(d.Scenario())
	if err != nil {
		return 0
	}
	start := d.Job.Start
	t, err := s.Tier(start.Tier, cmp.Or(start.Cluster.Flavor, s.Cluster.Flavor))
	if err != nil {
		return 0
	}
	return left * s.ExpectedS(t)
}

// A Result is what came of a job, as far as it has come.
type Result struct {
	Job
	JobID     string        `json:"job_id"`
	Ended     bool          `json:"ended"`
	Headline  string        `json:"headline"`        // one sentence that can be quoted
	State     verdict.State `json:"state,omitempty"` // of a replay: of the run and its repetitions as a series
	Runs      int           `json:"runs"`            // made
	DurationS float64       `json:"duration_s"`
	Failed    int           `json:"failed"` // of a replay: runs with the failure that is looked for
	Unknown   int           `json:"unknown"`
	Trials    []Trial       `json:"trials"`
	Reduction *Reduction    `json:"reduction,omitempty"`

	Table      *reports.Table `json:"table,omitempty"`      // of a replay and of blame: k of n of each claim, the run among them
	Comparison *Comparison    `json:"comparison,omitempty"` // of blame: what the run and its variations show together

	Tool  string `json:"tool"`            // version of rmq-mcp
	Error string `json:"error,omitempty"` // why it could not go on
}

// Result reads what has come of the job until now. Before the first word of it
// the error is [fs.ErrNotExist].
func (d *JobDir) Result() (Result, error) {
	var r Result
	if err := stored.ReadJSON(filepath.Join(d.Dir, ResultFile), &r); err != nil {
		return r, fmt.Errorf("read what came of %s: %w", d.ID(), err)
	}
	return r, nil
}

// Save writes what has come of the job.
func (d *JobDir) Save(r Result) error { return reports.WriteJSON(filepath.Join(d.Dir, ResultFile), r) }

// AskStop has whoever works on the job stop in order.
func (d *JobDir) AskStop() error {
	return os.WriteFile(filepath.Join(d.Dir, stopFile), nil, 0o644)
}

// Stopped reports whether it was asked to stop.
func (d *JobDir) Stopped() bool {
	_, err := os.Stat(filepath.Join(d.Dir, stopFile))
	return err == nil
}

// Begin keeps any other process from working on the job until it is unlocked, and
// forgets that it was asked to stop. It is an error where another works on it.
func (d *JobDir) Begin() (unlock func() error, err error) {
	lock := flock.New(filepath.Join(d.Dir, lockFile))
	// A process that checks whether the job is being worked on holds the lock
	// for a moment.
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	switch mine, err := lock.TryLockContext(ctx, 20*time.Millisecond); {
	case err != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("lock job %s: %w", d.ID(), err)
	case !mine:
		return nil, fmt.Errorf("%s is being worked on by another process; wait for its end: what it has so far is in %s", d.ID(), filepath.Join(d.Dir, ResultFile))
	}
	if err := os.Remove(filepath.Join(d.Dir, stopFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("begin %s: %w", d.ID(), err), lock.Unlock())
	}
	return lock.Unlock, nil
}

// Busy reports whether a process works on the job.
func (d *JobDir) Busy() bool {
	lock := flock.New(filepath.Join(d.Dir, lockFile))
	free, err := lock.TryRLock() // as others do who look
	if free {
		lock.Unlock()
	}
	return err == nil && !free
}
