package reports

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// The report and the row show what repetitions show, and the evidence holds as before.
// A run that passed stays a pass.
func TestJoinSeries(t *testing.T) {
	s := Series{State: verdict.FailReproducible, Headline: "FAIL-reproducible: 3 are lost (qos1-no-loss failed in 3 of 3 runs)", Runs: []string{"a", "b", "c"}}
	for _, x := range []runtest.Run{{Lossy: true}, {}} {
		run, before := finished(t, x)
		s.Runs[0] = before.ID
		must(t, JoinSeries(run, s))
		if _, err := Verify(run); err != nil {
			t.Errorf("a run that was repeated does not hold any more: %v", err)
		}
		validate(t, filepath.Join(run, ReportFile))
		after, err := Dir(run).Summary()
		must(t, err)
		want := Series{State: before.State, Headline: before.Headline}
		if x.Lossy {
			want = s
		}
		if after.State != want.State || after.Headline != want.Headline || after.Verdict.State != before.Verdict.State {
			t.Errorf("its row says %s: %s; its verdict is %s", after.State, after.Headline, after.Verdict.State)
		}
		report := read(t, filepath.Join(run, MarkdownFile))
		if !strings.Contains(report, "| Repeated | "+s.Headline+": `"+before.ID+"`, `b`, `c` |") || strings.Contains(report, verdict.NotRepeated) || !strings.Contains(report, "**"+want.Headline+"**") {
			t.Errorf("its report does not say so:\n%.1500s", report)
		}
	}
}

// A page says what its own run shows, and counts its repetitions.
func TestSeriesOnThePageOfOneOfIts(t *testing.T) {
	run, before := finished(t, runtest.Run{Lossy: true})
	count := "qos1-no-loss failed in 3 of 3 runs"
	must(t, JoinSeries(run, Series{State: verdict.FailReproducible, Headline: "FAIL-reproducible: 77 of another run are lost (" + count + ")", Runs: []string{"another", before.ID, "c"},
		Each: map[string]verdict.Repetition{before.ID: {State: verdict.FailReproducible, Claim: "qos1-no-loss", Count: count}, "another": {State: verdict.FailNondetermin, Claim: "recovery", Count: "recovery failed in 1 of 3 runs"}}}))
	after, err := Dir(run).Summary()
	must(t, err)
	if strings.Contains(after.Headline, "another run") || !strings.HasPrefix(after.Headline, "FAIL-reproducible: ") || !strings.Contains(after.Headline, "("+count+")") {
		t.Errorf("its row says %s", after.Headline)
	}
	if report := read(t, filepath.Join(run, MarkdownFile)); strings.Contains(report, "another run") || !strings.Contains(report, "| Repeated | "+count+": `another`, `"+before.ID+"`, `c` |") {
		t.Errorf("its report does not say so:\n%.1500s", report)
	}
}
