package issues

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"github.com/robustmq/rmq-mcp/campaigns/code"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Report is all that the issue of a finding says.
type Report struct {
	Finding  finding.Finding
	Scenario string       // text of the smallest scenario, as it was run
	Places   []code.Place // in the broker's source, the most telling first
	Tree     string       // that they are in
	Links    string       // address of the published runs; "" where they are not published
}

//go:embed body.md.tmpl
var bodyTemplate string

// mostRuns and mostSetups bound what one issue lists; its document has all.
const (
	mostRuns   = 20
	mostSetups = 30
	mostPlaces = 8
	mostText   = 20_000 // bytes of a scenario
)

// title of a new issue. A person may change it.
func (r Report) title() string {
	return fmt.Sprintf("[%s] %s", r.Finding.Severity, oneLine(r.Finding.String()))
}

// part is the part of an issue's text that is ours. Its first line has the ID of the finding
// and a hash of the rest: it shows whether a person edited that.
func (r Report) part() (string, error) {
	t, err := template.New("body").Funcs(reports.MarkdownFuncs).Funcs(template.FuncMap{
		"cell":   func(text string) string { return calm(cell(text)) },
		"runs":   func() []finding.RunLine { return r.Finding.Runs[:min(len(r.Finding.Runs), mostRuns)] },
		"more":   func() int { return max(0, len(r.Finding.Runs)-mostRuns) },
		"seen":   func() []finding.Seen { return r.Finding.Seen[:min(len(r.Finding.Seen), mostSetups)] },
		"places": func() []code.Place { return r.Places[:min(len(r.Places), mostPlaces)] },
		"text":   func() string { return fenced(r.Scenario) },
		"place":  func(p code.Place) string { return fmt.Sprintf("%s:%d", p.File, p.Line) },
	}).Parse(bodyTemplate)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, r); err != nil {
		return "", fmt.Errorf("write the text of the issue: %w", err)
	}
	text := strings.ReplaceAll(strings.TrimSpace(out.String()), "<!--", "<! --") // nothing in it ends our part
	return fmt.Sprintf("%s %s -->\n%s\n%s", begin(r.Finding.ID), sumOf(text), text, end), nil
}

// cell makes text safe in a table.
var cell = reports.MarkdownFuncs["cell"].(func(string) string)

// mention is what a tracker makes a link or a message of.
var mention = regexp.MustCompile(`(^|[^\w` + "`" + `])([@#])(\w)`)

// calm is a text in which a tracker finds nobody's name and no number of an issue.
func calm(text string) string { return mention.ReplaceAllString(text, "$1$2\u200b$3") }

const end = "<!-- rmq-mcp end -->"

// begin is the beginning of our part, which is the same for each version of its text.
func begin(id string) string { return "<!-- rmq-mcp finding " + id }

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return hex.EncodeToString(sum[:8])
}

// errEdited says that a person edited our part of a text.
var errEdited = errors.New("somebody edited it")

// replaced is a text with our part replaced, and with all that is around it.
func replaced(body, id, part string) (string, error) {
	form, err := regexp.Compile(`(?s)` + regexp.QuoteMeta(begin(id)) + ` ([0-9a-f]+) -->\n(.*?)\n?` + regexp.QuoteMeta(end))
	if err != nil {
		return "", err
	}
	at := form.FindStringSubmatchIndex(body)
	if at == nil || sumOf(body[at[4]:at[5]]) != body[at[2]:at[3]] {
		return "", errEdited
	}
	return body[:at[0]] + part + body[at[1]:], nil
}

// fenced is a text in a fence that it cannot leave.
func fenced(text string) string {
	if len(text) > mostText {
		text = text[:mostText] + "\n…"
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "markdown\n" + strings.TrimRight(text, "\n") + "\n" + fence
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
