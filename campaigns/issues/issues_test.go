package issues

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/internal/testing/githubtest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// forgetful is a memory of a state directory that nobody has yet.
type forgetful map[string]int

func (f forgetful) Number(id string) (int, bool)    { n, known := f[id]; return n, known }
func (f forgetful) Add(id string, number int) error { f[id] = number; return nil }

func newGitHub(t *testing.T) (*githubtest.Server, GitHub) {
	t.Helper()
	f := githubtest.New(t)
	return f, GitHub{Client: f.Client(t), Owner: "o", Repo: "r", Pause: time.Millisecond}
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
	f, to := newGitHub(t)
	if got := sync1(t, to, found("loss", 1)); got.Did != created || got.URL != "https://github.com/o/r/issues/1" {
		t.Errorf("%+v", got)
	}
	if got := sync1(t, to, found("loss", 1)); got.Did != unchanged {
		t.Errorf("%+v", got)
	}
	if got := sync1(t, to, found("loss", 2)); got.Did != updated || !strings.Contains(f.Issues[0].Body, "run-2") {
		t.Errorf("%+v", got)
	}
	i := f.Issues[0]
	if len(f.Issues) != 1 || i.Title != "[P0] robustmq: loss, lost" || !slices.Equal(i.Labels, []string{"rmq-mcp", "severity: P0", "status: open"}) || len(i.Comments) > 0 {
		t.Errorf("%+v", i)
	}
	f.Requests = nil
	dry, err := Sync(context.Background(), to, forgetful{}, []Report{found("loss", 3), found("order", 1)}, true)
	if err != nil || len(dry) != 2 || dry[0].Did != updated || dry[1].Did != created || !strings.Contains(dry[1].Body, "rmq-mcp run mqtt/broker-kill-9") {
		t.Errorf("%+v, %v", dry, err)
	}
	for _, r := range f.Requests {
		if !strings.HasPrefix(r, "GET ") {
			t.Errorf("a dry run asks %s", r)
		}
	}
}

// People's words, labels and titles stay, and an edit of our own part is not overwritten.
func TestSyncLeavesPeopleAlone(t *testing.T) {
	f, to := newGitHub(t)
	sync1(t, to, found("loss", 1))
	i := f.Issues[0]
	i.Title, i.Body, i.Labels = "We lose messages", "I can confirm this.\n\n"+i.Body+"\n\nSee also our chat.", append(i.Labels, "bug")
	if got := sync1(t, to, found("loss", 2)); got.Did != updated {
		t.Errorf("%+v", got)
	}
	if !strings.HasPrefix(i.Body, "I can confirm this.\n\n<!-- rmq-mcp finding ") || !strings.HasSuffix(i.Body, "\n\nSee also our chat.") || !strings.Contains(i.Body, "run-2") || i.Title != "We lose messages" || !slices.Contains(i.Labels, "bug") {
		t.Errorf("%+v", i)
	}
	i.Body = strings.Replace(i.Body, "It is delivered.", "It should be delivered.", 1)
	mine := i.Body
	if got := sync1(t, to, found("loss", 3)); !strings.HasPrefix(got.Did, "left alone") || i.Body != mine {
		t.Errorf("%+v, %s", got, i.Body)
	}
	i.Body = "All of it is my own now: " + found("loss", 1).Finding.ID
	if got := sync1(t, to, found("loss", 3)); !strings.HasPrefix(got.Did, "left alone") || len(f.Issues) != 1 {
		t.Errorf("%+v", got)
	}
	i.Labels = []string{"bug"} // nobody adopts an issue without our label, and none is made beside it
	if got := sync1(t, to, found("loss", 3)); !strings.HasPrefix(got.Did, "none made: an issue without the label") || len(f.Issues) != 1 {
		t.Errorf("%+v", got)
	}
	known := forgetful{found("loss", 1).Finding.ID: 1} // but where it is remembered
	i.Body, i.Labels = mine, []string{"bug", "Status: open", "status: needs-info"}
	i.Body = strings.Replace(i.Body, "It should be delivered.", "It is delivered.", 1)
	done, err := Sync(context.Background(), to, known, []Report{found("loss", 3)}, false)
	if err != nil || done[0].Did != updated || !slices.Equal(i.Labels, []string{"bug", "Status: open", "status: needs-info", "rmq-mcp", "severity: P0"}) {
		t.Errorf("%+v, %v: %+v", done, err, i)
	}
}

// A change by somebody stays that comes after the issues were listed.
func TestSyncReadsAnIssueBeforeItChangesIt(t *testing.T) {
	f, to := newGitHub(t)
	sync1(t, to, found("loss", 1))
	i := f.Issues[0]
	f.Answers = []func(http.ResponseWriter){func(w http.ResponseWriter) {
		githubtest.Answer(w, 200, []any{i.Shown()})
		i.Body, i.Labels, i.Closed = "Mine. "+i.Body, append(i.Labels, "wontfix"), true
	}}
	sync1(t, to, found("loss", 2))
	if !strings.HasPrefix(i.Body, "Mine. ") || !strings.Contains(i.Body, "run-2") || !slices.Contains(i.Labels, "wontfix") || !i.Closed {
		t.Errorf("%+v", i)
	}
}

// Its status goes with the finding. Closing an issue claims a fix, and a replay decides.
func TestSyncOfStatus(t *testing.T) {
	f, to := newGitHub(t)
	r := found("loss", 1)
	sync1(t, to, r)
	i := f.Issues[0]
	step := func(what string, state finding.Status, closed bool, label, comment string, did string) {
		t.Helper()
		r.Finding.Status = state
		before := len(i.Comments)
		if got := sync1(t, to, r); got.Did != did || i.Closed != closed || !slices.Contains(i.Labels, "status: "+label) || len(i.Labels) != 3 {
			t.Errorf("%s: %+v, %+v", what, got, i)
		}
		said := strings.Join(i.Comments[before:], "\n")
		if comment == "" != (said == "") || !strings.Contains(said, comment) {
			t.Errorf("%s: comments %q", what, said)
		}
	}
	open, fixed := finding.Status{State: finding.Open}, finding.Status{State: finding.Fixed, Version: "0.4.12"}
	day := func(n int) time.Time { return time.Date(2026, 12, n, 0, 0, 0, 0, time.UTC) }
	r.Claimed = "v0.4.11"
	step("a release claims a fix, and shows it", open, false, "open", "", unchanged)
	r.Claimed = "v0.4.12"
	step("the next one claims it", open, false, "fix claimed", "The notes of v0.4.12 name this as fixed", updated)
	r.Finding.Newest.Version = "0.4.12"
	step("and shows it", open, false, "open", "Seen in 0.4.12**, though the notes of v0.4.12 name it as fixed", updated)
	r.Finding.Newest.Version, r.Claimed = "0.4.11", ""
	i.Closed, i.ClosedAt = true, "2026-12-01T00:00:00Z"
	step("closed", open, true, "fix claimed", "rmq-mcp findings replay robustmq-loss-", updated)
	step("closed, again", open, true, "fix claimed", "", unchanged)
	r.Finding.Last = day(2)
	step("an old version shows it, still", open, true, "fix claimed", "", updated)
	i.Reason = "not_planned"
	step("closed as not planned", open, true, "open", "", updated)
	i.Reason = "completed"
	step("closed as done, as before", open, true, "fix claimed", "", updated)
	step("fixed", fixed, true, "fixed", "Fixed in 0.4.12", updated)
	step("not fixed any more, for more runs are needed", open, true, "fix claimed", "does not count as fixed in 0.4.12 any more", updated)
	step("fixed, as before", fixed, true, "fixed", "", updated)
	r.Finding.Newest = finding.Newest{Version: "0.4.12", First: day(3)}
	step("not fixed after all", open, false, "open", "and so not fixed in 0.4.12", reopened)
	i.Closed, i.ClosedAt = true, "2026-12-04T00:00:00Z"
	step("closed once more", open, true, "fix claimed", "", updated)
	fixed.Version = "0.4.13"
	step("fixed in the next", fixed, true, "fixed", "Fixed in 0.4.13", updated)
	r.Finding.Newest = finding.Newest{Version: "0.4.14", First: day(5)}
	step("regressed", finding.Status{State: finding.Regressed, Version: "0.4.14", Before: "0.4.13"}, false, "regressed", "Seen again in 0.4.14", reopened)
	i.Closed, i.ClosedAt, i.Reason, i.Labels = true, "2026-12-06T00:00:00Z", "not_planned", []string{Label, "severity: P0"}
	back := finding.Status{State: finding.Regressed, Version: "0.4.14", Before: "0.4.13"}
	step("closed as not planned, and a label lost", back, true, "regressed", "", updated)
	step("closed as it is", back, true, "regressed", "", unchanged)
	r.Finding.Newest = finding.Newest{Version: "0.4.16", First: day(7)}
	back = finding.Status{State: finding.Regressed, Version: "0.4.16", Before: "0.4.15"}
	step("fixed, and back again, but closed as not planned", back, true, "regressed", "Seen again in 0.4.16", updated)
	i.Reason, i.ClosedAt = "completed", "2026-12-08T00:00:00Z"
	step("closed as done", back, true, "fix claimed", "claimed fix", updated)
}

// An issue that was moved away or deleted is told of, and nothing is written to another one.
func TestIssueThatIsGone(t *testing.T) {
	f, to := newGitHub(t)
	sync1(t, to, found("loss", 1))
	known, two := forgetful{found("loss", 1).Finding.ID: 7}, []Report{found("loss", 2), found("order", 1)}
	for name, gone := range map[string]func(http.ResponseWriter){
		"moved": func(w http.ResponseWriter) { githubtest.Answer(w, 200, f.Issues[0].Shown()) },
		"deleted": func(w http.ResponseWriter) {
			githubtest.Answer(w, 410, map[string]any{"message": "This issue was deleted"})
		},
	} {
		before := f.Issues[0].Body
		f.Answers = []func(http.ResponseWriter){nil, gone}
		done, err := Sync(context.Background(), to, known, two, false)
		if err == nil || !strings.Contains(err.Error(), "issue 7 ") || len(done) != 1 || f.Issues[0].Body != before {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
}

// A token that may not change labels is told of, and the text is written all the same.
func TestTokenWithoutLabels(t *testing.T) {
	f, to := newGitHub(t)
	sync1(t, to, found("loss", 1))
	f.Issues[0].Labels = []string{Label}
	refuse := func(w http.ResponseWriter) {
		githubtest.Answer(w, 403, map[string]any{"message": "Resource not accessible"})
	}
	f.Answers = []func(http.ResponseWriter){nil, nil, nil, nil, refuse}
	_, err := Sync(context.Background(), to, forgetful{}, []Report{found("loss", 2)}, false)
	if err == nil || !strings.Contains(err.Error(), "may not change labels") || !strings.Contains(f.Issues[0].Body, "run-2") {
		t.Errorf("%v, %q: %s", err, f.Requests, f.Issues[0].Body)
	}
}

// A comment that was made before an interruption is not made again, and one that was not made
// is.
func TestCommentOnce(t *testing.T) {
	for at, comments := range map[int]int{2: 0, 3: 0, 4: 1, 5: 1} { // the request that fails: comments, comment, issue, text
		f, to := newGitHub(t)
		r := found("loss", 1)
		sync1(t, to, r)
		r.Finding.Status = finding.Status{State: finding.Fixed, Version: "0.4.12"}
		f.Answers = append(make([]func(http.ResponseWriter), at), func(w http.ResponseWriter) {
			githubtest.Answer(w, 422, map[string]any{"message": "no"})
		})
		if _, err := Sync(context.Background(), to, forgetful{}, []Report{r}, false); err == nil || len(f.Issues[0].Comments) != comments {
			t.Errorf("request %d fails: %v, comments %q", at, err, f.Issues[0].Comments)
		}
		f.Answers = nil
		sync1(t, to, r)
		if len(f.Issues[0].Comments) != 1 || !strings.Contains(f.Issues[0].Body, "fixed in 0.4.12") {
			t.Errorf("request %d failed, again: comments %q", at, f.Issues[0].Comments)
		}
	}
}
