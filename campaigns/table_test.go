package campaigns

import (
	"slices"
	"testing"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// tableCell is a run in which each claim has a status, and a failed one violations.
func tableCell(id, sdk, flavor string, claims map[string]verdict.Status, found ...int) Cell {
	c := Cell{RunID: id, SDK: sdk, Protocol: "mqtt3", Transport: "tcp", Broker: Broker{Flavor: flavor}}
	for _, name := range []string{"no-panic", "qos1-no-loss", "recovery", "will-once"} {
		r := verdict.Result{Claim: verdict.Claim{Name: name, Severity: map[string]string{"qos1-no-loss": verdict.P0}[name]}, Status: claims[name]}
		if r.Status == verdict.Unknown {
			r.Reasons = []string{"nothing was due"}
		}
		if r.Status == verdict.Fail {
			for range found[0] {
				r.Anomalies = append(r.Anomalies, verdict.Anomaly{Blame: verdict.Broker})
			}
		}
		c.Verdict.Results = append(c.Verdict.Results, r)
	}
	return c
}

// A claim that failed in one run is counted for each library and each broker, and the
// others are numbers.
func TestTableCountsEachClaim(t *testing.T) {
	fails := map[string]verdict.Status{"no-panic": verdict.Pass, "qos1-no-loss": verdict.Fail, "recovery": verdict.Unknown, "will-once": verdict.Unknown}
	holds := map[string]verdict.Status{"no-panic": verdict.Pass, "qos1-no-loss": verdict.Pass, "recovery": verdict.Pass, "will-once": verdict.Unknown}
	unsure := map[string]verdict.Status{"no-panic": verdict.Unknown, "qos1-no-loss": verdict.Unknown, "recovery": verdict.Fail, "will-once": verdict.Unknown}
	table := tabulate([]Cell{
		tableCell("a", "go/x@1", "robustmq", fails, 14), tableCell("b", "go/x@1", "robustmq", fails, 20), tableCell("c", "go/x@1", "robustmq", unsure, 1),
		tableCell("d", "go/x@1", "mosquitto", holds), tableCell("e", "python/y@2", "robustmq", fails, 3), {Unsupported: "no such broker here"},
	}, nil)
	want := `qos1-no-loss  go/x@1      robustmq   2 of 2, 1 could not tell  14 to 20  broker, by wire
              go/x@1      mosquitto  0 of 1
              python/y@2  robustmq   1 of 1                    3         broker, by wire
recovery      go/x@1      robustmq   1 of 1, 2 could not tell  1         broker, by wire
              go/x@1      mosquitto  0 of 1
              python/y@2  robustmq   0 of 0, 1 could not tell
5 runs; other claims that passed: 1; that could not be told: will-once: nothing was due
`
	if got := table.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := table.Rows[0].Runs; len(got) != 2 || got[0] != "a" || got[1] != "b" {
		t.Errorf("runs that show it: %v", got)
	}
	fine := tableCell("f", "go/x@1", "robustmq", fails, 2)
	fine.Broker.Nodes = 1
	table = tabulate([]Cell{tableCell("a", "go/x@1", "robustmq", fails, 14), tableCell("d", "go/x@1", "mosquitto", holds), fine}, nil)
	if a, b, c := table.Rows[0].Where, table.Rows[1].Where, table.Rows[2].Where; a != "robustmq, 0 nodes" || b != "robustmq, 1 nodes" || c != "mosquitto" {
		t.Errorf("%q, %q, %q", a, b, c)
	}
	// A failure that is held against nobody counts no more than a pass of such a run.
	late := func(id string, parties ...verdict.Party) Cell {
		c := tableCell(id, "go/x@1", "robustmq", fails, 1)
		c.StarvedS, c.Verdict.Results[1].Anomalies = 3, nil
		for _, p := range parties {
			c.Verdict.Results[1].Anomalies = append(c.Verdict.Results[1].Anomalies, verdict.Anomaly{Blame: p})
		}
		return c
	}
	want = `qos1-no-loss  go/x@1    2 of 2, 2 could not tell  1 to 14  broker, by wire
4 runs; other claims that passed: 1; that could not be told: recovery: nothing was due; will-once: nothing was due
`
	unlucky := tableCell("j", "go/x@1", "robustmq", holds)
	unlucky.StarvedS = 3
	shown := []Cell{tableCell("a", "go/x@1", "robustmq", fails, 14), late("b", verdict.SDK), late("c", verdict.Broker), unlucky}
	if got := tabulate(shown, nil).String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	table = tabulate([]Cell{late("b", verdict.SDK), tableCell("d", "go/x@1", "robustmq", holds)}, nil)
	if len(table.Rows) != 0 || slices.Contains(table.Passed, "qos1-no-loss") || !slices.Contains(table.Unknown, "qos1-no-loss: run b failed it, and the host was starved for 3.0 s") {
		t.Errorf("%+v", table)
	}
	// Claims held by the control broker alone say nothing of the broker under test.
	silent := tableCell("a", "go/x@1", "external", holds)
	silent.Verdict.Results = silent.Verdict.Results[1:]
	table = tabulate([]Cell{silent, tableCell("d", "go/x@1", "mosquitto", holds)}, nil)
	if first := tableCell("d", "go/x@1", "mosquitto", holds).Verdict.Results[0].Claim.Name; slices.Contains(table.Passed, first) || !slices.Contains(table.Unknown, first+": only the control broker was seen to hold it") {
		t.Errorf("%+v", table)
	}
	here, there := tableCell("a", "go/x@1", "", fails, 1), tableCell("b", "go/x@1", "", fails, 1)
	here.Broker.At, there.Broker.At = "198.18.0.1:1883", "198.18.0.2:1883"
	if rows := tabulate([]Cell{here, there}, nil).Rows; len(rows) != 2 || rows[0].Where != "198.18.0.1:1883" {
		t.Errorf("two brokers of somebody else's share a row: %+v", rows)
	}
	// The violations of one claim may be two parties' doing, in other runs each.
	both, library := tableCell("g", "go/x@1", "robustmq", fails, 1), tableCell("h", "go/x@1", "robustmq", fails, 1)
	both.Verdict.Results[1].Violations = []verdict.Violations{{Blame: verdict.SDK, Count: 150}, {Blame: verdict.Broker, Count: 3}, {Process: 1, Blame: verdict.Broker, Count: 6}}
	library.Verdict.Results[1].Violations = []verdict.Violations{{Blame: verdict.SDK, Count: 100}, {Blame: verdict.Undecided, Count: 1}}
	want = `qos1-no-loss  go/x@1    1 of 2  9           broker, by wire
              go/x@1    2 of 2  100 to 150  sdk, by wire
              go/x@1    1 of 2  1
2 runs; other claims that passed: 1; that could not be told: recovery: nothing was due; will-once: nothing was due
`
	if got := tabulate([]Cell{both, library}, nil).String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// A row has an example of its party's.
	both.Verdict.Results[1].Anomalies = []verdict.Anomaly{
		{Blame: verdict.SDK, Text: "message 7 is the library's", Stream: 4, Seq: 7}, {Blame: verdict.Broker, Text: "the connection is the broker's", Stream: -1, Seq: -1},
	}
	mixed := tableCell("i", "go/x@1", "robustmq", fails, 1)
	mixed.Verdict.Results[1].Violations = []verdict.Violations{{Blame: verdict.Broker, Count: 1}, {Count: 1}}
	mixed.Verdict.Results[1].Anomalies = append(mixed.Verdict.Results[1].Anomalies, verdict.Anomaly{Text: "nobody's"})
	if rows := tabulate([]Cell{mixed}, nil).Rows; len(rows) != 2 || rows[1].Example != "nobody's" {
		t.Errorf("%+v", rows)
	}
	rows := tabulate([]Cell{both}, nil).Rows
	if a, b := rows[0], rows[1]; a.Example != "the connection is the broker's" || a.At != "" || b.Example != "message 7 is the library's" || b.At != "4/7" {
		t.Errorf("%+v", rows)
	}
	if none := tabulate(nil, nil); none.String() != "" || none.Rows == nil {
		t.Errorf("%+v", none)
	}
}
