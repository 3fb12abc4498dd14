package issues

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/githubtest"
)

// A limit is waited for, what cannot be helped is told with the next step, and nothing is made
// twice.
func TestGitHubThatRefuses(t *testing.T) {
	say := func(status int, message string, headers ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			githubtest.Answer(w, status, map[string]any{"message": message, "documentation_url": "https://docs.github.com/rest/using-the-rest-api/" + strings.ReplaceAll(message, " ", "-")})
		}
	}
	late := strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)
	type refusal = func(http.ResponseWriter)
	for _, c := range []struct {
		name    string
		answers []refusal
		want    string // of the error; "" for none
		made    int
	}{
		{"a server that fails and comes back", []refusal{say(502, "x"), say(503, "x")}, "", 1},
		{"a server that fails", []refusal{say(500, "x"), say(500, "x"), say(500, "x"), say(500, "x")}, "500", 0},
		{"a second limit", []refusal{say(429, "slow down")}, "", 1},
		{"a second limit, with its length", []refusal{say(403, "secondary rate limits", "Retry-After", "1")}, "", 1},
		{"a limit for an hour", []refusal{say(403, "API rate limit exceeded", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", late)}, "the limit passes in ", 0},
		{"no token", []refusal{say(401, "Bad credentials")}, "RMQ_GITHUB_TOKEN", 0},
		{"not allowed", []refusal{say(403, "Resource not accessible")}, "must be allowed to write them", 0},
		{"no issues", []refusal{say(410, "Issues are disabled for this repo")}, "name another one", 0},
		{"a search that was cut short", []refusal{nil, func(w http.ResponseWriter) {
			githubtest.Answer(w, 200, map[string]any{"incomplete_results": true, "items": []any{}})
		}}, "", 1},
		{"creation not valid", []refusal{nil, nil, say(422, "Validation Failed")}, "Validation Failed", 0},
		{"creation in conflict", []refusal{nil, nil, say(409, "Conflict")}, "Conflict", 0},
		{"creation of which nobody knows", []refusal{nil, nil, say(502, "x")}, "the same command resumes", 0},
		{"creation that a limit refused", []refusal{nil, nil, say(429, "x")}, "", 1},
	} {
		f, to := newGitHub(t)
		f.Answers = c.answers
		done, err := Sync(context.Background(), to, forgetful{}, []Report{found("loss", 1)}, false)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || len(f.Issues) != c.made {
			t.Errorf("%s: %+v, %v, %d made", c.name, done, err, len(f.Issues))
		}
		to.Client = f.Client(t) // one that remembers no limit
		if again := sync1(t, to, found("loss", 1)); len(f.Issues) != 1 {
			t.Errorf("%s, again: %+v, %d made", c.name, again, len(f.Issues))
		}
	}
	f, to := newGitHub(t)
	f.Answers = []refusal{nil, nil, say(422, "Validation Failed")}
	two := []Report{found("loss", 1), found("order", 1)}
	if done, err := Sync(context.Background(), to, forgetful{}, two, false); err == nil || len(done) != 1 || len(f.Issues) != 1 || !strings.Contains(err.Error(), two[0].Finding.ID) {
		t.Errorf("one that is refused: %+v, %v", done, err)
	}
	to.Client.BaseURL.Host = "127.0.0.1:1"
	if _, err := Sync(context.Background(), to, forgetful{}, []Report{found("loss", 1)}, false); err == nil {
		t.Errorf("no GitHub: %+v", f.Issues)
	}
}

// All issues are listed, also those of a second page, and no pull requests.
func TestAll(t *testing.T) {
	f, to := newGitHub(t)
	for n := range 130 {
		f.Issues = append(f.Issues, &githubtest.Issue{Number: n + 1, Labels: []string{Label}, Pull: n == 3})
	}
	all, err := to.All(context.Background())
	if err != nil || len(all) != 129 {
		t.Errorf("%d issues, %v", len(all), err)
	}
}
