package publish

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-github/v62/github"
	"golang.org/x/sync/errgroup"

	"github.com/robustmq/rmq-mcp/internal/secret"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/reports"
)

const testToken = "ghp_not-a-real-token"

// fakeGitHub behaves like the Git data API of one repository.
type fakeGitHub struct {
	mu      sync.Mutex
	blobs   map[string]string
	trees   map[string]map[string]string // path → blob
	commits map[string]fakeCommit
	head    string
	uploads int  // of blobs
	races   int  // how many more times somebody else moves the branch just before us
	status  int  // with which a lost race is answered
	limits  int  // how many more uploads a limit refuses
	large   bool // of the whole tree it lists a part
}

type fakeCommit struct{ tree, parent, message string }

func newFakeGitHub(t *testing.T) (*fakeGitHub, *gitHub) {
	t.Helper()
	f := &fakeGitHub{
		blobs: map[string]string{}, trees: map[string]map[string]string{"tree0": {"README.md": "b0"}},
		commits: map[string]fakeCommit{"commit0": {tree: "tree0"}}, head: "commit0", status: http.StatusUnprocessableEntity,
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	client := github.NewClient(server.Client()).WithAuthToken(testToken)
	base, err := url.Parse(server.URL + "/")
	must(t, err)
	client.BaseURL = base
	return f, &gitHub{client: client, owner: "o", repo: "r", token: secret.NewText(testToken), blind: 10 * time.Millisecond}
}

func (f *fakeGitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var in struct {
		Content, Encoding, Message, SHA, Tree string
		BaseTree                              string `json:"base_tree"`
		Entries                               []treeEntry
		Parents                               []string
		Force                                 bool
	}
	if r.Header.Get("Authorization") != "Bearer "+testToken {
		answer(w, http.StatusUnauthorized, map[string]any{"message": "Bad credentials"})
		return
	}
	route := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/repos/o/r")
	if strings.HasPrefix(route, "POST /git/trees") {
		var tree struct {
			BaseTree string      `json:"base_tree"`
			Tree     []treeEntry `json:"tree"`
		}
		json.Unmarshal(body, &tree)
		in.BaseTree, in.Entries = tree.BaseTree, tree.Tree
	} else if len(body) > 0 {
		json.Unmarshal(body, &in)
	}
	switch {
	case route == "GET ":
		answer(w, 200, map[string]any{"default_branch": "main", "html_url": "https://github.com/o/r"})
	case route == "GET /git/ref/heads/main":
		answer(w, 200, map[string]any{"ref": "refs/heads/main", "object": map[string]any{"sha": f.head}})
	case strings.HasPrefix(route, "GET /git/commits/"):
		sha := strings.TrimPrefix(route, "GET /git/commits/")
		answer(w, 200, map[string]any{"sha": sha, "tree": map[string]any{"sha": f.commits[sha].tree}})
	case strings.HasPrefix(route, "GET /git/trees/"):
		sha, folder, _ := strings.Cut(strings.TrimPrefix(route, "GET /git/trees/"), ":") // of a folder: TREE:FOLDER
		if commit, ok := f.commits[sha]; ok {                                            // as git resolves it
			sha = commit.tree
		}
		tree, truncated := f.shownTree(sha, folder), false
		if r.URL.Query().Get("recursive") != "" {
			tree = f.wholeTree(sha, folder)
			if truncated = f.large && folder == ""; truncated {
				tree = tree[:1]
			}
		}
		answer(w, 200, map[string]any{"sha": sha, "tree": tree, "truncated": truncated})
	case route == "POST /git/blobs" && f.limits > 0:
		f.limits--
		answer(w, http.StatusTooManyRequests, map[string]any{"message": "slow down"})
	case route == "POST /git/blobs":
		if in.Encoding == "base64" {
			raw, _ := base64.StdEncoding.DecodeString(in.Content)
			in.Content = string(raw)
		}
		f.uploads++
		sha := plumbing.ComputeHash(plumbing.BlobObject, []byte(in.Content)).String()
		f.blobs[sha] = in.Content
		answer(w, 201, map[string]any{"sha": sha})
	case route == "POST /git/trees":
		tree := maps.Clone(f.trees[in.BaseTree])
		for _, e := range in.Entries {
			if e.SHA == nil {
				delete(tree, e.Path)
			} else {
				tree[e.Path] = *e.SHA
			}
		}
		sha := hashOf("tree", fmt.Sprint(tree))
		if maps.Equal(tree, f.trees[in.BaseTree]) {
			sha = in.BaseTree
		}
		f.trees[sha] = tree
		answer(w, 201, map[string]any{"sha": sha})
	case route == "POST /git/commits":
		sha := hashOf("commit", in.Message+in.Tree+fmt.Sprint(in.Parents))
		f.commits[sha] = fakeCommit{tree: in.Tree, parent: in.Parents[0], message: in.Message}
		answer(w, 201, map[string]any{"sha": sha})
	case route == "PATCH /git/refs/heads/main":
		f.update(w, in.SHA, in.Force)
	default:
		answer(w, 404, map[string]any{"message": "Not Found"})
	}
}

// treeEntry is a file of a tree; without a hash it goes.
type treeEntry struct {
	Path string
	SHA  *string
}

// wholeTree is every file of a tree.
func (f *fakeGitHub) wholeTree(tree, folder string) (shown []any) {
	for name, sha := range f.trees[tree] {
		if folder != "" {
			var inside bool
			if name, inside = strings.CutPrefix(name, folder+"/"); !inside {
				continue
			}
		}
		shown = append(shown, map[string]any{"path": name, "type": "blob", "sha": sha})
	}
	return shown
}

// shownTree is a tree, or a folder in it. The hash of a folder is TREE:FOLDER.
func (f *fakeGitHub) shownTree(tree, folder string) []any {
	shown := map[string]any{}
	for name, sha := range f.trees[tree] {
		if folder != "" {
			var inside bool
			if name, inside = strings.CutPrefix(name, folder+"/"); !inside {
				continue
			}
		}
		top, _, deeper := strings.Cut(name, "/")
		shown[top] = map[string]any{"path": top, "type": "blob", "sha": sha}
		if deeper {
			shown[top] = map[string]any{"path": top, "type": "tree", "sha": tree + ":" + path.Join(folder, top)}
		}
	}
	return slices.Collect(maps.Values(shown))
}

// update moves the branch if that is a fast forward.
func (f *fakeGitHub) update(w http.ResponseWriter, sha string, force bool) {
	if f.races > 0 {
		f.races--
		tree := maps.Clone(f.trees[f.commits[f.head].tree])
		tree[fmt.Sprintf("other-%d", f.races)] = "b1"
		treeSHA, commit := hashOf("tree", fmt.Sprint(tree)), hashOf("other", fmt.Sprint(f.races))
		f.trees[treeSHA] = tree
		f.commits[commit] = fakeCommit{tree: treeSHA, parent: f.head}
		f.head = commit
	}
	if force || f.commits[sha].parent != f.head {
		answer(w, f.status, map[string]any{"message": "Update is not a fast forward"})
		return
	}
	f.head = sha
	answer(w, 200, map[string]any{"ref": "refs/heads/main", "object": map[string]any{"sha": sha}})
}

// A limit is waited for, and told where it does not pass.
func TestGitHubLimit(t *testing.T) {
	for limits, want := range map[int]string{limitAttempts - 1: "", limitAttempts: "GitHub does not say when the limit passes"} {
		f, to := newFakeGitHub(t)
		f.limits = limits
		dir, _ := finished(t, runtest.Run{Seconds: 1})
		began := time.Now()
		_, err := pushTo(t.Context(), to, []string{dir}, reports.Words{}, nil)
		if took := time.Since(began); took < time.Duration(limitAttempts-1)*to.blind {
			t.Errorf("%d refusals took %s", limits, took)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d refusals: %v", limits, err)
		}
		if moved := f.head != "commit0"; moved != (want == "") {
			t.Errorf("%d refusals: the branch moved: %v", limits, moved)
		}
	}
}

func (f *fakeGitHub) files() map[string]string { return f.trees[f.commits[f.head].tree] }

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func hashOf(kind, content string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(kind+content)))[:40]
}

func TestPushToGitHub(t *testing.T) {
	f, g := newFakeGitHub(t)
	dir, s := finished(t, runtest.Run{Lossy: true, Seconds: 1})
	pushed, err := pushTo(t.Context(), g, []string{dir}, reports.Words{Title: "It forgets"}, nil)
	must(t, err)
	if pushed.Commit != f.head || pushed.URL != "https://github.com/o/r/commit/"+f.head {
		t.Errorf("pushed %+v, the branch is at %s", pushed, f.head)
	}
	files := f.files()
	for _, name := range wantFiles {
		if files["runs/"+s.ID+"/"+name] == "" {
			t.Errorf("%s is not in the tree", name)
		}
	}
	if files["README.md"] == "" {
		t.Error("what was there is gone")
	}
	if got := f.blobs[files["runs/"+s.ID+"/evidence/history.arrow"]]; got != read(t, dir+"/evidence/history.arrow") {
		t.Error("the history did not arrive as it is")
	}
	if c := f.commits[f.head]; c.parent != "commit0" || !strings.HasPrefix(c.message, s.ID) {
		t.Errorf("the commit is %+v", c)
	}
	head, uploads := f.head, f.uploads
	if _, err := pushTo(t.Context(), g, []string{dir}, reports.Words{}, nil); err != nil || f.head != head || f.uploads != uploads {
		t.Errorf("the same again: %v, the branch went from %s to %s, %d uploads after %d", err, head, f.head, f.uploads, uploads)
	}
}

func TestPushToGitHubRetriesWhenTheBranchMoves(t *testing.T) {
	for _, status := range []int{http.StatusUnprocessableEntity, http.StatusConflict} {
		f, g := newFakeGitHub(t)
		f.races, f.status = 3, status
		_, err := g.publish(t.Context(), publication{files: []file{{"a", []byte("a")}}, message: "a"})
		must(t, err)
		if got := slices.Sorted(maps.Keys(f.files())); !slices.Equal(got, []string{"README.md", "a", "other-0", "other-1", "other-2"}) {
			t.Errorf("%d: the branch holds %q", status, got)
		}
	}
}

func TestPushToGitHubGivesUp(t *testing.T) {
	f, g := newFakeGitHub(t)
	f.races = 1000
	if _, err := g.publish(t.Context(), publication{files: []file{{"a", []byte("a")}}, message: "a"}); err == nil || !strings.Contains(err.Error(), "move branch main") {
		t.Errorf("publish answers %v", err)
	}
	if f.races != 1000-pushAttempts {
		t.Errorf("%d attempts, want %d", 1000-f.races, pushAttempts)
	}
}

func TestConcurrentPushesToGitHubAllArrive(t *testing.T) {
	f, g := newFakeGitHub(t)
	group, ctx := errgroup.WithContext(t.Context())
	for i := range 4 {
		group.Go(func() error {
			_, err := g.publish(ctx, publication{files: []file{{fmt.Sprint("file-", i), []byte{byte(i)}}}, message: "x"})
			return err
		})
	}
	must(t, group.Wait())
	if n := len(f.files()); n != 5 {
		t.Errorf("the branch holds %d files, want 5", n)
	}
}

func TestGitHubErrorsHoldNoToken(t *testing.T) {
	_, g := newFakeGitHub(t)
	g.repo = "none/" + testToken
	_, err := g.publish(t.Context(), publication{files: []file{{"a", nil}}, message: "a"})
	if err == nil || strings.Contains(err.Error(), testToken) || !strings.Contains(err.Error(), "token may write") {
		t.Errorf("the error is %v", err)
	}
}
