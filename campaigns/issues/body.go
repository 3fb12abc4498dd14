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
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Report is all that the issue of a finding says.
type Report struct {
	Finding   finding.Finding
	Scenario  string                // text of the smallest scenario, as it was run
	Places    []code.Place          // in the broker's source, the most telling first
	Tree      string                // that they are in
	Links     string                // address of the published runs; "" where they are not published
	Linked    func(run string) bool // whether a run is published; nil: each is
	Claimed   string                // version that claims to fix it, by its notes; "" for none
	ClaimedBy string                // line of those notes
}

//go:embed body.md.tmpl
var bodyTemplate string

// Bounds of one issue; the finding's document has all. A text may have 65,536 characters,
// and people's words are in it as well.
const (
	mostRuns   = 20
	mostSetups = 30
	mostPlaces = 8
	mostText   = 20_000 // bytes of a scenario
	mostBody   = 50_000
	mostIssue  = 65_000
	mostTitle  = 200
	overhead   = 500 // of the first and last lines of our part
)

// title of a new issue. A person may change it.
func (r Report) title() string {
	return plain.CutBytes(fmt.Sprintf("[%s] %s", r.Finding.Severity, strings.Join(strings.Fields(r.Finding.String()), " ")), mostTitle)
}

// part is the part of an issue's text that is ours. Its first line has the ID of the finding,
// a hash of the rest, and the status that is told. The hash shows edits by people.
func (r Report) part(status string, most int) (string, error) {
	text, err := r.within(most - overhead)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s status=%q -->\n%s\n%s", begin(r.Finding.ID), sumOf(text), status, text, end), nil
}

// within is the text in so many bytes at most: what is least needed is left out.
func (r Report) within(most int) (string, error) {
	for _, smaller := range []func(){func() {}, func() { r.Scenario = "" }, func() { r.Places = nil }, func() { r.Finding.Seen = nil }} {
		smaller()
		text, err := r.text()
		if err != nil {
			return "", err
		}
		if len(text) <= most {
			return text, nil
		}
	}
	return "", errors.New("people's words leave no room for it in the issue")
}

// Page is the issue as a page of Markdown, for a person who files it: its title, and its text.
func (r Report) Page() ([]byte, error) {
	text, err := r.within(mostBody)
	if err != nil {
		return nil, fmt.Errorf("write the issue of finding %s: %w", r.Finding.ID, err)
	}
	return []byte("# " + r.title() + "\n\n" + text + "\n"), nil
}

func (r Report) text() (string, error) {
	t, err := template.New("body").Funcs(reports.MarkdownFuncs).Funcs(template.FuncMap{
		"cell":   calm,
		"broker": anonymous,
		"public": func() bool { return !strings.Contains(r.Finding.Smallest.Command, " --endpoint ") },
		"runs":   func() []finding.RunLine { return r.Finding.Runs[:min(len(r.Finding.Runs), mostRuns)] },
		"more":   func() int { return max(0, len(r.Finding.Runs)-mostRuns) },
		"seen":   func() []finding.Seen { return r.Finding.Seen[:min(len(r.Finding.Seen), mostSetups)] },
		"unseen": func() int { return max(0, len(r.Finding.Seen)-mostSetups) },
		"places": func() []code.Place { return r.Places[:min(len(r.Places), mostPlaces)] },
		"linked": func(run string) bool { return r.Links != "" && (r.Linked == nil || r.Linked(run)) },
		"text":   func() string { return fenced(r.Scenario) },
		"whole":  func() bool { return r.Scenario != "" && len(r.Scenario) <= mostText },
		"here":   func() bool { return strings.HasPrefix(r.Finding.Smallest.Command, "rmq-mcp replay ") },
		"place":  func(p code.Place) string { return fmt.Sprintf("%s:%d", p.File, p.Line) },
	}).Parse(bodyTemplate)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, r); err != nil {
		return "", fmt.Errorf("write the text of the issue: %w", err)
	}
	return strings.ReplaceAll(strings.TrimSpace(out.String()), "<!--", "<! --"), nil // nothing in it ends our part
}

// cell makes text safe in a table.
var cell = reports.MarkdownFuncs["cell"].(func(string) string)

// links are what a tracker makes a link or a message of.
var links = regexp.MustCompile(`@\w|#\d|(?i:gh-\d)|://`)

// calm is a text in a table, in which a tracker finds nobody's name, no issue and no address.
func calm(text string) string {
	text = strings.ReplaceAll(cell(strings.ReplaceAll(text, "&", "&amp;")), "`", "'")
	return links.ReplaceAllStringFunc(text, func(found string) string { return found[:1] + "\u200b" + found[1:] })
}

// anonymous is a broker's name without the addresses of somebody else's.
func anonymous(broker string) string {
	if strings.HasPrefix(broker, "external broker ") {
		return "external broker"
	}
	return broker
}

const end = "<!-- rmq-mcp end -->"

// begin is the beginning of our part, which is the same for each version of its text.
func begin(id string) string { return "<!-- rmq-mcp finding " + id }

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return hex.EncodeToString(sum[:8])
}

// errEdited says that a person edited our part of a text, or took it out.
var errEdited = errors.New("it was edited by hand")

// ours finds our part of a text: its begin and end, and the status that it tells.
func ours(body, id string) (from, to int, status string, err error) {
	form, err := regexp.Compile(`(?s)` + regexp.QuoteMeta(begin(id)) + ` ([0-9a-f]+) status="([^"]*)" -->\n(.*?)\n?` + regexp.QuoteMeta(end))
	if err != nil {
		return 0, 0, "", err
	}
	at := form.FindStringSubmatchIndex(body)
	if at == nil || sumOf(body[at[6]:at[7]]) != body[at[2]:at[3]] {
		return 0, 0, "", errEdited
	}
	return at[0], at[1], body[at[4]:at[5]], nil
}

func toldOf(body, id string) (told, error) {
	_, _, status, err := ours(body, id)
	return toldBy(status), err
}

// fenced is a text in a fence that it cannot leave.
func fenced(text string) string {
	text = strings.ToValidUTF8(plain.CutBytes(text, mostText), "")
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "markdown\n" + strings.TrimRight(text, "\n") + "\n" + fence
}
