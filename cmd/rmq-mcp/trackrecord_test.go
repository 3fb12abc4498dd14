package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/reports"
)

// The findings of the track record, and the texts of their issues, are those that its runs
// give today; -update writes them anew.
func TestTrackRecord(t *testing.T) {
	track, err := filepath.Abs(filepath.Join("..", "..", "docs", "track-record"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := finding.Load(track)
	if err != nil {
		t.Fatal(err)
	}
	findings, err := all.Files(func(run string) string { return "../" + run + "/" + reports.MarkdownFile })
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if text, err := rmq(t, track, "findings", "issues", "--out", out).Output(); err != nil {
		t.Fatalf("findings issues: %v\n%s", err, text)
	}
	issues := map[string][]byte{}
	err = fs.WalkDir(os.DirFS(out), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			issues[name], err = os.ReadFile(filepath.Join(out, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	readme, err := trackReadme(track, all)
	if err != nil {
		t.Fatal(err)
	}
	readmeFile := filepath.Join(track, "README.md")
	if *update {
		if err := os.WriteFile(readmeFile, readme, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(readmeFile); err != nil || string(is) != string(readme) {
		t.Errorf("%s is not what the runs beside it give (%v); -update writes it", readmeFile, err)
	}
	for folder, want := range map[string]map[string][]byte{finding.Folder: findings, "issues": issues} {
		folder = filepath.Join(track, folder)
		if *update {
			if err := os.RemoveAll(folder); err != nil {
				t.Fatal(err)
			}
			for name, text := range want {
				if err := os.MkdirAll(folder, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		there, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		if len(there) != len(want) {
			t.Errorf("%s has %d files, its runs give %d; -update writes them", folder, len(there), len(want))
		}
		for name, text := range want {
			if is, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(is) != string(text) {
				t.Errorf("%s is not what its runs give (%v); -update writes it", filepath.Join(folder, name), err)
			}
		}
	}
}

// trackReadme is the first page of the track record: its runs, and where to read on.
func trackReadme(track string, all finding.Findings) ([]byte, error) {
	rows, err := reports.List(track, reports.Filter{})
	if err != nil {
		return nil, err
	}
	shows := map[string][]finding.Finding{}
	for _, f := range all.Findings {
		for _, r := range f.Runs {
			shows[r.RunID] = append(shows[r.RunID], f)
		}
	}
	files := func(form string) (names []string) {
		paths, _ := filepath.Glob(filepath.Join(track, form)) // the form is ours
		for _, path := range paths {
			names = append(names, strings.TrimSuffix(filepath.Base(path), ".md"))
		}
		return names
	}
	t, err := template.New("trackrecord.md.tmpl").Funcs(reports.MarkdownFuncs).Funcs(template.FuncMap{
		"files": files,
		"shows": func(run string) []finding.Finding { return shows[run] },
		"whole": func(r reports.Row) bool {
			_, err := os.Stat(reports.Dir(r.Dir).Evidence())
			return err == nil
		},
	}).ParseFiles(filepath.Join("testdata", "trackrecord.md.tmpl"))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{"Runs": rows, "Summary": all.Summary()})
	return out.Bytes(), err
}

// Runs of the track record that have their evidence verify as its page says: they are intact, and
// judged as they were.
func TestTrackRecordIsIntact(t *testing.T) {
	track := filepath.Join("..", "..", "docs", "track-record")
	rows, err := reports.List(track, reports.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, row := range rows {
		if _, err := os.Stat(reports.Dir(row.Dir).Evidence()); err != nil {
			continue
		}
		whole++
		if _, err := reports.Verify(row.Dir); err != nil {
			t.Errorf("%v; a checker whose results change needs another version", err)
		}
	}
	if whole < 3 {
		t.Errorf("%d runs have their evidence", whole)
	}
}
