package tools

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/reports"
)

func TestLandingsAreShortUntilOneIsNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run-1")
	var samples []string
	for i := range 500 {
		moment := []string{"before", "during"}[i/250]
		samples = append(samples, fmt.Sprintf(`{"moment":%q,"t_ns":%d,"ok":true,"value":%d}`, moment, i, i))
	}
	writeRun(t, dir, map[string]string{
		"evidence/run.json": `{"format":1,"id":"run-1"}`,
		"evidence/landings.json": `{"format":1,"landings":[{"fault":"f1","type":"packet_loss","target":"leader","nodes":["node-2"],"mechanism":"nfqueue","state":"landed",` +
			`"proofs":[{"name":"dropped packets","role":"mechanism","want":"grows","unit":"packets","holds":true,"samples":[` + strings.Join(samples, ",") + `]}]}]}`,
	})
	all, err := landings(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(all)
	if len(text) > 1000 || !strings.Contains(string(text), "250 packets … 499 packets (250 samples)") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	one, err := landings(dir, "f1")
	if err != nil || one.One == nil || len(one.One.Proofs[0].Samples) != 500 {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := landings(dir, "f2"); err == nil || !strings.Contains(err.Error(), "without \"at\" lists them") {
		t.Error(err)
	}
}

// A keeper is still there when its run has just ended, and has seen the fault land. The
// answer has what the verdict made of it.
func TestFaultThatWasHealedEarly(t *testing.T) {
	runs := t.TempDir()
	run := runtest.Run{}.Record(t, runs)
	list, err := reports.Dir(run).Recorded()
	if err != nil {
		t.Fatal(err)
	}
	list[0].Times.AskedNS, list[0].Times.DurationNS = list[0].Times.AppliedNS+4e9, 20e9
	if err := history.WriteLandings(reports.Dir(run).Evidence(), list); err != nil {
		t.Fatal(err)
	}
	writeRun(t, run, map[string]string{"SEAL": "{}", "summary.json": `{}`, "verdict.json": `{"state":"INCONCLUSIVE-fault-not-proven"}`})
	f := newFake(runID(run), "mqtt/broker-kill-9")
	f.status.Phase, f.status.Faults = history.PhaseDone, []keeper.FaultStatus{{ID: "f1", State: history.Landed, Healed: history.HealVerified}}
	c := connectTo(t, (&host{runs: runs, live: []*fake{f}}).server(t, Options{}))
	got := structured(t, callTool(t, c, "get_run", map[string]any{"run_id": runID(run)}))
	if is := fmt.Sprint(got["faults"]); !strings.Contains(is, "landing:partial") || !strings.Contains(is, "it was healed on request after 4.0 s of 20.0 s") {
		t.Error(is)
	}
}

// A fault that was never in place has nothing to heal, and no answer says that it was
// healed. One that was in place and did not land was taken out.
func TestNothingToHeal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run-1")
	writeRun(t, dir, map[string]string{
		"evidence/run.json": `{"format":1,"id":"run-1"}`,
		"evidence/landings.json": `{"format":1,"landings":[` +
			`{"fault":"f1","type":"kill","target":"node-9","state":"not_landed","healed":"verified","reasons":["no node-9"]},` +
			`{"fault":"f2","type":"delay","target":"node-1","state":"not_landed","healed":"verified","times":{"apply_ns":1,"applied_ns":2,"healed_ns":3}}]}`,
	})
	all, err := landings(dir, "")
	if err != nil || all.List[0].Healed != "" || all.List[1].Healed != history.HealVerified {
		t.Errorf("%+v, %v", all, err)
	}
	if one, err := landings(dir, "f1"); err != nil || one.One.Healed != "" {
		t.Errorf("%+v, %v", one, err)
	}
	list, err := readLandings(dir)
	if err != nil {
		t.Fatal(err)
	}
	faults := faultsOf(list)
	if said, want := faultIDs(faults), "f1 (kill node-9, never in place), f2 (delay node-1, nothing of it is left)"; said != want {
		t.Errorf("%q, want %q", said, want)
	}
	if said := faultSummary(faults[0]).Summary; said != "f1: kill on node-9: not_landed, never in place" {
		t.Error(said)
	}
}
