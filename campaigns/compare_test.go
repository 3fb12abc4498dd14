package campaigns

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

const loss = "qos1-no-loss"

var (
	onRobust    = Broker{Flavor: "robustmq", Version: "v0.4.11", Nodes: 3}
	onReference = Broker{Flavor: "reference", Version: "nats-server 2.15.2", Nodes: 3}
)

// cell is a run that holds its claim; what is given makes it another one.
func cell(sdk string, with ...func(*Cell)) Cell {
	c := Cell{
		RunID: "run-of-" + sdk, Scenario: "mqtt/qos-roundtrip", ScenarioSHA: "5ca1ab1e", Seed: 7, Tier: "smoke", SDK: sdk,
		Protocol: "mqtt3", Transport: "tcp", Broker: onRobust,
		Verdict: verdict.Verdict{State: verdict.PassSmoke, Results: []verdict.Result{{Claim: claimOf(loss), Status: verdict.Pass}}},
	}
	for _, w := range with {
		w(&c)
	}
	c.RunID += "-" + c.Broker.Flavor
	return c
}

func claimOf(name string) verdict.Claim {
	return verdict.Claim{Name: name, Source: "MQTT 3.1.1 section 4.3.2"}
}

// fails makes it fail, blamed on whom the wire shows.
func fails(parties ...verdict.Party) func(*Cell) {
	return func(c *Cell) {
		r := verdict.Result{Claim: claimOf(loss), Status: verdict.Fail, Summary: "3 messages are missing", Promised: true}
		for _, p := range parties {
			r.Anomalies = append(r.Anomalies, verdict.Anomaly{Kind: "lost", Blame: p, Text: "message 1/3, by the " + string(p)})
		}
		c.Verdict = verdict.Verdict{State: verdict.FailOnce, Headline: "FAIL: 3 messages are missing", Results: []verdict.Result{r}}
		c.Wire = len(parties) > 0
	}
}

// twice are two runs of each SDK, all of which fail.
func twice(sdks ...string) (cells []Cell) {
	for _, sdk := range sdks {
		cells = append(cells, cell(sdk, fails()), cell(sdk, fails(), id("again-"+sdk)))
	}
	return cells
}

// held are runs of an SDK on the control broker that hold the claim.
func held(sdk string, times int) (cells []Cell) {
	for n := range times {
		cells = append(cells, cell(sdk, reference, id(fmt.Sprint("held-", n))))
	}
	return cells
}

// of makes it about another claim.
func of(claim string) func(*Cell) {
	return func(c *Cell) { c.Verdict.Results[0].Claim = claimOf(claim) }
}

func wire(c *Cell)      { c.Wire = true }
func earlier(c *Cell)   { c.Earlier = true }
func reference(c *Cell) { c.Broker = onReference }
func tuned(c *Cell)     { c.Broker.Differs = "session_expiry: 1h" }
func starved(c *Cell)   { c.StarvedS = 3 }
func id(id string) func(*Cell) {
	return func(c *Cell) { c.RunID = id }
}
func unclear(c *Cell) {
	c.Verdict = verdict.Verdict{State: verdict.InconclusiveFault, Headline: "the fault did not land", Reasons: []string{"f1 did not land"}}
}

// unlanded makes it a run whose fault did not land.
func unlanded(c *Cell) {
	c.Verdict.State, c.Verdict.Reasons = verdict.InconclusiveFault, []string{"f1 did not land"}
	c.Shortfalls = []verdict.Shortfall{{Kind: verdict.FaultNotLanded, Text: "f1 did not land"}}
}

const (
	paho13   = "go/paho.mqtt.golang@1.3.5"
	paho14   = "go/paho.mqtt.golang@1.4.3"
	paho15   = "go/paho.mqtt.golang@1.5.1"
	python1  = "python/paho-mqtt@1.6.1"
	python2  = "python/paho-mqtt@2.1.0"
	rumqttc  = "rust/rumqttc@0.24.0"
	pahoJava = "java/org.eclipse.paho.client.mqttv3@1.2.3"
	official = "python/robustmq@1.0.0"
)

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name  string
		cells []Cell
		want  []string // cause, suspect, proof and SDKs: one line a deviation
		says  string   // somewhere in it
	}{
		{"nothing deviates", []Cell{cell(paho15), cell(python2)}, nil, ""},

		{"SDKs disagree, and the wire shows the broker at fault",
			[]Cell{cell(paho15), cell(python2, fails(verdict.Broker)), cell(rumqttc, fails(verdict.Broker))},
			[]string{"broker||wire|python/paho-mqtt 2.1.0; rust/rumqttc 0.24.0"}, "MQTT 3.1.1 section 4.3.2"},
		{"SDKs disagree over what is no loss, and the wire shows the broker at fault",
			[]Cell{cell(paho15, of("qos-granted")), cell(python2, fails(verdict.Broker), of("qos-granted")), cell(python2, fails(verdict.Broker), of("qos-granted"), id("again"))},
			[]string{"protocol implementation||wire|python/paho-mqtt 2.1.0"}, "and not with go/paho.mqtt.golang 1.5.1"},
		{"SDKs disagree once, which may be chance, and the wire shows the broker at fault",
			[]Cell{cell(paho15, of("qos-granted")), cell(python2, fails(verdict.Broker), of("qos-granted"))},
			[]string{"broker||wire|python/paho-mqtt 2.1.0"}, "and not with go/paho.mqtt.golang 1.5.1"},
		{"SDKs disagree, but not each time, and the wire shows the broker at fault",
			[]Cell{cell(paho15, of("qos-granted")), cell(python2, fails(verdict.Broker), of("qos-granted")), cell(python2, fails(verdict.Broker), of("qos-granted"), id("again")), cell(python2, of("qos-granted"), id("third"))},
			[]string{"broker||wire|python/paho-mqtt 2.1.0"}, "in 2 of 3 runs"},
		{"one SDK was tried, and the wire shows the broker at fault",
			[]Cell{cell(paho15, fails(verdict.Broker))},
			[]string{"broker||wire|go/paho.mqtt.golang 1.5.1"}, "leaving the specification, with go/paho.mqtt.golang 1.5.1"},
		{"two versions, and the wire shows both at fault",
			[]Cell{cell(paho14, fails(verdict.SDK)), cell(paho15, fails(verdict.SDK))},
			[]string{"SDK version||wire|go/paho.mqtt.golang 1.4.3, 1.5.1"}, ""},
		{"all fail, and the wire shows the broker at fault",
			[]Cell{cell(paho15, fails(verdict.Broker)), cell(python2, fails(verdict.Broker))},
			[]string{"broker||wire|go/paho.mqtt.golang 1.5.1; python/paho-mqtt 2.1.0"}, "whichever SDK"},
		{"the wire beats the votes: one SDK fails, and the broker is at fault",
			[]Cell{cell(paho15), cell(paho14), cell(python1), cell(python2), cell(rumqttc, fails(verdict.Broker))},
			[]string{"broker||wire|rust/rumqttc 0.24.0"}, "message 1/3, by the broker"},
		{"the wire beats the votes: all fail, and the SDKs are at fault",
			[]Cell{cell(paho15, fails(verdict.SDK)), cell(python2, fails(verdict.SDK))},
			[]string{"SDK||wire|go/paho.mqtt.golang 1.5.1", "SDK||wire|python/paho-mqtt 2.1.0"}, ""},
		{"some were tapped, and the wire shows the broker at fault",
			[]Cell{cell(paho15, fails(verdict.Broker)), cell(python2, fails())},
			[]string{"broker||wire|go/paho.mqtt.golang 1.5.1", "undecided|broker||python/paho-mqtt 2.1.0"}, "--arm tap"},
		{"some were tapped, the wire shows the broker at fault, all fail, and the control broker holds",
			append(held(paho15, 3), cell(paho15, fails(verdict.Broker)), cell(python2, fails()), cell(rumqttc, fails())),
			[]string{"broker||wire|go/paho.mqtt.golang 1.5.1", "broker||control|python/paho-mqtt 2.1.0; rust/rumqttc 0.24.0"}, "not on the control broker"},
		{"some were tapped, the wire shows the broker at fault, all fail, and the control broker holds once",
			append(held(paho15, 1), cell(paho15, fails(verdict.Broker)), cell(python2, fails()), cell(rumqttc, fails())),
			[]string{"broker||wire|go/paho.mqtt.golang 1.5.1", "undecided|broker||python/paho-mqtt 2.1.0; rust/rumqttc 0.24.0"}, "--arm tap"},
		{"some were tapped, the wire shows the broker at fault, and one SDK holds",
			[]Cell{cell(paho15, fails(verdict.Broker)), cell(python2, fails()), cell(rumqttc), cell(paho15, reference)},
			[]string{"broker||wire|go/paho.mqtt.golang 1.5.1", "undecided|broker||python/paho-mqtt 2.1.0"}, "--arm tap"},
		{"one run shows both at fault",
			[]Cell{cell(paho15), cell(python2, fails(verdict.SDK, verdict.Broker))},
			[]string{"broker||wire|python/paho-mqtt 2.1.0", "SDK||wire|python/paho-mqtt 2.1.0"}, ""},
		{"the wire tells of some violations alone",
			[]Cell{cell(paho15), cell(python2, fails(verdict.SDK, "", ""))},
			[]string{"SDK||wire|python/paho-mqtt 2.1.0"}, "for 2 of the 3 listed violations the recorded packets do not show who is at fault"},
		{"a client's own promise is its own doing",
			[]Cell{cell(paho15), cell(python2, func(c *Cell) {
				fails()(c)
				c.Verdict.Results[0].Claim.Of = verdict.SDK
			})},
			[]string{"SDK||wire|python/paho-mqtt 2.1.0"}, "the wire shows python/paho-mqtt 2.1.0"},

		{"one version alone, once",
			[]Cell{cell(paho13), cell(paho14, fails()), cell(paho15), cell(python2)},
			[]string{"undecided|SDK version||go/paho.mqtt.golang 1.4.3"}, "which may be chance"},
		{"one version alone, each time",
			[]Cell{cell(paho13), cell(paho14, fails()), cell(paho14, fails(), id("again")), cell(paho15), cell(python2)},
			[]string{"SDK version||versions|go/paho.mqtt.golang 1.4.3"}, "by the same driver, does not"},
		{"all versions up to one",
			append(twice(paho13, paho14), cell(paho15), cell(python2)),
			[]string{"SDK version||versions|go/paho.mqtt.golang 1.3.5, 1.4.3"}, ""},
		{"all versions from one",
			append(twice(paho14, paho15), cell(paho13), cell(python2)),
			[]string{"SDK version||versions|go/paho.mqtt.golang 1.4.3, 1.5.1"}, ""},
		{"all versions from one, not each of them again",
			append(twice(paho14), cell(paho15, fails()), cell(paho13), cell(python2)),
			[]string{"undecided|SDK version||go/paho.mqtt.golang 1.4.3, 1.5.1"}, ""},
		{"versions without a pattern",
			[]Cell{cell(paho13, fails()), cell(paho14), cell(paho15, fails()), cell(python2)},
			[]string{"undecided|SDK version||go/paho.mqtt.golang 1.3.5, 1.5.1"}, ""},
		{"one version alone, but it does not repeat",
			[]Cell{cell(paho14), cell(paho15, fails()), cell(paho15, id("again")), cell(python2)},
			[]string{"undecided|SDK version||go/paho.mqtt.golang 1.5.1"}, "1 of 2 runs"},
		{"one version alone, and not on the control broker",
			[]Cell{cell(paho14), cell(paho15, fails()), cell(python2), cell(paho15, reference)},
			[]string{"undecided|protocol implementation||go/paho.mqtt.golang 1.5.1"}, "--arm tap"},
		{"one version that upstream knows",
			[]Cell{cell(paho15), cell(pahoJava, fails())},
			[]string{"undecided|SDK||java/org.eclipse.paho.client.mqttv3 1.2.3"}, "paho.mqtt.java/pull/745"},

		{"a whole library", []Cell{cell(paho15), cell(python1, fails()), cell(python2, fails())},
			[]string{"undecided|protocol implementation||python/paho-mqtt 1.6.1, 2.1.0"}, "--flavor reference"},
		{"a whole library, on the control broker too",
			[]Cell{cell(paho15), cell(python2, fails()), cell(python2, fails(), reference)},
			[]string{"undecided|SDK||python/paho-mqtt 2.1.0"}, "the library or its driver"},
		{"a whole library, on the control broker too, and the wire blames nobody",
			[]Cell{cell(paho15), cell(python2, fails(), wire), cell(python2, fails(), reference), cell(paho15, reference)},
			[]string{"harness||control|python/paho-mqtt 2.1.0"}, "suspect its driver"},

		{"all fail", []Cell{cell(paho15, fails()), cell(python2, fails())},
			[]string{"undecided|broker||go/paho.mqtt.golang 1.5.1; python/paho-mqtt 2.1.0"}, "rmq-mcp run mqtt/qos-roundtrip --flavor reference --sdk go/paho.mqtt.golang@1.5.1 --protocol mqtt3 --seed 7 --tier smoke"},
		{"all fail, and not on the control broker",
			append(held(paho15, 3), cell(paho15, fails()), cell(python2, fails())),
			[]string{"broker||control|go/paho.mqtt.golang 1.5.1; python/paho-mqtt 2.1.0"}, "every SDK fails on robustmq v0.4.11 (2 of them), and not on the control broker (reference nats-server 2.15.2 with go/paho.mqtt.golang@1.5.1, run held-0-reference and 2 more)"},
		{"all fail, and not on a control broker of one node, without the settings",
			append(held(paho15, 2), cell(paho15, fails(), tuned), cell(python2, fails(), tuned), cell(paho15, reference, func(c *Cell) { c.Broker.Nodes = 1 })),
			[]string{"broker||control|go/paho.mqtt.golang 1.5.1; python/paho-mqtt 2.1.0"}, ", without the settings)"},
		{"two fail, a third could not tell, and the control broker holds",
			append(held(paho15, 3), cell(paho15, fails()), cell(python2, fails()), cell(rumqttc, unlanded)),
			[]string{"broker||control|go/paho.mqtt.golang 1.5.1; python/paho-mqtt 2.1.0", "undecided|||rust/rumqttc 0.24.0"}, "2 of 3 SDKs fail on robustmq v0.4.11, and the others could not tell, and not on the control broker"},
		{"all fail, not on the control broker, and the wire shows one of two libraries at fault",
			append(held(paho15, 3), cell(paho15, fails()), cell(python2, fails(verdict.SDK))),
			[]string{"SDK||wire|python/paho-mqtt 2.1.0", "undecided|broker||go/paho.mqtt.golang 1.5.1"}, "no other library could tell"},
		{"all fail, and not on the control broker, once",
			append(held(paho15, 1), cell(paho15, fails()), cell(python2, fails())),
			[]string{"undecided|broker||go/paho.mqtt.golang 1.5.1; python/paho-mqtt 2.1.0"}, "it must hold in 2 runs more to rule out chance"},
		{"all fail now and then, and the control broker holds less often than that takes",
			append(held(paho15, 5), cell(paho15, fails()), cell(paho15, id("a")), cell(paho15, id("b")), cell(python2, fails()), cell(python2, id("c")), cell(python2, id("d"))),
			[]string{"undecided|broker||go/paho.mqtt.golang 1.5.1; python/paho-mqtt 2.1.0"}, "in 2 of 6 runs, and not on the control broker"},
		{"all fail now and then, and the control broker never does",
			append(held(paho15, 7), cell(paho15, fails()), cell(paho15, id("a")), cell(paho15, id("b")), cell(python2, fails()), cell(python2, id("c")), cell(python2, id("d"))),
			[]string{"broker||control|go/paho.mqtt.golang 1.5.1; python/paho-mqtt 2.1.0"}, ""},
		{"all fail, and the fault did not land on the control broker",
			[]Cell{cell(paho15, fails()), cell(python2, fails()), cell(paho15, reference, unlanded)},
			[]string{"undecided|broker||go/paho.mqtt.golang 1.5.1; python/paho-mqtt 2.1.0", "undecided|||go/paho.mqtt.golang 1.5.1"}, "no control broker that promises it"},
		{"one library fails, and the fault did not land with the other",
			[]Cell{cell(paho15, fails()), cell(python2, unlanded), cell(paho15, reference)},
			[]string{"undecided|broker||go/paho.mqtt.golang 1.5.1", "undecided|||python/paho-mqtt 2.1.0"}, "no other library could tell"},
		{"one version fails each time, and the fault did not land with the other",
			append(twice(paho15), cell(paho14, unlanded), cell(python2)),
			[]string{"undecided|protocol implementation||go/paho.mqtt.golang 1.5.1", "undecided|||go/paho.mqtt.golang 1.4.3"}, "f1 did not land"},
		{"all fail, on the control broker too",
			[]Cell{cell(paho15, fails()), cell(python2, fails()), cell(paho15, fails(), reference)},
			[]string{"harness||control|go/paho.mqtt.golang 1.5.1; python/paho-mqtt 2.1.0"}, "suspect the scenario"},
		{"all fail, on the control broker too, which does not promise it",
			[]Cell{cell(paho15, fails()), cell(python2, fails()), cell(paho15, fails(), reference, func(c *Cell) { c.Verdict.Results[0].Promised = false })},
			[]string{"undecided|broker||go/paho.mqtt.golang 1.5.1; python/paho-mqtt 2.1.0"}, "no control broker that promises it was tried"},
		{"one library alone was run, and it fails", []Cell{cell(paho15, fails())},
			[]string{"undecided|||go/paho.mqtt.golang 1.5.1"}, "--sdk python"},
		{"one library alone was run, and not on the control broker", []Cell{cell(paho15, fails()), cell(paho15, reference)},
			[]string{"undecided|broker||go/paho.mqtt.golang 1.5.1"}, "no other library was tried"},

		{"the wire shows the broker at fault with one, and nobody with the other", []Cell{cell(paho15, fails(verdict.Broker)), cell(python2, fails())},
			[]string{"broker||wire|go/paho.mqtt.golang 1.5.1", "undecided|broker||python/paho-mqtt 2.1.0"}, "fails too, where the wire shows the broker at fault"},
		{"starved", []Cell{cell(paho15), cell(python2, fails(), starved)},
			[]string{"environment|||python/paho-mqtt 2.1.0"}, "the host was starved for 3.0 s"},
		{"starved, and the wire blames the SDK", []Cell{cell(paho15), cell(python2, fails(verdict.SDK), starved)},
			[]string{"environment|||python/paho-mqtt 2.1.0"}, ""},
		{"starved, and the wire blames the broker", []Cell{cell(paho15), cell(python2, fails(verdict.Broker), starved)},
			[]string{"broker||wire|python/paho-mqtt 2.1.0"}, ""},
		{"starved, and passes alone", []Cell{cell(paho15), cell(python2, fails(), starved), cell(python2, id("alone"))},
			[]string{"environment|||python/paho-mqtt 2.1.0"}, "passes alone"},
		{"starved, and fails alone", []Cell{cell(paho15), cell(python1), cell(python2, fails(), starved), cell(python2, fails(), id("alone"))},
			[]string{"undecided|SDK version||python/paho-mqtt 2.1.0"}, "which may be chance"},
		{"starved without a failure, and passes alone", []Cell{cell(paho15), cell(python2, unclear, starved), cell(python2, id("alone"))}, nil, ""},
		{"the harness broke", []Cell{cell(paho15), cell(python2, unclear, func(c *Cell) { c.Harness = []string{"driver: exit status 1"} })},
			[]string{"harness|||python/paho-mqtt 2.1.0"}, "exit status 1"},
		{"two are kept out, and one is let in", []Cell{cell(paho15, of("clients-connect")), cell(python1, fails(), of("clients-connect")), cell(python2, fails(), of("clients-connect"))},
			[]string{"undecided|protocol implementation||python/paho-mqtt 1.6.1, 2.1.0"}, "clients-connect"},
		{"the harness broke, and the wire blames the SDK", []Cell{cell(paho15), cell(python2, fails(verdict.SDK), func(c *Cell) { c.Harness = []string{"driver: exit status 1"} })},
			[]string{"SDK||wire|python/paho-mqtt 2.1.0"}, ""},

		{"one speaks an earlier version of the protocol, and cannot begin",
			[]Cell{cell(paho15), cell(python2), cell(official, earlier, unclear, func(c *Cell) { c.Harness = []string{"could not subscribe"} })},
			[]string{"SDK||protocol|python/robustmq 1.0.0"}, "speaks an earlier version of the protocol"},
		{"one speaks an earlier version of the protocol, and fails what the others hold",
			[]Cell{cell(paho15), cell(python2), cell(official, earlier, fails())},
			[]string{"SDK||protocol|python/robustmq 1.0.0"}, "FAIL: 3 messages are missing"},
		{"one speaks an earlier version of the protocol, and the wire would blame the broker",
			[]Cell{cell(paho15), cell(python2), cell(official, earlier, fails(verdict.Broker))},
			[]string{"SDK||protocol|python/robustmq 1.0.0"}, ""},
		{"all fail, one of them for its protocol",
			append(held(paho15, 3), cell(paho15, fails()), cell(python2, fails()), cell(official, earlier, fails())),
			[]string{"broker||control|go/paho.mqtt.golang 1.5.1; python/paho-mqtt 2.1.0", "SDK||protocol|python/robustmq 1.0.0"}, ""},
		{"an earlier version of the protocol is no other library to compare with",
			[]Cell{cell(paho15, fails()), cell(official, earlier, fails()), cell(paho15, reference)},
			[]string{"SDK||protocol|python/robustmq 1.0.0", "undecided|broker||go/paho.mqtt.golang 1.5.1"}, "no other library was tried"},
		{"an earlier version of the protocol, on the control broker too",
			[]Cell{cell(paho15), cell(official, earlier, fails()), cell(paho15, reference), cell(official, earlier, fails(), reference)},
			[]string{"SDK||protocol|python/robustmq 1.0.0"}, ""},
		{"an earlier version of the protocol that the broker understands", []Cell{cell(paho15), cell(official, earlier)}, nil, ""},
		{"an earlier version of the protocol, and starved", []Cell{cell(paho15), cell(official, earlier, fails(), starved)},
			[]string{"environment|||python/robustmq 1.0.0"}, "the host was starved for 3.0 s"},
		{"not decided", []Cell{cell(paho15), cell(python2, unclear)},
			[]string{"undecided|||python/paho-mqtt 2.1.0"}, "f1 did not land"},
		{"not decided, and then it passes", []Cell{cell(paho15), cell(python2, unclear), cell(python2, id("again"))},
			[]string{"undecided|||python/paho-mqtt 2.1.0"}, "2 of 3 runs pass"},
		{"not installed", []Cell{cell(paho15), cell(python2), cell(rumqttc, id(""), func(c *Cell) { c.RunID, c.Error, c.Broker = "", "cargo: no network", Broker{Flavor: "robustmq"} })},
			[]string{"environment|||rust/rumqttc 0.24.0"}, "rmq-mcp sdks install rust/rumqttc@0.24.0"},
		{"unsupported is no deviation", []Cell{cell(paho15), cell(python2), cell(rumqttc, func(c *Cell) { c.Unsupported = "no cargo" })}, nil, ""},

		{"another protocol is another column", []Cell{cell(paho15), cell(python2), cell(python2, fails(), id("five"), func(c *Cell) { c.Protocol = "mqtt5" })},
			[]string{"undecided|||python/paho-mqtt 2.1.0"}, ""},
		{"another version of the broker is not compared", []Cell{cell(paho15), cell(python2, fails(), func(c *Cell) { c.Broker.Version = "v0.5.0" })},
			[]string{"undecided|||python/paho-mqtt 2.1.0"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Compare(test.cells)
			var lines []string
			for _, a := range got.Attributions {
				lines = append(lines, fmt.Sprintf("%s|%s|%s|%s", a.Cause, a.Suspect, a.Proof, a.Versions))
			}
			if diff := cmp.Diff(test.want, lines); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if all := fmt.Sprintf("%+v", got); !strings.Contains(all, test.says) {
				t.Errorf("nothing says %q:\n%s", test.says, all)
			}
			for range 20 {
				shuffled := slices.Clone(test.cells)
				rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
				if diff := cmp.Diff(got, Compare(shuffled)); diff != "" {
					t.Fatalf("the order of the cells makes a difference:\n%s", diff)
				}
			}
			for _, a := range got.Attributions {
				if a.Cause == reports.CauseUndecided && len(a.Next) == 0 {
					t.Errorf("nothing would decide: %+v", a)
				}
			}
		})
	}
}

// A failure says whether it needs the faults. Where it does not, and came each time with
// them, one run without decides, and no other is asked for.
func TestNeedsTheFaults(t *testing.T) {
	baseline := func(c *Cell) { c.NoFaults, c.Baseline = true, true }
	with := []Cell{cell(paho15, fails(verdict.Broker)), cell(paho15, fails(verdict.Broker), id("again"))}
	for _, test := range []struct {
		name    string
		without Cell
		want    reports.Times
		says    string // of it, and in its evidence
		found   int
	}{
		{"it fails without them", cell(paho15, fails(verdict.Broker), baseline, id("calm")), reports.Times{Failed: 1, Of: 1}, "it fails qos1-no-loss without any fault, too", 1},
		{"it holds without them", cell(paho15, baseline, id("calm")), reports.Times{Of: 1}, "it holds qos1-no-loss where there is no fault", 1},
		{"it fails without them by somebody else", cell(paho15, fails(verdict.SDK), baseline, id("calm")), reports.Times{Of: 1}, "it fails qos1-no-loss by others", 2},
		{"it fails without them, the packets do not show by whom", cell(paho15, fails(), baseline, id("calm")), reports.Times{}, "the recorded packets do not show who is at fault", 2},
		{"a host stood still without them", cell(paho15, baseline, starved, id("calm")), reports.Times{}, "message 1/3, by the broker", 2},
		{"another SDK was run without them", cell(python2, baseline, id("calm")), reports.Times{}, "message 1/3, by the broker", 1},
	} {
		c := Compare(append(slices.Clone(with), test.without))
		if len(c.Attributions) != test.found || strings.Contains(strings.Join(c.Notes, "\n"), "without its faults") {
			t.Errorf("%s: %d deviations, notes %q", test.name, len(c.Attributions), c.Notes)
		}
		i := slices.IndexFunc(c.Attributions, func(a reports.Attribution) bool { return !a.NoFaults })
		a := c.Attributions[i]
		if a.Without != test.want || !strings.Contains(strings.Join(a.Evidence, "\n"), test.says) || len(a.Next) > 0 {
			t.Errorf("%s: %+v, %s, %q, asks for %+v", test.name, a.Without, a.Text, a.Evidence, a.Next)
		}
	}
	// The wire blames the broker, but each time with one library alone; in the baseline
	// nobody else was run.
	odd := []Cell{cell(paho15, of("qos-granted")), cell(python2, fails(verdict.Broker), of("qos-granted")), cell(python2, fails(verdict.Broker), of("qos-granted"), id("again")),
		cell(python2, fails(verdict.Broker), of("qos-granted"), baseline, id("calm"))}
	if c := Compare(odd); len(c.Attributions) != 1 || c.Attributions[0].Cause != reports.CauseProtocol || !strings.Contains(c.Headline, "; 1 without any fault") {
		t.Errorf("%s: %+v", c.Headline, c.Attributions)
	}
	// A baseline that cannot tell is no doubt about those with faults.
	decided := append(held(paho15, 3), cell(paho15, fails()), cell(python2, fails()), cell(paho15, fails(), baseline, id("calm")))
	if c := Compare(decided); len(c.Attributions) != 1 || c.Attributions[0].Cause != reports.CauseBroker || c.Attributions[0].Without != (reports.Times{Failed: 1, Of: 1}) || !slices.Contains(c.Attributions[0].Runs, "calm-robustmq") {
		t.Errorf("%+v", c.Attributions)
	}
}

func TestNotComparable(t *testing.T) {
	another := func(change func(*Cell)) []Cell { return []Cell{cell(paho15), cell(python2, change)} }
	for want, cells := range map[string][]Cell{
		"another scenario":                    another(func(c *Cell) { c.Scenario = "mqtt/broker-kill-9" }),
		"another text of the scenario":        another(func(c *Cell) { c.ScenarioSHA = "0ther" }),
		"another tier":                        another(func(c *Cell) { c.Tier = "hardening" }),
		"another version of the broker":       another(func(c *Cell) { c.Broker.Version = "v0.5.0" }),
		"another build of the broker":         another(func(c *Cell) { c.Broker.Build = "bu11d" }),
		"another configuration of the broker": another(func(c *Cell) { c.Broker.Nodes = 1 }),
		"nothing to compare it with":          {cell(paho15)},
		"explorations by hand":                another(func(c *Cell) { c.Scenario = "" }),
	} {
		if notes := strings.Join(Compare(cells).Notes, "\n"); !strings.Contains(notes, want) {
			t.Errorf("no note says %q: %s", want, notes)
		}
	}
	if notes := Compare([]Cell{cell(paho15), cell(python2), cell(paho15, reference), cell(python2, reference)}).Notes; len(notes) > 0 {
		t.Errorf("a control broker is there to be compared: %q", notes)
	}
}

func TestExitCode(t *testing.T) {
	unsupported := func(c *Cell) { c.RunID, c.Unsupported = "", "no cargo" }
	for _, test := range []struct {
		want  int
		cells []Cell
	}{
		{0, []Cell{cell(paho15), cell(python2)}},
		{0, []Cell{cell(paho15), cell(rumqttc, unsupported)}},
		{1, []Cell{cell(paho15), cell(python2, fails(verdict.Broker))}},
		{2, []Cell{cell(paho15), cell(python2, unclear)}},
		{2, []Cell{cell(rumqttc, unsupported)}},
		{2, nil},
	} {
		if c := Compare(test.cells); c.ExitCode() != test.want {
			t.Errorf("exit code %d, want %d: %s", c.ExitCode(), test.want, c.Headline)
		}
	}
}

func TestVersionsAreOrderedByTheirNumbers(t *testing.T) {
	got := []string{"5.10.4", "5.9.1", "4.3.8", "5.10", "5.10.4-beta"}
	slices.SortFunc(got, CompareVersions)
	if diff := cmp.Diff([]string{"4.3.8", "5.9.1", "5.10", "5.10.4", "5.10.4-beta"}, got); diff != "" {
		t.Error(diff)
	}
}
