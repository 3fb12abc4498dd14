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
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
)

// Label is on every issue of a finding.
const Label = "rmq-mcp"

// Claimed is the status of a finding that is open, where somebody closed its issue as done or
// the notes of a release name it. A replay on a later version decides whether it is fixed.
const Claimed = "fix claimed"

// The labels of which an issue has one each. All others are people's.
var (
	severityLabels = []string{"severity: P0", "severity: P1", "severity: P2", "severity: P3"}
	statusLabels   = []string{"status: " + finding.Open, "status: " + finding.Fixed, "status: " + finding.Regressed, "status: " + Claimed}
)

// An Issue is one of a tracker.
type Issue struct {
	Number   int
	URL      string
	Title    string
	Body     string
	Labels   []string
	Closed   bool
	Dropped  bool      // it was closed, and not because it is done
	ClosedAt time.Time // zero for one that is open
}

// An Edit changes parts of an issue. The zero value changes nothing.
type Edit struct {
	Body   *string
	Add    []string // labels
	Remove []string
	Open   bool
}

func (e Edit) empty() bool {
	return e.Body == nil && len(e.Add) == 0 && len(e.Remove) == 0 && !e.Open
}

// A Tracker is where issues are. All returns those with [Label], open and closed. Search
// returns those with a text anywhere in them, which a tracker may know late.
type Tracker interface {
	All(ctx context.Context) ([]Issue, error)
	Search(ctx context.Context, text string) ([]Issue, error)
	Get(ctx context.Context, number int) (Issue, error)
	Create(ctx context.Context, i Issue) (Issue, error)
	Edit(ctx context.Context, number int, e Edit) error
	Comments(ctx context.Context, number int) ([]string, error)
	Comment(ctx context.Context, number int, text string) error
}

// A Memory has the numbers of the issues that were made, by the IDs of their findings. It is
// written each time that one is added.
type Memory interface {
	Number(id string) (int, bool)
	Add(id string, number int) error
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
	edited    = "left alone: the part that rmq-mcp writes was edited by hand"
	foreign   = "none made: an issue without the label rmq-mcp has the finding's ID in it; give it the label, or take the ID out"
	reopened  = "reopened and updated"
	needless  = "none made: it is fixed"
)

// Fatal is an error after which no other finding is tried, such as of a limit or of the token.
type Fatal struct{ Err error }

func (f Fatal) Error() string { return f.Err.Error() }
func (f Fatal) Unwrap() error { return f.Err }

// Sync makes an issue of each finding that has none, and brings the others up to date. With
// dry it only says what it would do. A finding that the tracker refuses keeps no other from
// it. The same again goes on.
func Sync(ctx context.Context, to Tracker, known Memory, all []Report, dry bool) (done []Change, err error) {
	labelled, err := to.All(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the issues with the label %q: %w", Label, err)
	}
	var errs []error
	for _, r := range all {
		change, err := one(ctx, to, known, labelled, r, dry)
		if err == nil {
			done = append(done, change)
			continue
		}
		errs = append(errs, fmt.Errorf("keep the issue of finding %s: %w", r.Finding.ID, err))
		if fatal := new(Fatal); errors.As(err, fatal) || ctx.Err() != nil {
			break
		}
	}
	return done, errors.Join(errs...)
}

func one(ctx context.Context, to Tracker, known Memory, labelled []Issue, r Report, dry bool) (Change, error) {
	change := Change{Finding: r.Finding.ID}
	issue, found, err := find(ctx, to, known, labelled, r.Finding.ID)
	switch {
	case err != nil:
		return change, err
	case found:
		change.URL = issue.URL
		return change, update(ctx, to, issue, r, dry, &change)
	case r.Finding.Status.State == finding.Fixed:
		change.Did = needless
		return change, nil
	}
	others, err := to.Search(ctx, r.Finding.ID)
	if err != nil {
		return change, fmt.Errorf("search for it: %w", err)
	}
	if len(others) > 0 {
		change.Did, change.URL = foreign, others[0].URL
		return change, nil
	}
	part, err := r.part(r.told(Issue{}).String(), mostBody)
	if err != nil {
		return change, err
	}
	if change.Did, change.Body = created, part; dry {
		return change, nil
	}
	severity, status := r.labels(r.Finding.Status.State)
	made, err := to.Create(ctx, Issue{Title: r.title(), Body: part, Labels: []string{Label, severity, status}})
	if err != nil {
		return change, err
	}
	change.URL = made.URL
	return change, known.Add(r.Finding.ID, made.Number)
}

// find returns the issue of a finding: the one that was made, else the oldest with our label
// and the finding's part in its text. One with nothing but the ID may be the issue of which
// a person took that part out.
func find(ctx context.Context, to Tracker, known Memory, labelled []Issue, id string) (Issue, bool, error) {
	number, found := known.Number(id)
	for _, text := range []string{begin(id) + " ", id} {
		if found {
			break
		}
		for _, i := range labelled {
			if strings.Contains(i.Body, text) && (!found || i.Number < number) {
				number, found = i.Number, true
			}
		}
	}
	if !found {
		return Issue{}, false, nil
	}
	i, err := to.Get(ctx, number) // as it is now: the list may be minutes old
	return i, err == nil, err
}

// update brings one issue up to date. The status that was told last is in our part of the
// text, so that nothing is told twice.
func update(ctx context.Context, to Tracker, issue Issue, r Report, dry bool, change *Change) error {
	before, err := toldOf(issue.Body, r.Finding.ID)
	if errors.Is(err, errEdited) {
		change.Did = edited
		return nil
	}
	if err != nil {
		return err
	}
	now := r.told(issue)
	_, body, err := r.joined(issue.Body, now)
	if err != nil {
		return err
	}
	var labels Edit
	severity, status := r.labels(now.state)
	for _, want := range []struct {
		label string
		of    []string
	}{{Label, []string{Label}}, {severity, severityLabels}, {status, statusLabels}} {
		add, remove := moved(issue.Labels, want.label, want.of)
		labels.Add, labels.Remove = append(labels.Add, add...), append(labels.Remove, remove...)
	}
	open := issue.Closed && !issue.Dropped && r.isBack(before, now) && r.Finding.Newest.First.After(issue.ClosedAt)
	switch change.Did = updated; {
	case open:
		change.Did = reopened
	case body == issue.Body && labels.empty():
		change.Did = unchanged
	}
	if body != issue.Body {
		change.Body = body
	}
	if dry || change.Did == unchanged {
		return nil
	}
	return errors.Join(write(ctx, to, issue.Number, r, before, now, open), to.Edit(ctx, issue.Number, labels))
}

// A told is a status that an issue tells: its state, and the version that it is about.
type told struct{ state, version string }

func (t told) String() string { return strings.TrimSpace(t.state + "@" + t.version) }

func toldBy(text string) told {
	state, version, _ := strings.Cut(text, "@")
	return told{state, version}
}

// told is the status of a finding, or that a fix of it is claimed: by the notes of a version
// that has not shown it, or because its issue was closed as done and no later version has
// shown it since.
func (r Report) told(issue Issue) told {
	status := r.Finding.Status
	if r.Claimed != "" && status.State != finding.Fixed && !r.Finding.Newest.NotBefore(strings.TrimPrefix(r.Claimed, "v")) {
		return told{Claimed, r.Claimed}
	}
	if issue.Closed && !issue.Dropped && status.State != finding.Fixed && !r.Finding.Newest.First.After(issue.ClosedAt) {
		return told{Claimed, ""}
	}
	return told{status.State, status.Version}
}

// isBack reports whether a version shows the finding that was said to have fixed it, or a
// later one.
func (r Report) isBack(before, now told) bool {
	return before.state == finding.Fixed && now.state != finding.Fixed && r.Finding.Newest.NotBefore(before.version) ||
		now.state == finding.Regressed && before != now
}

// joined is our part of an issue's text, and the whole text with it. Our part is as small as
// people's words make it.
func (r Report) joined(body string, now told) (part, whole string, err error) {
	from, to, _, err := ours(body, r.Finding.ID)
	if err != nil {
		return "", "", err
	}
	part, err = r.part(now.String(), min(mostBody, mostIssue-len(body)+to-from))
	if err != nil {
		return "", "", err
	}
	return part, body[:from] + part + body[to:], nil
}

// write comments on a status that moved. Then it writes our part of the text, which says that
// this was told. An interruption between the two tells it no second time.
func write(ctx context.Context, to Tracker, number int, r Report, before, now told, open bool) error {
	if news := r.news(before, now); news != "" {
		mark := fmt.Sprintf("<!-- rmq-mcp %s from %s to %s -->", r.Finding.ID, before, now)
		all, err := to.Comments(ctx, number)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(c string) bool { return strings.Contains(c, mark) }) {
			if err := to.Comment(ctx, number, news+"\n\n"+mark); err != nil {
				return fmt.Errorf("comment on the status: %w", err)
			}
		}
	}
	issue, err := to.Get(ctx, number)
	if err != nil {
		return err
	}
	_, body, err := r.joined(issue.Body, now)
	if errors.Is(err, errEdited) { // meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	e := Edit{Open: open && issue.Closed}
	if body != issue.Body {
		e.Body = &body
	}
	return to.Edit(ctx, number, e)
}

// moved are the labels to add and to remove, so that an issue has one of some. Case makes no
// difference to a tracker.
func moved(labels []string, want string, of []string) (add, remove []string) {
	has := false
	for _, l := range labels {
		switch {
		case strings.EqualFold(l, want):
			has = true
		case slices.ContainsFunc(of, func(o string) bool { return strings.EqualFold(o, l) }):
			remove = append(remove, l)
		}
	}
	if !has {
		add = append(add, want)
	}
	return add, remove
}

// labels are ours of a status: the severity and the status.
func (r Report) labels(state string) (severity, status string) {
	severity = "severity: " + r.Finding.Severity
	if !slices.Contains(severityLabels, severity) { // of a stranger's run
		severity = severityLabels[len(severityLabels)-1]
	}
	return severity, "status: " + state
}

// news is a comment on a status that moved; "" where none did.
func (r Report) news(before, now told) string {
	status := r.Finding.Status
	switch {
	case before == now:
	case now.state == finding.Fixed:
		return fmt.Sprintf("**Fixed in %s.** Each setup with a counted run that showed this was run on that version as often as it takes, and did not show it.", status.Version)
	case now.state == finding.Regressed:
		return fmt.Sprintf("**Seen again in %s**, after it was fixed in %s.", status.Version, status.Before)
	case before.state == finding.Fixed && r.isBack(before, now):
		return fmt.Sprintf("**Seen again in %s**, and so not fixed in %s.", r.Finding.Newest.Version, before.version)
	case before.state == finding.Fixed:
		return fmt.Sprintf("This does not count as fixed in %s any more: %s.", before.version, status)
	case now.state == Claimed && now.version != "":
		return fmt.Sprintf("**The notes of %s name this as fixed**: %s. It counts as a claimed fix until its setups were run on that version.", now.version, calm(r.ClaimedBy))
	case before.state == Claimed && before.version != "" && r.Finding.Newest.NotBefore(strings.TrimPrefix(before.version, "v")):
		return fmt.Sprintf("**Seen in %s**, though the notes of %s name it as fixed.", r.Finding.Newest.Version, before.version)
	case now.state == Claimed:
		return "This issue was closed as done. The finding counts as a claimed fix until its setups were run on a later version:\n\n    rmq-mcp findings replay " + r.Finding.ID + " --broker-version VERSION"
	}
	return ""
}
