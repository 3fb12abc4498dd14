package watch

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"

	"github.com/robustmq/rmq-mcp/reports"
)

//go:embed round.md.tmpl
var roundTemplate string

// Page is the round in Markdown: its steps, and the notes of its release.
func (p *Progress) Page() ([]byte, error) {
	t, err := template.New("round").Funcs(reports.MarkdownFuncs).Parse(roundTemplate)
	if err != nil {
		return nil, fmt.Errorf("make the page of round %s: %w", p.ID, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("make the page of round %s: %w", p.ID, err)
	}
	return out.Bytes(), nil
}
