package publish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/go-github/v62/github"
)

// MostWait is how long a limit of GitHub is waited for.
const MostWait = time.Minute

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

// patiently makes a request again that a limit refused, once that has passed. Nothing was done
// by a request that was refused.
func (g *gitHub) patiently(ctx context.Context, request func() error) error {
	for n := 0; ; n++ {
		err := request()
		wait, limited := Limit(err)
		if !limited {
			return err
		}
		if wait == 0 {
			wait = g.pause << n
		}
		if wait > MostWait || n+1 == limitAttempts {
			return fmt.Errorf("%w; the limit passes in %s; push again then", err, wait.Round(time.Second))
		}
		if err := pauseFor(ctx, wait); err != nil {
			return err
		}
	}
}
