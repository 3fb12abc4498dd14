package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Notes that are written after the release was first seen count.
func TestNotesChange(t *testing.T) {
	dir := t.TempDir()
	s := newScene(t, dir, []Step{{Name: "a", Do: func(context.Context, Round) (string, error) { return "", errors.New("later") }}}, "v1.0.0")
	s.look(t)
	s.from.notes = "fixes x-1"
	s.look(t)
	s.look(t)
	if text, err := os.ReadFile(s.Journal.path()); err != nil || strings.Count(string(text), "fixes x-1") != 1 {
		t.Errorf("%v, written more than once:\n%s", err, text)
	}
	if got, err := Claims(dir, map[string]Issue{"x-1": {}}); err != nil || got["x-1"].Line != "fixes x-1" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestOneWatch(t *testing.T) {
	dir := t.TempDir()
	j, err := OpenJournal(dir, "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(dir, "x"); err == nil || !strings.Contains(err.Error(), "another process watches") {
		t.Errorf("a second one: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if j, err = OpenJournal(dir, "x"); err != nil {
		t.Fatal(err)
	}
	j.Close()
}

// A journal of somebody else names no path outside and no program.
func TestJournalOfStrangers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, Dir, "x", journalFile)
	lines := `{"did":"round","round":{"id":"../../x","release":{"version":"v1.0.0"}}}
{"did":"round","round":{"id":"v1.0.0","release":{"version":"latest"}}}
{"did":"round","round":{"id":"v1.0.1","release":{"version":"v1.0.1","binary":"/bin/sh","Binary":"/bin/sh","archives":"/","Archives":"/"}}}
{"did":"done","id":"v2.0.0","step":"a"}
`
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(lines), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	j, err := OpenJournal(dir, "x")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if len(j.Rounds) != 1 || j.Rounds[0].ID != "v1.0.1" || j.Rounds[0].Release != (Release{Version: "v1.0.1"}) {
		t.Errorf("rounds %+v", j.Rounds)
	}
}

func TestClaims(t *testing.T) {
	const id = "robustmq-qos1-no-loss-b7681c10"
	for notes, want := range map[string]bool{
		"fixes " + id:                                   true,
		"- Fix lost messages (#7) by @somebody":         true,
		"News\n\n* closes #7\n":                         true,
		"resolved: o/r#7":                               true,
		"Fixed https://github.com/O/R/issues/7, really": true,
		"#7 cannot be fixed in this release":            false,
		"This doesn’t fix #7":                           false,
		"Still to be fixed: #7":                         false,
		"#7 will be fixed":                              false,
		"Fixes #12, a regression of #7":                 false,
		"Fixes #12, see #7":                             false,
		"Fixes #12, found while chasing " + id:          false,
		"#7 is done":                                    false,
		"Known issues: #7, to be fixed":                 false,
		"does not fix #7":                               false,
		"This doesn't fix #7":                           false,
		"reverts the fix of #7":                         false,
		"fixes #70, #17, x#7, a/b#7, x-o/r#7":           false,
		"fixes https://github.com/o/r/issues/71":        false,
		"fixes https://example.com/o/r/issues/7":        false,
		"fixes [a link](#7-foo)":                        false,
		"fixes " + id + "x, and not-" + id:              false,
		"fixes #7" + strings.Repeat(" x", mostLine):     false,
		"": false,
	} {
		r := Release{Version: "v1.0.1", Notes: notes, Repo: "o/r"}
		if got := claim(r, id, Issue{"o/r", 7}); (got != "") != want {
			t.Errorf("%q: the claim is %q, want one: %v", notes, got, want)
		}
	}
	if claim(Release{Notes: "fixes #7", Repo: "somebody/else"}, id, Issue{"o/r", 7}) != "" {
		t.Error("#7 of another repository is taken for ours")
	}
	if claim(Release{Notes: "fixes #0"}, id, Issue{}) != "" {
		t.Error("a finding without an issue is named by a number")
	}
	dir := t.TempDir()
	for name, version := range map[string]string{"a": "v1.0.2", "b": "v1.0.1"} {
		j, err := OpenJournal(dir, name)
		if err == nil {
			err = errors.Join(j.begin(Round{ID: version, Release: Release{Version: version, Notes: "fixes " + id}}), j.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := Claims(dir, map[string]Issue{id: {}, "another": {}})
	if want := (Claim{"v1.0.2", "fixes " + id}); err != nil || len(got) != 1 || got[id] != want {
		t.Errorf("claims %v, %v", got, err)
	}
}
