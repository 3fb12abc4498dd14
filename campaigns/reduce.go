package campaigns

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A Reduction is the way from a run that failed to the smallest scenario that
// was found to fail the same way.
type Reduction struct {
	Steps    []ReduceStep `json:"steps"`              // every candidate, in order; the first is the run's own scenario
	Changes  []Change     `json:"changes"`            // what is smaller now
	Scenario string       `json:"scenario,omitempty"` // file; "" where the failure did not come again
	Command  string       `json:"command,omitempty"`  // that runs it
	Failed   int          `json:"failed"`             // runs of it that failed,
	Runs     int          `json:"runs"`               // of so many that could tell
	Unknown  int          `json:"unknown"`            // beside them, that could not
	Minimal  bool         `json:"minimal"`            // nothing that was tried in the end is smaller and fails
	Why      string       `json:"why,omitempty"`      // it may not be minimal
}

// A ReduceStep is one candidate that was tried.
type ReduceStep struct {
	What     string        `json:"what"` // how it differs from the smallest that failed until then
	Answer   shrink.Answer `json:"answer"`
	Why      string        `json:"why,omitempty"`   // it is unknown
	Scenario string        `json:"scenario_sha256"` // of its text
	RunIDs   []string      `json:"run_ids"`
}

// A Change is one thing that is smaller than in the run.
type Change struct {
	What string `json:"what"`
	From string `json:"from"`
	To   string `json:"to"`
}

var errBudget = errors.New("the budget is used up")

// A reducer tries candidates.
type reducer struct {
	ctx     context.Context
	jobDir  *JobDir
	backend Backend
	first   scenario // the run's own
	best    scenario // the smallest that failed; nil before the first did
	out     Reduction
}

// Reduce looks for the smallest scenario that fails as the run did, and writes
// it. Runs that were made before count. When ctx ends, or the broker is another
// build by now, it stops in order and answers what it has beside the error.
func (d *JobDir) Reduce(ctx context.Context, backend Backend) (Result, error) {
	first, err := d.firstCandidate()
	if err != nil {
		return d.SoFar(), err
	}
	r := &reducer{ctx: ctx, jobDir: d, backend: backend, first: first, out: Reduction{Steps: []ReduceStep{}, Changes: []Change{}}}
	answer, err := r.test(first, "the run's own scenario")
	if err == nil && answer == shrink.Fails {
		r.best, err = shrink.Minimize(first, dimensions(first), r.test)
	}
	r.out.Minimal = err == nil && r.best != nil
	if errors.Is(err, errBudget) {
		r.out.Why, err = errBudget.Error(), nil
	}
	if err == nil && r.best != nil {
		err = r.confirm()
	}
	if err == nil {
		err = r.write()
	}
	result := r.result(err == nil)
	return result, errors.Join(err, d.Save(result))
}

// firstCandidate is the run's scenario with nothing in it but what was run, and
// of its claims those that failed.
func (d *JobDir) firstCandidate() (scenario, error) {
	start := d.Job.Start
	text, err := stored.ReadFile(d.Scenario(), stored.MostJSON)
	if err != nil {
		return nil, fmt.Errorf("reduce run %s: %w", d.Job.RunID, err)
	}
	whole, err := scenarios.Parse(start.Scenario, text)
	if err != nil {
		return nil, fmt.Errorf("reduce run %s: %w", d.Job.RunID, err)
	}
	s, err := whole.Alone(start.Tier, start.Cluster.Flavor)
	if err != nil {
		return nil, fmt.Errorf("reduce run %s: %w", d.Job.RunID, err)
	}
	s.Protocol, s.SDK = cmp.Or(start.Protocol, s.Protocol), cmp.Or(start.SDK, s.SDK)
	s.Cluster.Nodes = start.Cluster.Nodes
	if cluster.FlavorNamed(s.Cluster.Flavor).OwnSize {
		s.Cluster.Nodes = 0
	}
	failing := slices.DeleteFunc(slices.Clone(s.Claims), func(c string) bool { return !slices.Contains(d.Job.Wanted.Claims(), c) })
	if len(failing) > 0 { // else it is the wire that failed, which is judged in any case
		s.Claims = failing
	}
	id := d.Job.RunID
	s.Name = "reduced/" + path.Base(start.Scenario) + "-" + id[strings.LastIndexByte(id, '-')+1:]
	s.Title = "Reduced from run " + id
	s.Prose = "Found by `rmq-mcp reduce`.\n"
	return s, nil
}

// test answers whether a candidate fails, by as many runs as the rule asks.
func (r *reducer) test(c scenario, what string) (shrink.Answer, error) {
	step := ReduceStep{What: what, Answer: shrink.Unknown, RunIDs: []string{}}
	text, err := c.Markdown()
	if err != nil { // such as a fault on a node that is not there any more
		step.Why = err.Error()
		return r.note(step)
	}
	trials, err := r.tried(text, func(t []Trial) bool { _, final := r.jobDir.Job.Rule.Decide(answers(t)); return final })
	if err != nil {
		return shrink.Unknown, err
	}
	step.Answer, _ = r.jobDir.Job.Rule.Decide(answers(trials))
	step.Scenario = sumOfText(text)
	for _, t := range trials {
		step.RunIDs = append(step.RunIDs, t.RunID)
		if step.Answer == shrink.Unknown && t.Answer == shrink.Unknown {
			step.Why = t.Why
		}
	}
	if step.Answer == shrink.Fails {
		r.best = c
	}
	return r.note(step)
}

func (r *reducer) note(step ReduceStep) (shrink.Answer, error) {
	seen := slices.ContainsFunc(r.out.Steps, func(s ReduceStep) bool { return step.Scenario != "" && s.Scenario == step.Scenario })
	if seen { // a later round of the same dimensions
		return step.Answer, nil
	}
	r.out.Steps = append(r.out.Steps, step)
	line := fmt.Sprintf("%3d  %-7s %s", len(r.out.Steps), step.Answer, step.What)
	if step.Why != "" {
		line += ": " + step.Why
	}
	r.backend.Tell(line + r.budget())
	return step.Answer, r.jobDir.Save(r.result(false))
}

// budget is what has been used of it.
func (r *reducer) budget() string {
	runs, seconds := r.jobDir.Spent()
	of := func(most float64) string {
		if most == 0 {
			return ""
		}
		return fmt.Sprintf(" of %.0f", most)
	}
	return fmt.Sprintf("  (%d%s runs, %.0f%s min)", runs, of(float64(r.jobDir.Job.MaxRuns)), seconds/60, of(r.jobDir.Job.MaxS/60))
}

// tried makes runs of a scenario until there are enough, counting those that
// were made before.
func (r *reducer) tried(text []byte, enough func([]Trial) bool) ([]Trial, error) {
	sum := sumOfText(text)
	for {
		trials := r.jobDir.of(sum)
		if enough(trials) {
			return trials, nil
		}
		runs, seconds := r.jobDir.Spent()
		job := r.jobDir.Job
		if job.MaxRuns > 0 && runs >= job.MaxRuns || job.MaxS > 0 && seconds >= job.MaxS {
			return nil, errBudget
		}
		file := filepath.Join(r.jobDir.Dir, "candidate", filepath.Base(r.jobDir.Scenario()))
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, text, 0o644)
		}
		if err != nil {
			return nil, fmt.Errorf("write the candidate: %w", err)
		}
		t, err := r.jobDir.try(r.ctx, r.backend, file, Variation{}, job.Wanted, Fingerprint.In)
		if err != nil {
			return nil, err
		}
		t.Scenario = sum
		if err := r.jobDir.keep(t); err != nil {
			return nil, err
		}
		r.backend.Tell("       " + t.String())
	}
}

// confirm makes as many runs of what is left as the rule has, whatever they show:
// how often it fails is part of the answer. A budget that is used up is none
// here.
func (r *reducer) confirm() error {
	text, err := r.best.Markdown()
	if err != nil {
		return err
	}
	job := r.jobDir.Job
	defer func() { r.jobDir.Job = job }()
	r.jobDir.Job.MaxRuns, r.jobDir.Job.MaxS = 0, 0
	trials, err := r.tried(text, func(t []Trial) bool { return len(t) >= job.Rule.N })
	for _, t := range trials {
		switch t.Answer {
		case shrink.Unknown:
			r.out.Unknown++
			continue
		case shrink.Fails:
			r.out.Failed++
		}
		r.out.Runs++
	}
	return err
}

// result is what is known until now.
func (r *reducer) result(ended bool) Result {
	out := r.jobDir.result(ended)
	out.Reduction = &r.out
	wanted := fmt.Sprintf("run %s (%s)", r.jobDir.Job.RunID, r.jobDir.Job.Wanted)
	tried := fmt.Sprintf("%s of %s", plural(out.Runs, "run", "runs"), plural(len(r.out.Steps), "candidate", "candidates"))
	switch {
	case !ended:
		out.Headline = fmt.Sprintf("reducing %s: %s until now", wanted, tried)
	case r.best == nil && r.out.Why != "":
		out.Headline = fmt.Sprintf("not reduced: %s before it was known whether %s comes again, after %s", r.out.Why, wanted, tried)
	case r.best == nil:
		out.Headline = fmt.Sprintf("not reduced: %s did not come again in %s, after %s", wanted, r.jobDir.Job.Rule, tried)
	default:
		out.Headline = fmt.Sprintf("%s is reduced: what is left failed in %d of %s%s, after %s", wanted, r.out.Failed, plural(r.out.Runs, "run", "runs"), andUnknown(r.out.Unknown), tried)
	}
	if r.out.Why != "" && r.best != nil {
		out.Headline += "; " + r.out.Why + ", so that less may do"
	}
	return out
}

func answers(trials []Trial) (list []shrink.Answer) {
	for _, t := range trials {
		list = append(list, t.Answer)
	}
	return list
}

func sumOfText(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
