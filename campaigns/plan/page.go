package plan

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"

	"github.com/robustmq/rmq-mcp/reports"
)

// Folder has the pages and the documents of frozen plans where they are published.
const Folder = plansDir

//go:embed page.md.tmpl
var pageText string

// Page is the status as a page in Markdown. Run is the way to the page of a run, "" where it
// has none; document is the way to the frozen plan, "" where it is not published.
func (s Status) Page(run func(id string) string, document string) ([]byte, error) {
	t, err := template.New("plan").Funcs(reports.MarkdownFuncs).Funcs(template.FuncMap{"way": run}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("page of plan %s: %w", s.Plan, err)
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{"Status": s, "Document": document})
	if err != nil {
		return nil, fmt.Errorf("page of plan %s: %w", s.Plan, err)
	}
	return out.Bytes(), nil
}

// Document is the frozen plan. Its SHA-256 is [Record.Hash].
func (r *Record) Document(stateDir string) ([]byte, error) { return frozenText(stateDir, r.Hash) }
