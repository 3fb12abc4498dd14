package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/go-github/v62/github"
)

// MostWait is how long a limit of GitHub is waited for.
const MostWait = time.Minute

// BlindWait is the wait after a limit without a time. GitHub asks for a minute at least
// (docs.github.com, "Best practices for using the REST API").
const BlindWait = time.Minute

// limitAttempts is how often a request is made that a limit refuses.
const limitAttempts = 4

// Limit reports whether GitHub refused a request by a limit, and how long that lasts; 0 where
// nobody says.
func Limit(err error) (wait time.Duration, limited bool) {
	var rate *github.RateLimitError
	var abuse *github.AbuseRateLimitError
	var answer *github.ErrorResponse
	switch {
	case errors.As(err, &rate):
		return max(time.Second, time.Until(rate.Rate.Reset.Time)), true
	case errors.As(err, &abuse):
		return abuse.GetRetryAfter(), true
	case errors.As(err, &answer):
		return 0, answer.Response.StatusCode == http.StatusTooManyRequests
	}
	return 0, false
}

// Passes says when a limit does, for an error.
func Passes(wait time.Duration) string {
	if wait == 0 {
		return "GitHub does not say when the limit passes"
	}
	return "the limit passes in " + wait.Round(time.Second).String()
}

// patiently makes a request again that a limit refused, once that has passed. Nothing was done
// by a request that was refused.
func (g *gitHub) patiently(ctx context.Context, request func() error) error {
	for n := 0; ; n++ {
		err := request()
		wait, limited := Limit(err)
		if !limited {
			return err
		}
		if wait > MostWait || n+1 == limitAttempts {
			return fmt.Errorf("%w; %s; push again then", err, Passes(wait))
		}
		if err := pauseFor(ctx, cmp.Or(wait, g.blind)); err != nil {
			return err
		}
	}
}
