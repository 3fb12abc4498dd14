package plan

import (
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/envelope"
)

// Every gap is said with where it is and what to write instead.
func TestLint(t *testing.T) {
	limits := envelope.Default(t.TempDir())
	limits.AllowedFaults = []string{"pause"}
	for _, test := range []struct {
		name, old, new string // what is changed in the example
		want           []string
		limits         *envelope.Envelope
	}{
		{name: "none"},
		{"no name", "name: leader-crash", "name: Leader Crash", []string{`name: "Leader Crash"`}, nil},
		{"no question", "title: Does", "title: ''\n#", []string{"title: it is empty"}, nil},
		{"unknown claim", "claims: [qos1-no-loss, recovery] ", "claims: [qos1-no-loss, recovery, faster-than-light] ", []string{"claims: faster-than-light: there is no such claim", "one of qos1-no-loss"}, nil},
		{"a claim twice", "claims: [qos1-no-loss, recovery] ", "claims: [recovery, qos1-no-loss, recovery] ", []string{"recovery: it is there twice"}, nil},
		{"a claim that nothing judges", "claims: [qos1-no-loss, recovery] ", "claims: [qos1-no-loss, recovery, retained-register] ", []string{"claims: retained-register: no scenario of the plan judges it", "mqtt/retained-register", "nothing says what would be enough for retained-register", "no hypothesis says how"}, nil},
		{"unknown scenario", "scenario: mqtt/qos-roundtrip", "scenario: mqtt/nope", []string{`scenarios S1: scenario: no scenario "mqtt/nope"`, "list_scenarios"}, nil},
		{"a file where there are none", "scenario: mqtt/qos-roundtrip", "scenario: /etc/passwd.md", []string{"those of the library"}, nil},
		{"judges none of the claims", "claims: [qos1-no-loss, recovery] ", "claims: [retained-register] ", []string{"scenarios S1: mqtt/qos-roundtrip judges none of the plan's claims; write one that does, or a claim of qos0-at-most-once"}, nil},
		{"unknown SDK", "sdk: go/paho.mqtt.golang@1.5.1, tier", "sdk: cobol@1, tier", []string{"scenarios S1: model.sdk", "cobol", "sdk: go/rmq-mcp@1"}, nil},
		{"no SDK", "sdk: go/paho.mqtt.golang@1.5.1, tier", "tier", []string{"scenarios S1: model.sdk: the client library is missing"}, nil},
		{"unknown tier", "tier: smoke", "tier: heroic", []string{`scenarios S1: model.tier: mqtt/qos-roundtrip has no tier "heroic"; write hardening or smoke`}, nil},
		{"unknown flavor", "{flavor: reference", "{flavor: kafka", []string{`no flavor "kafka"; choose reference`}, nil},
		{"no cluster size", "nodes: 3, sdk", "sdk", []string{"scenarios S1: model.nodes: the size of the cluster is missing; write nodes: 3"}, nil},
		{"a protocol that the broker has not", "tier: smoke", "protocol: mqtt5, tier: smoke", []string{"scenarios S1: model.protocol: ", "does not speak mqtt5"}, nil},
		{"a protocol that there is not", "tier: smoke", "protocol: amqp, tier: smoke", []string{"write mqtt3 or mqtt5"}, nil},
		{"an unknown setting", "tier: smoke", "settings: {speed: 9}, tier: smoke", []string{`no setting "speed"`}, nil},
		{"no attempts", "attempts: 1", "attempts: 0", []string{"how often it is run is missing; write seeds"}, nil},
		{"too few for the tier", "seeds: [11, 12, 13]", "seeds: [11, 12]", []string{"2 of tier hardening cannot become PASS-hardening", "attempts: 3"}, nil},
		{"seeds that repeat", "seeds: [11, 12, 13]", "seeds: [11, 12, 12]", []string{"model.seeds"}, nil},
		{"seeds and attempts", "seeds: [11, 12, 13]", "seeds: [11, 12, 13]\n      attempts: 3", []string{"seeds or attempts, not both"}, nil},
		{"one run for two", "scenario: mqtt/broker-kill-9\n", "scenario: mqtt/qos-roundtrip\n    model: {flavor: reference, nodes: 3, sdk: go, tier: smoke, seeds: [4], thresholds: {recovery_s: 20, messages: 400}}\n  - id: S3\n    scenario: mqtt/broker-kill-9\n", []string{"scenarios S2: a run of it would be one of S1, too; write seeds of its own"}, nil},
		{"a moved threshold", "recovery_s: 30", "recovery_s: 300", []string{"scenarios S2: model.thresholds: {recovery_s: 300,", "write {recovery_s: 30, progress_s: 20, messages: 5000}"}, nil},
		{"hypothesis without claim", "    claims: [qos1-no-loss]\n", "", []string{"hypotheses H1: claims: there is none"}, nil},
		{"hypothesis without scenario", "    scenarios: [S1, S2]\n  - id: H2", "  - id: H2", []string{"hypotheses H1: scenarios: there is none", "scenarios S1: no hypothesis would be shown by it"}, nil},
		{"hypothesis of an unknown scenario", "scenarios: [S1, S2]\n  - id: H2", "scenarios: [S1, S9]\n  - id: H2", []string{`hypotheses H1: scenarios: "S9" is none; write ids`}, nil},
		{"hypothesis without reason", "because: It reads", "because: ''\n#", []string{"hypotheses H2: because: it is empty"}, nil},
		{"hypothesis without text", "text: A node", "text: ''\n#", []string{"hypotheses H2: text: it is empty"}, nil},
		{"a fault that is forbidden", "name:", "name:", []string{"scenarios S2: model: ", `fault "kill"`, "allowed_faults"}, &limits},
		{"a small budget", "{runs: 6, time_s: 1800}", "{runs: 2, time_s: 60}", []string{"budget.runs: 2 runs are fewer than the 4 attempts; write 4 or more", "budget.time_s: 60 s are less"}, nil},
		{"a pass that cannot be", "state: PASS-smoke", "state: PASS-hardening", []string{"adequacy 2: state: S1 cannot reach PASS-hardening at tier smoke"}, nil},
		{"a state that is none", "state: PASS-smoke", "state: green", []string{`adequacy 2: state: "green" is nothing to reach`}, nil},
		{"everything covered", "not_covered:\n  - what: power loss\n    why: A", "#", []string{"not_covered: there is none", "power loss"}, nil},
		{"an unknown field", "title:", "heading: x\ntitle:", []string{`line 3: no key "heading"`, "rmq-mcp plan example"}, nil},
		{"no front matter", "---\nname", "name", []string{`two lines "---"`, "not_covered:"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(Example, test.old) {
				t.Fatalf("the example has no %q", test.old)
			}
			text := strings.Replace(Example, test.old, test.new, 1)
			f, err := freezeIn(t, t.TempDir(), text, test.limits)
			if len(test.want) == 0 {
				if err != nil || len(f.Items) != 2 {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("it was frozen")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in:\n%v", want, err)
				}
			}
		})
	}
}

// A claim that no run of a model can be judged by is a gap, which says why.
func TestAClaimThatCannotBeSeen(t *testing.T) {
	for _, test := range []struct{ claim, scenario, bounds, sdk, more, want string }{
		{"qos1-dup-flag", "mqtt/qos-roundtrip", "{recovery_s: 20, messages: 400}", "c/libmosquitto", "", "qos1-dup-flag cannot be seen on 3 × reference, c/libmosquitto@2.0.11, mqtt3: the client library does not show it"},
		{"no-leak", "mqtt/connection-flood", "{recovery_s: 30, progress_s: 20, messages: 1500}", "go/rmq-mcp", "transport: tls, ", "no-leak cannot be seen on 3 × reference, go/rmq-mcp@1, mqtt3 over tls: it looks at connections of the plain listener alone"},
		{"no-leak", "mqtt/connection-flood", "{recovery_s: 30, progress_s: 20, messages: 1500}", "go/rmq-mcp", "runtime: docker, ", "no-leak cannot be seen on 3 × reference, go/rmq-mcp@1, mqtt3: the connections of a process in a container"},
		{"no-panic", "mqtt/qos-roundtrip", "{recovery_s: 20, messages: 400}", "go", "", ""},
	} {
		text := strings.NewReplacer(
			"claims: [qos1-no-loss, recovery] ", "claims: ["+test.claim+", recovery] ", "claims: [qos1-no-loss]", "claims: ["+test.claim+"]", "claim: qos1-no-loss", "claim: "+test.claim,
			"scenario: mqtt/qos-roundtrip", "scenario: "+test.scenario, "sdk: go/paho.mqtt.golang@1.5.1, tier", test.more+"sdk: "+test.sdk+", tier", "{recovery_s: 20, messages: 400}", test.bounds,
			"state: PASS-hardening\n    scenarios: [S2]", "state: PASS-smoke\n    scenarios: [S1]").Replace(Example)
		_, err := freezeIn(t, t.TempDir(), text, nil)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s of %s with %s: %v, want %q", test.claim, test.scenario, test.sdk, err, test.want)
		}
	}
}
