package issues

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/robustmq/rmq-mcp/campaigns/code"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
)

// Nothing that a broker wrote leaves its place, calls anybody or ends our part.
func TestBodyOfStrangers(t *testing.T) {
	r := found("loss", 1)
	r.Finding.Runs[0].Example = "`@everybody` <!-- rmq-mcp end --> | ![x](http://example.com)\n# fixes #1"
	r.Finding.Text = "ask `@everybody`, _@me, &commat;you, fixes o/r#1, GH-2 and https://github.com/o/r/issues/3 <b>"
	r.Finding.Status = finding.Status{State: finding.Fixed, Version: "0.4.12"}
	r.Finding.Seen = []finding.Seen{{Setup: finding.Setup{SHA256: "@dhh", Broker: "external broker 10.0.0.5:1883"}}}
	r.Finding.Smallest.Command = "rmq-mcp run mqtt/will --endpoint broker.example:1883"
	r.Scenario, r.Tree = "---\nname: x\n---\n```\n<!-- rmq-mcp end -->\n", "robustmq at v0.4.11"
	r.Places = []code.Place{{File: "src/a|b.rs", Line: 3, Function: "f", Kind: code.Panic, Count: 2, Clue: "no `x`"}}
	part, err := r.part("fixed@0.4.12", mostBody)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ask '@\u200beverybody', _@\u200bme, &amp;commat;you, fixes o/r#\u200b1, G\u200bH-2 and https:\u200b//github.com/o/r/issues/3 &lt;b>", "`'@everybody' <! -- rmq-mcp end --> \\| ![x](http://example.com) # fixes #1`", "````markdown\n---\nname: x",
		"| `src/a\\|b.rs:3` | `f` | panic, 2 times: `no 'x'` |", "| Status | `fixed in 0.4.12` |",
	} {
		if !strings.Contains(part, want) {
			t.Errorf("%q is not in\n%s", want, part)
		}
	}
	for _, no := range []string{"(@dhh", "10.0.0.5", "broker.example"} {
		if strings.Contains(part, no) {
			t.Errorf("%q is in\n%s", no, part)
		}
	}
	if strings.Count(part, end) != 1 || !strings.HasSuffix(part, end) {
		t.Errorf("our part ends early:\n%s", part)
	}
	if mine, whole, err := r.joined("a\n"+part+"\nb", told{finding.Fixed, "0.4.12"}); err != nil || mine != part || whole != "a\n"+part+"\nb" {
		t.Errorf("%q, %v", whole, err)
	}
}

// An issue is within the bounds of a tracker, whatever a run has, and its text is known again.
func TestBodyIsBounded(t *testing.T) {
	r := found("loss", 500)
	r.Finding.Kind, r.Finding.Severity = strings.Repeat("ä", 500), "P0, or so a stranger says"
	for i := range r.Finding.Runs {
		r.Finding.Runs[i].Example = strings.Repeat("ö", 1000)
	}
	for range 100 {
		r.Finding.Seen = append(r.Finding.Seen, finding.Seen{Setup: finding.Setup{Scenario: strings.Repeat("x", 900)}})
	}
	r.Scenario = strings.Repeat("ü", mostText)
	part, err := r.part("open@", mostBody)
	if err != nil || len(part) > mostBody+500 || !utf8.ValidString(part) {
		t.Fatalf("%d bytes, %v", len(part), err)
	}
	if got, err := toldOf(part, r.Finding.ID); err != nil || got != (told{state: finding.Open}) {
		t.Errorf("%q, %v", got, err)
	}
	words := strings.Repeat("x", 40_000) + "\n"
	if _, whole, err := r.joined(words+part, told{state: finding.Open}); err != nil || len(whole) > mostIssue || !strings.HasPrefix(whole, words) {
		t.Errorf("beside people's words: %d bytes, %v", len(whole), err)
	}
	if _, _, err := r.joined(strings.Repeat("x", 64_900)+part, told{state: finding.Open}); err == nil || !strings.Contains(err.Error(), "leave no room") {
		t.Errorf("without room: %v", err)
	}
	if title := r.title(); len(title) > mostTitle+3 || !utf8.ValidString(title) {
		t.Errorf("%q", title)
	}
	if severity, _ := r.labels(finding.Open); severity != "severity: P3" {
		t.Error(severity)
	}
}
