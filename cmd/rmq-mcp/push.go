package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/reports/publish"
	"github.com/robustmq/rmq-mcp/tools"
)

// pushReport verifies the runs also where nothing is published.
func pushReport(ctx context.Context, ask tools.Publication) (tools.Published, error) {
	out := tools.Published{Location: ask.Destination, Roots: map[string]string{}}
	for _, dir := range ask.Runs {
		verified, err := reports.Verify(dir)
		if err != nil {
			return out, fmt.Errorf("verify %s before it is published: %w", dir, err)
		}
		out.Roots[filepath.Base(dir)] = verified.Seal.Root
	}
	to := publish.Destination(ask.Destination)
	over, err := overviewOf(ask.Runs)
	if err != nil {
		return out, err
	}
	beside, err := besideOf(ask.Runs)
	if err != nil {
		return out, err
	}
	push := func() (publish.Pushed, error) { return publish.Push(ctx, ask.Runs, to, ask.Words, over, beside...) }
	if ask.DryRun {
		push = func() (publish.Pushed, error) { return publish.Preview(ask.Runs, to, ask.Words, over, beside...) }
	}
	pushed, err := push()
	if err != nil {
		return out, err
	}
	out.Location, out.Commit, out.Pages, out.Files, out.Bytes = pushed.URL, pushed.Commit, pushed.Pages, len(pushed.Paths), pushed.Bytes
	return out, nil
}

// overviewOf is the page over several runs; nil for one.
func overviewOf(runs []string) (*publish.Overview, error) {
	if len(runs) < 2 {
		return nil, nil
	}
	c, err := compareRuns(runs)
	return &publish.Overview{Headline: c.Headline, Table: c.Table, Attributions: c.Attributions, Notes: c.Notes}, err
}

// besideOf are the pages that belong to runs of one state directory: their findings, their
// matrices and their campaigns. A page leads to no run but these.
func besideOf(runs []string) (beside []publish.Folder, err error) {
	dir := filepath.Dir(runs[0])
	if filepath.Base(dir) == reports.RunsDir {
		dir = filepath.Dir(dir)
	}
	pushed := map[string]bool{}
	for _, run := range runs {
		pushed[filepath.Base(run)] = true
	}
	for _, of := range []func(dir string, pushed map[string]bool) (publish.Folder, error){findingsOf, matricesOf, campaignsOf} {
		f, err := of(dir, pushed)
		if err != nil {
			return nil, fmt.Errorf("make the pages beside the runs: %w", err)
		}
		withoutPlaces(f.Pages, dir)
		beside = append(beside, f)
	}
	return beside, nil
}

// pageOf is the way from a page beside the runs to the page of one that is published.
func pageOf(pushed map[string]bool, up string) func(id string) string {
	return func(id string) string {
		if !pushed[id] {
			return ""
		}
		return up + reports.RunsDir + "/" + id + "/" + reports.MarkdownFile
	}
}

// findingsOf are the findings that some runs show, as all runs of the directory have them.
func findingsOf(dir string, pushed map[string]bool) (publish.Folder, error) {
	all, err := finding.Load(dir)
	if err != nil {
		return publish.Folder{}, err
	}
	var shown []finding.Finding
	for _, f := range all.Findings {
		if slices.ContainsFunc(f.Runs, func(r finding.RunLine) bool { return pushed[r.RunID] }) && !named(f) {
			shown = append(shown, f)
		}
	}
	pages, err := all.Only(shown).Files(pageOf(pushed, "../"))
	delete(pages, finding.ListFile) // other findings may be there
	delete(pages, finding.AllFile)
	return publish.Folder{Name: finding.Folder, Pages: pages}, err
}

// named reports whether the pages of a finding name a broker of somebody else, with its
// addresses: nobody asked to publish those.
func named(f finding.Finding) bool {
	return slices.ContainsFunc(f.Runs, func(r finding.RunLine) bool { return foreignBroker(r.Broker) }) ||
		slices.ContainsFunc(f.Seen, func(s finding.Seen) bool { return foreignBroker(s.Broker) })
}

// matricesOf are the matrices that some runs are of.
func matricesOf(dir string, pushed map[string]bool) (publish.Folder, error) {
	f := publish.Folder{Name: reports.MatricesDir, Pages: map[string][]byte{}}
	dirs, err := reports.Matrices(dir)
	if err != nil {
		return f, err
	}
	for _, one := range dirs {
		m, err := reports.ReadMatrix(one)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !slices.ContainsFunc(m.Cells, func(c reports.MatrixCell) bool { return pushed[c.RunID] }) {
			continue
		}
		if err != nil {
			return f, err
		}
		if f.Pages[m.ID+"/"+reports.MatrixFile], err = reports.JSON(m); err != nil {
			return f, err
		}
		if f.Pages[m.ID+"/"+reports.MatrixMarkdown], err = reports.NewMatrixView(m, pageOf(pushed, "../../")).Markdown(); err != nil {
			return f, err
		}
	}
	return f, nil
}

// campaignsOf are the campaigns that some runs are of.
func campaignsOf(dir string, pushed map[string]bool) (publish.Folder, error) {
	f := publish.Folder{Name: campaigns.SearchesDir, Pages: map[string][]byte{}}
	dirs, err := filepath.Glob(filepath.Join(dir, campaigns.SearchesDir, "*"))
	if err != nil {
		return f, err
	}
	for _, one := range dirs {
		s, err := campaigns.OpenSearch(one)
		if err == nil && slices.ContainsFunc(s.Rounds, func(r campaigns.Round) bool { return pushed[r.RunID] }) {
			f.Pages[s.ID()+".md"] = []byte(s.Summary().Markdown())
		}
	}
	return f, nil
}

// withoutPlaces takes the paths of this machine out of pages.
func withoutPlaces(pages map[string][]byte, dir string) {
	for name, page := range pages {
		pages[name] = []byte(placeless(string(page), dir))
	}
}
