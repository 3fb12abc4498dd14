package publish

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/reports"
)

// A folder takes the place of the one before, wherever it is published, and nothing else goes.
func TestFolderIsReplaced(t *testing.T) {
	hosttest.Program(t, "git") // serves a repository on disk
	dir, s := finished(t, runtest.Run{Lossy: true, Seconds: 1})
	here := filepath.Join(t.TempDir(), "reports")
	bare := filepath.Join(t.TempDir(), "reports.git")
	_, err := git.PlainInit(bare, true)
	must(t, err)
	f, g := newFakeGitHub(t)
	large, ofLarge := newFakeGitHub(t)
	large.large = true
	for name, place := range map[string]struct {
		to    publisher
		files func() []string
	}{
		"directory": {directory(here), func() []string { return filesIn(t, here) }},
		"git": {newGitRemote(bare), func() []string {
			clone := t.TempDir()
			_, err := git.PlainClone(clone, false, &git.CloneOptions{URL: bare})
			must(t, err)
			return filesIn(t, clone)
		}},
		"GitHub":       {g, func() []string { return slices.Sorted(maps.Keys(f.files())) }},
		"large GitHub": {ofLarge, func() []string { return slices.Sorted(maps.Keys(large.files())) }},
	} {
		push := func(pages map[string][]byte) []string {
			t.Helper()
			_, err := pushTo(t.Context(), place.to, []string{dir}, reports.Words{}, nil, Folder{Name: "findings/a", Pages: pages, Whole: true}, Folder{Name: "rounds", Pages: map[string][]byte{"v1.md": []byte("1")}})
			must(t, err)
			return slices.DeleteFunc(place.files(), func(f string) bool { return strings.HasPrefix(f, "runs/"+s.ID+"/") || f == "README.md" })
		}
		_, err := pushTo(t.Context(), place.to, nil, reports.Words{}, nil, Folder{Name: "findings/b", Pages: map[string][]byte{"of-others.md": []byte("o")}, Whole: true})
		must(t, err)
		push(map[string][]byte{"a.md": []byte("a"), "b.md": []byte("b"), "deep/er/d.md": []byte("d")})
		if got, want := push(map[string][]byte{"b.md": []byte("B"), "c.md": []byte("c")}), []string{"findings/a/b.md", "findings/a/c.md", "findings/b/of-others.md", "rounds/v1.md"}; !slices.Equal(got, want) {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
}

// filesIn are the files below a directory, without git's own.
func filesIn(t *testing.T, root string) (names []string) {
	t.Helper()
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(root, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	}))
	return names
}

// A run is published over a copy of it that an older version left with plain files, and the
// copy verifies.
func TestPushOverAnOlderCopy(t *testing.T) {
	dir, s := finished(t, runtest.Run{Seconds: 60, Rate: 300})
	to := t.TempDir()
	copied := filepath.Join(to, reports.RunsDir, s.ID)
	must(t, os.CopyFS(copied, os.DirFS(dir)))
	must(t, os.WriteFile(filepath.Join(copied, leftOutFile), []byte("all"), 0o644))
	must(t, os.WriteFile(filepath.Join(copied, "evidence", "history.arrow"), []byte("cut"), 0o644))
	_, err := Push(t.Context(), []string{dir}, Destination(to), reports.Words{}, nil)
	must(t, err)
	if _, err := reports.Verify(copied); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(copied, leftOutFile)); err == nil {
		t.Errorf("%s is still there", leftOutFile)
	}
}

// A run takes the place of no other run and of no notes that it lacks, wherever it is
// published, and one whose record names another folder is not published at all.
func TestPushTakesNoOthersPlace(t *testing.T) {
	hosttest.Program(t, "git") // serves a repository on disk
	bare := filepath.Join(t.TempDir(), "reports.git")
	_, err := git.PlainInit(bare, true)
	must(t, err)
	_, g := newFakeGitHub(t)
	large, ofLarge := newFakeGitHub(t)
	large.large = true
	for name, to := range map[string]publisher{"directory": directory(filepath.Join(t.TempDir(), "to")), "git": newGitRemote(bare), "GitHub": g, "large GitHub": ofLarge} {
		first, _ := finished(t, runtest.Run{Lossy: true, Seconds: 1})
		other, _ := finished(t, runtest.Run{Seconds: 2})
		push := func(dir string, words reports.Words) error {
			_, err := pushTo(t.Context(), to, []string{dir}, words, nil)
			return err
		}
		must(t, push(first, reports.Words{}))
		if err := push(other, reports.Words{}); err == nil || !strings.Contains(err.Error(), "with another seal") {
			t.Errorf("%s: another run of that id: %v", name, err)
		}
		twin := filepath.Join(t.TempDir(), filepath.Base(first))
		must(t, os.CopyFS(twin, os.DirFS(first)))
		must(t, push(first, reports.Words{Title: "It forgets"}))
		if err := push(twin, reports.Words{}); err == nil || !strings.Contains(err.Error(), reports.NotesFile+", which this one lacks") {
			t.Errorf("%s: a copy without the notes: %v", name, err)
		}
	}
	for _, id := range []string{"..", "", "../findings", "a/b", "another"} {
		dir, _ := finished(t, runtest.Run{Seconds: 1})
		if _, err := bundle(dir, id); err == nil || !strings.Contains(err.Error(), "rename the directory") {
			t.Errorf("a run that says it is %q: %v", id, err)
		}
	}
}

// A run is not published over itself: its history would be packed there.
func TestPushOverItself(t *testing.T) {
	state := t.TempDir()
	dir := runtest.Run{Seconds: 60, Rate: 300}.Record(t, filepath.Join(state, reports.RunsDir))
	_, err := reports.Finish(dir, runtest.Key)
	must(t, err)
	before := filesIn(t, dir)
	if _, err := Push(t.Context(), []string{dir}, Destination(state), reports.Words{Title: "It forgets"}, nil); err == nil || !strings.Contains(err.Error(), "name another directory") {
		t.Errorf("a run over itself: %v", err)
	}
	if _, err := Preview([]string{dir}, Destination(state), reports.Words{}, nil); err == nil || !strings.Contains(err.Error(), "name another directory") {
		t.Errorf("a preview of that: %v", err)
	}
	if after := filesIn(t, dir); !slices.Equal(after, before) {
		t.Errorf("it has %q, and had %q", after, before)
	}
}
