package main

import (
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/live"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

func TestStatusExit(t *testing.T) {
	now := time.Now()
	pass, fail := reports.Row{State: verdict.PassSmoke}, reports.Row{State: verdict.FailOnce}
	for name, c := range map[string]struct {
		status live.Status
		want   int
	}{
		"nothing":                           {live.Status{}, 0},
		"an experiment":                     {live.Status{Experiments: []live.Experiment{{}}}, exitHarness},
		"no run":                            {live.Status{Since: &now}, exitUndecided},
		"a pass":                            {live.Status{Since: &now, Runs: []reports.Row{pass}}, 0},
		"a failure":                         {live.Status{Since: &now, Runs: []reports.Row{pass, fail}}, 1},
		"a run without a verdict":           {live.Status{Since: &now, Runs: []reports.Row{pass, {State: reports.Unfinished}}}, exitHarness},
		"a series that goes on":             {live.Status{Jobs: []live.Job{{Working: true}}}, exitHarness},
		"a series that died":                {live.Status{Since: &now, Runs: []reports.Row{pass}, Jobs: []live.Job{{}}}, exitHarness},
		"a series without one of its runs":  {live.Status{Since: &now, Runs: []reports.Row{pass}, Jobs: []live.Job{{Ended: true, Unmade: 1}}}, exitUndecided},
		"the same, and a failure":           {live.Status{Since: &now, Runs: []reports.Row{fail}, Jobs: []live.Job{{Ended: true, Unmade: 1}}}, 1},
		"a series that ended, with its run": {live.Status{Since: &now, Runs: []reports.Row{pass}, Jobs: []live.Job{{Ended: true}}}, 0},
	} {
		if got := statusExit(c.status); got != c.want {
			t.Errorf("%s: exit %d, want %d", name, got, c.want)
		}
	}
}
