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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	if err := clear(dir, all); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	for _, f := range all.Findings {
		err := writeBoth(filepath.Join(dir, f.ID+".md"), pageTemplate, runs, filepath.Join(dir, f.ID+".json"), f)
		if err != nil {
			return fmt.Errorf("write finding %s: %w", f.ID, err)
		}
	}
	if err := writeBoth(filepath.Join(dir, ListFile), listTemplate, runs, filepath.Join(dir, AllFile), all); err != nil {
		return fmt.Errorf("write the list of findings: %w", err)
	}
	return nil
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

// writeBoth writes a page and a document of the same.
func writeBoth(page, text, runs, document string, of any) error {
	content, err := render(text, links{
		run:  func(run string) string { return runs + "/" + run + "/" + reports.MarkdownFile },
		page: func(id string) string { return id + ".md" },
	}, of)
	if err == nil {
		err = reports.WriteFile(page, content)
	}
	if err == nil {
		err = reports.WriteJSON(document, of)
	}
	return err
}

// SectionName is the folder of the findings in a site.
const SectionName = "findings"

// Section are the findings as pages of a site.
func (all Findings) Section() (reports.Section, error) {
	to := links{
		run:  func(run string) string { return "../" + reports.RunsDir + "/" + run + "/index.html" },
		page: func(id string) string { return id + ".html" },
	}
	s := reports.Section{Name: SectionName, Line: all.summary()}
	list, err := render(listTemplate, to, all)
	s.Pages = append(s.Pages, reports.Page{File: "index", Title: "rmq-mcp: findings", Markdown: list})
	for _, f := range all.Findings {
		if err != nil {
			break
		}
		var page []byte
		page, err = render(pageTemplate, to, f)
		s.Pages = append(s.Pages, reports.Page{File: f.ID, Title: f.Severity + ": " + f.String(), Markdown: page})
	}
	if err != nil {
		return reports.Section{}, fmt.Errorf("make the pages of the findings: %w", err)
	}
	return s, nil
}

// summary counts findings by status, and the open ones by severity.
func (all Findings) summary() string {
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

// links lead from a page to runs and to other findings.
type links struct{ run, page func(id string) string }

func render(text string, to links, data any) ([]byte, error) {
	escaped := func(link func(string) string) func(string) string {
		return func(id string) string {
			return strings.NewReplacer("(", "%28", ")", "%29").Replace((&url.URL{Path: link(id)}).EscapedPath())
		}
	}
	t, err := template.New("page").Funcs(reports.MarkdownFuncs).Funcs(template.FuncMap{"run": escaped(to.run), "page": escaped(to.page)}).Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, data)
	return out.Bytes(), err
}
