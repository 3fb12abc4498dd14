package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/code"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/campaigns/issues"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/reports/publish"
	"github.com/robustmq/rmq-mcp/tools"
)

// issuePause is the first pause after a refusal of GitHub that does not say how long.
const issuePause = 2 * time.Second

// issueAsk are the flags of findings issues.
type issueAsk struct {
	source, links string
	dry           bool
}

func (a *app) findingsIssues() *cobra.Command {
	var ask issueAsk
	cmd := &cobra.Command{
		Use:   "issues OWNER/REPO [ID...]",
		Short: "Keep an issue on GitHub for each finding",
		Long: "Makes an issue of each finding that has none, and brings the others up to date: new runs, severity and status as labels, a\n" +
			"comment where the status moved. Without an ID, of all findings that are blamed on the broker. The words of people stay:\n" +
			"titles, other labels, all text outside the part that rmq-mcp writes; an issue that somebody closed counts as a claimed fix.\n" +
			"The token is RMQ_GITHUB_TOKEN or GITHUB_TOKEN. --dry-run asks GitHub, changes nothing, and prints the texts.",
		Example: "  rmq-mcp findings issues robustmq/robustmq --dry-run\n  rmq-mcp findings issues me/broker robustmq-no-panic --source ~/robustmq",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.keepIssues(cmd.Context(), cmd.OutOrStdout(), args[0], args[1:], ask)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&ask.dry, "dry-run", false, "say what would be done, and do nothing")
	f.StringVar(&ask.source, "source", "", "`directory` of the broker's source, or its git repository, for places in the code")
	f.StringVar(&ask.links, "links", "", "`address` of the published runs")
	return cmd
}

func (a *app) keepIssues(ctx context.Context, out io.Writer, repo string, ids []string, ask issueAsk) error {
	client, owner, name, token, err := publish.GitHubClient(repo)
	if err != nil {
		return fmt.Errorf("findings issues: %w", err)
	}
	dir, err := a.reading()
	if err != nil {
		return err
	}
	all, err := finding.Load(dir)
	if err != nil {
		return err
	}
	var chosen []issues.Report
	for _, id := range ids {
		f, err := all.Find(id)
		if err != nil {
			return err
		}
		chosen = append(chosen, issues.Report{Finding: f})
	}
	for _, f := range all.Findings {
		if len(ids) == 0 && f.Party == verdict.Broker {
			chosen = append(chosen, issues.Report{Finding: f})
		}
	}
	for i := range chosen {
		if err := complete(ctx, dir, &chosen[i], ask); err != nil {
			return err
		}
	}
	tracker := issues.GitHub{Client: client, Owner: owner, Repo: name, Pause: issuePause}
	changes, err := issues.Sync(ctx, tracker, chosen, ask.dry)
	for _, c := range changes {
		fmt.Fprintf(out, "%s: %s %s\n", c.Finding, c.Did, c.URL)
		if ask.dry && c.Body != "" {
			fmt.Fprintf(out, "\n%s\n\n", plain.Text(c.Body))
		}
	}
	return publish.WithoutSecret(err, token.Reveal())
}

// complete adds to the report of a finding its scenario, the places in the code, and where
// its runs are published.
func complete(ctx context.Context, dir string, r *issues.Report, ask issueAsk) error {
	run, err := reports.Find(dir, r.Finding.Smallest.RunID)
	if err != nil {
		return err
	}
	report, err := reports.ReadReport(run)
	if err != nil {
		return fmt.Errorf("read the scenario of run %s: %w", filepath.Base(run), err)
	}
	r.Scenario, r.Links = report.Scenario.Text, ask.links
	if ask.source == "" || r.Finding.Party == verdict.SDK {
		return nil
	}
	found, err := codeOf(dir, ask.source)(ctx, tools.CodeAsk{ID: r.Finding.Runs[0].RunID, Most: 8})
	if err != nil {
		return err
	}
	r.Places, r.Tree = during(found.Places), found.Tree
	return nil
}

// during are the places of panics, and of what was written while the failure lasted.
func during(all []code.Place) (list []code.Place) {
	for _, p := range all {
		if p.Kind == code.Panic || p.During == code.During {
			list = append(list, p)
		}
	}
	return list
}
