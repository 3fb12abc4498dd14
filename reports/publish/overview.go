package publish

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

//go:embed overview.md.tmpl
var overviewTemplate string

// OverviewsDir holds the pages over several runs, beside [RunsDir].
const OverviewsDir = "overviews"

// An Overview is one page over all runs of a publication, to be sent to people. All but the words was decided from the records of the runs.
type Overview struct {
	Headline     string
	Table        reports.Table
	Attributions []reports.Attribution
	Notes        []string // what was not compared with what
}

// overviewPage is an overview with its words and its runs.
type overviewPage struct {
	Overview
	reports.Words
	Runs []reports.Row
}

// page is the overview of runs as a file; none where there is no overview.
func (o *Overview) page(words reports.Words, runs []reports.Row) ([]file, error) {
	if o == nil {
		return nil, nil
	}
	f, err := overviewPage{*o, words, runs}.file()
	return []file{f}, err
}

// file is the page, with a name that the same words on the same runs have again.
func (p overviewPage) file() (file, error) {
	t, err := template.New("overview").Funcs(reports.MarkdownFuncs).Parse(overviewTemplate)
	if err != nil {
		return file{}, fmt.Errorf("overview page: %w", err)
	}
	p.Words = p.Words.Scrubbed()
	p.Title = cmp.Or(p.Title, "What these runs show")
	var out bytes.Buffer
	if err := t.Execute(&out, p); err != nil {
		return file{}, fmt.Errorf("overview page: %w", err)
	}
	var roots strings.Builder
	for _, r := range p.Runs {
		roots.WriteString(r.Root)
	}
	sum := sha256.Sum256([]byte(p.Title + roots.String()))
	name := cmp.Or(strings.TrimRight(stored.Slug(p.Title), "-"), "runs")
	return file{path.Join(OverviewsDir, name+"-"+hex.EncodeToString(sum[:2])+".md"), out.Bytes()}, nil
}

// LinkTo is the page of a run, seen from the overview.
func (p overviewPage) LinkTo(run string) string {
	return "../" + reports.RunsDir + "/" + run + "/" + reports.MarkdownFile
}

// Failed is the table of what failed.
func (p overviewPage) Failed() reports.Table { return p.Table.Failed() }

// Shown are the runs that a row names: the first that failed the claim.
func (p overviewPage) Shown(r reports.TableRow) []string {
	return r.Runs[:min(len(r.Runs), maxRowRuns)]
}

// More is how many further runs of a row the page does not name.
func (p overviewPage) More(r reports.TableRow) int { return max(0, len(r.Runs)-maxRowRuns) }

const maxRowRuns = 5

// Wheres reports whether the runs differ in more than the library.
func (p overviewPage) Wheres() bool {
	return slices.ContainsFunc(p.Table.Rows, func(r reports.TableRow) bool { return r.Where != "" })
}

// Open lists the runs that would decide a deviation, and the comparisons not made.
func (p overviewPage) Open() (list []string) {
	for _, a := range p.Attributions {
		for _, step := range a.Next {
			text := fmt.Sprintf("%s: %s (`%s`)", strings.Join(a.Claims, ", "), step.Why, step.Command)
			if !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return append(list, p.Notes...)
}
