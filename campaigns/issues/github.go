package issues

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v62/github"

	"github.com/robustmq/rmq-mcp/reports/publish"
)

// GitHub is the issues of a repository.
type GitHub struct {
	Client      *github.Client
	Owner, Repo string
	Pause       time.Duration // after a failure of the server or the connection; of the first attempt
	Blind       time.Duration // after a limit that does not say when it passes
}

const (
	perPage  = 100
	attempts = 4
)

// All lists the issues with our label.
func (g GitHub) All(ctx context.Context) (list []Issue, err error) {
	ask := &github.IssueListByRepoOptions{State: "all", Labels: []string{Label}, ListOptions: github.ListOptions{PerPage: perPage}}
	for {
		var page []*github.Issue
		var at *github.Response
		err := g.try(ctx, func() (err error) {
			page, at, err = g.Client.Issues.ListByRepo(ctx, g.Owner, g.Repo, ask)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, i := range page {
			if !i.IsPullRequest() {
				list = append(list, issueOf(i))
			}
		}
		if at.NextPage == 0 {
			return list, nil
		}
		ask.Page = at.NextPage
	}
}

// Search finds the issues with a text in their body, as far as GitHub has indexed them. A
// search that was cut short is an error.
func (g GitHub) Search(ctx context.Context, text string) (list []Issue, err error) {
	query := fmt.Sprintf("%q in:body is:issue repo:%s/%s", text, g.Owner, g.Repo)
	err = g.try(ctx, func() error {
		found, _, err := g.Client.Search.Issues(ctx, query, &github.SearchOptions{ListOptions: github.ListOptions{PerPage: perPage}})
		if err != nil {
			return err
		}
		if found.GetIncompleteResults() {
			return errors.New("GitHub's search did not end in time")
		}
		list = nil
		for _, i := range found.Issues {
			list = append(list, issueOf(i))
		}
		return nil
	})
	return list, err
}

// Get reads one issue.
func (g GitHub) Get(ctx context.Context, number int) (Issue, error) {
	var now *github.Issue
	err := g.try(ctx, func() (err error) {
		now, _, err = g.Client.Issues.Get(ctx, g.Owner, g.Repo, number)
		return err
	})
	if gone := new(github.ErrorResponse); errors.As(err, &gone) && (gone.Response.StatusCode == http.StatusNotFound || gone.Response.StatusCode == http.StatusGone) {
		return Issue{}, fmt.Errorf("issue %d is not there any more; take it out of %s to have another one made", number, MemoryFile)
	}
	if err != nil {
		return Issue{}, fmt.Errorf("read issue %d: %w", number, err)
	}
	if now.GetNumber() != number || now.IsPullRequest() { // it was moved to another repository
		return Issue{}, fmt.Errorf("issue %d was moved to %s; take it out of %s to have another one made", number, now.GetHTMLURL(), MemoryFile)
	}
	return issueOf(now), nil
}

// Comments are the texts of an issue's comments.
func (g GitHub) Comments(ctx context.Context, number int) (list []string, err error) {
	ask := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: perPage}}
	for {
		var page []*github.IssueComment
		var at *github.Response
		err := g.try(ctx, func() (err error) {
			page, at, err = g.Client.Issues.ListComments(ctx, g.Owner, g.Repo, number, ask)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the comments of issue %d: %w", number, err)
		}
		for _, c := range page {
			list = append(list, c.GetBody())
		}
		if at.NextPage == 0 {
			return list, nil
		}
		ask.Page = at.NextPage
	}
}

// Create makes an issue. It is not tried again after an error that does not say whether it
// was made. GitHub drops the labels of a token that may not write to the repository.
func (g GitHub) Create(ctx context.Context, i Issue) (Issue, error) {
	var made *github.Issue
	err := g.once(ctx, func() (err error) {
		made, _, err = g.Client.Issues.Create(ctx, g.Owner, g.Repo, &github.IssueRequest{Title: &i.Title, Body: &i.Body, Labels: &i.Labels})
		return err
	})
	if err != nil {
		return Issue{}, err
	}
	return issueOf(made), nil
}

// Edit changes parts of an issue, each by a request of its own. A token that may not change
// labels is told of, and keeps nothing else from being changed.
func (g GitHub) Edit(ctx context.Context, number int, e Edit) error {
	var errs []error
	if len(e.Add) > 0 {
		errs = append(errs, g.label(ctx, fmt.Sprintf("add the labels %q", e.Add), func() (*github.Response, error) {
			_, answer, err := g.Client.Issues.AddLabelsToIssue(ctx, g.Owner, g.Repo, number, e.Add)
			return answer, err
		}))
	}
	for _, label := range e.Remove {
		errs = append(errs, g.label(ctx, fmt.Sprintf("remove the label %q", label), func() (*github.Response, error) {
			answer, err := g.Client.Issues.RemoveLabelForIssue(ctx, g.Owner, g.Repo, number, label)
			if answer != nil && answer.StatusCode == http.StatusNotFound { // somebody was faster
				err = nil
			}
			return answer, err
		}))
	}
	if e.Body == nil && !e.Open {
		return errors.Join(errs...)
	}
	ask := &github.IssueRequest{Body: e.Body}
	if e.Open {
		ask.State = github.String("open")
	}
	err := g.try(ctx, func() error {
		_, _, err := g.Client.Issues.Edit(ctx, g.Owner, g.Repo, number, ask)
		return err
	})
	if err != nil {
		errs = append(errs, fmt.Errorf("change it: %w", ofOne(number, err)))
	}
	return errors.Join(errs...)
}

// label makes a request about labels. That the token may not make it is no fatal error.
func (g GitHub) label(ctx context.Context, what string, request func() (*github.Response, error)) error {
	err := g.try(ctx, func() error { _, err := request(); return err })
	if refused := new(github.ErrorResponse); errors.As(err, &refused) && refused.Response.StatusCode == http.StatusForbidden {
		err = errors.New("the token may not change labels")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Comment adds a comment. It is not tried again, as Create is not.
func (g GitHub) Comment(ctx context.Context, number int, text string) error {
	err := g.once(ctx, func() error {
		_, _, err := g.Client.Issues.CreateComment(ctx, g.Owner, g.Repo, number, &github.IssueComment{Body: &text})
		return err
	})
	return ofOne(number, err)
}

// ofOne is an error about one issue: that it is locked or gone keeps no other from being kept.
func ofOne(number int, err error) error {
	if refused := new(github.ErrorResponse); errors.As(err, &refused) && refused.Response.StatusCode < http.StatusInternalServerError && refused.Response.StatusCode != http.StatusUnauthorized {
		if _, limited := publish.Limit(err); !limited {
			return fmt.Errorf("issue %d: %s", number, refused.Error())
		}
	}
	return err
}

func issueOf(i *github.Issue) Issue {
	out := Issue{Number: i.GetNumber(), URL: i.GetHTMLURL(), Title: i.GetTitle(), Body: strings.ReplaceAll(i.GetBody(), "\r\n", "\n"), Closed: i.GetState() == "closed", Dropped: i.GetStateReason() == "not_planned" || i.GetStateReason() == "duplicate", ClosedAt: i.GetClosedAt().Time}
	for _, l := range i.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	return out
}

// try makes a request that may be made twice: again after a limit, and after a failure of
// the server or of the connection.
func (g GitHub) try(ctx context.Context, request func() error) error {
	return g.repeat(ctx, request, func(err error) bool {
		var answer *github.ErrorResponse
		return !errors.As(err, &answer) || answer.Response.StatusCode >= http.StatusInternalServerError
	})
}

// once makes a request that must not be made twice: again only where a limit refused it.
func (g GitHub) once(ctx context.Context, request func() error) error {
	return g.repeat(ctx, request, func(error) bool { return false })
}

func (g GitHub) repeat(ctx context.Context, request func() error, harmless func(error) bool) error {
	for n := 0; ; n++ {
		err := request()
		if err == nil {
			return nil
		}
		told, limited := publish.Limit(err)
		wait := cmp.Or(told, g.Pause<<n)
		if limited {
			wait = cmp.Or(told, g.Blind)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case limited && (wait > publish.MostWait || n+1 == attempts):
			return Fatal{fmt.Errorf("%w; %s; the same command resumes", err, publish.Passes(told))}
		case n+1 == attempts || !limited && !harmless(err):
			return advised(err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// advised is an error with the next step. It is fatal where no other request would do better.
func advised(err error) error {
	var answer *github.ErrorResponse
	if !errors.As(err, &answer) {
		return Fatal{fmt.Errorf("%w; the same command resumes", err)}
	}
	switch status := answer.Response.StatusCode; {
	case status == http.StatusUnauthorized:
		return Fatal{fmt.Errorf("%w; the token is not valid: set RMQ_GITHUB_TOKEN or GITHUB_TOKEN", err)}
	case status == http.StatusForbidden, status == http.StatusNotFound:
		return Fatal{fmt.Errorf("%w; the repository must exist and have issues, and the token must be allowed to write them", err)}
	case status == http.StatusGone:
		return Fatal{fmt.Errorf("%w; the repository has no issues: name another one", err)}
	case status >= http.StatusInternalServerError:
		return Fatal{fmt.Errorf("%w; the same command resumes", err)}
	}
	return err
}
