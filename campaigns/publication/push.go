package publication

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/code"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/reports/publish"
)

// An Ask is runs to publish, with the words of an agent.
type Ask struct {
	Runs        []string // run directories
	Destination string
	Words       reports.Words
	Notes       []string // of the server, for the page over several runs
	DryRun      bool
}

// Published is the result of a publication, or of its dry run.
type Published struct {
	Location string              `json:"location"`
	Commit   string              `json:"commit,omitempty"`
	Pages    []string            `json:"pages"` // in it, to read first: the overview of several runs, else the run's
	Files    int                 `json:"files"`
	Bytes    int64               `json:"bytes"`
	Checks   []reports.CodeCheck `json:"code_checks,omitempty"` // whether the broker's source has the places that were named
	Roots    map[string]string   `json:"roots,omitempty"`       // root hash of each run, by its id; of several the beginning, of many on the page alone
	LeftOut  []string            `json:"left_out,omitempty"`    // why a page beside the runs is not there
}

// Push publishes runs with the pages that belong to them. A dry run verifies them, too.
func Push(ctx context.Context, ask Ask) (Published, error) {
	out := Published{Location: ask.Destination, Roots: map[string]string{}}
	for _, dir := range ask.Runs {
		verified, err := reports.Verify(dir)
		if err != nil {
			return out, fmt.Errorf("verify %s before it is published: %w", dir, err)
		}
		out.Roots[filepath.Base(dir)] = verified.Seal.Root
	}
	to := publish.Destination(ask.Destination)
	over, err := overviewOf(ask.Runs, ask.Notes)
	if err != nil {
		return out, err
	}
	state, err := stateDirOf(ask.Runs)
	if err != nil {
		return out, err
	}
	pages, leftOut, err := Pages(state, ask.Runs, to)
	if err != nil {
		return out, fmt.Errorf("make the pages beside the runs of %s: %w", state, err)
	}
	out.LeftOut = leftOut
	push := func() (publish.Pushed, error) {
		return publish.Push(ctx, ask.Runs, to, ask.Words, over, pages...)
	}
	if ask.DryRun {
		push = func() (publish.Pushed, error) {
			return publish.Preview(ask.Runs, to, ask.Words, over, pages...)
		}
	}
	pushed, err := push()
	if err != nil {
		return out, err
	}
	out.Location, out.Commit, out.Pages, out.Files, out.Bytes = pushed.URL, pushed.Commit, pushed.Pages, len(pushed.Paths), pushed.Bytes
	if ask.DryRun {
		return out, nil
	}
	return out, publish.Remember(state, to, ask.Runs, out.Roots)
}

// stateDirOf is the directory of the runs' findings, matrices, campaigns and plans.
func stateDirOf(runs []string) (string, error) {
	within := filepath.Dir(runs[0])
	for _, run := range runs {
		if filepath.Dir(run) != within {
			return "", fmt.Errorf("publish %s and %s: they are in two directories; publish those of one after those of the other", runs[0], run)
		}
	}
	if filepath.Base(within) == reports.RunsDir {
		return filepath.Dir(within), nil
	}
	return within, nil
}

// overviewOf is the page over several runs, with further notes; nil for one.
func overviewOf(runs, notes []string) (*publish.Overview, error) {
	if len(runs) < 2 {
		return nil, nil
	}
	c, err := campaigns.CompareRuns(runs)
	return &publish.Overview{Headline: c.Headline, Table: c.Table, Attributions: c.Attributions, Notes: append(c.Notes, notes...)}, err
}

// PushChecked publishes runs as [Push], and checks the named places in the code in the source of the first
// run's broker. A source without that version checks nothing, and says why of each place.
func PushChecked(source string) func(context.Context, Ask) (Published, error) {
	return func(ctx context.Context, ask Ask) (Published, error) {
		if len(ask.Words.CodePaths) > 0 && len(ask.Runs) > 0 {
			checks, err := code.CheckForRun(ctx, source, ask.Runs[0], ask.Words.CodePaths)
			if err != nil {
				return Published{}, err
			}
			ask.Words.Checks = checks
		}
		out, err := Push(ctx, ask)
		out.Checks = ask.Words.Checks
		return out, err
	}
}
