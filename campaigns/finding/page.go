package finding

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

//go:embed page.md.tmpl
var pageTemplate string

//go:embed list.md.tmpl
var listTemplate string

// Files beside the pages of the findings.
const (
	ListFile = "README.md"     // the page that lists them
	AllFile  = "findings.json" // all of them: [Findings]
)

// Write writes a page and a document of each finding into a directory, and a page and a
// document of all. Links to runs are relative to the directory, runs is where those lie.
// It replaces the findings that it wrote there before, and nothing else.
func Write(dir, runs string, all Findings) error {
	files, err := all.Files(func(run string) string { return runs + "/" + run + "/" + reports.MarkdownFile })
	if err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	if err := clear(dir, all); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	for name, content := range files {
		if err := reports.WriteFile(filepath.Join(dir, name), content); err != nil {
			return fmt.Errorf("write findings: %w", err)
		}
	}
	return nil
}

// Files are a page and a document of each finding, and of all, by name. Run is the way to the
// page of a run, "" where it has none.
func (all Findings) Files(run func(id string) string) (map[string][]byte, error) {
	list, pages, err := all.Pages(Links{Run: run, Finding: func(id string) string { return id + ".md" }})
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{ListFile: list}
	for i, f := range all.Findings {
		files[f.ID+".md"] = pages[i]
		if files[f.ID+".json"], err = reports.JSON(f); err != nil {
			return nil, fmt.Errorf("make the document of finding %s: %w", f.ID, err)
		}
	}
	if files[AllFile], err = reports.JSON(all); err != nil {
		return nil, fmt.Errorf("make the document of all findings: %w", err)
	}
	return files, nil
}

// clear removes the pages of findings that are no more. It returns an error for a
// directory whose list somebody else wrote.
func clear(dir string, all Findings) error {
	var before Findings
	switch err := stored.ReadJSON(filepath.Join(dir, AllFile), &before); {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(filepath.Join(dir, ListFile)); err == nil {
			return fmt.Errorf("%s has a %s that is not of findings; choose a directory of their own", dir, ListFile)
		}
	case err != nil:
		return err
	}
	for _, f := range before.Findings {
		if !stored.IsID(f.ID) || slices.ContainsFunc(all.Findings, func(now Finding) bool { return now.ID == f.ID }) {
			continue
		}
		for _, name := range []string{f.ID + ".md", f.ID + ".json"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// Folder of the findings, beside that of the runs.
const Folder = "findings"

// Links lead from a page to runs and to other findings; "" where there is nothing to lead to.
type Links struct{ Run, Finding func(id string) string }

// Pages are the findings in Markdown: the page that lists them, and the page of each.
func (all Findings) Pages(to Links) (list []byte, each [][]byte, err error) {
	if list, err = render(listTemplate, to, all); err != nil {
		return nil, nil, fmt.Errorf("make the list of findings: %w", err)
	}
	for _, f := range all.Findings {
		page, err := render(pageTemplate, to, f)
		if err != nil {
			return nil, nil, fmt.Errorf("make the page of finding %s: %w", f.ID, err)
		}
		each = append(each, page)
	}
	return list, each, nil
}

// Summary counts findings by status, and the open ones by severity.
func (all Findings) Summary() string {
	open, fixed := map[string]int{}, 0
	for _, f := range all.Findings {
		if f.Status.State == Fixed {
			fixed++
		} else {
			open[f.Severity]++
		}
	}
	var counts []string
	for _, severity := range sorted(open) {
		counts = append(counts, fmt.Sprintf("%d %s", open[severity], severity))
	}
	text := fmt.Sprintf("%d findings", len(all.Findings))
	if len(counts) > 0 {
		text += ", open: " + strings.Join(counts, ", ")
	}
	if fixed > 0 {
		text += fmt.Sprintf("; %d fixed", fixed)
	}
	return text
}

func render(text string, to Links, data any) ([]byte, error) {
	escaped := func(way string) string {
		return strings.NewReplacer("(", "%28", ")", "%29").Replace((&url.URL{Path: way}).EscapedPath())
	}
	t, err := template.New("page").Funcs(reports.MarkdownFuncs).Funcs(template.FuncMap{
		"page": func(id string) string { return escaped(to.Finding(id)) },
		"run": func(id string) string {
			if way := to.Run(id); way != "" {
				return fmt.Sprintf("[%s](%s)", id, escaped(way))
			}
			return id
		},
	}).Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, data)
	return out.Bytes(), err
}
