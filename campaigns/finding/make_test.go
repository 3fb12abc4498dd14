package finding

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// storedRun is a run on RobustMQ that passed; what is given makes it another one.
func storedRun(id string, with ...func(*Run)) Run {
	r := Run{Row: reports.Row{
		ID: id, Scenario: "mqtt/kill", Protocol: "mqtt3", SDK: "go/x@1", Flavor: "robustmq", Version: "v0.4.11", Nodes: 3,
		Started: time.Date(2026, 11, 26, 0, len(id), 0, 0, time.UTC), State: verdict.PassSmoke, Root: "root of " + id,
	}}
	for _, w := range with {
		w(&r)
	}
	return r
}

// failing makes a run fail a claim, blamed on a party, so many times.
func failing(claim, kind string, party verdict.Party, count int64) func(*Run) {
	return func(r *Run) {
		r.State = verdict.FailOnce
		if r.Report == nil {
			name, version, _ := strings.Cut(r.SDK, "@")
			r.Report = &reports.Report{
				ID: r.ID, Cluster: history.ClusterInfo{Flavor: r.Flavor}, SDKs: []reports.SDK{{Name: name, Version: version}},
				Landings: []history.Landing{{Fault: "f1"}}, Reproduce: "rmq-mcp run " + r.Scenario + " for " + r.ID,
			}
			r.Report.Verdict.State = verdict.FailOnce
		}
		of := verdict.Party("")
		if strings.HasPrefix(claim, "sdk-") {
			of = verdict.SDK
		}
		r.Report.Verdict.Results = append(r.Report.Verdict.Results, verdict.Result{
			Claim: verdict.Claim{Name: claim, Of: of, Severity: verdict.P1, Text: "it holds", Source: "MQTT"}, Status: verdict.Fail, Promised: true, Summary: "it fails",
			Violations: []verdict.Violations{{Kind: kind, Blame: party, Count: count}},
			Anomalies:  []verdict.Anomaly{{Kind: kind, Blame: party, Text: kind + " in " + r.ID}},
		})
	}
}

func without(r *Run) { r.Report.Landings = nil }

func TestFindings(t *testing.T) {
	blamed := storedRun("h", failing("order", "late", "", 4))
	blamed.Report.Blame = &reports.Blame{Attributions: []reports.Attribution{{Cause: reports.CauseBroker, Claims: []string{"order"}, Runs: []string{"h"}}}}
	held := func(r *Run) {
		r.Report.Verdict.Results = append(r.Report.Verdict.Results, verdict.Result{Claim: verdict.Claim{Name: "order"}, Status: verdict.Pass})
	}
	runs := []Run{
		storedRun("a", failing("loss", "lost", verdict.Broker, 3), held),
		storedRun("bb", func(r *Run) { r.SDK = "python/y@2" }, failing("loss", "lost", "", 2)), // nobody can tell: as the others
		storedRun("ccc", failing("loss", "lost", verdict.Broker, 7), without),
		storedRun("dddd"),
		storedRun("eeeee", func(r *Run) { r.Version = "v0.4.12" }),
		storedRun("f", failing("sdk-honest", "false-ack", "", 5)),
		storedRun("g", failing("gone", "lost", verdict.Harness, 5)),
		blamed,
		storedRun("i", func(r *Run) { r.Planted = "deliver-twice" }, failing("twice", "duplicated", verdict.Broker, 5)),
		storedRun("j", func(r *Run) { r.State = verdict.InconclusiveEnv }),
		storedRun("k", failing("stall", "stalled", "", 1)),
	}
	// For one that nobody can tell, the library is blamed in another run.
	runs = append(runs, storedRun("l", failing("dup", "duplicated", verdict.Broker, 1)), storedRun("m", failing("dup", "duplicated", verdict.SDK, 1)), storedRun("n", failing("dup", "duplicated", "", 1)))
	var got []string
	for _, f := range Make(runs, nil) {
		shows := make([]string, len(f.Runs))
		for i, r := range f.Runs {
			shows[i] = fmt.Sprintf("%s %d", r.RunID, r.Count)
		}
		got = append(got, fmt.Sprintf("%s %s, by %s %d of %d: %s", f.Key, f.Severity, f.Smallest.RunID, f.Smallest.Failed, f.Smallest.Of, strings.Join(shows, ", ")), string(f.Party))
	}
	want := []string{
		"go/x: dup, duplicated P1, by m 1 of 2: m 1", "sdk",
		"go/x: sdk-honest, false-ack P1, by f 1 of 2: f 5", "sdk",
		"robustmq: dup, duplicated P1, by l 1 of 2: l 1", "broker",
		"robustmq: dup, duplicated, the broker's or the library's P1, by n 1 of 2: n 1", "unknown",
		"robustmq: loss, lost P1, by ccc 2 of 3: ccc 7, bb 2, a 3", "broker",
		"robustmq: order, late P1, by h 1 of 3: h 4", "broker",
		"robustmq: stall, stalled P1, by k 1 of 2: k 1", "unknown",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A finding has the same name on each version, and says where it was looked for in vain.
func TestFindingIsOneOnEachVersion(t *testing.T) {
	newer := func(r *Run) { r.Version = "v0.4.12" }
	runs := []Run{storedRun("a", failing("loss", "lost", verdict.Broker, 3)), storedRun("bb", newer), storedRun("ccc", newer), storedRun("dddd", func(r *Run) { r.SDK = "python/y@2" })}
	before, after := Make(runs, nil), Make(append(slices.Clone(runs), storedRun("eeeee", newer, failing("loss", "lost", verdict.Broker, 1))), nil)
	if len(before) != 1 || len(after) != 1 || before[0].ID != after[0].ID || !strings.HasPrefix(before[0].ID, "robustmq-loss-") {
		t.Fatalf("%+v, then %+v", before, after)
	}
	seen := func(f Finding) (list []string) {
		for _, s := range f.Seen {
			list = append(list, fmt.Sprintf("%s with %s %d of %d", s.Broker, s.SDK, s.Failed, s.Of))
		}
		return list
	}
	if got := seen(before[0]); !slices.Equal(got, []string{"robustmq v0.4.11 with go/x@1 1 of 1", "robustmq v0.4.11 with python/y@2 0 of 1", "robustmq v0.4.12 with go/x@1 0 of 2"}) {
		t.Errorf("before: %q", got)
	}
	if got := seen(after[0]); got[2] != "robustmq v0.4.12 with go/x@1 1 of 3" || !after[0].Last.After(before[0].Last) {
		t.Errorf("after: %q, last %s", got, after[0].Last)
	}
}

// A finding keeps its name when it becomes known who is to blame.
func TestFindingIsOneWhenItIsBlamed(t *testing.T) {
	unknown := storedRun("a", failing("loss", "lost", "", 3))
	before := Make([]Run{unknown}, nil)
	after := Make([]Run{unknown, storedRun("bb", failing("loss", "lost", verdict.Broker, 3))}, nil)
	if len(before) != 1 || len(after) != 1 || before[0].ID != after[0].ID || before[0].Party != verdict.Undecided || after[0].Party != verdict.Broker {
		t.Errorf("%+v, then %+v", before, after)
	}
}

// A person parts findings, and each part is a finding on versions that come.
func TestParts(t *testing.T) {
	runs := []Run{storedRun("a", failing("loss", "lost", verdict.Broker, 3)), storedRun("bb", failing("loss", "lost", verdict.Broker, 4))}
	whole := Make(runs, nil)
	parts, err := ParseParts("# the leader moved\n\n" + whole[0].ID + " bb: after the leader moved back\nno-such-0000 a: nothing\n")
	if err != nil || len(parts) != 2 {
		t.Fatalf("%+v, %v", parts, err)
	}
	parted := Make(runs, parts)
	if len(parted) != 2 {
		t.Fatalf("%+v", parted)
	}
	for _, f := range parted {
		switch {
		case f.ID == whole[0].ID && f.Title == "" && f.Runs[0].RunID == "a" && len(f.Runs) == 1:
		case f.Title == "after the leader moved back" && f.Runs[0].RunID == "bb" && strings.HasPrefix(f.ID, "robustmq-loss-"):
		default:
			t.Errorf("%+v", f)
		}
	}
	for _, text := range []string{"robustmq-loss-88f5: why", "robustmq-loss-88f5 a", "robustmq-loss-88f5 a: "} {
		if _, err := ParseParts(text); err == nil || !strings.Contains(err.Error(), "line 1 is ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The pages say what the findings are, and no run can say more on them than text.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	wild := storedRun("a", failing("loss", "lost", verdict.Broker, 3))
	wild.Report.Verdict.Results[0].Anomalies[0].Text = "<img src=x> | lost"
	all := Make([]Run{wild, storedRun("bb")}, nil)
	if err := Write(dir, "../runs", all); err != nil {
		t.Fatal(err)
	}
	page, list := text(t, dir, all[0].ID+".md"), text(t, dir, ListFile)
	for _, want := range []string{
		"# robustmq: loss, lost\n", "**P1, blamed on: broker. In 1 of 2 runs", "[run a](../runs/a/report.md):\n\n    rmq-mcp run mqtt/kill for a\n", "| robustmq v0.4.11 | `go/x@1` | 1 of 2 |",
		"| [a](../runs/a/report.md) | `mqtt/kill` | robustmq v0.4.11 | `go/x@1` | 3 | &lt;img src=x> \\| lost | `root of a` |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
	if want := "| [robustmq: `loss`](" + all[0].ID + ".md) | P1 | broker | lost | 1 | `mqtt/kill` | 1 of 2 | 2026-11-26 |"; !strings.Contains(list, want) {
		t.Errorf("%q is not in\n%s", want, list)
	}
	var again Finding
	if err := json.Unmarshal([]byte(text(t, dir, all[0].ID+".json")), &again); err != nil || again.ID != all[0].ID || len(again.Runs) != 1 {
		t.Errorf("%+v, %v", again, err)
	}
}

func text(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
