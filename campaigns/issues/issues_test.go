package issues

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-github/v62/github"

	"github.com/robustmq/rmq-mcp/campaigns/code"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// fakeGitHub behaves like the issues of one repository.
type fakeGitHub struct {
	mu       sync.Mutex
	issues   []*fakeIssue
	answers  []func(w http.ResponseWriter, made bool) // instead of the next ones; made: the request was carried out
	requests []string
}

type fakeIssue struct {
	number       int
	title, body  string
	labels       []string
	closed, pull bool
	reason       string
	closedAt     string // 2026-11-27T00:00:00Z
	comments     []string
}

// forgetful is a memory of a state directory that nobody has yet.
type forgetful map[string]int

func (f forgetful) Number(id string) (int, bool)    { n, known := f[id]; return n, known }
func (f forgetful) Add(id string, number int) error { f[id] = number; return nil }

func newFakeGitHub(t *testing.T) (*fakeGitHub, GitHub) {
	t.Helper()
	f := &fakeGitHub{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	client := github.NewClient(server.Client())
	base, err := url.Parse(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	client.BaseURL = base
	return f, GitHub{Client: client, Owner: "o", Repo: "r", Pause: time.Millisecond}
}

func (f *fakeGitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	var in struct {
		Title, Body, State *string
		Labels             *[]string
	}
	var labels []string
	body, _ := io.ReadAll(r.Body)
	if json.Unmarshal(body, &in) != nil {
		json.Unmarshal(body, &labels)
	}
	var instead func(http.ResponseWriter, bool)
	if len(f.answers) > 0 {
		instead, f.answers = f.answers[0], f.answers[1:]
	}
	if instead != nil {
		instead(w, false)
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/repos/o/r")
	switch {
	case r.Method == "GET" && path == "/issues":
		page, size := number(r, "page", 1), number(r, "per_page", 30)
		var all []*fakeIssue
		for _, i := range f.issues {
			if slices.Contains(i.labels, r.URL.Query().Get("labels")) {
				all = append(all, i)
			}
		}
		from, to := min((page-1)*size, len(all)), min(page*size, len(all))
		if to < len(all) {
			w.Header().Set("Link", fmt.Sprintf("<http://%s%s?page=%d>; rel=\"next\"", r.Host, r.URL.Path, page+1))
		}
		shown := []any{}
		for _, i := range all[from:to] {
			shown = append(shown, i.shown())
		}
		answer(w, 200, shown)
	case r.Method == "GET" && path == "/search/issues":
		text, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Query().Get("q"), `"`), `"`)
		shown := []any{}
		for _, i := range f.issues {
			if strings.Contains(i.body, text) {
				shown = append(shown, i.shown())
			}
		}
		answer(w, 200, map[string]any{"total_count": len(shown), "items": shown})
	case r.Method == "POST" && path == "/issues":
		i := &fakeIssue{number: len(f.issues) + 1, title: *in.Title, body: *in.Body, labels: *in.Labels}
		f.issues = append(f.issues, i)
		answer(w, 201, i.shown())
	case r.Method == "GET" && strings.HasPrefix(path, "/issues/") && !strings.HasSuffix(path, "/comments"):
		answer(w, 200, f.issue(path).shown())
	case r.Method == "PATCH":
		i := f.issue(path)
		if in.Body != nil {
			i.body = *in.Body
		}
		if in.State != nil {
			i.closed = *in.State == "closed"
		}
		answer(w, 200, i.shown())
	case r.Method == "POST" && strings.HasSuffix(path, "/labels"):
		i := f.issue(strings.TrimSuffix(path, "/labels"))
		i.labels = append(i.labels, labels...)
		answer(w, 200, []any{})
	case r.Method == "DELETE":
		at, label, _ := strings.Cut(path, "/labels/")
		i := f.issue(at)
		i.labels = slices.DeleteFunc(i.labels, func(l string) bool { return l == label })
		answer(w, 200, []any{})
	case r.Method == "GET" && strings.HasSuffix(path, "/comments"):
		list := []any{}
		for _, c := range f.issue(strings.TrimSuffix(path, "/comments")).comments {
			list = append(list, map[string]any{"body": c})
		}
		answer(w, 200, list)
	case r.Method == "POST" && strings.HasSuffix(path, "/comments"):
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(path, "/issues/"), "/comments"))
		f.issues[n-1].comments = append(f.issues[n-1].comments, *in.Body)
		answer(w, 201, map[string]any{})
	default:
		answer(w, 404, map[string]any{"message": "Not Found"})
	}
}

func (f *fakeGitHub) issue(path string) *fakeIssue {
	n, _ := strconv.Atoi(strings.TrimPrefix(path, "/issues/"))
	return f.issues[n-1]
}

func number(r *http.Request, name string, otherwise int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return otherwise
	}
	return n
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func (i *fakeIssue) closedTime() any {
	if i.closedAt == "" {
		return nil
	}
	return i.closedAt
}

func (i *fakeIssue) shown() map[string]any {
	state, labels := "open", []any{}
	if i.closed {
		state = "closed"
	}
	for _, l := range i.labels {
		labels = append(labels, map[string]any{"name": l})
	}
	out := map[string]any{"number": i.number, "title": i.title, "body": strings.ReplaceAll(i.body, "\n", "\r\n"), "state": state, "state_reason": i.reason, "closed_at": i.closedTime(), "labels": labels, "html_url": fmt.Sprintf("https://github.com/o/r/issues/%d", i.number)}
	if i.pull {
		out["pull_request"] = map[string]any{}
	}
	return out
}

// found is a finding of so many runs.
func found(claim string, runs int) Report {
	key := finding.Key{Claim: claim, Kind: "lost", Party: verdict.Broker, Subject: "robustmq"}
	f := finding.Finding{
		ID: key.ID(), Key: key, Severity: "P0", Text: "It is delivered.", Source: "MQTT 3.1.1", Status: finding.Status{State: finding.Open},
		Newest: finding.Newest{Version: "0.4.11", First: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)},
		First:  time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), Last: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC),
		Smallest: finding.Reproduction{RunID: "run-1", Scenario: "mqtt/broker-kill-9", Command: "rmq-mcp run mqtt/broker-kill-9", Times: reports.Times{Failed: runs, Of: runs}},
	}
	for n := range runs {
		f.Runs = append(f.Runs, finding.RunLine{RunID: fmt.Sprintf("run-%d", n+1), Scenario: "mqtt/broker-kill-9", Broker: "robustmq 0.4.11", Count: 7, Counted: true, Example: "message 1 never reached online-1"})
	}
	return Report{Finding: f}
}

func sync1(t *testing.T, to Tracker, r Report) Change {
	t.Helper()
	done, err := Sync(context.Background(), to, forgetful{}, []Report{r}, false)
	if err != nil || len(done) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	return done[0]
}

// An issue is made once, brought up to date with new runs, and left as it is where there is
// nothing new.
func TestSync(t *testing.T) {
	f, to := newFakeGitHub(t)
	if got := sync1(t, to, found("loss", 1)); got.Did != created || got.URL != "https://github.com/o/r/issues/1" {
		t.Errorf("%+v", got)
	}
	if got := sync1(t, to, found("loss", 1)); got.Did != unchanged {
		t.Errorf("%+v", got)
	}
	if got := sync1(t, to, found("loss", 2)); got.Did != updated || !strings.Contains(f.issues[0].body, "run-2") {
		t.Errorf("%+v", got)
	}
	i := f.issues[0]
	if len(f.issues) != 1 || i.title != "[P0] robustmq: loss, lost" || !slices.Equal(i.labels, []string{"rmq-mcp", "severity: P0", "status: open"}) || len(i.comments) > 0 {
		t.Errorf("%+v", i)
	}
	f.requests = nil
	dry, err := Sync(context.Background(), to, forgetful{}, []Report{found("loss", 3), found("order", 1)}, true)
	if err != nil || len(dry) != 2 || dry[0].Did != updated || dry[1].Did != created || !strings.Contains(dry[1].Body, "rmq-mcp run mqtt/broker-kill-9") {
		t.Errorf("%+v, %v", dry, err)
	}
	for _, r := range f.requests {
		if !strings.HasPrefix(r, "GET ") {
			t.Errorf("a dry run asks %s", r)
		}
	}
}

// People's words, labels and titles stay, and an edit of our own part is not overwritten.
func TestSyncLeavesPeopleAlone(t *testing.T) {
	f, to := newFakeGitHub(t)
	sync1(t, to, found("loss", 1))
	i := f.issues[0]
	i.title, i.body, i.labels = "We lose messages", "I can confirm this.\n\n"+i.body+"\n\nSee also our chat.", append(i.labels, "bug")
	if got := sync1(t, to, found("loss", 2)); got.Did != updated {
		t.Errorf("%+v", got)
	}
	if !strings.HasPrefix(i.body, "I can confirm this.\n\n<!-- rmq-mcp finding ") || !strings.HasSuffix(i.body, "\n\nSee also our chat.") || !strings.Contains(i.body, "run-2") || i.title != "We lose messages" || !slices.Contains(i.labels, "bug") {
		t.Errorf("%+v", i)
	}
	i.body = strings.Replace(i.body, "It is delivered.", "It should be delivered.", 1)
	mine := i.body
	if got := sync1(t, to, found("loss", 3)); !strings.HasPrefix(got.Did, "left alone") || i.body != mine {
		t.Errorf("%+v, %s", got, i.body)
	}
	i.body = "All of it is my own now: " + found("loss", 1).Finding.ID
	if got := sync1(t, to, found("loss", 3)); !strings.HasPrefix(got.Did, "left alone") || len(f.issues) != 1 {
		t.Errorf("%+v", got)
	}
	i.labels = []string{"bug"} // nobody adopts an issue without our label, and none is made beside it
	if got := sync1(t, to, found("loss", 3)); !strings.HasPrefix(got.Did, "none made: an issue without the label") || len(f.issues) != 1 {
		t.Errorf("%+v", got)
	}
	known := forgetful{found("loss", 1).Finding.ID: 1} // but where it is remembered
	i.body, i.labels = mine, []string{"bug", "Status: open", "status: needs-info"}
	i.body = strings.Replace(i.body, "It should be delivered.", "It is delivered.", 1)
	done, err := Sync(context.Background(), to, known, []Report{found("loss", 3)}, false)
	if err != nil || done[0].Did != updated || !slices.Equal(i.labels, []string{"bug", "Status: open", "status: needs-info", "rmq-mcp", "severity: P0"}) {
		t.Errorf("%+v, %v: %+v", done, err, i)
	}
}

// A change by somebody stays that comes after the issues were listed.
func TestSyncReadsAnIssueBeforeItChangesIt(t *testing.T) {
	f, to := newFakeGitHub(t)
	sync1(t, to, found("loss", 1))
	i := f.issues[0]
	f.answers = []func(http.ResponseWriter, bool){func(w http.ResponseWriter, _ bool) {
		answer(w, 200, []any{i.shown()})
		i.body, i.labels, i.closed = "Mine. "+i.body, append(i.labels, "wontfix"), true
	}}
	sync1(t, to, found("loss", 2))
	if !strings.HasPrefix(i.body, "Mine. ") || !strings.Contains(i.body, "run-2") || !slices.Contains(i.labels, "wontfix") || !i.closed {
		t.Errorf("%+v", i)
	}
}

// Its status goes with the finding. Closing an issue claims a fix, and a replay decides.
func TestSyncOfStatus(t *testing.T) {
	f, to := newFakeGitHub(t)
	r := found("loss", 1)
	sync1(t, to, r)
	i := f.issues[0]
	step := func(what string, state finding.Status, closed bool, label, comment string, did string) {
		t.Helper()
		r.Finding.Status = state
		before := len(i.comments)
		if got := sync1(t, to, r); got.Did != did || i.closed != closed || !slices.Contains(i.labels, "status: "+label) || len(i.labels) != 3 {
			t.Errorf("%s: %+v, %+v", what, got, i)
		}
		said := strings.Join(i.comments[before:], "\n")
		if comment == "" != (said == "") || !strings.Contains(said, comment) {
			t.Errorf("%s: comments %q", what, said)
		}
	}
	open, fixed := finding.Status{State: finding.Open}, finding.Status{State: finding.Fixed, Version: "0.4.12"}
	day := func(n int) time.Time { return time.Date(2026, 12, n, 0, 0, 0, 0, time.UTC) }
	i.closed, i.closedAt = true, "2026-12-01T00:00:00Z"
	step("closed", open, true, "fix claimed", "rmq-mcp findings replay robustmq-loss-", updated)
	step("closed, again", open, true, "fix claimed", "", unchanged)
	r.Finding.Last = day(2)
	step("an old version shows it, still", open, true, "fix claimed", "", updated)
	i.reason = "not_planned"
	step("closed as not planned", open, true, "open", "", updated)
	i.reason = "completed"
	step("closed as done, as before", open, true, "fix claimed", "", updated)
	step("fixed", fixed, true, "fixed", "Fixed in 0.4.12", updated)
	step("not fixed any more, for more runs are needed", open, true, "fix claimed", "does not count as fixed in 0.4.12 any more", updated)
	step("fixed, as before", fixed, true, "fixed", "", updated)
	r.Finding.Newest = finding.Newest{Version: "0.4.12", First: day(3)}
	step("not fixed after all", open, false, "open", "and so not fixed in 0.4.12", reopened)
	i.closed, i.closedAt = true, "2026-12-04T00:00:00Z"
	step("closed once more", open, true, "fix claimed", "", updated)
	fixed.Version = "0.4.13"
	step("fixed in the next", fixed, true, "fixed", "Fixed in 0.4.13", updated)
	r.Finding.Newest = finding.Newest{Version: "0.4.14", First: day(5)}
	step("regressed", finding.Status{State: finding.Regressed, Version: "0.4.14", Before: "0.4.13"}, false, "regressed", "Seen again in 0.4.14", reopened)
	i.closed, i.closedAt, i.reason, i.labels = true, "2026-12-06T00:00:00Z", "not_planned", []string{Label, "severity: P0"}
	back := finding.Status{State: finding.Regressed, Version: "0.4.14", Before: "0.4.13"}
	step("closed as not planned, and a label lost", back, true, "regressed", "", updated)
	step("closed as it is", back, true, "regressed", "", unchanged)
	r.Finding.Newest = finding.Newest{Version: "0.4.16", First: day(7)}
	back = finding.Status{State: finding.Regressed, Version: "0.4.16", Before: "0.4.15"}
	step("fixed, and back again, but closed as not planned", back, true, "regressed", "Seen again in 0.4.16", updated)
	i.reason, i.closedAt = "completed", "2026-12-08T00:00:00Z"
	step("closed as done", back, true, "fix claimed", "claimed fix", updated)
}

// An issue that was moved away or deleted is told of, and nothing is written to another one.
func TestIssueThatIsGone(t *testing.T) {
	f, to := newFakeGitHub(t)
	sync1(t, to, found("loss", 1))
	known, two := forgetful{found("loss", 1).Finding.ID: 7}, []Report{found("loss", 2), found("order", 1)}
	for name, gone := range map[string]func(http.ResponseWriter, bool){
		"moved": func(w http.ResponseWriter, _ bool) { answer(w, 200, f.issues[0].shown()) },
		"deleted": func(w http.ResponseWriter, _ bool) {
			answer(w, 410, map[string]any{"message": "This issue was deleted"})
		},
	} {
		before := f.issues[0].body
		f.answers = []func(http.ResponseWriter, bool){nil, gone}
		done, err := Sync(context.Background(), to, known, two, false)
		if err == nil || !strings.Contains(err.Error(), "issue 7 ") || len(done) != 1 || f.issues[0].body != before {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
}

// A token that may not change labels is told of, and the text is written all the same.
func TestTokenWithoutLabels(t *testing.T) {
	f, to := newFakeGitHub(t)
	sync1(t, to, found("loss", 1))
	f.issues[0].labels = []string{Label}
	refuse := func(w http.ResponseWriter, _ bool) {
		answer(w, 403, map[string]any{"message": "Resource not accessible"})
	}
	f.answers = []func(http.ResponseWriter, bool){nil, nil, nil, nil, refuse}
	_, err := Sync(context.Background(), to, forgetful{}, []Report{found("loss", 2)}, false)
	if err == nil || !strings.Contains(err.Error(), "may not change labels") || !strings.Contains(f.issues[0].body, "run-2") {
		t.Errorf("%v, %q: %s", err, f.requests, f.issues[0].body)
	}
}

// A comment that was made before an interruption is not made again, and one that was not made
// is.
func TestCommentOnce(t *testing.T) {
	for at, comments := range map[int]int{2: 0, 3: 0, 4: 1, 5: 1} { // the request that fails: comments, comment, issue, text
		f, to := newFakeGitHub(t)
		r := found("loss", 1)
		sync1(t, to, r)
		r.Finding.Status = finding.Status{State: finding.Fixed, Version: "0.4.12"}
		f.answers = append(make([]func(http.ResponseWriter, bool), at), func(w http.ResponseWriter, _ bool) {
			answer(w, 422, map[string]any{"message": "no"})
		})
		if _, err := Sync(context.Background(), to, forgetful{}, []Report{r}, false); err == nil || len(f.issues[0].comments) != comments {
			t.Errorf("request %d fails: %v, comments %q", at, err, f.issues[0].comments)
		}
		f.answers = nil
		sync1(t, to, r)
		if len(f.issues[0].comments) != 1 || !strings.Contains(f.issues[0].body, "fixed in 0.4.12") {
			t.Errorf("request %d failed, again: comments %q", at, f.issues[0].comments)
		}
	}
}

// A limit is waited for, what cannot be helped is told with the next step, and nothing is made
// twice.
func TestGitHubThatRefuses(t *testing.T) {
	say := func(status int, message string, headers ...string) func(http.ResponseWriter, bool) {
		return func(w http.ResponseWriter, _ bool) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			answer(w, status, map[string]any{"message": message, "documentation_url": "https://docs.github.com/rest/using-the-rest-api/" + strings.ReplaceAll(message, " ", "-")})
		}
	}
	late := strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)
	type refusal = func(http.ResponseWriter, bool)
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
		{"a search that was cut short", []refusal{nil, func(w http.ResponseWriter, _ bool) {
			answer(w, 200, map[string]any{"incomplete_results": true, "items": []any{}})
		}}, "", 1},
		{"creation not valid", []refusal{nil, nil, say(422, "Validation Failed")}, "Validation Failed", 0},
		{"creation in conflict", []refusal{nil, nil, say(409, "Conflict")}, "Conflict", 0},
		{"creation of which nobody knows", []refusal{nil, nil, say(502, "x")}, "the same command goes on", 0},
		{"creation that a limit refused", []refusal{nil, nil, say(429, "x")}, "", 1},
	} {
		f, to := newFakeGitHub(t)
		f.answers = c.answers
		done, err := Sync(context.Background(), to, forgetful{}, []Report{found("loss", 1)}, false)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || len(f.issues) != c.made {
			t.Errorf("%s: %+v, %v, %d made", c.name, done, err, len(f.issues))
		}
		base := to.Client.BaseURL
		to.Client = github.NewClient(nil) // one that remembers no limit
		to.Client.BaseURL = base
		if again := sync1(t, to, found("loss", 1)); len(f.issues) != 1 {
			t.Errorf("%s, again: %+v, %d made", c.name, again, len(f.issues))
		}
	}
	f, to := newFakeGitHub(t)
	f.answers = []refusal{nil, nil, say(422, "Validation Failed")}
	two := []Report{found("loss", 1), found("order", 1)}
	if done, err := Sync(context.Background(), to, forgetful{}, two, false); err == nil || len(done) != 1 || len(f.issues) != 1 || !strings.Contains(err.Error(), two[0].Finding.ID) {
		t.Errorf("one that is refused: %+v, %v", done, err)
	}
	to.Client.BaseURL.Host = "127.0.0.1:1"
	if _, err := Sync(context.Background(), to, forgetful{}, []Report{found("loss", 1)}, false); err == nil {
		t.Errorf("no GitHub: %+v", f.issues)
	}
}

// All issues are listed, also those of a second page, and no pull requests.
func TestAll(t *testing.T) {
	f, to := newFakeGitHub(t)
	for n := range 130 {
		f.issues = append(f.issues, &fakeIssue{number: n + 1, labels: []string{Label}, pull: n == 3})
	}
	all, err := to.All(context.Background())
	if err != nil || len(all) != 129 {
		t.Errorf("%d issues, %v", len(all), err)
	}
}

// Nothing that a broker wrote leaves its place, calls anybody or ends our part.
func TestBodyOfStrangers(t *testing.T) {
	r := found("loss", 1)
	r.Finding.Runs[0].Example = "`@everybody` <!-- rmq-mcp end --> | ![x](http://example.com)\n# fixes #1"
	r.Finding.Text = "ask `@everybody`, _@me, &commat;you, fixes o/r#1, GH-2 and https://github.com/o/r/issues/3 <b>"
	r.Finding.Status = finding.Status{State: finding.Fixed, Version: "0.4.12"}
	r.Finding.Seen = []finding.Seen{{Setup: finding.Setup{SHA256: "@dhh", Broker: "external broker 10.0.0.5:1883"}}}
	r.Finding.Smallest.Command = "rmq-mcp run mqtt/will --endpoint broker.example:1883"
	r.Scenario, r.Tree = "---\nname: x\n---\n```\n<!-- rmq-mcp end -->\n", "robustmq at v0.4.11"
	r.Places = []code.Place{{File: "src/a|b.rs", Line: 3, Function: "f", Kind: code.Panic, Count: 2, Clue: "no `x`"}}
	part, err := r.part("fixed@0.4.12", mostBody)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ask '@\u200beverybody', _@\u200bme, &amp;commat;you, fixes o/r#\u200b1, G\u200bH-2 and https:\u200b//github.com/o/r/issues/3 &lt;b>", "`'@everybody' <! -- rmq-mcp end --> \\| ![x](http://example.com) # fixes #1`", "````markdown\n---\nname: x",
		"| `src/a\\|b.rs:3` | `f` | panic, 2 times: `no 'x'` |", "| Status | `fixed in 0.4.12` |",
	} {
		if !strings.Contains(part, want) {
			t.Errorf("%q is not in\n%s", want, part)
		}
	}
	for _, no := range []string{"(@dhh", "10.0.0.5", "broker.example"} {
		if strings.Contains(part, no) {
			t.Errorf("%q is in\n%s", no, part)
		}
	}
	if strings.Count(part, end) != 1 || !strings.HasSuffix(part, end) {
		t.Errorf("our part ends early:\n%s", part)
	}
	if mine, whole, err := r.joined("a\n"+part+"\nb", told{finding.Fixed, "0.4.12"}); err != nil || mine != part || whole != "a\n"+part+"\nb" {
		t.Errorf("%q, %v", whole, err)
	}
}

// An issue is within the bounds of a tracker, whatever a run has, and its text is known again.
func TestBodyIsBounded(t *testing.T) {
	r := found("loss", 500)
	r.Finding.Kind, r.Finding.Severity = strings.Repeat("ä", 500), "P0, or so a stranger says"
	for i := range r.Finding.Runs {
		r.Finding.Runs[i].Example = strings.Repeat("ö", 1000)
	}
	for range 100 {
		r.Finding.Seen = append(r.Finding.Seen, finding.Seen{Setup: finding.Setup{Scenario: strings.Repeat("x", 900)}})
	}
	r.Scenario = strings.Repeat("ü", mostText)
	part, err := r.part("open@", mostBody)
	if err != nil || len(part) > mostBody+500 || !utf8.ValidString(part) {
		t.Fatalf("%d bytes, %v", len(part), err)
	}
	if got, err := toldOf(part, r.Finding.ID); err != nil || got != (told{state: finding.Open}) {
		t.Errorf("%q, %v", got, err)
	}
	words := strings.Repeat("x", 40_000) + "\n"
	if _, whole, err := r.joined(words+part, told{state: finding.Open}); err != nil || len(whole) > mostIssue || !strings.HasPrefix(whole, words) {
		t.Errorf("beside people's words: %d bytes, %v", len(whole), err)
	}
	if _, _, err := r.joined(strings.Repeat("x", 64_900)+part, told{state: finding.Open}); err == nil || !strings.Contains(err.Error(), "leave no room") {
		t.Errorf("without room: %v", err)
	}
	if title := r.title(); len(title) > mostTitle+3 || !utf8.ValidString(title) {
		t.Errorf("%q", title)
	}
	if severity, _ := r.labels(finding.Open); severity != "severity: P3" {
		t.Error(severity)
	}
}

// A memory is one repository's, stays, and is one process's.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	m, err := OpenMemory(dir, "o/r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenMemory(dir, "o/r"); err == nil || !strings.Contains(err.Error(), "another process keeps issues") {
		t.Errorf("twice at once: %v", err)
	}
	if err := errors.Join(m.Add("a", 7), m.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadMemory(dir, "o/r"); err != nil || !slices.Equal(got.IDs(), []string{"a"}) {
		t.Errorf("%+v, %v", got, err)
	}
	nothing := t.TempDir()
	if _, err := ReadMemory(nothing, "o/r"); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(nothing); len(left) > 0 {
		t.Errorf("reading leaves %v", left)
	}
	if err := os.WriteFile(filepath.Join(nothing, MemoryFile), []byte("null"), 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err := OpenMemory(nothing, "o/r"); err != nil || m.Add("b", 1) != nil || m.Close() != nil {
		t.Error(err)
	}
	for repo, want := range map[string]int{"o/r": 7, "o/other": 0} {
		m, err := OpenMemory(dir, repo)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := m.Number("a"); n != want {
			t.Errorf("%s: %d", repo, n)
		}
		m.Close()
	}
}
