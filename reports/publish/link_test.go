package publish

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/reports"
)

// A link that somebody else put into a destination leads nothing out of it: no write, no removal.
func TestLinksLeadNowhere(t *testing.T) {
	hosttest.Program(t, "git") // serves a repository on disk
	for _, at := range []string{"findings", "findings/a", "findings/a/deep"} {
		for _, kind := range []string{"directory", "git"} {
			t.Run(kind+" "+at, func(t *testing.T) {
				outside, place := t.TempDir(), t.TempDir()
				must(t, os.MkdirAll(filepath.Join(outside, "a", "deep"), 0o755))
				for _, kept := range []string{"b.md", "a/b.md", "a/deep/b.md"} {
					must(t, os.WriteFile(filepath.Join(outside, kept), []byte("theirs"), 0o644))
				}
				link := filepath.Join(place, at)
				must(t, os.MkdirAll(filepath.Dir(link), 0o755))
				to, err := filepath.Rel(filepath.Dir(link), outside)
				must(t, err)
				must(t, os.Symlink(to, link))
				var p publisher = directory(place)
				if kind == "git" {
					// The clone lies beside the place, so that the same relative link leads there.
					t.Setenv("TMPDIR", filepath.Dir(place))
					p = newGitRemote(committed(t, place))
				}
				_, err = pushTo(t.Context(), p, nil, reports.Words{}, nil, Folder{Name: "findings/a", Pages: map[string][]byte{"deep/a.md": []byte("ours")}, Whole: true})
				if err == nil || !strings.Contains(err.Error(), "is a link") {
					t.Errorf("it is published: %v", err)
				}
				if got := filesIn(t, outside); strings.Join(got, " ") != "a/b.md a/deep/b.md b.md" {
					t.Errorf("outside is %q", got)
				}
			})
		}
	}
}

// committed is a repository on main that has what lies in dir.
func committed(t *testing.T, dir string) string {
	t.Helper()
	repo, err := git.PlainInitWithOptions(dir, &git.PlainInitOptions{InitOptions: git.InitOptions{DefaultBranch: "refs/heads/main"}})
	must(t, err)
	tree, err := repo.Worktree()
	must(t, err)
	must(t, tree.AddGlob("."))
	_, err = tree.Commit("theirs", &git.CommitOptions{Author: &object.Signature{Name: "them", When: time.Now()}})
	must(t, err)
	return dir
}
