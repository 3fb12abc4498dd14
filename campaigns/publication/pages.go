// Package publication makes the pages that are published with runs.
package publication

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/reports/publish"
)

// pages are the pages that belong to runs of one state directory: their findings, matrices, campaigns
// and plans. A page leads to no run but these and those that were published there before.
type pages struct {
	dir     string
	runs    string          // the directory of the runs
	pushed  map[string]bool // runs
	there   map[string]bool // runs of before
	folders []publish.Folder
	leftOut []string // why a page is not there
}

// Pages makes the pages of the findings, matrices, campaigns and plans that runs of one state directory
// belong to. They name no path of this machine, and no address of an external broker. LeftOut says which
// are missing, and why.
func Pages(dir string, runs []string, to publish.Destination) (folders []publish.Folder, leftOut []string, err error) {
	b := &pages{dir: dir, runs: filepath.Dir(runs[0]), pushed: map[string]bool{}}
	for _, run := range runs {
		b.pushed[filepath.Base(run)] = true
	}
	if b.there, err = publish.Remembered(dir, to); err != nil {
		return nil, nil, err
	}
	for _, add := range []func() error{b.addFindings, b.addMatrices, b.addCampaigns, b.addPlans} {
		if err := add(); err != nil {
			return nil, nil, err
		}
	}
	return b.folders, b.leftOut, nil
}

// run is the directory of a run.
func (b *pages) run(id string) string { return filepath.Join(b.runs, id) }

// add adds a folder, without the paths of this machine.
func (b *pages) add(f publish.Folder) {
	for name, page := range f.Pages {
		f.Pages[name] = []byte(plain.Placeless(string(page), b.dir))
	}
	b.folders = append(b.folders, f)
}

// pageOf is the way from a page beside the runs to the page of one that is published.
func (b *pages) pageOf(up string) func(id string) string {
	return func(id string) string {
		if !b.there[id] && !b.pushed[id] {
			return ""
		}
		return up + reports.RunsDir + "/" + id + "/" + reports.MarkdownFile
	}
}

// mostVerified is how many runs beside those that are pushed are verified: each takes a second.
const mostVerified = 40

// addFindings adds the findings that some runs show, as all runs of the directory have them.
// A run that does not verify shows none, as far as it was looked at.
func (b *pages) addFindings() error {
	all, err := finding.Load(b.dir)
	if err != nil {
		return err
	}
	broken, checked := map[string]bool{}, map[string]bool{}
	for _, f := range b.shown(all) {
		for _, r := range f.Runs {
			if b.pushed[r.RunID] || checked[r.RunID] || len(checked) == mostVerified {
				continue
			}
			checked[r.RunID] = true
			if _, err := reports.Verify(b.run(r.RunID)); err != nil {
				broken[r.RunID] = true
				b.leftOut = append(b.leftOut, plain.Line(fmt.Sprintf("no finding counts run %s: %v", r.RunID, err)))
			}
		}
	}
	if len(broken) > 0 {
		if all, err = finding.LoadOf(b.dir, func(id string) bool { return !broken[id] }); err != nil {
			return err
		}
	}
	shown := b.shown(all)
	for _, f := range all.Findings {
		if b.shows(f) && named(f) {
			b.leftOut = append(b.leftOut, fmt.Sprintf("finding %s: its page would have the addresses of an external broker", f.ID))
		}
	}
	pages, err := all.Only(shown).Files(b.pageOf("../"))
	delete(pages, finding.ListFile) // other findings may be there
	delete(pages, finding.AllFile)
	for _, f := range shown {
		pages[f.ID+".md"] = append(pages[f.ID+".md"], unsealed...)
	}
	b.add(publish.Folder{Name: finding.Folder, Pages: pages})
	return err
}

// shown are the findings that the runs show, except those of external brokers: their pages would have
// the addresses.
func (b *pages) shown(all finding.Findings) (list []finding.Finding) {
	for _, f := range all.Findings {
		if b.shows(f) && !named(f) {
			list = append(list, f)
		}
	}
	return list
}

// shows reports whether one of the runs shows a finding.
func (b *pages) shows(f finding.Finding) bool {
	return slices.ContainsFunc(f.Runs, func(r finding.RunLine) bool { return b.pushed[r.RunID] })
}

// named reports whether the pages of a finding name an external broker.
func named(f finding.Finding) bool {
	return slices.ContainsFunc(f.Runs, func(r finding.RunLine) bool { return cluster.ForeignBroker(r.Broker) }) ||
		slices.ContainsFunc(f.Seen, func(s finding.Seen) bool { return cluster.ForeignBroker(s.Broker) })
}

// unsealed says on a page that no seal covers it.
const unsealed = "\n---\n\nNo seal covers this page. It was made of runs, on the machine that published it. The runs published with it are sealed: `rmq-mcp verify` in a copy.\n"

// addMatrices adds the matrices that some runs are of.
func (b *pages) addMatrices() error {
	f := publish.Folder{Name: reports.MatricesDir, Pages: map[string][]byte{}}
	dirs, err := reports.Matrices(b.dir)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		m, err := reports.ReadMatrix(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !slices.ContainsFunc(m.Cells, func(c reports.MatrixCell) bool { return b.pushed[c.RunID] }) {
			continue
		}
		if err == nil {
			err = b.publishable(m)
		}
		if err != nil {
			b.leftOut = append(b.leftOut, plain.Line(fmt.Sprintf("matrix %s: %v", filepath.Base(dir), err)))
			continue
		}
		if f.Pages[m.ID+"/"+reports.MatrixFile], err = reports.JSON(m); err != nil {
			return err
		}
		page, err := reports.NewMatrixView(m, b.pageOf("../../")).Markdown()
		if err != nil {
			return err
		}
		f.Pages[m.ID+"/"+reports.MatrixMarkdown] = append(page, unsealed...)
	}
	b.add(f)
	return nil
}

// publishable returns an error for a matrix with the addresses of an external broker, or with other
// results than its runs.
func (b *pages) publishable(m reports.Matrix) error {
	for _, c := range m.Cells {
		if cluster.ForeignBroker(c.Flavor) {
			return errors.New("it names the addresses of an external broker")
		}
		if c.RunID == "" || c.State == reports.CellStarved {
			continue
		}
		seal, err := reports.Dir(b.run(c.RunID)).Seal()
		var v verdict.Verdict
		if err == nil {
			err = stored.ReadJSON(filepath.Join(b.run(c.RunID), reports.VerdictFile), &v)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // it is not here
		case err != nil:
			return err
		case c.Root != seal.Root:
			return fmt.Errorf("run %s is here with another seal than the one that it saw", c.RunID)
		case c.State != v.State:
			return fmt.Errorf("it says %s of run %s, whose own verdict is %s", c.State, c.RunID, v.State)
		}
	}
	return nil
}

// addCampaigns adds the campaigns that some runs are of.
func (b *pages) addCampaigns() error {
	f := publish.Folder{Name: campaigns.SearchesDir, Pages: map[string][]byte{}}
	dirs, err := filepath.Glob(filepath.Join(b.dir, campaigns.SearchesDir, "*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		s, err := campaigns.OpenSearch(dir)
		if err != nil {
			b.leftOut = append(b.leftOut, plain.Line(fmt.Sprintf("campaign %s: %v", filepath.Base(dir), err)))
			continue
		}
		if !slices.ContainsFunc(s.Rounds, func(r campaigns.Round) bool { return b.pushed[r.RunID] }) {
			continue
		}
		if cluster.ForeignBroker(s.Plan.Cluster.Flavor) {
			b.leftOut = append(b.leftOut, fmt.Sprintf("campaign %s: it names the addresses of an external broker", s.ID()))
			continue
		}
		summary := s.Summary()
		if f.Pages[s.ID()+"/"+campaigns.SearchFile], err = reports.JSON(summary); err != nil {
			return err
		}
		f.Pages[s.ID()+"/"+campaigns.SearchMarkdown] = []byte(summary.Markdown() + unsealed)
	}
	b.add(f)
	return nil
}

// addPlans adds the frozen plans of the runs, with their results.
func (b *pages) addPlans() error {
	f := publish.Folder{Name: plan.Folder, Pages: map[string][]byte{}}
	all, err := plan.All(b.dir)
	if err != nil {
		b.leftOut = append(b.leftOut, plain.Line(fmt.Sprintf("plans: %v", err)))
		return nil
	}
	for _, r := range all {
		if !b.attempted(r) {
			continue
		}
		if err := b.addPlan(r, f.Pages); err != nil {
			b.leftOut = append(b.leftOut, plain.Line(fmt.Sprintf("plan %s: %v", r.Plan.Name, err)))
		}
	}
	b.add(f)
	return nil
}

// attempted reports whether some runs are attempts of a plan.
func (b *pages) attempted(r *plan.Record) bool {
	for run := range b.pushed {
		places, err := reports.Dir(b.run(run)).Plans()
		if err == nil && slices.ContainsFunc(places, func(p reports.PlanPlace) bool { return p.SHA256 == r.Hash }) {
			return true
		}
	}
	return false
}

func (b *pages) addPlan(r *plan.Record, pages map[string][]byte) error {
	if !stored.IsID(r.Plan.Name) {
		return errors.New("its name is no name of a file")
	}
	for _, it := range r.Items {
		if cluster.ForeignBroker(it.Model.Flavor) {
			return errors.New("it is about an external broker")
		}
	}
	status, err := r.Look(b.dir)
	if err != nil {
		return err
	}
	document, err := r.Document(b.dir)
	if err != nil {
		return err
	}
	way := ""
	if plain.Placeless(string(document), b.dir) == string(document) { // else its hash would be another one
		way = r.Hash + ".json"
		pages[way] = document
	}
	page, err := status.Page(b.pageOf("../"), way)
	pages[r.Plan.Name+".md"] = append(page, unsealed...)
	return err
}
