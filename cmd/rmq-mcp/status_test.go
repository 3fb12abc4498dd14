package main

import (
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

func TestStatusExit(t *testing.T) {
	now := time.Now()
	pass, fail := reports.Row{State: verdict.PassSmoke}, reports.Row{State: verdict.FailOnce}
	for name, c := range map[string]struct {
		status Status
		want   int
	}{
		"nothing":                           {Status{}, 0},
		"an experiment":                     {Status{Experiments: []LiveExperiment{{}}}, exitHarness},
		"no run":                            {Status{Since: &now}, exitUndecided},
		"a pass":                            {Status{Since: &now, Runs: []reports.Row{pass}}, 0},
		"a failure":                         {Status{Since: &now, Runs: []reports.Row{pass, fail}}, 1},
		"a run without a verdict":           {Status{Since: &now, Runs: []reports.Row{pass, {State: reports.Unfinished}}}, exitHarness},
		"a series that goes on":             {Status{Jobs: []Job{{Working: true}}}, exitHarness},
		"a series that died":                {Status{Since: &now, Runs: []reports.Row{pass}, Jobs: []Job{{}}}, exitHarness},
		"a series without one of its runs":  {Status{Since: &now, Runs: []reports.Row{pass}, Jobs: []Job{{Ended: true, Unmade: 1}}}, exitUndecided},
		"the same, and a failure":           {Status{Since: &now, Runs: []reports.Row{fail}, Jobs: []Job{{Ended: true, Unmade: 1}}}, 1},
		"a series that ended, with its run": {Status{Since: &now, Runs: []reports.Row{pass}, Jobs: []Job{{Ended: true}}}, 0},
	} {
		if got := c.status.exitCode(); got != c.want {
			t.Errorf("%s: exit %d, want %d", name, got, c.want)
		}
	}
}

// A Stop hook sees what its own session began, and nothing else.
func TestStopHookOfASession(t *testing.T) {
	s := Status{
		Experiments: []LiveExperiment{{RunID: "mine", Session: "a"}, {RunID: "anothers", Session: "b"}, {RunID: "of-a-watch"}},
		Jobs:        []Job{{ID: "series-mine", Session: "a", Working: true}, {ID: "series-anothers", Session: "b", Working: true}},
	}
	got := s.of("a").hook()
	if got["decision"] != "block" || !strings.Contains(got["reason"], "mine (") || !strings.Contains(got["reason"], "series-mine") || strings.Contains(got["reason"], "anothers") || strings.Contains(got["reason"], "of-a-watch") {
		t.Errorf("%v", got)
	}
	for _, other := range []string{"", "c"} {
		if got := s.of(other).hook(); len(got) > 0 {
			t.Errorf("session %q: %v", other, got)
		}
	}
}
