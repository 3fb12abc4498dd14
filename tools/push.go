package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/publication"
	"github.com/robustmq/rmq-mcp/reports"
)

// PushAnswer is where a report went, or would go.
type PushAnswer struct {
	Answer
	publication.Published
	Done bool `json:"published"` // false for a dry run
}

func (a *agent) pushReport() Tool {
	type report struct {
		Runs        []string `json:"runs"`
		Destination string   `json:"destination"`
		Title       string   `json:"title"`
		Problem     string   `json:"problem"`
		Analysis    string   `json:"analysis"`
		CodePaths   []string `json:"code_paths"`
		Severity    string   `json:"proposed_severity"`
	}
	type args struct {
		Report report `json:"report"`
		DryRun bool   `json:"dry_run"`
	}
	t := Tool{
		Name:        "push_report",
		Description: "Publishes sealed runs, with your words quoted beside the verdict, to a destination that the operator allows. dry_run shows where and what.",
		Params: []Param{
			{Name: "report", Type: Object, Required: true, Example: `{"runs":["latest"],"title":"…"}`, Fields: []Param{
				{Name: "runs", Type: Array, Items: String, Required: true, About: "run_ids, job_ids", Example: `["latest"]`},
				{Name: "title", Type: String, Required: true, Most: 200},
				{Name: "problem", Type: String, Most: mostProse, About: "what happened, when"},
				{Name: "analysis", Type: String, Most: mostProse, About: "suspected cause"},
				{Name: "code_paths", Type: Array, Items: String, About: "in the broker's source"},
				{Name: "proposed_severity", Type: String, Enum: []string{"P0", "P1", "P2", "P3"}},
				{Name: "destination", Type: String, About: "directory, git remote or github:owner/repo"},
			}},
			{Name: "dry_run", Type: Boolean},
		},
		Example: `{"report":{"runs":["latest"],"title":"offline session loses acknowledged messages"}}`,
		Hints:   Hints{OpenWorld: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (PushAnswer, error) {
		r := in.Report
		to, err := a.envelope.Destination(r.Destination)
		if err != nil {
			return PushAnswer{}, err
		}
		if len(r.Runs) == 0 {
			return PushAnswer{}, errors.New("push_report: report.runs is empty; name at least one run_id, or latest")
		}
		dirs, err := a.findAll(r.Runs)
		if err != nil {
			return PushAnswer{}, err
		}
		if len(dirs) == 0 {
			return PushAnswer{}, fmt.Errorf("push_report: %s has no judged run yet; get_run with its id as run_id waits", joined(r.Runs))
		}
		ask := publication.Ask{Runs: dirs, Destination: to, DryRun: in.DryRun, Notes: a.notEnded(r.Runs),
			Words: reports.Words{Title: r.Title, Problem: r.Problem, Analysis: r.Analysis, CodePaths: r.CodePaths, ProposedSeverity: r.Severity}}
		published, err := a.backend.Push(ctx, ask)
		if err != nil {
			return PushAnswer{}, fmt.Errorf("publish to %s: %w", to, err)
		}
		if len(dirs) > 1 {
			published = overviewed(published)
		}
		what := strings.Join(append([]string{fmt.Sprintf("%s to %s", plural(len(dirs), "run"), published.Location)}, ask.Notes...), "; ")
		if in.DryRun {
			return PushAnswer{Answer: answer("would publish "+what,
				"push_report without dry_run"), Published: published}, nil
		}
		return PushAnswer{Answer: answer("published "+what, "tell the user the location; the page has the verdicts and the roots to quote"), Published: published, Done: true}, nil
	})
}

// overviewed is a publication of several runs by its overview, which names all the others.
func overviewed(p publication.Published) publication.Published {
	p.Pages = slices.DeleteFunc(slices.Clone(p.Pages), func(page string) bool { return strings.HasPrefix(page, reports.RunsDir+"/") })
	roots := map[string]string{}
	for run, root := range p.Roots {
		if len(p.Roots) <= fewTrials {
			roots[run] = root[:min(len(root), rootShown)]
		}
	}
	p.Roots = roots
	return p
}

// findAll are the directories of runs, each once. A job stands for its runs.
func (a *agent) findAll(ids []string) ([]string, error) {
	var dirs []string
	for _, run := range a.runsOfAll(ids) {
		dir, err := a.find(run)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// runsOfAll are the runs of several ids, each as in [agent.runsOf].
func (a *agent) runsOfAll(ids []string) (runs []string) {
	for _, id := range ids {
		runs = append(runs, a.runsOf(id)...)
	}
	return runs
}

// runsOf are the runs of a job: the one that it repeats, and those that it made. An id
// of anything else is a run's.
func (a *agent) runsOf(id string) []string {
	jobDir, ok := a.backend.Job(id)
	if !ok {
		return []string{id}
	}
	var runs []string
	if jobDir.Job.Dir != "" {
		runs = append(runs, jobDir.Job.RunID)
	}
	return append(runs, jobDir.JudgedTrials()...)
}
