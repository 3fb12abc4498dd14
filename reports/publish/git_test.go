package publish

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/reports"
)

func TestPushToAGitRemote(t *testing.T) {
	hosttest.Program(t, "git") // serves a repository on disk
	remote := filepath.Join(t.TempDir(), "reports.git")
	bare, err := git.PlainInit(remote, true)
	must(t, err)
	dir, s := finished(t, runtest.Run{Lossy: true, Seconds: 1})
	to := Destination(remote + "#main")
	first, err := Push(t.Context(), []string{dir}, to, reports.Words{Title: "Fixes #12, closes a/b#3 @team"}, nil)
	must(t, err)
	again, err := Push(t.Context(), []string{dir}, to, reports.Words{}, nil)
	must(t, err)
	if again.Commit != first.Commit {
		t.Errorf("the same again made a commit: %s after %s", again.Commit, first.Commit)
	}
	commit, err := bare.CommitObject(plumbing.NewHash(first.Commit))
	must(t, err)
	if want := s.ID + ": mqtt/broker-kill-9, FAIL-once\n"; commit.Message != want { // GitHub acts on what a commit says
		t.Errorf("the commit says %q, want %q", commit.Message, want)
	}
	names := filesAt(t, bare, first.Commit)
	for _, name := range wantFiles {
		if !slices.Contains(names, "runs/"+s.ID+"/"+name) {
			t.Errorf("%s is not in the commit", name)
		}
	}
}

func TestConcurrentPushesToAGitRemoteAllArrive(t *testing.T) {
	hosttest.Program(t, "git") // serves a repository on disk
	remote := filepath.Join(t.TempDir(), "reports.git")
	bare, err := git.PlainInit(remote, true)
	must(t, err)
	r := newGitRemote(remote + "#main")
	_, err = r.publish(t.Context(), publication{files: []file{{"first", []byte("1")}}, message: "first"})
	must(t, err)
	g, ctx := errgroup.WithContext(t.Context())
	for _, name := range []string{"a", "b", "c"} {
		g.Go(func() error {
			_, err := r.publish(ctx, publication{files: []file{{name, []byte(name)}}, message: name})
			return err
		})
	}
	must(t, g.Wait())
	head, err := bare.Reference("refs/heads/main", true)
	must(t, err)
	if names := filesAt(t, bare, head.Hash().String()); !slices.Equal(names, []string{"a", "b", "c", "first"}) {
		t.Errorf("the branch holds %q", names)
	}
}

func TestGitErrorsHoldNoSecret(t *testing.T) {
	remote := "http://me:hunter2@127.0.0.1:1/reports.git"
	_, err := newGitRemote(remote).publish(context.Background(), publication{message: "x"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
}

func filesAt(t *testing.T, repo *git.Repository, commit string) []string {
	t.Helper()
	hash, err := repo.ResolveRevision("refs/heads/main")
	must(t, err)
	if hash.String() != commit {
		t.Fatalf("main is at %s, want %s", hash, commit)
	}
	c, err := repo.CommitObject(*hash)
	must(t, err)
	tree, err := c.Tree()
	must(t, err)
	var names []string
	files := tree.Files()
	for {
		f, err := files.Next()
		if err == io.EOF {
			slices.Sort(names)
			return names
		}
		must(t, err)
		names = append(names, f.Name)
	}
}
