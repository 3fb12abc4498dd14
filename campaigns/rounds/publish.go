package rounds

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/exam"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/campaigns/issues"
	"github.com/robustmq/rmq-mcp/campaigns/watch"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/reports/publish"
)

// publish publishes the findings of the broker, of each its smallest run and the newest that
// shows it, and a page of each round.
func (w watching) publish(ctx context.Context, r watch.Round) (string, error) {
	all, err := finding.Load(w.dir)
	if err != nil {
		return "", err
	}
	all = all.Only(w.findings(all))
	all.Of, all.Notes = w.ask.Cluster.Flavor, []string{} // notes are of whichever broker, and with paths of this machine
	runs, roots, bad := shownRuns(w.dir, all)
	findings, err := all.Files(func(id string) string {
		if !slices.Contains(runs, filepath.Join(w.dir, reports.RunsDir, id)) {
			return ""
		}
		return "../../" + reports.RunsDir + "/" + id + "/" + reports.MarkdownFile
	})
	if err != nil {
		return "", err
	}
	for name, page := range findings {
		findings[name] = []byte(plain.Placeless(string(page), w.dir))
	}
	rounds, err := w.rounds()
	if err != nil {
		return "", err
	}
	name := w.journal.Name()
	pushed, err := publish.Push(ctx, runs, publish.Destination(w.ask.Publish), reports.Words{}, nil,
		publish.Folder{Name: finding.Folder + "/" + name, Pages: findings, Whole: true}, publish.Folder{Name: "rounds/" + name, Pages: rounds, Whole: true})
	if err == nil {
		err = publish.Remember(w.dir, publish.Destination(w.ask.Publish), runs, roots)
	}
	return fmt.Sprintf("%d findings, %d runs, %d files, at %s%s", len(all.Findings), len(runs), len(pushed.Paths), pushed.URL, bad), err
}

// shownRuns are the smallest and the newest run of each finding. Bad names the runs that do not verify
// any more.
func shownRuns(dir string, all finding.Findings) (runs []string, roots map[string]string, bad string) {
	seen := map[string]bool{}
	roots = map[string]string{}
	for _, f := range all.Findings {
		for _, id := range []string{f.Smallest.RunID, f.Runs[0].RunID} {
			run := filepath.Join(dir, reports.RunsDir, id)
			if seen[id] {
				continue
			}
			seen[id] = true
			verified, err := reports.Verify(run)
			if err != nil {
				bad += fmt.Sprintf("; %s is left out: %v", id, err)
				continue
			}
			runs, roots[id] = append(runs, run), verified.Seal.Root
		}
	}
	return runs, roots, bad
}

// rounds are a page of each round: its steps, and the conformance of its release.
func (w watching) rounds() (map[string][]byte, error) {
	pages := map[string][]byte{}
	for _, r := range w.journal.Rounds {
		page, err := r.Page()
		if err != nil {
			return nil, err
		}
		text := bytes.NewBufferString(plain.Placeless(string(page), w.dir))
		var c exam.Report
		if stored.ReadJSON(filepath.Join(w.journal.Dir(), r.ID, conformanceFile), &c) == nil {
			fmt.Fprint(text, "\n## Conformance\n\n")
			c.Markdown(text)
		}
		pages[r.ID+".md"] = text.Bytes()
	}
	return pages, nil
}

// keepIssues keeps the issues of the broker's findings.
func (w watching) keepIssues(ctx context.Context, _ watch.Round) (string, error) {
	return w.issues(ctx, false)
}

// keepClaims has issues tell that the notes of a release name them as fixed.
func (w watching) keepClaims(ctx context.Context, _ watch.Round) (string, error) {
	return w.issues(ctx, true)
}

func (w watching) issues(ctx context.Context, claimed bool) (string, error) {
	ask := issues.Ask{Flavor: w.ask.Cluster.Flavor, Source: w.ask.Source, Links: w.ask.Links, Claimed: claimed}
	if w.ask.Publish != "" { // links lead to what is there
		there, err := publish.Remembered(w.dir, publish.Destination(w.ask.Publish))
		if err != nil {
			return "", err
		}
		ask.Published = []string{}
		for id := range there {
			ask.Published = append(ask.Published, filepath.Join(w.dir, reports.RunsDir, id))
		}
	}
	changes, err := w.Issues(ctx, w.ask.Issues, ask)
	if err != nil {
		return "", err
	}
	did := map[string]int{}
	for _, c := range changes {
		did[c.Did]++
	}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(did)) {
		parts = append(parts, fmt.Sprintf("%d %s", did[what], what))
	}
	return cmp.Or(strings.Join(parts, ", "), "there is nothing to tell"), nil
}
