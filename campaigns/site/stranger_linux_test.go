package site

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/reports"
)

// strangers are runs as somebody else could hand them on: what is done to a whole
// one, and the row that says so. Where page is set it has a page all the same.
func strangers() []struct {
	name, says string
	page       bool
	spoil      func(t *testing.T, run, outside string)
} {
	replace := func(name string, with func(path, outside string) error) func(*testing.T, string, string) {
		return func(t *testing.T, run, outside string) {
			path := filepath.Join(run, name)
			must(t, os.RemoveAll(path))
			must(t, with(path, outside))
		}
	}
	link := func(path, outside string) error { return os.Symlink(outside, path) }
	pipe := func(path, _ string) error { return syscall.Mkfifo(path, 0o644) }
	remove := func(string, string) error { return nil }
	write := func(text string) func(path, _ string) error {
		return func(path, _ string) error { return os.WriteFile(path, []byte(text), 0o644) }
	}
	return []struct {
		name, says string
		page       bool
		spoil      func(t *testing.T, run, outside string)
	}{
		{"an id that leads out", `it says that it is run "../../../x/evil"`, false, replace(reports.SummaryFile, write(`{"run_id":"../../../x/evil","state":"PASS-smoke"}`))},
		{"a summary that is a link", "not readable", false, replace(reports.SummaryFile, link)},
		{"a summary that is a pipe", "it is no regular file", false, replace(reports.SummaryFile, pipe)},
		{"a summary that is a directory", "it is no regular file", false, replace(reports.SummaryFile, func(path, _ string) error { return os.Mkdir(path, 0o755) })},
		{"a summary without end", "more than 67108864 bytes", false, replace(reports.SummaryFile, func(path, _ string) error {
			return os.WriteFile(path, nil, 0o644)
		})},
		{"a summary of rubbish", "not readable", false, replace(reports.SummaryFile, write("\x1b]0;x\a"))},
		{"a verdict that is a link", "not readable", false, replace(reports.VerdictFile, link)},
		{"a verdict that is a pipe", "it is no regular file", false, replace(reports.VerdictFile, pipe)},
		{"no report", "not readable", false, replace(reports.ReportFile, remove)},
		{"a report that is a link", "not readable", false, replace(reports.MarkdownFile, link)},
		{"a timeline with a script", `an element "script"`, false, replace(reports.TimelineFile, write(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`))},
		{"a timeline with a handler", `an attribute "onload"`, false, replace(reports.TimelineFile, write(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`))},
		{"a timeline that loads", "its style loads something", false, replace(reports.TimelineFile, write(`<svg xmlns="http://www.w3.org/2000/svg"><style>@import "http://x/"</style></svg>`))},
		{"a timeline that hides what it loads in a comment", "its style loads something", false, replace(reports.TimelineFile, write(`<svg xmlns="http://www.w3.org/2000/svg"><style>@im<!-- -->port "http://x/"</style></svg>`))},
		{"a timeline that loads a set", "its style loads something", false, replace(reports.TimelineFile, write(`<svg xmlns="http://www.w3.org/2000/svg"><style>rect { fill: image-set("http://x/" 1x) }</style></svg>`))},
		{"a timeline with an element in its style", "its style has an element", false, replace(reports.TimelineFile, write(`<svg xmlns="http://www.w3.org/2000/svg"><style><g/>@import "http://x/"</style></svg>`))},
		{"a timeline with an entity", "has a directive", false, replace(reports.TimelineFile, write(`<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg"/>`))},
		{"a log that is a page", "PASS", true, replace(reports.EvidenceDir+"/"+reports.LogsDir+"/evil.html", write("<script>alert(1)</script>"))},
		{"a log that is a link", "PASS", true, replace(reports.EvidenceDir+"/"+reports.LogsDir+"/other.log", link)},
	}
}

func TestRunsOfStrangers(t *testing.T) {
	above := t.TempDir()
	stateDir, out, outside := filepath.Join(above, "state"), filepath.Join(above, "site"), filepath.Join(above, "outside")
	must(t, os.WriteFile(outside, []byte("root:x:0:0"), 0o600))
	whole := runtest.Run{ID: "1121-0110-whole-77aa"}.Record(t, filepath.Join(stateDir, reports.RunsDir))
	_, err := reports.Finish(whole, runtest.Key)
	must(t, err)
	must(t, os.CopyFS(filepath.Join(stateDir, reports.RunsDir, "line\nbreak"), os.DirFS(whole)))
	must(t, os.Symlink(whole, filepath.Join(stateDir, reports.RunsDir, "a-link")))
	dirs := map[string]string{}
	for i, s := range strangers() {
		id := "1121-0111-stranger-" + string(rune('a'+i))
		dirs[id] = s.name
		run := filepath.Join(stateDir, reports.RunsDir, id)
		must(t, os.CopyFS(run, os.DirFS(whole)))
		summary := filepath.Join(run, reports.SummaryFile)
		must(t, os.WriteFile(summary, []byte(strings.ReplaceAll(read(t, summary), filepath.Base(whole), id)), 0o644))
		s.spoil(t, run, outside)
		if s.name == "a summary without end" {
			must(t, os.Truncate(summary, 1<<30)) // of holes
		}
	}
	must(t, Write(stateDir, out))

	rows, err := reports.List(stateDir, reports.Filter{})
	must(t, err)
	if len(rows) != len(strangers())+1 {
		t.Errorf("%d rows, want one of each run that is ours by its name", len(rows))
	}
	index := read(t, filepath.Join(out, "index.html"))
	for i, s := range strangers() {
		id := "1121-0111-stranger-" + string(rune('a'+i))
		at := strings.Index(index, `<span class="soft">`+id)
		if at < 0 {
			t.Errorf("%s: the site has no row of it", s.name)
			continue
		}
		row := index[at:]
		row, _, _ = strings.Cut(row, "</tr>")
		says := strings.NewReplacer(`"`, "&#34;").Replace(s.says)
		if !strings.Contains(row, says) {
			t.Errorf("%s: the row does not say %q: %s", s.name, s.says, row)
		}
		if linked := strings.Contains(index, `href="runs/`+id+`/`); linked != s.page {
			t.Errorf("%s: linked to a page: %v", s.name, linked)
		}
	}
	must(t, filepath.WalkDir(above, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(above, path)
		switch top, _, _ := strings.Cut(filepath.ToSlash(rel), "/"); {
		case top != "site":
			if top != "state" && top != "outside" && top != "." {
				t.Errorf("%s was written outside of the site", path)
			}
		case d.Type().IsRegular():
			if text := read(t, path); strings.Contains(text, "root:x:0:0") || strings.Contains(text, "alert(1)") {
				t.Errorf("%s has what a stranger's run led to", path)
			}
		case !d.IsDir():
			t.Errorf("%s is no regular file", path)
		}
		return nil
	}))
}

// A link in the folder of a site leads no page elsewhere, and removes nothing there.
func TestLinksInTheFolderOfASite(t *testing.T) {
	stateDir, out, elsewhere := recorded(t), t.TempDir(), t.TempDir()
	theirs := filepath.Join(elsewhere, "node-1.log")
	must(t, os.WriteFile(theirs, []byte("theirs"), 0o644))
	logs := filepath.Join(out, reports.RunsDir, lossyRun, reports.EvidenceDir, reports.LogsDir)
	must(t, os.MkdirAll(logs, 0o755))
	must(t, os.Symlink(theirs, filepath.Join(logs, "node-1.log")))
	must(t, Write(stateDir, out))
	if text := read(t, theirs); text != "theirs" || read(t, logs, "node-1.log") == text {
		t.Errorf("a log was written through a link: %s", text)
	}

	must(t, os.RemoveAll(logs))
	must(t, os.Symlink(elsewhere, logs))
	if err := Write(stateDir, out); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("a folder that is a link: %v", err)
	}
	if text := read(t, theirs); text != "theirs" {
		t.Errorf("a log was written through the link of its folder: %s", text)
	}
}
