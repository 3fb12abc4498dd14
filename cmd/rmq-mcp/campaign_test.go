package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// TestCampaign makes one run of a campaign on one node, within an envelope of one
// fault, and draws its scenario again by its seed.
func TestCampaign(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	t.Parallel()
	dir := t.TempDir()
	t.Cleanup(func() { stopAll(t, dir) })
	limits := filepath.Join(t.TempDir(), "envelope.yaml")
	if err := os.WriteFile(limits, []byte("allowed_faults: [pause_client]\nmax_total_fault_s: 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := rmq(t, dir, "campaign", "--nodes", "1", "--runs", "1", "--seed", "2", "--envelope", limits, "--keep", "findings", "--json")
	out, err := cmd.Output()
	var code *exec.ExitError
	if err != nil && !errors.As(err, &code) {
		t.Fatal(err)
	}
	var sum campaigns.SearchSummary
	if err := json.Unmarshal(out, &sum); err != nil || sum.Runs != 1 || sum.Errors != 0 || len(sum.Coverage) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	s, err := campaigns.OpenSearch(filepath.Join(dir, campaigns.SearchesDir, sum.ID))
	if err != nil {
		t.Fatal(err)
	}
	round := s.Rounds[0]
	if tried := len(round.Landed) + len(round.Missed); tried != 1 || sum.Coverage[0].Landed != len(round.Landed) {
		t.Errorf("one fault was planned: %+v", round)
	}
	run := filepath.Join(dir, reports.RunsDir, round.RunID)
	_, gone := os.Stat(filepath.Join(run, "evidence", "history.arrow"))
	if passed := round.State == verdict.PassSmoke; passed != os.IsNotExist(gone) {
		t.Errorf("%s, and of its history: %v", round.State, gone)
	}
	// Its scenario is in the campaign's directory, as it was run, and the space of
	// the plan draws it again.
	made, err := os.ReadFile(filepath.Join(run, "evidence", reports.ScenarioFile))
	again, err2 := s.Plan.Space.Scenario(round.Seed)
	if err != nil || err2 != nil || string(made) != again.Text {
		t.Errorf("the seed %d draws another scenario than was run: %v, %v\n%s", round.Seed, err, err2, made)
	}
	page, err := os.ReadFile(filepath.Join(s.Dir, campaigns.SearchMarkdown))
	if err != nil || !slices.ContainsFunc(strings.Split(string(page), "\n"), func(l string) bool { return strings.HasPrefix(l, "| pause_client | ") }) {
		t.Errorf("%v\n%s", err, page)
	}
}

// Only a run that passes shows that nothing was found.
func TestCampaignExits(t *testing.T) {
	states := func(list ...verdict.State) map[verdict.State]int {
		m := map[verdict.State]int{}
		for _, s := range list {
			m[s]++
		}
		return m
	}
	known := map[string]int{"sdk-once of a library": 1}
	for name, c := range map[string]struct {
		sum     campaigns.SearchSummary
		stopped bool
		want    error
	}{
		"passes":                    {campaigns.SearchSummary{States: states(verdict.PassSmoke, verdict.InconclusiveFault)}, false, nil},
		"passes, and some known":    {campaigns.SearchSummary{States: states(verdict.PassSmoke, verdict.FailOnce), Known: known}, false, nil},
		"nothing but what is known": {campaigns.SearchSummary{States: states(verdict.FailOnce, verdict.InconclusiveFault), Known: known}, false, exit(exitUndecided)},
		"could not be told":         {campaigns.SearchSummary{States: states(verdict.InconclusiveFault)}, false, exit(exitUndecided)},
		"stopped":                   {campaigns.SearchSummary{States: states(verdict.PassSmoke)}, true, exit(exitUndecided)},
		"no run":                    {campaigns.SearchSummary{Errors: 1}, false, exit(exitHarness)},
		"a finding":                 {campaigns.SearchSummary{States: states(verdict.FailOnce, verdict.PassSmoke), Findings: []campaigns.Finding{{}}}, true, exit(1)},
	} {
		if got := campaignExit(c.sum, c.stopped); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
