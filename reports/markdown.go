package reports

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

//go:embed templates
var templates embed.FS

// maxListedRanges is how many ranges of losses report.md lists; report.json
// has them all.
const maxListedRanges = 30

// maxListedViolations is how many lines of violations report.md lists;
// report.json has them all.
const maxListedViolations = 30

// MarkdownFuncs make text of brokers and agents safe in a Markdown page.
var MarkdownFuncs = template.FuncMap{"cell": cell, "code": code, "quote": quote, "icon": icon}

// Markdown answers report.md: the report as it reads on GitHub.
func Markdown(r *Report) ([]byte, error) {
	t, err := template.New("report.md.tmpl").Funcs(MarkdownFuncs).Funcs(template.FuncMap{
		"broker":     func(c history.ClusterInfo) string { return cell(BrokerName(c)) },
		"profile":    profileOf,
		"promisedBy": func(v verdict.Result) string { return verdict.PromisedBy(r.Cluster, v) },
		"sdks":       sdkNames,
		"seconds":    seconds,
		"thousands":  thousands,
		"size":       size,
		"value":      compact,
		"figure":     func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"counts":     countsText,
		"samples":    samplesText,
		"windowS":    window,
		"quantity":   quantityText,
		"slope":      slopeText,
		"signed":     signed,
		"trends":     func() []verdict.Trend { return trendsOf(r.Verdict) },
		"since":      func(at time.Time) string { return fmt.Sprintf("%.2f", at.Sub(r.Started).Seconds()) },
		"nodeTable":  func() [][]string { return nodeTable(r.NodePairs, r.Losses.word()) },
		"keys":       sortedKeys[string],
		"joined":     joined,
		"prose":      func() string { return prose(r.Scenario.Text) },
		"shown":      r.shown,
		"reasons":    r.reasons,
		"whyPass":    r.whyPass,
		"said":       func() []Note { return r.Notes[max(0, len(r.Notes)-1):] },
		"name":       func() string { return r.row().Name() },
		"ranges":     func() []LossRange { return r.Losses.Ranges[:min(len(r.Losses.Ranges), maxListedRanges)] },
		"lost":       r.Losses.word,
		"lostBy":     r.lostBy,
		"around":     r.around,
		"indented":   indented,
		"violations": r.parted,
		"moreRange":  func() int { return max(0, len(r.Losses.Ranges)-maxListedRanges) },
	}).ParseFS(templates, "templates/report.md.tmpl")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, r); err != nil {
		return nil, fmt.Errorf("write %s: %w", MarkdownFile, err)
	}
	return out.Bytes(), nil
}

// cell makes text safe inside a table: one line, no bars, no markup of HTML, no links and
// no pictures.
func cell(text string) string {
	text = strings.NewReplacer("\r", "", "\n", " ").Replace(text)
	return strings.NewReplacer("|", "\\|", "<", "&lt;", "](", "]\\(").Replace(text)
}

// code makes text a code span inside a table.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.NewReplacer("|", "\\|", "\r", "", "\n", " ", "`", "'").Replace(text) + "`"
}

// quote puts every line of text into a block quote, so that nothing of it can
// pass for the report's own words.
func quote(text string) string {
	text = strings.NewReplacer("\r", "", "<", "&lt;").Replace(strings.TrimSpace(text))
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// indented is a line of a code block, which ends for no text.
func indented(text string) string { return "    " + plain.Line(text) }

// prose is what a scenario says to people: its text without the front matter
// and the title.
func prose(text string) string {
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		_, text, _ = strings.Cut(rest, "\n---\n")
	}
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "# ") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimSpace(text)
}

func icon(state any) string {
	switch s := strings.ToLower(fmt.Sprint(state)); {
	case strings.HasPrefix(s, "pass"):
		return "✅"
	case strings.HasPrefix(s, "fail"):
		return "❌"
	}
	return "❔"
}

func size(bytes int64) string {
	switch {
	case bytes < 10_000:
		return fmt.Sprintf("%d B", bytes)
	case bytes < 10_000_000:
		return fmt.Sprintf("%.0f kB", float64(bytes)/1e3)
	}
	return fmt.Sprintf("%.0f MB", float64(bytes)/1e6)
}

// maxValue is how much of a call's argument or answer a table shows.
const maxValue = 160

// compact is a value on one line, cut where it is long.
func compact(v any) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return plain.Cut(string(b), maxValue)
}

// countsText returns the counts of a claim, and of the situations in which it may break.
func countsText(r verdict.Result) string {
	var parts []string
	for _, name := range sortedKeys(r.Counts) {
		if n := r.Counts[name]; n != 0 {
			parts = append(parts, strings.ReplaceAll(name, "_", " ")+": "+thousands(n))
		}
	}
	var reached, never []string
	for _, name := range sortedKeys(r.Reached) {
		words := strings.ReplaceAll(name, "_", " ")
		if n := r.Reached[name]; n > 0 {
			reached = append(reached, words+" "+thousands(n))
		} else {
			never = append(never, words)
		}
	}
	if len(reached) > 0 {
		parts = append(parts, "reached: "+strings.Join(reached, ", "))
	}
	if len(never) > 0 {
		parts = append(parts, "never reached: "+strings.Join(never, ", "))
	}
	return strings.Join(parts, "; ")
}

// samplesText is what a proof read at one moment, what repeats once.
func samplesText(p history.ProofRecord, moment string) string {
	var parts []string
	for _, s := range p.Samples {
		text := sampleText(s, p.Unit)
		if n := len(parts); string(s.Moment) == moment && (n == 0 || parts[n-1] != text) {
			parts = append(parts, text)
		}
	}
	if n := len(parts); n > 4 {
		parts = []string{parts[0], parts[1], fmt.Sprintf("… %d more …", n-3), parts[n-1]}
	}
	return strings.Join(parts, ", ")
}

func sampleText(s history.Sample, unit string) string {
	switch {
	case s.Error != "":
		return s.Error
	case !s.OK:
		return "failed"
	case s.State != "":
		return s.State
	case s.Value != 0 || unit != "":
		return strings.TrimSpace(fmt.Sprintf("%.4g %s", s.Value, unit))
	}
	return "ok"
}

// window says when a fault was in place.
func window(l history.Landing) string {
	t := l.Times
	switch {
	case t.AppliedNS == 0:
		return "never applied"
	case l.Healed == history.HealDown:
		if l.State == history.NotLanded {
			return fmt.Sprintf("applied at %s, taken back at %s, and nothing of it was left at %s", seconds(t.AppliedNS), seconds(t.HealNS), seconds(t.HealedNS))
		}
		return fmt.Sprintf("applied at %s, heal began at %s; all of it was out, and a node had not come back, at %s",
			seconds(t.AppliedNS), seconds(t.HealNS), seconds(t.HealedNS))
	case t.HealedNS == 0:
		return fmt.Sprintf("applied at %s, never seen healed", seconds(t.AppliedNS))
	}
	return fmt.Sprintf("applied at %s, heal began at %s, read back healed at %s (%s in place)",
		seconds(t.StartNS()), seconds(t.HealNS), seconds(t.HealedNS), short(time.Duration(t.HealNS-t.StartNS())))
}
