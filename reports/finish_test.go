package reports

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

func finished(t testing.TB, x runtest.Run) (string, *Summary) {
	t.Helper()
	dir := x.Record(t, t.TempDir())
	s, err := Finish(dir, runtest.Key)
	must(t, err)
	return dir, s
}

func TestFinishFindsWhatABrokerForgot(t *testing.T) {
	dir, s := finished(t, runtest.Run{Lossy: true})
	if s.State != verdict.FailOnce || s.Severity != "P0" {
		t.Errorf("state %s, severity %s: %s", s.State, s.Severity, s.Headline)
	}
	var r Report
	must(t, stored.ReadJSON(filepath.Join(dir, ReportFile), &r))
	want := int64(2 * 105) // both publishers, until the kill
	if r.Losses.Total != want || r.Losses.Listed != want || len(r.Losses.Ranges) != 2 || !r.Losses.Proven {
		t.Errorf("losses are %+v, want %d in two ranges", r.Losses, want)
	}
	if a, b := r.Losses.Ranges[0].Publisher, r.Losses.Ranges[1].Publisher; a != "publisher-1" || b != "publisher-2" {
		t.Errorf("they are of %q and %q", a, b)
	}
	if len(r.Violations) != 1 || len(r.Violations[0].Examples) != maxExamples {
		t.Fatalf("violations are %+v", r.Violations)
	}
	if v := r.Violations[0]; v.Claim != "qos1-no-loss" || v.Kind != "lost" || v.Client != "offline-1" || v.Group != "offline" || v.Count != want || !strings.Contains(v.When, "before f1") {
		t.Errorf("violations are %+v", v)
	}
	if e := r.Violations[0].Examples[0]; !strings.HasPrefix(e.Topic, "work/publisher-") || *e.Seq != 0 || e.Node != "node-1" || len(e.Events) != 2 {
		t.Errorf("the first is %+v", e)
	}
	text := read(t, filepath.Join(dir, MarkdownFile))
	for _, part := range []string{
		"| `qos1-no-loss` | lost | offline-1 (offline) | 210 |",
		"# ❌ FAIL-once: mqtt/broker-kill-9 on mosquitto 2.0.21", "**210 deliveries were lost**", "0 to 104",
		"## The story of one message", " publishes it at node-1 |", "the broker acknowledges it to publisher-", "| **f1 begins: kill of node-1** |", "the run ends, and offline-1 has not received it",
		"before f1", "rmq-mcp run mqtt/broker-kill-9 --flavor mosquitto --nodes 1 --sdk go@1.5.1 --protocol mqtt3 --seed 7 --tier smoke",
		"mosquitto does not promise", "exited: signal 9", "](timeline.svg)", s.Root,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("report.md does not say %q", part)
		}
	}
	if path := os.Getenv("RMQ_TEST_REPORT"); path != "" {
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// A fault of ours that changes bytes may be why messages are missing: no claim fails by
// them, and no page, picture or table calls them lost or blames anybody.
func TestFinishCallsNothingLostThatIsNotProven(t *testing.T) {
	dir := runtest.Run{Lossy: true}.Record(t, t.TempDir())
	evidence := filepath.Join(dir, EvidenceDir)
	landings, err := history.ReadLandings(evidence)
	must(t, err)
	landings[0].Forges = true
	must(t, history.WriteLandings(evidence, landings))
	s, err := Finish(dir, runtest.Key)
	must(t, err)
	if s.State.Failed() {
		t.Fatalf("%s: %s", s.State, s.Headline)
	}
	var r Report
	must(t, stored.ReadJSON(filepath.Join(dir, ReportFile), &r))
	if r.Losses.Total != 210 || r.Losses.Proven || !strings.HasPrefix(r.Losses.Why, "qos1-no-loss is unknown: f1 (kill of leader) changed bytes") {
		t.Errorf("losses are %+v", r.Losses)
	}
	if v := r.Violations; len(v) != 1 || v[0].Count != 210 || v[0].Blame != "" || !strings.HasPrefix(v[0].Why, "unknown: f1 (kill of leader) changed bytes") {
		t.Errorf("violations are %+v", v)
	}
	page, picture := read(t, filepath.Join(dir, MarkdownFile)), read(t, filepath.Join(dir, TimelineFile))
	for _, part := range []string{"| not proven |", "210 deliveries are missing. That proves no loss: ", "## Seen, without a party to blame"} {
		if !strings.Contains(page, part) {
			t.Errorf("report.md does not say %q", part)
		}
	}
	for _, part := range []string{"never delivered", "## Violations", "Blame"} {
		if strings.Contains(page, part) {
			t.Errorf("report.md says %q", part)
		}
	}
	if !strings.Contains(picture, "210 missing") || strings.Contains(picture, "210 lost") {
		t.Error("the picture has them lost")
	}
}

func TestFinishPassesAHealthyBroker(t *testing.T) {
	dir, s := finished(t, runtest.Run{})
	if s.State != verdict.PassSmoke {
		t.Errorf("state %s: %s; %v", s.State, s.Headline, s.Verdict.Reasons)
	}
	if picture := read(t, filepath.Join(dir, TimelineFile)); !strings.Contains(picture, "lost, when published") || strings.Contains(picture, "missing") {
		t.Error("the picture has something missing")
	}
}

func TestJudgeGivesTheSameBytesAnywhere(t *testing.T) {
	dir, s := finished(t, runtest.Run{Lossy: true})
	elsewhere := filepath.Join(t.TempDir(), "moved")
	must(t, os.CopyFS(elsewhere, os.DirFS(dir)))
	d, err := Open(elsewhere)
	must(t, err)
	v, _, err := d.Judge()
	must(t, err)
	again, err := JSON(v)
	must(t, err)
	if written := read(t, filepath.Join(dir, VerdictFile)); written != string(again) {
		t.Errorf("judged elsewhere:\n%s\nwant:\n%s", again, written)
	}
	if verified, err := Verify(elsewhere); err != nil || verified.State != s.State || verified.Seal.Root != s.Root {
		t.Errorf("verified elsewhere: %+v, %v", verified, err)
	}
}

func TestFinishScrubsBeforeSealing(t *testing.T) {
	dir, _ := finished(t, runtest.Run{})
	if log := read(t, filepath.Join(dir, EvidenceDir, LogsDir, "node-1.log")); strings.Contains(log, "robustmq") || !strings.Contains(log, "serving") {
		t.Errorf("the log is %q", log)
	}
}

// TestVerifyRefusesEveryChangedByte changes one byte of each file that the
// seal covers, in turn.
func TestVerifyRefusesEveryChangedByte(t *testing.T) {
	dir, _ := finished(t, runtest.Run{Lossy: true, Seconds: 1})
	seal, err := Dir(dir).Seal()
	must(t, err)
	covered := append(sortedKeys(seal.Files), VerdictFile, ReportFile, MarkdownFile, TimelineFile, SummaryFile)
	for _, want := range []string{"evidence/history.arrow", "evidence/landings.json", "evidence/journal.jsonl", "evidence/logs/node-1.log"} {
		if !slices.Contains(covered, want) {
			t.Errorf("the seal does not cover %s", want)
		}
	}
	for _, name := range covered {
		path := filepath.Join(dir, filepath.FromSlash(name))
		content, err := os.ReadFile(path)
		must(t, err)
		changed := bytes.Clone(content)
		changed[len(changed)/2] ^= 1
		must(t, os.WriteFile(path, changed, 0o644))
		broken(t, dir, filepath.Base(name))
		must(t, os.WriteFile(path, content, 0o644))
	}
	if _, err := Verify(dir); err != nil {
		t.Errorf("put back as it was: %v", err)
	}
}

func TestVerifyRefusesAddedAndRemovedFiles(t *testing.T) {
	dir, _ := finished(t, runtest.Run{Seconds: 1})
	added := filepath.Join(dir, EvidenceDir, LogsDir, "node-9.log")
	must(t, os.WriteFile(added, []byte("all is well"), 0o644))
	broken(t, dir, "node-9.log was added")
	must(t, os.Remove(added))
	must(t, os.Remove(filepath.Join(dir, EvidenceDir, LogsDir, "node-1.log")))
	broken(t, dir, "node-1.log is missing")
}

// One name of two lines would read like two files in the list that is sealed.
func TestVerifyRefusesNamesOfTwoLines(t *testing.T) {
	dir, _ := finished(t, runtest.Run{Seconds: 1})
	if err := os.WriteFile(filepath.Join(dir, EvidenceDir, "a\nb"), nil, 0o644); err != nil {
		t.Skip("this file system has no such names:", err)
	}
	if _, err := Verify(dir); err == nil || !strings.Contains(err.Error(), "more than one line") {
		t.Errorf("verify answers %v", err)
	}
}

func TestVerifyRefusesAForgedSeal(t *testing.T) {
	dir, _ := finished(t, runtest.Run{Seconds: 1})
	path := filepath.Join(dir, EvidenceDir, LogsDir, "node-1.log")
	must(t, os.WriteFile(path, []byte("all is well"), 0o644))
	seal, err := Dir(dir).Seal()
	must(t, err)
	seal.Files, err = sumEvidence(dir)
	must(t, err)
	must(t, WriteJSON(filepath.Join(dir, SealFile), seal))
	broken(t, dir, "root")
	seal.Root = Root(seal.Files)
	must(t, WriteJSON(filepath.Join(dir, SealFile), seal))
	broken(t, dir, "signature")
}

// TestVerifyOfAnotherVersion: it is held to what it decided, and not to how it said
// and drew that.
func TestVerifyOfAnotherVersion(t *testing.T) {
	change := func(t *testing.T, path, from, to string) {
		t.Helper()
		text := read(t, path)
		if !strings.Contains(text, from) {
			t.Fatalf("%s has no %q", path, from)
		}
		must(t, os.WriteFile(path, []byte(strings.Replace(text, from, to, 1)), 0o644))
	}
	for _, other := range []bool{false, true} {
		x := runtest.Run{Lossy: true, Seconds: 1}
		if other {
			x.Tool = "v0.0.1"
		}
		dir, s := finished(t, x)
		verified, err := Verify(dir)
		must(t, err)
		if len(verified.Unlike) > 0 {
			t.Errorf("as it was written: unlike %v", verified.Unlike)
		}
		change(t, filepath.Join(dir, MarkdownFile), "#", "##")
		change(t, filepath.Join(dir, VerdictFile), `"headline": "`, `"headline": "In other words, `)
		verified, err = Verify(dir)
		switch {
		case !other && err == nil:
			t.Error("what this version wrote otherwise is intact")
		case other && err != nil:
			t.Error(err)
		case other && (!slices.Contains(verified.Unlike, MarkdownFile) || verified.Tool != "v0.0.1"):
			t.Errorf("%+v", verified)
		}
		change(t, filepath.Join(dir, VerdictFile), `"state": "`+string(s.State), `"state": "PASS-smoke`)
		broken(t, dir, "decides")
	}
}

func broken(t *testing.T, dir, want string) {
	t.Helper()
	_, err := Verify(dir)
	var broken *BrokenSeal
	if !errors.As(err, &broken) || !strings.Contains(err.Error(), want) {
		t.Errorf("verify answers %v, want a broken seal that names %q", err, want)
	}
}

func TestRecoverEndsTheRunOfADeadKeeper(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, evidence string)
	}{
		{"as it was", func(*testing.T, string) {}},
		{"torn history", func(t *testing.T, e string) { cutFile(t, filepath.Join(e, history.EventsFile), 100) }},
		{"torn journal", func(t *testing.T, e string) { cutFile(t, filepath.Join(e, JournalFile), 10) }},
		{"no history", func(t *testing.T, e string) {
			must(t, os.Remove(filepath.Join(e, history.EventsFile)))
			must(t, os.Remove(filepath.Join(e, history.TablesFile)))
		}},
		{"half written", func(t *testing.T, e string) {
			must(t, os.WriteFile(filepath.Join(e, ".landings.json-1"), []byte("["), 0o644))
			must(t, os.WriteFile(filepath.Join(e, LogsDir, ".scrub.1"), []byte("pass"), 0o644))
			must(t, os.WriteFile(filepath.Join(e, "..", ".report.md.1"), []byte("#"), 0o644))
		}},
		{"not even a plan", func(t *testing.T, e string) { must(t, os.Remove(filepath.Join(e, history.RunFile))) }},
		{"nothing", func(t *testing.T, e string) {
			must(t, os.RemoveAll(e))
			must(t, os.Mkdir(e, 0o755))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := runtest.Run{Open: true, Seconds: 1}.Record(t, t.TempDir())
			if _, err := Open(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("opened before it ended: %v", err)
			}
			c.spoil(t, filepath.Join(dir, EvidenceDir))
			s, err := Recover(dir, runtest.Key)
			must(t, err)
			if s.State.ExitCode() != 2 {
				t.Errorf("state %s: %s", s.State, s.Headline)
			}
			d, err := Open(dir)
			must(t, err)
			if !slices.Contains(d.Harness, keeperDied) {
				t.Errorf("harness errors are %q", d.Harness)
			}
			if _, err := Verify(dir); err != nil {
				t.Errorf("verify: %v", err)
			}
			must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if strings.HasPrefix(d.Name(), ".") && d.Name() != recoverLock {
					t.Errorf("%s is left", path)
				}
				return err
			}))
			again, err := Recover(dir, runtest.Key)
			if err != nil || again.Root != s.Root {
				t.Errorf("recovered again: %+v, %v", again, err)
			}
		})
	}
}

func TestRecoverJudgesWhatIsSealed(t *testing.T) {
	dir, s := finished(t, runtest.Run{Lossy: true, Seconds: 1})
	for _, name := range []string{SummaryFile, VerdictFile, ReportFile} {
		must(t, os.Remove(filepath.Join(dir, name)))
	}
	again, err := Recover(dir, runtest.Key)
	must(t, err)
	if again.Root != s.Root || again.State != s.State {
		t.Errorf("recovered %s %s, want %s %s", again.State, again.Root, s.State, s.Root)
	}
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	empty := t.TempDir()
	file := filepath.Join(empty, "file")
	must(t, os.WriteFile(file, nil, 0o644))
	foreign := runtest.Run{Seconds: 1}.Record(t, t.TempDir())
	run := filepath.Join(foreign, EvidenceDir, history.RunFile)
	must(t, os.WriteFile(run, []byte(strings.Replace(read(t, run), `"format": 1`, `"format": 99`, 1)), 0o644))
	garbled := runtest.Run{Seconds: 1}.Record(t, t.TempDir())
	must(t, os.WriteFile(filepath.Join(garbled, EvidenceDir, history.RunFile), []byte("{"), 0o644))
	for _, c := range []struct{ dir, want string }{
		{filepath.Join(empty, "none"), "list runs"},
		{file, "not a directory"},
		{empty, "not a run directory"},
		{foreign, "format 99"},
		{garbled, "run.json"},
	} {
		if _, err := Open(c.dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%s) = %v, want an error with %q", c.dir, err, c.want)
		}
	}
}

func TestAddWordsQuotes(t *testing.T) {
	dir, s := finished(t, runtest.Run{Seconds: 1})
	words := Words{Title: "Fine", Problem: "none\n# PASS-hardening\n<script>alert(1)</script>", ProposedSeverity: "P3"}
	again, err := AddWords(dir, words)
	must(t, err)
	if again.State != s.State || again.Root != s.Root {
		t.Errorf("words changed the run: %+v", again.Row)
	}
	text := read(t, filepath.Join(dir, MarkdownFile))
	if !strings.Contains(text, "\n> # PASS-hardening") || strings.Contains(text, "\n# PASS-hardening") || strings.Contains(text, "<script") {
		t.Error("words are not held inside their quote")
	}
	if _, err := Verify(dir); err != nil {
		t.Errorf("words broke the seal: %v", err)
	}
}

func cutFile(t *testing.T, path string, bytes int64) {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	must(t, os.Truncate(path, info.Size()-bytes))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return string(content)
}

// TestRunsOfEveryRevision: what any version recorded that landed is intact and
// judged as it was then. None of these is ever written anew.
func TestRunsOfEveryRevision(t *testing.T) {
	dirs, err := filepath.Glob("testdata/runs/*")
	must(t, err)
	if len(dirs) < 2 {
		t.Fatalf("runs are missing: %q", dirs)
	}
	for _, dir := range dirs {
		verified, err := Verify(dir)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
		} else if verified.State != verdict.FailOnce {
			t.Errorf("%s: %s", dir, verified.State)
		}
	}
}
