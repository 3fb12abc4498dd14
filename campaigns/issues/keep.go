package issues

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/code"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/campaigns/watch"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/reports/publish"
)

// searchedPlaces is how many places in the code are looked at for an issue.
const searchedPlaces = 50

// pause is the first pause after a failure of GitHub.
const pause = 2 * time.Second

// An Ask is the choice of findings for issues, and the content of the issues.
type Ask struct {
	IDs       []string // of findings; none: those of the flavor, blamed on the broker, in runs that count
	Flavor    string
	Source    string   // git directory of the broker's source, for places in the code; "" for none
	Links     string   // address of the published runs
	Published []string // directories of the runs that links lead to; nil: all
	Claimed   bool     // only findings that a release claims to fix
	Dry       bool     // change nothing
}

// Keep keeps the issues of findings in a repository, and returns the changes. Dir is the state
// directory. Say gets lines for people.
func Keep(ctx context.Context, dir string, to publish.Repository, ask Ask, say func(line string)) ([]Change, error) {
	remember := OpenMemory
	if ask.Dry {
		remember = ReadMemory
	}
	all, err := finding.Load(dir)
	if err != nil {
		return nil, err
	}
	repo := to.Owner + "/" + to.Name
	memory, err := remember(dir, repo)
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	chosen, err := ask.chosen(all, memory)
	if err != nil {
		return nil, err
	}
	claims, err := Claims(dir, repo, all.Findings)
	if err != nil {
		return nil, err
	}
	for i := range chosen {
		chosen[i].Claimed, chosen[i].ClaimedBy = claims[chosen[i].Finding.ID].Version, claims[chosen[i].Finding.ID].Line
	}
	if ask.Claimed {
		chosen = slices.DeleteFunc(chosen, func(r Report) bool {
			_, has := memory.Number(r.Finding.ID)
			return !has || r.Claimed == ""
		})
	}
	for i := range chosen {
		if err := ask.complete(ctx, dir, &chosen[i], say); err != nil {
			return nil, err
		}
	}
	for _, id := range memory.IDs() {
		if _, err := all.Find(id); err != nil {
			number, _ := memory.Number(id)
			say(fmt.Sprintf("%s: there is no such finding any more; look at issue %d of it", id, number))
		}
	}
	tracker := GitHub{Client: to.Client, Owner: to.Owner, Repo: to.Name, Pause: pause, Blind: publish.BlindWait}
	changes, err := Sync(ctx, tracker, memory, chosen, ask.Dry)
	return changes, publish.WithoutSecret(err, to.Token.Reveal())
}

// untracked is the memory of issues that are on no tracker.
type untracked struct{}

func (untracked) Number(string) (int, bool) { return 0, false }
func (untracked) Add(string, int) error     { return nil }

// Write writes the text of an issue of each finding into a directory, and returns how many. It asks no
// tracker.
func Write(ctx context.Context, dir, out string, ask Ask, say func(line string)) (n int, err error) {
	all, err := finding.Load(dir)
	if err != nil {
		return 0, err
	}
	chosen, err := ask.chosen(all, untracked{})
	if err != nil {
		return 0, err
	}
	for i := range chosen {
		if err := ask.complete(ctx, dir, &chosen[i], say); err != nil {
			return i, err
		}
		page, err := chosen[i].Page()
		if err != nil {
			return i, err
		}
		if err := os.MkdirAll(out, 0o755); err != nil {
			return i, fmt.Errorf("write issues: %w", err)
		}
		if err := reports.WriteFile(filepath.Join(out, chosen[i].Finding.ID+".md"), page); err != nil {
			return i, fmt.Errorf("write issues: %w", err)
		}
	}
	return len(chosen), nil
}

// Claims are those of releases to fix findings, as the watches of the state directory read them, by the
// findings' IDs. Repo has the issues.
func Claims(dir, repo string, all []finding.Finding) (map[string]watch.Claim, error) {
	memory, err := ReadMemory(dir, repo)
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

// chosen are the findings with some IDs. Without an ID they are all with an issue, and those of the
// flavor in counted runs, blamed on the broker.
func (ask Ask) chosen(all finding.Findings, memory Memory) (chosen []Report, err error) {
	for _, id := range ask.IDs {
		f, err := all.Find(id)
		if err != nil {
			return nil, err
		}
		if external(f) {
			return nil, fmt.Errorf("finding %s is of an external broker at %s: write that issue by hand", f.ID, f.Subject)
		}
		chosen = append(chosen, Report{Finding: f})
	}
	for _, f := range all.Findings {
		_, has := memory.Number(f.ID)
		if len(ask.IDs) == 0 && !external(f) && (has || f.Party == verdict.Broker && f.Subject == ask.Flavor && f.Severity != verdict.Expected && f.Smallest.Of > 0) {
			chosen = append(chosen, Report{Finding: f})
		}
	}
	return chosen, nil
}

// external reports whether a finding is of an external broker. Its name has the addresses.
func external(f finding.Finding) bool {
	return f.Party != verdict.SDK && cluster.ForeignBroker(f.Subject)
}

// complete adds to the report of a finding its scenario, the places in the code, and the links to its
// published runs.
func (ask Ask) complete(ctx context.Context, dir string, r *Report, say func(line string)) error {
	run, err := reports.Find(dir, r.Finding.Smallest.RunID)
	if err != nil {
		return err
	}
	report, err := reports.Dir(run).Report()
	if err != nil {
		return fmt.Errorf("read the scenario of run %s: %w", filepath.Base(run), err)
	}
	r.Scenario, r.Links = report.Scenario.Text, ask.Links
	r.Linked = func(id string) bool {
		return ask.Published == nil || slices.Contains(ask.Published, filepath.Join(dir, reports.RunsDir, id))
	}
	for i := range r.Finding.Runs {
		r.Finding.Runs[i].Example = plain.Placeless(r.Finding.Runs[i].Example, dir)
	}
	if ask.Source == "" || r.Finding.Party == verdict.SDK {
		return nil
	}
	var found code.Places
	if run, err = reports.Find(dir, r.Finding.Runs[0].RunID); err == nil {
		found, err = code.InRun(ctx, ask.Source, "", code.Request{Dir: run, Claim: r.Finding.Claim, Most: searchedPlaces})
	}
	if err != nil {
		say(fmt.Sprintf("%s: no places in the code: %v", r.Finding.ID, err))
		return nil
	}
	if !found.Checked {
		say(fmt.Sprintf("%s: no places in the code: %s is not known to be the source of that run's broker", r.Finding.ID, found.Tree))
		return nil
	}
	r.Places, r.Tree = sure(found.Places, r.Finding), found.Tree
	for i := range r.Places {
		r.Places[i].Clue = plain.Placeless(r.Places[i].Clue, dir)
	}
	return nil
}

// sure are the places without a rival: of a finding about a panic its own, of any other what was written
// while the failure lasted.
func sure(all []code.Place, f finding.Finding) (list []code.Place) {
	for _, p := range all {
		own := p.Kind == code.Panic && f.Place != "" && strings.HasSuffix(p.File, f.Place)
		if p.Others == 0 && (own || p.Kind == code.LogLine && p.During == code.During) {
			list = append(list, p)
		}
	}
	return list
}
