package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/issues"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/reports/publish"
)

func (a *app) findingsIssues() *cobra.Command {
	ask, out := issues.Ask{}, ""
	cmd := &cobra.Command{
		Use:   "issues OWNER/REPO|--out DIRECTORY [ID...]",
		Short: "Keep a GitHub issue for each finding, or write its text",
		Long: "Makes an issue of each finding that has none, and brings the others up to date: new runs, severity and status as labels, a\n" +
			"comment if the status moved. Without an ID, of the findings of one broker that are blamed on it, in runs that count. The words\n" +
			"of people stay: titles, other labels, all text outside the part that rmq-mcp writes; an issue that was closed as done counts\n" +
			"as a claimed fix. The token is RMQ_GITHUB_TOKEN or GITHUB_TOKEN. --dry-run asks GitHub, changes nothing, and prints the texts.\n" +
			"With --out there is no GitHub: the texts are written as files, for people who file them by hand.",
		Example: "  rmq-mcp findings issues robustmq/robustmq --dry-run\n  rmq-mcp findings issues me/broker robustmq-no-panic --source ~/robustmq\n  rmq-mcp findings issues --out issues",
		RunE: func(cmd *cobra.Command, args []string) error {
			say := func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) }
			if out != "" {
				dir, err := a.reading()
				if err != nil {
					return err
				}
				ask.IDs = args
				n, err := issues.Write(cmd.Context(), dir, out, ask, say)
				if err == nil {
					say(fmt.Sprintf("%d issues in %s", n, out))
				}
				return err
			}
			if len(args) == 0 {
				return errors.New("findings issues: no repository; name it as OWNER/REPO, or give --out for texts alone")
			}
			ask.IDs = args[1:]
			_, err := a.keepIssues(cmd.Context(), args[0], ask, say)
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&ask.Dry, "dry-run", false, "say what would be done, and do nothing")
	f.StringVar(&out, "out", "", "write the texts into this `directory`, without GitHub")
	f.StringVar(&ask.Flavor, "flavor", "robustmq", "the `broker` whose findings are kept there, if no ID is given")
	f.StringVar(&ask.Source, "source", "", "git `directory` of the broker's source, for places in the code")
	f.StringVar(&ask.Links, "links", "", "`address` of the published runs")
	return cmd
}

// keepIssues keeps the issues of findings in a repository, tells the changes and returns them.
func (a *app) keepIssues(ctx context.Context, repo string, ask issues.Ask, say func(line string)) ([]issues.Change, error) {
	to, err := publish.GitHub(repo)
	if err == nil {
		err = to.Writable()
	}
	if err != nil {
		return nil, fmt.Errorf("findings issues: %w", err)
	}
	open := a.state
	if ask.Dry {
		open = a.reading
	}
	dir, err := open()
	if err != nil {
		return nil, err
	}
	changes, err := issues.Keep(ctx, dir, to, ask, say)
	for _, c := range changes {
		say(fmt.Sprintf("%s: %s %s", c.Finding, c.Did, c.URL))
		if ask.Dry && c.Body != "" {
			say("\n" + plain.Text(c.Body) + "\n")
		}
	}
	return changes, err
}
