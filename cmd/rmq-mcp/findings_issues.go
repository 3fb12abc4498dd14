package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/code"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/campaigns/issues"
	"github.com/robustmq/rmq-mcp/campaigns/watch"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/reports/publish"
	"github.com/robustmq/rmq-mcp/tools"
)

// issuePlaces is how many places in the code are looked at for an issue.
const issuePlaces = 50

// issuePause is the first pause after a failure of GitHub.
const issuePause = 2 * time.Second

// issueAsk are the flags of findings issues.
type issueAsk struct {
	source, links, flavor string
	out                   string // directory for the texts, instead of a repository
	dry                   bool
	claimed               bool     // those alone that a release claims to fix
	published             []string // directories of the runs that links lead to; nil: all
}

func (a *app) findingsIssues() *cobra.Command {
	var ask issueAsk
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
			if ask.out != "" {
				return a.writeIssues(cmd.Context(), cmd.OutOrStdout(), args, ask)
			}
			if len(args) == 0 {
				return errors.New("findings issues: no repository; name it as OWNER/REPO, or give --out for texts alone")
			}
			_, err := a.keepIssues(cmd.Context(), cmd.OutOrStdout(), args[0], args[1:], ask)
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVar(&ask.dry, "dry-run", false, "say what would be done, and do nothing")
	f.StringVar(&ask.out, "out", "", "write the texts into this `directory`, without GitHub")
	f.StringVar(&ask.flavor, "flavor", "robustmq", "the `broker` whose findings are kept there, if no ID is given")
	f.StringVar(&ask.source, "source", "", "git `directory` of the broker's source, for places in the code")
	f.StringVar(&ask.links, "links", "", "`address` of the published runs")
	return cmd
}

// keepIssues keeps the issues of findings in a repository, and returns what it did.
func (a *app) keepIssues(ctx context.Context, out io.Writer, repo string, ids []string, ask issueAsk) ([]issues.Change, error) {
	to, err := publish.GitHub(repo)
	if err == nil {
		err = to.Writable()
	}
	if err != nil {
		return nil, fmt.Errorf("findings issues: %w", err)
	}
	open, remember := a.state, issues.OpenMemory
	if ask.dry {
		open, remember = a.reading, issues.ReadMemory
	}
	dir, err := open()
	if err != nil {
		return nil, err
	}
	all, err := finding.Load(dir)
	if err != nil {
		return nil, err
	}
	memory, err := remember(dir, to.Owner+"/"+to.Name)
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	chosen, err := toReport(all, ids, ask.flavor, memory)
	if err != nil {
		return nil, err
	}
	claims, err := claimsOf(dir, to.Owner+"/"+to.Name, all.Findings)
	if err != nil {
		return nil, err
	}
	for i := range chosen {
		chosen[i].Claimed, chosen[i].ClaimedBy = claims[chosen[i].Finding.ID].Version, claims[chosen[i].Finding.ID].Line
	}
	if ask.claimed {
		chosen = slices.DeleteFunc(chosen, func(r issues.Report) bool {
			_, has := memory.Number(r.Finding.ID)
			return !has || r.Claimed == ""
		})
	}
	for i := range chosen {
		if err := complete(ctx, out, dir, &chosen[i], ask); err != nil {
			return nil, err
		}
	}
	for _, id := range memory.IDs() {
		if _, err := all.Find(id); err != nil {
			number, _ := memory.Number(id)
			fmt.Fprintf(out, "%s: there is no such finding any more; look at issue %d of it\n", id, number)
		}
	}
	tracker := issues.GitHub{Client: to.Client, Owner: to.Owner, Repo: to.Name, Pause: issuePause, Blind: publish.BlindWait}
	changes, err := issues.Sync(ctx, tracker, memory, chosen, ask.dry)
	for _, c := range changes {
		fmt.Fprintf(out, "%s: %s %s\n", c.Finding, c.Did, c.URL)
		if ask.dry && c.Body != "" {
			fmt.Fprintf(out, "\n%s\n\n", plain.Text(c.Body))
		}
	}
	return changes, publish.WithoutSecret(err, to.Token.Reveal())
}

// noMemory is of issues that are on no tracker.
type noMemory struct{}

func (noMemory) Number(string) (int, bool) { return 0, false }
func (noMemory) Add(string, int) error     { return nil }

// writeIssues writes the text of an issue of each finding, and asks no tracker.
func (a *app) writeIssues(ctx context.Context, out io.Writer, ids []string, ask issueAsk) error {
	dir, err := a.reading()
	if err != nil {
		return err
	}
	all, err := finding.Load(dir)
	if err != nil {
		return err
	}
	chosen, err := toReport(all, ids, ask.flavor, noMemory{})
	if err != nil {
		return err
	}
	for i := range chosen {
		if err := complete(ctx, out, dir, &chosen[i], ask); err != nil {
			return err
		}
		page, err := chosen[i].Page()
		if err != nil {
			return err
		}
		if err := os.MkdirAll(ask.out, 0o755); err != nil {
			return fmt.Errorf("write issues: %w", err)
		}
		if err := reports.WriteFile(filepath.Join(ask.out, chosen[i].Finding.ID+".md"), page); err != nil {
			return fmt.Errorf("write issues: %w", err)
		}
	}
	fmt.Fprintf(out, "%d issues in %s\n", len(chosen), ask.out)
	return nil
}

// claimsOf are the claims of releases to fix findings, as the watches of the state directory
// read them, by the findings' IDs. Repo has the issues.
func claimsOf(dir, repo string, all []finding.Finding) (map[string]watch.Claim, error) {
	memory, err := issues.ReadMemory(dir, repo)
	if err != nil {
		return nil, err
	}
	known := map[string]watch.Issue{}
	for _, f := range all {
		number, _ := memory.Number(f.ID)
		known[f.ID] = watch.Issue{Repo: repo, Number: number}
	}
	return watch.Claims(dir, known)
}

// toReport are the findings with some IDs. Without an ID they are all with an issue, and those
// of a flavor in counted runs, blamed on the broker.
func toReport(all finding.Findings, ids []string, flavor string, memory issues.Memory) (chosen []issues.Report, err error) {
	for _, id := range ids {
		f, err := all.Find(id)
		if err != nil {
			return nil, err
		}
		if foreign(f) {
			return nil, fmt.Errorf("finding %s is of an external broker at %s: write that issue by hand", f.ID, f.Subject)
		}
		chosen = append(chosen, issues.Report{Finding: f})
	}
	for _, f := range all.Findings {
		_, has := memory.Number(f.ID)
		if len(ids) == 0 && !foreign(f) && (has || f.Party == verdict.Broker && f.Subject == flavor && f.Severity != verdict.Expected && f.Smallest.Of > 0) {
			chosen = append(chosen, issues.Report{Finding: f})
		}
	}
	return chosen, nil
}

// foreign reports whether a finding is of an external broker, whose addresses it
// has in its name.
func foreign(f finding.Finding) bool {
	return f.Party != verdict.SDK && cluster.ForeignBroker(f.Subject)
}

// complete adds to the report of a finding its scenario, the places in the code, and where
// its runs are published.
func complete(ctx context.Context, out io.Writer, dir string, r *issues.Report, ask issueAsk) error {
	run, err := reports.Find(dir, r.Finding.Smallest.RunID)
	if err != nil {
		return err
	}
	report, err := reports.ReadReport(run)
	if err != nil {
		return fmt.Errorf("read the scenario of run %s: %w", filepath.Base(run), err)
	}
	r.Scenario, r.Links = report.Scenario.Text, ask.links
	r.Linked = func(id string) bool {
		return ask.published == nil || slices.Contains(ask.published, filepath.Join(dir, reports.RunsDir, id))
	}
	for i := range r.Finding.Runs {
		r.Finding.Runs[i].Example = plain.Placeless(r.Finding.Runs[i].Example, dir)
	}
	if ask.source == "" || r.Finding.Party == verdict.SDK {
		return nil
	}
	found, err := codeOf(dir, ask.source, reports.Find)(ctx, tools.CodeAsk{ID: r.Finding.Runs[0].RunID, Claim: r.Finding.Claim, Most: issuePlaces})
	if err != nil {
		fmt.Fprintf(out, "%s: no places in the code: %v\n", r.Finding.ID, err)
		return nil
	}
	if !found.Checked {
		fmt.Fprintf(out, "%s: no places in the code: %s is not known to be the source of that run's broker\n", r.Finding.ID, found.Tree)
		return nil
	}
	r.Places, r.Tree = sure(found.Places, r.Finding), found.Tree
	for i := range r.Places {
		r.Places[i].Clue = plain.Placeless(r.Places[i].Clue, dir)
	}
	return nil
}

// sure are the places that no other fits as well: of a finding about a panic its own, of any
// other what was written while the failure lasted.
func sure(all []code.Place, f finding.Finding) (list []code.Place) {
	for _, p := range all {
		own := p.Kind == code.Panic && f.Place != "" && strings.HasSuffix(p.File, f.Place)
		if p.Others == 0 && (own || p.Kind == code.LogLine && p.During == code.During) {
			list = append(list, p)
		}
	}
	return list
}
