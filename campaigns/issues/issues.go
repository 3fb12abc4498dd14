// Package issues keeps one issue of a tracker for each finding. It finds an issue again by
// the finding's ID in its text, so that none is made twice, and leaves alone what people
// wrote or decided.
package issues

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
)

// Label is on every issue of a finding.
const Label = "rmq-mcp"

// Prefixes of the labels of which an issue has one each.
const (
	severityLabel = "severity: "
	statusLabel   = "status: "
)

// Claimed is the status of a finding that is open and whose issue somebody closed. A replay
// on a later version decides whether it is fixed.
const Claimed = "fix claimed"

// An Issue is one of a tracker.
type Issue struct {
	Number int
	URL    string
	Title  string
	Body   string
	Labels []string
	Closed bool
}

// A Tracker is where issues are. All returns those with [Label], open and closed; Search those
// with a text anywhere in them, which a tracker may know late. Create and Edit return the
// issue as it is then; Edit opens it where Closed is false.
type Tracker interface {
	All(ctx context.Context) ([]Issue, error)
	Search(ctx context.Context, text string) ([]Issue, error)
	Create(ctx context.Context, i Issue) (Issue, error)
	Edit(ctx context.Context, i Issue) (Issue, error)
	Comment(ctx context.Context, number int, text string) error
}

// A Change is what was done, or would be, about one finding.
type Change struct {
	Finding string `json:"finding"`
	Did     string `json:"did"`
	URL     string `json:"url,omitempty"`
	Body    string `json:"body,omitempty"` // of a new issue, or of one that changes
}

// The things that are done.
const (
	created   = "created"
	updated   = "updated"
	unchanged = "unchanged"
	edited    = "left alone: somebody edited the part that rmq-mcp writes"
	reopened  = "reopened and updated"
	needless  = "none made: it is fixed"
)

// Sync makes an issue of each finding that has none, and brings the others up to date. With
// dry it only says what it would do. An error ends it; the same again goes on.
func Sync(ctx context.Context, to Tracker, all []Report, dry bool) (done []Change, err error) {
	known, err := to.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the issues with the label %q: %w", Label, err)
	}
	for _, r := range all {
		change, err := one(ctx, to, known, r, dry)
		if err != nil {
			return done, fmt.Errorf("keep the issue of finding %s: %w; the same command goes on", r.Finding.ID, err)
		}
		done = append(done, change)
	}
	return done, nil
}

func one(ctx context.Context, to Tracker, known []Issue, r Report, dry bool) (Change, error) {
	change := Change{Finding: r.Finding.ID}
	part, err := r.part()
	if err != nil {
		return change, err
	}
	issue, found, err := find(ctx, to, known, r.Finding.ID)
	if err != nil {
		return change, err
	}
	if !found && r.Finding.Status.State == finding.Fixed {
		change.Did = needless
		return change, nil
	}
	if !found {
		change.Did, change.Body = created, part
		if !dry {
			issue, err = to.Create(ctx, Issue{Title: r.title(), Body: part, Labels: r.labels(nil, false)})
			change.URL = issue.URL
		}
		return change, err
	}
	change.URL = issue.URL
	return change, update(ctx, to, issue, r, part, dry, &change)
}

// update brings one issue up to date.
func update(ctx context.Context, to Tracker, issue Issue, r Report, part string, dry bool, change *Change) error {
	next := issue
	next.Labels = r.labels(issue.Labels, issue.Closed)
	switch body, err := replaced(issue.Body, r.Finding.ID, part); {
	case errors.Is(err, errEdited):
		change.Did = edited
	case err != nil:
		return err
	default:
		next.Body = body
	}
	if issue.Closed && r.Finding.Status.State == finding.Regressed && !slices.Contains(issue.Labels, statusLabel+finding.Regressed) {
		next.Closed = false
	}
	same := next.Body == issue.Body && next.Closed == issue.Closed && slices.Equal(next.Labels, issue.Labels)
	switch {
	case next.Closed != issue.Closed:
		change.Did = reopened
	case change.Did == "" && same:
		change.Did = unchanged
	case change.Did == "":
		change.Did = updated
	}
	if next.Body != issue.Body {
		change.Body = next.Body
	}
	if dry || same {
		return nil
	}
	if _, err := to.Edit(ctx, next); err != nil {
		return err
	}
	news := r.news(issue.Labels, next.Labels)
	if news == "" {
		return nil
	}
	if err := to.Comment(ctx, issue.Number, news); err != nil { // not again: its label has moved
		return fmt.Errorf("the status was changed, and not the comment on it: %w", err)
	}
	return nil
}

// find returns the issue of a finding: one with our label, else any with its ID in it, where
// a person took the label away. The oldest of several
// is the one.
func find(ctx context.Context, to Tracker, known []Issue, id string) (Issue, bool, error) {
	of := func(list []Issue) (Issue, bool) {
		var mine []Issue
		for _, i := range list {
			if strings.Contains(i.Body, begin(id)) {
				mine = append(mine, i)
			}
		}
		if len(mine) == 0 {
			return Issue{}, false
		}
		return slices.MinFunc(mine, func(a, b Issue) int { return a.Number - b.Number }), true
	}
	if i, found := of(known); found {
		return i, true, nil
	}
	others, err := to.Search(ctx, id)
	if err != nil {
		return Issue{}, false, fmt.Errorf("search for it: %w", err)
	}
	i, found := of(others)
	return i, found, nil
}

// labels are those of an issue: ours as the finding is, and all others as they were.
func (r Report) labels(before []string, closed bool) []string {
	state := r.Finding.Status.State
	if closed && state == finding.Open {
		state = Claimed
	}
	list := slices.DeleteFunc(slices.Clone(before), func(l string) bool {
		return l == Label || strings.HasPrefix(l, severityLabel) || strings.HasPrefix(l, statusLabel)
	})
	list = append(list, Label, severityLabel+r.Finding.Severity, statusLabel+state)
	slices.Sort(list)
	return list
}

// news is a comment on a status that moved; "" where none did.
func (r Report) news(before, after []string) string {
	status := r.Finding.Status
	if slices.Equal(statusOf(before), statusOf(after)) {
		return ""
	}
	switch status.State {
	case finding.Fixed:
		return fmt.Sprintf("**Fixed in %s.** The setup that showed this was run on that version as often as it takes, and did not show it again.", status.Version)
	case finding.Regressed:
		return fmt.Sprintf("**Seen again in %s**, after it was fixed in %s.", status.Version, status.Before)
	}
	if slices.Contains(after, statusLabel+Claimed) {
		return "This issue was closed. The finding counts as a claimed fix until its setup was run on a later version:\n\n    rmq-mcp findings replay " + r.Finding.ID + " --broker-version VERSION"
	}
	return ""
}

func statusOf(labels []string) (list []string) {
	for _, l := range labels {
		if strings.HasPrefix(l, statusLabel) {
			list = append(list, l)
		}
	}
	return list
}
