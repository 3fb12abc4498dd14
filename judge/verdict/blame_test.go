package verdict

import (
	"strings"
	"testing"
)

// A run's blame follows from what the wire shows of each anomaly.
func TestBlame(t *testing.T) {
	failed := func(claim string, of Party, blames ...Party) Result {
		r := result(claim, Fail)
		r.Claim.Of = of
		for _, b := range blames {
			r.Anomalies = append(r.Anomalies, Anomaly{Text: "the wire shows it", Blame: b})
		}
		return r
	}
	panicked := result("no-panic", Fail)
	panicked.Anomalies = []Anomaly{{Kind: KindPanic, Text: "node-1 panicked"}}
	exited, silent := result("no-exit", Fail), result("progress", Fail)
	exited.Anomalies = []Anomaly{{Kind: KindExit, TimeNS: 9e9, Text: "node-1 ended by itself"}}
	silent.Claim.Source, silent.Anomalies = Budget, []Anomaly{{Kind: "no-progress", TimeNS: 8.9e9, Text: "no publish was acknowledged"}}
	early := silent
	early.Anomalies = []Anomaly{{Kind: "no-progress", TimeNS: 5e9, Text: "no publish was acknowledged"}}
	for _, c := range []struct {
		name    string
		results []Result
		harness []string
		wire    bool
		want    string
	}{
		{"all the broker's", []Result{failed("qos1-no-loss", "", Broker, Broker)}, nil, true, "broker: reference, by MQTT: the wire shows it"},
		{"all the library's", []Result{failed("qos1-no-loss", "", SDK)}, nil, true, "sdk: go/x@1, by MQTT: the wire shows it"},
		{"a claim on the library", []Result{failed("sdk-once", SDK, "")}, nil, true, "sdk: go/x@1"},
		{"a claim on the library, and what it left undone", []Result{failed("sdk-lives", SDK)}, []string{"no bye"}, true, "sdk: go/x@1"},
		{"both", []Result{failed("sdk-once", SDK, ""), failed("qos1-no-loss", "", Broker)}, nil, true, "broker: reference, by MQTT: the wire shows it; beside it sdk: go/x@1, by MQTT: the wire shows it"},
		{"both, in one claim", []Result{failed("qos1-no-loss", "", SDK, Broker)}, nil, true, "broker: reference, by MQTT: the wire shows it; beside it sdk: go/x@1"},
		{"both, and some of it undecided", []Result{failed("qos1-no-loss", "", Broker, ""), failed("sdk-once", SDK, "")}, nil, true, "unknown: the recorded packets do not show who is at fault"},
		{"both, and the harness broke", []Result{failed("qos1-no-loss", "", Broker), failed("sdk-once", SDK, "")}, []string{"no bye"}, true, "unknown: pending a run without harness errors"},
		{"some of it undecided", []Result{failed("qos1-no-loss", "", Broker, "")}, nil, true, "unknown: the recorded packets do not show who is at fault"},
		{"no anomaly", []Result{failed("progress", "")}, nil, true, "unknown: the recorded packets do not show who is at fault"},
		{"the harness broke", []Result{failed("qos1-no-loss", "", Broker)}, []string{"no bye"}, true, "unknown: pending a run without harness errors"},
		{"a panic, which the node's log tells", []Result{panicked}, nil, false, "broker: reference, by MQTT: node-1 panicked"},
		{"a panic, and more that is the broker's", []Result{failed("qos1-no-loss", "", Broker), panicked}, nil, true, "broker: reference"},
		{"a panic, and more that is undecided", []Result{panicked, failed("qos1-no-loss", "", "")}, nil, true, "unknown: the recorded packets do not show who is at fault"},
		{"an exit, and the outage that follows", []Result{exited, silent}, nil, false, "broker: reference, by MQTT: node-1 ended by itself"},
		{"an exit, and an outage before it", []Result{exited, early}, nil, false, "unknown: pending the same scenario"},
		{"an outage", []Result{silent}, nil, false, "unknown: pending the same scenario"},
		{"no wire", []Result{failed("qos1-no-loss", "", "")}, nil, false, "unknown: pending the same scenario with another SDK"},
	} {
		in := good()
		in.Run.SDK, in.Run.Wire = "go/x@1", c.wire
		in.Results, in.Harness = c.results, c.harness
		if v := Decide(in); !strings.HasPrefix(v.Blame, c.want) || !v.State.Failed() {
			t.Errorf("%s: %s, %q, want %q", c.name, v.State, v.Blame, c.want)
		}
	}
}

// A defect that rmq-mcp planted is not the vendor's.
func TestBlameNamesThePlantedDefect(t *testing.T) {
	in := good()
	in.Run.Cluster.Planted = "ack-and-drop/25"
	r := result("qos1-no-loss", Fail)
	r.Anomalies = []Anomaly{{Text: "the wire shows it", Blame: Broker}}
	in.Results = []Result{r}
	if v := Decide(in); !strings.HasPrefix(v.Blame, "broker: reference with ack-and-drop/25 planted, by MQTT") {
		t.Errorf("blame is %q", v.Blame)
	}
}

// A claim on the client library names it, and is nothing that a broker's vendor
// promises; one that could not be judged takes nothing from the run.
func TestClaimOnLibrary(t *testing.T) {
	in := good()
	in.Run.SDK = "go/x@1"
	r := result("sdk-once", Fail)
	r.Claim.Of, r.Claim.Wire, r.Promised = SDK, true, false
	in.Results = append(in.Results, r)
	v := Decide(in)
	if !strings.Contains(v.Headline, "go/x@1: sdk-once") || strings.Contains(strings.Join(v.Reasons, "\n"), "does not promise") || v.Severity != "P1" {
		t.Errorf("%s %s %q", v.Headline, v.Severity, v.Reasons)
	}
	in.Coverage.HostStarvedS = 3
	if v := Decide(in); !strings.HasPrefix(v.Blame, "unknown: pending a run on a host that is not starved") {
		t.Errorf("a library is blamed for a host that stood still: %s", v.Blame)
	}
	in.Coverage.HostStarvedS = 0
	r.Status = Unknown
	in.Results[2] = r
	if v := Decide(in); v.State != PassSmoke || !strings.Contains(v.Headline, "2 claims hold") {
		t.Errorf("%s: %s", v.State, v.Headline)
	}
}
