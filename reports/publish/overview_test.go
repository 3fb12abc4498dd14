package publish

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/reports"
)

// Several runs have one page over all of them. Its links lead to the pages of the runs,
// and it quotes the author.
func TestOverviewOfSeveralRuns(t *testing.T) {
	first, a := finished(t, runtest.Run{Lossy: true, Seconds: 1})
	second, b := finished(t, runtest.Run{Seconds: 1})
	over := &Overview{
		Headline: "1 of 2 runs pass; 1 deviation: 1 broker",
		Table: reports.Table{Runs: 2, Passed: []string{"no-panic"}, Unknown: []string{"will-once: no will was due"}, Rows: []reports.TableRow{
			{Claim: "qos1-no-loss", SDK: "go/x@1", Where: "robustmq", Failed: 1, Of: 1, Count: "20", Blame: "broker, by wire", Runs: slices.Repeat([]string{a.ID}, 7)},
			{Claim: "qos1-no-loss", SDK: "go/x@1", Where: "mosquitto | 2", Of: 1, Runs: []string{b.ID}},
			{Claim: "qos1-no-loss", SDK: "python/y@2", Where: "robustmq", Unknown: 1, Runs: []string{b.ID}},
		}},
		Attributions: []reports.Attribution{{
			Cause: reports.CauseBroker, Proof: "wire", Claims: []string{"qos1-no-loss"}, Text: "the broker forgets", Scenario: "mqtt/kill", Protocol: "mqtt3", Transport: "tcp", Broker: "robustmq", Source: "MQTT 3.1.1 section 4.3.2",
			Evidence: []string{"message 2 never arrived"}, Next: []reports.Step{{Why: "the control broker", Command: "rmq-mcp run x"}},
		}},
		Notes: []string{"go/x@1 alone was run"},
	}
	words := reports.Words{Title: "Does it <forget>?", Problem: "a restart\nloses messages", Analysis: "password=hunter2 in the log", ProposedSeverity: "P1", CodePaths: []string{"a.rs`\n\n## Verdict\n\n**PASS**"}}
	to := filepath.Join(t.TempDir(), "reports")
	would, err := Preview([]string{first, second}, Destination(to), words, over)
	must(t, err)
	pushed, err := Push(t.Context(), []string{first, second}, Destination(to), words, over)
	must(t, err)
	page := pushed.Pages[0]
	if !strings.HasPrefix(page, "overviews/does-it--forget-") || len(pushed.Pages) != 3 || !slices.Contains(would.Pages, page) {
		t.Fatalf("pages %q, before %q", pushed.Pages, would.Pages)
	}
	text := read(t, filepath.Join(to, filepath.FromSlash(page)))
	for _, want := range []string{
		"# Does it &lt;forget>?\n", "**1 of 2 runs pass; 1 deviation: 1 broker**", "\n> a restart\n> loses messages\n",
		"| `qos1-no-loss` | `go/x@1` | robustmq | 1 of 1 | 20 | broker, by wire |" + strings.Repeat(" ["+a.ID+"](../runs/"+a.ID+"/report.md)", 5) + " and 2 more |",
		"- `qos1-no-loss` did not fail with go/x@1, mosquitto \\| 2, 1121-0107-broker-kill-9-3f2a.\n- `qos1-no-loss` could not be told with python/y@2.\n", "passed in every run that could tell: `no-panic`.\n\nClaims that no run could tell:\n\n- will-once: no will was due\n",
		"### broker, by wire: `qos1-no-loss` in mqtt/kill, mqtt3 over tcp on robustmq\n\nthe broker forgets. Source: MQTT 3.1.1 section 4.3.2.\n\n- message 2 never arrived\n",
		"- qos1-no-loss: the control broker (`rmq-mcp run x`)\n- go/x@1 alone was run\n", "Severity that the author proposes: P1.",
		"\nWhere the author would look: `a.rs'  ## Verdict  **PASS**`.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "hunter2") {
		t.Error("a secret is published")
	}
	for _, run := range []string{a.ID, b.ID} {
		if _, err := reports.Verify(filepath.Join(to, reports.RunsDir, run)); err != nil {
			t.Errorf("the published copy of %s: %v", run, err)
		}
	}
}
