package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/watch"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/testing/githubtest"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// mosquittoOf is mosquitto under another version. One that does not save its state loses all of
// it when it is stopped, which is no expected loss.
func mosquittoOf(t *testing.T, version string, saves bool) string {
	t.Helper()
	real := hosttest.Program(t, "mosquitto")
	change := "cat"
	if !saves {
		change = "sed 's/^persistence .*/persistence false/'"
	}
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = -h ] && { echo 'mosquitto version %s'; exit 0; }\n%s \"$2\" > \"$2.changed\"\nexec %s -c \"$2.changed\"\n", version, change, real)
	path := filepath.Join(t.TempDir(), "mosquitto")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// watched is the journal after one look of a command.
func watched(t *testing.T, dir string, env []string, args ...string) (j watch.Journal, out string) {
	t.Helper()
	journals := map[string]watch.Journal{}
	cmd := rmq(t, dir, append([]string{"watch", "--once"}, args...)...)
	cmd.Env = append(cmd.Environ(), env...)
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("watch: %v\n%s", err, text)
	}
	status, err := rmq(t, dir, "watch", "--status", "--json").Output()
	if err == nil {
		err = json.Unmarshal(status, &journals)
	}
	if err != nil {
		t.Fatalf("watch --status: %v\n%s", err, status)
	}
	for _, only := range journals {
		j = only
	}
	return j, string(text)
}

// The first release loses sessions, the second claims a fix and has it, the third loses them
// again. A finding and its issue are opened, fixed and opened again. Nobody does anything but
// put the releases there.
func TestWatch(t *testing.T) {
	hosttest.Long(t, "three rounds of a minute")
	dir, builds, published := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "published")
	site := githubtest.New(t)
	env := []string{"GITHUB_API_URL=" + site.URL, "RMQ_GITHUB_TOKEN=not-a-real-one"}
	args := []string{builds, "--flavor", "mosquitto", "--library", filepath.Join("testdata", "short_stop.md"), "--protocol", "mqtt3", "--skip", "matrix,campaign",
		"--issues", "o/r", "--publish", published}
	release := func(version string, saves bool, notes string) {
		t.Helper()
		err := os.Rename(mosquittoOf(t, version, saves), filepath.Join(builds, "v"+version))
		if err == nil {
			err = os.WriteFile(filepath.Join(builds, "v"+version+".md"), []byte(notes), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	step := func(j watch.Journal, round, name string) string { // in words
		t.Helper()
		i := slices.IndexFunc(j.Rounds, func(p *watch.Progress) bool { return p.ID == round })
		if i < 0 || j.Rounds[i].Ended.IsZero() {
			t.Fatalf("round %s has not ended: %+v", round, j.Rounds)
		}
		return j.Rounds[i].Step(name).String()
	}
	lost := func() *githubtest.Issue {
		t.Helper()
		for _, i := range site.Issues {
			if strings.Contains(i.Title, "mosquitto: session-kept, ") {
				return i
			}
		}
		t.Fatalf("no issue of the lost sessions among %d", len(site.Issues))
		return nil
	}

	release("2.0.1", false, "")
	j, out := watched(t, dir, env, args...)
	if got := step(j, "v2.0.1", "replay"); got != "done: there is no finding yet" {
		t.Errorf("replay: %s\n%s", got, out)
	}
	if i := lost(); !slices.Contains(i.Labels, "status: open") {
		t.Errorf("after the first: %+v", i)
	}
	pages, err := filepath.Glob(filepath.Join(published, "runs", "*", "report.md"))
	if err != nil || len(pages) == 0 {
		t.Errorf("published %v, %v", pages, err)
	}
	if j, out = watched(t, dir, env, args...); len(j.Rounds) != 1 || strings.TrimSpace(out) != "" {
		t.Errorf("nothing new: %d rounds\n%s", len(j.Rounds), out)
	}

	release("2.9.0", true, "Fixes sessions that were forgotten, see https://github.com/o/r/issues/"+fmt.Sprint(lost().Number))
	j, out = watched(t, dir, env, args...)
	if got := step(j, "v2.9.0", "replay"); !strings.Contains(got, " is fixed in 2.9.0") {
		t.Errorf("replay: %s\n%s", got, out)
	}
	i := lost()
	said := strings.Join(i.Comments, "\n")
	if claimed := strings.Index(said, "The notes of v2.9.0 name this as fixed"); claimed < 0 || claimed > strings.Index(said, "Fixed in 2.9.0") || !slices.Contains(i.Labels, "status: fixed") {
		t.Errorf("after the second: %+v", i)
	}

	i.Closed, i.Reason, i.ClosedAt = true, "completed", time.Now().UTC().Format(time.RFC3339)
	release("2.9.1", false, "Faster.")
	j, out = watched(t, dir, env, args...)
	if got := step(j, "v2.9.1", "replay"); !strings.Contains(got, " is regressed in 2.9.1 (fixed in 2.9.0)") {
		t.Errorf("replay: %s\n%s", got, out)
	}
	if i.Closed || !slices.Contains(i.Labels, "status: regressed") || !strings.Contains(strings.Join(i.Comments, "\n"), "Seen again in 2.9.1") {
		t.Errorf("after the third: %+v", i)
	}
	name := watch.NameOf("mosquitto", builds)
	for page, want := range map[string]string{"findings/" + name + "/README.md": "regressed in 2.9.1 (fixed in 2.9.0)", "rounds/" + name + "/v2.9.0.md": " is fixed in 2.9.0"} {
		if page, err := os.ReadFile(filepath.Join(published, filepath.FromSlash(page))); err != nil || !strings.Contains(string(page), want) {
			t.Errorf("%s has no %q: %v\n%s", name, want, err, page)
		}
	}
}

// A release on GitHub that cannot be downloaded yet, or does not start, is waited for.
func TestWatchOfGitHub(t *testing.T) {
	dir, archives := t.TempDir(), t.TempDir()
	site := githubtest.New(t)
	site.Releases = []map[string]any{{"tag_name": "v9.9.9", "body": "new"}}
	env := []string{"GITHUB_API_URL=" + site.URL, "RMQ_ROBUSTMQ_RELEASES=file://" + archives}
	look := func() (out string, code int) {
		t.Helper()
		cmd := rmq(t, dir, "watch", "--once", "o/r", "--skip", "conformance,replay,library,matrix,campaign")
		cmd.Env = append(cmd.Environ(), env...)
		text, err := cmd.Output()
		return string(text), exitCode(err)
	}
	if out, code := look(); code != exitUndecided || !strings.Contains(out, "failed, attempt 1") || !strings.Contains(out, "choose another version") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	archive := releaseOf(t, "v9.9.9", "#!/bin/sh\necho I am no broker\nexit 1\n")
	path := filepath.Join(archives, "v9.9.9", "robustmq-v9.9.9-"+runtime.GOOS+"-"+runtime.GOARCH+".tar.gz")
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, archive, 0o644)
	}
	if err == nil {
		err = os.WriteFile(path+".sha256", fmt.Appendf(nil, "%x\n", sha256.Sum256(archive)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, code := look(); code != exitUndecided || !strings.Contains(out, "failed, attempt 2") || !strings.Contains(out, "I am no broker") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	out, err := rmq(t, dir, "watch", "--status").Output()
	if err != nil || !strings.Contains(string(out), "\n  v9.9.9: goes on, ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A watch begins nothing beside a run that is live, as one that was killed leaves it.
func TestWatchWaitsForRuns(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	dir := t.TempDir()
	t.Cleanup(func() { stopAll(t, dir) })
	run := rmq(t, dir, "run", "--no-repeat", filepath.Join("testdata", "plan_scenario.md"))
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	var live []keeper.Info
	err := await(hosttest.Bound, func() string {
		var err error
		if live, err = keeper.List(dir); err != nil || len(live) == 0 {
			return fmt.Sprintf("no run is live: %v", err)
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Process.Kill(); err != nil { // it alone
		t.Fatal(err)
	}
	run.Wait()
	out, err := rmq(t, dir, "watch", "--once", t.TempDir(), "--flavor", "mosquitto").Output()
	if err != nil || !strings.Contains(string(out), "waits for the end of run "+live[0].ID) {
		t.Errorf("%v\n%s", err, out)
	}
	if live, err := keeper.List(dir); err != nil || len(live) > 0 {
		t.Errorf("%d runs are live behind it, %v", len(live), err)
	}
}
