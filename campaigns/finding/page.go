package finding

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/robustmq/rmq-mcp/reports"
)

//go:embed page.md.tmpl
var pageTemplate string

//go:embed list.md.tmpl
var listTemplate string

// ListFile is the page that lists all findings of a directory.
const ListFile = "README.md"

// Write writes a page and a document of each finding into a directory, and a page that
// lists them. Links to runs are relative to the directory, runs is where those lie.
func Write(dir, runs string, all []Finding) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	for _, f := range all {
		page, err := render(pageTemplate, struct {
			Finding
			Dir string
		}{f, runs})
		if err == nil {
			err = reports.WriteFile(filepath.Join(dir, f.ID+".md"), page)
		}
		if err == nil {
			err = reports.WriteJSON(filepath.Join(dir, f.ID+".json"), f)
		}
		if err != nil {
			return fmt.Errorf("write finding %s: %w", f.ID, err)
		}
	}
	list, err := render(listTemplate, all)
	if err == nil {
		err = reports.WriteFile(filepath.Join(dir, ListFile), list)
	}
	if err != nil {
		return fmt.Errorf("write the list of findings: %w", err)
	}
	return nil
}

func render(text string, data any) ([]byte, error) {
	t, err := template.New("page").Funcs(reports.MarkdownFuncs).Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, data)
	return out.Bytes(), err
}
