package publish

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"golang.org/x/sync/errgroup"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/reports"
)

var wantFiles = []string{
	"SEAL", "evidence/history.arrow", "evidence/journal.jsonl", "evidence/landings.json", "evidence/logs/node-1.log", "notes.jsonl",
	"report.json", "report.md", "timeline.svg", "verdict.json",
}

func finished(t testing.TB, x runtest.Run) (string, *reports.Summary) {
	t.Helper()
	dir := x.Record(t, t.TempDir())
	s, err := reports.Finish(dir, runtest.Key)
	must(t, err)
	return dir, s
}

func read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return string(content)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPushToADirectory(t *testing.T) {
	dir, s := finished(t, runtest.Run{Lossy: true, Seconds: 1})
	to := filepath.Join(t.TempDir(), "reports")
	pushed, err := Push(t.Context(), []string{dir}, Destination(to), reports.Words{Title: "It forgets", Analysis: "persistence is off"}, nil)
	must(t, err)
	copied := filepath.Join(to, reports.RunsDir, s.ID)
	for _, name := range wantFiles {
		if !slices.Contains(pushed.Paths, "runs/"+s.ID+"/"+name) {
			t.Errorf("%s is not in %q", name, pushed.Paths)
		}
	}
	if page := "runs/" + s.ID + "/report.md"; !slices.Equal(pushed.Pages, []string{page}) || pushed.Bytes < int64(len(read(t, filepath.Join(to, page)))) {
		t.Errorf("the page is %q, of %d bytes in all", pushed.Pages, pushed.Bytes)
	}
	if text := read(t, filepath.Join(copied, reports.MarkdownFile)); !strings.Contains(text, "> Analysis: persistence is off") {
		t.Error("the published report does not quote the agent")
	}
	if _, err := reports.Verify(copied); err != nil {
		t.Errorf("the published copy: %v", err)
	}
	rows, err := reports.List(to, reports.Filter{})
	if err != nil || len(rows) != 1 || rows[0].Root != s.Root {
		t.Errorf("the published copy lists %+v, %v", rows, err)
	}
}

func TestPushRefusesWhatWasChanged(t *testing.T) {
	dir, _ := finished(t, runtest.Run{Seconds: 1})
	verdict := filepath.Join(dir, reports.VerdictFile)
	must(t, os.WriteFile(verdict, []byte(strings.Replace(read(t, verdict), "PASS-smoke", "PASS-hardening", 1)), 0o644))
	to := filepath.Join(t.TempDir(), "reports")
	_, err := Push(t.Context(), []string{dir}, Destination(to), reports.Words{}, nil)
	var broken *reports.BrokenSeal
	if !errors.As(err, &broken) {
		t.Errorf("push answers %v, want a broken seal", err)
	}
	if _, err := os.Stat(to); !os.IsNotExist(err) {
		t.Error("something was published all the same")
	}
}

func TestPreviewPublishesNothing(t *testing.T) {
	dir, s := finished(t, runtest.Run{Seconds: 1})
	to := filepath.Join(t.TempDir(), "reports")
	would, err := Preview([]string{dir}, Destination(to), reports.Words{}, nil)
	must(t, err)
	if !slices.Contains(would.Paths, "runs/"+s.ID+"/report.md") || !strings.HasSuffix(would.URL, "/reports") {
		t.Errorf("preview answers %+v", would)
	}
	if _, err := os.Stat(to); !os.IsNotExist(err) {
		t.Error("a preview published")
	}
}

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

func TestPushNamesWhatIsWrong(t *testing.T) {
	t.Setenv("RMQ_GITHUB_TOKEN", "")
	t.Setenv("GITHUB_TOKEN", "")
	dir, _ := finished(t, runtest.Run{Seconds: 1})
	for _, c := range []struct {
		runs []string
		to   Destination
		want string
	}{
		{nil, "x", "no run named"},
		{[]string{dir}, "", "no destination"},
		{[]string{dir}, "github:robustmq", "OWNER/REPO"},
		{[]string{dir}, "github:robustmq/reports", "set RMQ_GITHUB_TOKEN"},
		{[]string{filepath.Join(dir, "none")}, Destination(t.TempDir()), "list runs"},
	} {
		if _, err := Push(t.Context(), c.runs, c.to, reports.Words{}, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("push to %q answers %v, want an error with %q", c.to, err, c.want)
		}
	}
}

func TestPushToAGitRemote(t *testing.T) {
	hosttest.Program(t, "git") // serves a repository on disk
	remote := filepath.Join(t.TempDir(), "reports.git")
	bare, err := git.PlainInit(remote, true)
	must(t, err)
	dir, s := finished(t, runtest.Run{Lossy: true, Seconds: 1})
	to := Destination(remote + "#main")
	first, err := Push(t.Context(), []string{dir}, to, reports.Words{Title: "It forgets"}, nil)
	must(t, err)
	again, err := Push(t.Context(), []string{dir}, to, reports.Words{}, nil)
	must(t, err)
	if again.Commit != first.Commit {
		t.Errorf("the same again made a commit: %s after %s", again.Commit, first.Commit)
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

// A run is published with all that was decided over several runs.
func TestBundleHasWhatWasDecided(t *testing.T) {
	run, s := finished(t, runtest.Run{Lossy: true, Seconds: 1})
	must(t, reports.JoinBlame(run, reports.Blame{Headline: "the broker"}))
	must(t, reports.JoinSeries(run, reports.Series{Headline: "3 of 3"}))
	files, err := bundle(run, s.ID)
	must(t, err)
	for _, name := range []string{reports.BlameFile, reports.SeriesFile} {
		if _, is := files.Pages[name]; !is {
			t.Errorf("%s is not published", name)
		}
	}
}

// A copy of a run with long logs and a long history has all of the evidence, and verifies; a
// copy of that copy as well. A log has an excerpt for people.
func TestLongFilesArePacked(t *testing.T) {
	dir := runtest.Run{Seconds: 60, Rate: 300}.Record(t, filepath.Join(t.TempDir(), reports.RunsDir))
	line := strings.Repeat("x", 99) + "\n"
	must(t, os.WriteFile(filepath.Join(dir, reports.EvidenceDir, reports.LogsDir, "node-1.log"), []byte("first\n"+strings.Repeat(line, 20_000)+"last\n"), 0o644))
	_, err := reports.Finish(dir, runtest.Key)
	must(t, err)
	for range 2 {
		to := filepath.Join(t.TempDir(), "copy")
		_, err = Push(t.Context(), []string{dir}, Destination(to), reports.Words{}, nil)
		must(t, err)
		dir = filepath.Join(to, reports.RunsDir, filepath.Base(dir))
		for _, name := range []string{"evidence/logs/node-1.log.zst", "evidence/history.arrow.zst"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		if _, err := reports.Verify(dir); err != nil {
			t.Error(err)
		}
		if cut := read(t, filepath.Join(to, reports.RunsDir, filepath.Base(dir), reports.ExcerptsDir, "node-1.log")); len(cut) > 300<<10 || !strings.HasPrefix(cut, "first\n") || !strings.HasSuffix(cut, "last\n") || !strings.Contains(cut, "are not in this excerpt") {
			t.Errorf("the log was cut to %d bytes", len(cut))
		}
	}
	short := filepath.Join(dir, reports.ExcerptsDir, "node-1.log")
	text := read(t, short)
	must(t, os.WriteFile(short, []byte(strings.Replace(text, "first", "worst", 1)), 0o644))
	if _, err := reports.Verify(dir); err == nil || !strings.Contains(err.Error(), "excerpts/node-1.log is not the beginning and the end") {
		t.Errorf("a copy with another excerpt: %v", err)
	}
	must(t, os.WriteFile(short, []byte(text), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "evidence", "history.arrow"), nil, 0o644))
	if _, err := reports.Verify(dir); err == nil {
		t.Error("a copy with a second history verifies")
	}
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
		if _, err := bundle(dir, id); err == nil || !strings.Contains(err.Error(), "give the directory that name") {
			t.Errorf("a run that says it is %q: %v", id, err)
		}
	}
}

// The same words are noted once, though they are published again.
func TestWordsOnce(t *testing.T) {
	dir, _ := finished(t, runtest.Run{Seconds: 1})
	for range 2 {
		_, err := Push(t.Context(), []string{dir}, Destination(filepath.Join(t.TempDir(), "to")), reports.Words{Title: "It forgets"}, nil)
		must(t, err)
	}
	if n := strings.Count(read(t, filepath.Join(dir, reports.NotesFile)), "It forgets"); n != 1 {
		t.Errorf("the words are noted %d times", n)
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

// A file that is too large for a copy is told of with its hash.
func TestLeftOut(t *testing.T) {
	noise := make([]byte, mostEvidence+1)
	dir := runtest.Run{Seconds: 1}.Record(t, t.TempDir())
	must(t, os.WriteFile(filepath.Join(dir, reports.EvidenceDir, "large"), noise, 0o644))
	s, err := reports.Finish(dir, runtest.Key)
	must(t, err)
	files, err := bundle(dir, s.ID)
	must(t, err)
	if want := fmt.Sprintf("%x  %d  evidence/large\n", sha256.Sum256(noise), len(noise)); !strings.HasSuffix(string(files.Pages[leftOutFile]), want) {
		t.Errorf("no %q is told of", want)
	}
}

func TestNothingLeadsOut(t *testing.T) {
	for _, name := range []string{"../out", "a/../../out", "/out"} {
		root := filepath.Join(t.TempDir(), "root")
		if err := writeTree(t.Context(), root, []file{{path: name, content: []byte("x")}}); err == nil || !strings.Contains(err.Error(), "leads out") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
