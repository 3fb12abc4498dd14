// Package githubtest is a GitHub on this machine, for tests.
package githubtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-github/v62/github"
)

// A Server behaves like the repository o/r of GitHub: its issues and its releases.
type Server struct {
	URL      string
	Issues   []*Issue
	Releases []map[string]any              // as GitHub shows them
	Answers  []func(w http.ResponseWriter) // instead of the next ones; nil is the usual one
	Requests []string

	mu sync.Mutex
}

// An Issue is one of it.
type Issue struct {
	Number       int
	Title, Body  string
	Labels       []string
	Closed, Pull bool
	Reason       string
	ClosedAt     string // 2026-11-27T00:00:00Z
	Comments     []string
}

// New starts one, until the end of the test.
func New(t testing.TB) *Server {
	t.Helper()
	f := &Server{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

// Client is a client of it that remembers nothing.
func (f *Server) Client(t testing.TB) *github.Client {
	t.Helper()
	client := github.NewClient(nil)
	var err error
	if client.BaseURL, err = url.Parse(f.URL + "/"); err != nil {
		t.Fatal(err)
	}
	return client
}

// ServeHTTP answers one request.
func (f *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Requests = append(f.Requests, r.Method+" "+r.URL.Path)
	var in struct {
		Title, Body, State *string
		Labels             *[]string
	}
	var labels []string
	body, _ := io.ReadAll(r.Body)
	if json.Unmarshal(body, &in) != nil {
		json.Unmarshal(body, &labels)
	}
	var instead func(http.ResponseWriter)
	if len(f.Answers) > 0 {
		instead, f.Answers = f.Answers[0], f.Answers[1:]
	}
	if instead != nil {
		instead(w)
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/repos/o/r")
	switch {
	case r.Method == "GET" && path == "/releases":
		Answer(w, 200, f.Releases)
	case r.Method == "GET" && path == "/issues":
		page, size := number(r, "page", 1), number(r, "per_page", 30)
		var all []*Issue
		for _, i := range f.Issues {
			if slices.Contains(i.Labels, r.URL.Query().Get("labels")) {
				all = append(all, i)
			}
		}
		from, to := min((page-1)*size, len(all)), min(page*size, len(all))
		if to < len(all) {
			w.Header().Set("Link", fmt.Sprintf("<http://%s%s?page=%d>; rel=\"next\"", r.Host, r.URL.Path, page+1))
		}
		shown := []any{}
		for _, i := range all[from:to] {
			shown = append(shown, i.Shown())
		}
		Answer(w, 200, shown)
	case r.Method == "GET" && path == "/search/issues":
		text, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Query().Get("q"), `"`), `"`)
		shown := []any{}
		for _, i := range f.Issues {
			if strings.Contains(i.Body, text) {
				shown = append(shown, i.Shown())
			}
		}
		Answer(w, 200, map[string]any{"total_count": len(shown), "items": shown})
	case r.Method == "POST" && path == "/issues":
		i := &Issue{Number: len(f.Issues) + 1, Title: *in.Title, Body: *in.Body, Labels: *in.Labels}
		f.Issues = append(f.Issues, i)
		Answer(w, 201, i.Shown())
	case r.Method == "GET" && strings.HasPrefix(path, "/issues/") && !strings.HasSuffix(path, "/comments"):
		Answer(w, 200, f.issue(path).Shown())
	case r.Method == "PATCH":
		i := f.issue(path)
		if in.Body != nil {
			i.Body = *in.Body
		}
		if in.State != nil {
			i.Closed = *in.State == "closed"
		}
		Answer(w, 200, i.Shown())
	case r.Method == "POST" && strings.HasSuffix(path, "/labels"):
		i := f.issue(strings.TrimSuffix(path, "/labels"))
		i.Labels = append(i.Labels, labels...)
		Answer(w, 200, []any{})
	case r.Method == "DELETE":
		at, label, _ := strings.Cut(path, "/labels/")
		i := f.issue(at)
		i.Labels = slices.DeleteFunc(i.Labels, func(l string) bool { return l == label })
		Answer(w, 200, []any{})
	case r.Method == "GET" && strings.HasSuffix(path, "/comments"):
		list := []any{}
		for _, c := range f.issue(strings.TrimSuffix(path, "/comments")).Comments {
			list = append(list, map[string]any{"body": c})
		}
		Answer(w, 200, list)
	case r.Method == "POST" && strings.HasSuffix(path, "/comments"):
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(path, "/issues/"), "/comments"))
		f.Issues[n-1].Comments = append(f.Issues[n-1].Comments, *in.Body)
		Answer(w, 201, map[string]any{})
	default:
		Answer(w, 404, map[string]any{"message": "Not Found"})
	}
}

func (f *Server) issue(path string) *Issue {
	n, _ := strconv.Atoi(strings.TrimPrefix(path, "/issues/"))
	return f.Issues[n-1]
}

func number(r *http.Request, name string, otherwise int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return otherwise
	}
	return n
}

// Answer answers a request as GitHub does.
func Answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func (i *Issue) closedTime() any {
	if i.ClosedAt == "" {
		return nil
	}
	return i.ClosedAt
}

// Shown is the issue as GitHub shows it.
func (i *Issue) Shown() map[string]any {
	state, labels := "open", []any{}
	if i.Closed {
		state = "closed"
	}
	for _, l := range i.Labels {
		labels = append(labels, map[string]any{"name": l})
	}
	out := map[string]any{"number": i.Number, "title": i.Title, "body": strings.ReplaceAll(i.Body, "\n", "\r\n"), "state": state, "state_reason": i.Reason, "closed_at": i.closedTime(), "labels": labels, "html_url": fmt.Sprintf("https://github.com/o/r/issues/%d", i.Number)}
	if i.Pull {
		out["pull_request"] = map[string]any{}
	}
	return out
}
