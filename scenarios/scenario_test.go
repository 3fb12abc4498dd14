package scenarios

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/checker"
)

func TestLibrary(t *testing.T) {
	all, err := Library()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 6 {
		t.Errorf("%d scenarios, want at least 6", len(all))
	}
	for _, s := range all {
		again, err := Load(s.Name)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Errorf("%s is not found by its own name: %s", s.Name, diff)
		}
		if s.Prose == "" || !strings.HasPrefix(s.Prose, "# ") {
			t.Errorf("%s has no prose for an agent", s.Name)
		}
		smoke, hardening := s.Tiers["smoke"], s.Tiers["hardening"]
		acks := slices.Max(s.Workload.QoS) > 0
		if hardening.SteadyS <= smoke.SteadyS || acks && hardening.Messages <= smoke.Messages {
			t.Errorf("%s: tier hardening is not more than smoke: %+v, %+v", s.Name, hardening, smoke)
		}
	}
}

func TestMatch(t *testing.T) {
	names, err := Names()
	if err != nil {
		t.Fatal(err)
	}
	if all, err := Match([]string{All}); err != nil || !slices.Equal(all, names) {
		t.Errorf("all is %q, %v", all, err)
	}
	got, err := Match([]string{"mqtt/broker-*", "mqtt/broker-kill-9", "a[1].md"})
	if want := []string{"mqtt/broker-graceful-restart", "mqtt/broker-kill-9", "mqtt/broker-starved", "a[1].md"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	for _, wrong := range []string{"mqtt/x*", "mqtt/["} {
		if got, err := Match([]string{wrong}); err == nil || !strings.Contains(err.Error(), "mqtt/broker-kill-9") {
			t.Errorf("%q is %q, %v", wrong, got, err)
		}
	}
}

// A planned fault has the parameters of its landing, both read from JSON.
// Otherwise the planned fault would be called missing.
func TestPlannedAsItIsInjected(t *testing.T) {
	all, err := Library()
	if err != nil {
		t.Fatal(err)
	}
	planned := 0
	for _, s := range all {
		for name := range s.Tiers {
			tier, err := s.Tier(name, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range s.Planned(tier) {
				request, err := faults.Parse(p.Type, p.Params)
				if err != nil {
					t.Fatal(err)
				}
				want, got := reread(t, p.Params), reread(t, request.Params)
				for key, v := range want {
					if fmt.Sprint(got[key]) != fmt.Sprint(v) {
						t.Errorf("%s: %s plans %s %v and injects %v", s.Name, p.Type, key, v, got[key])
					}
				}
				planned++
			}
		}
	}
	if planned < 50 {
		t.Errorf("%d faults are planned", planned)
	}
}

// reread is what a file of JSON has of parameters.
func reread(t *testing.T, params any) (out map[string]any) {
	t.Helper()
	text, err := json.Marshal(params)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The scenario that a verdict sends somebody to makes the claim that it says.
func TestNoticesNameScenarios(t *testing.T) {
	for _, e := range checker.All {
		if e.Notice == (checker.Notice{}) {
			continue
		}
		s, err := Load(e.Notice.Scenario)
		if err != nil {
			t.Error(err)
		} else if !slices.Contains(s.Claims, e.Claim.Name) {
			t.Errorf("%s does not claim %s", s.Name, e.Claim.Name)
		}
	}
}

const minimal = `---
name: test/minimal
title: a test
protocol: mqtt3
kind: fault
cluster: {nodes: 1, flavor: reference}
sdk: go
workload: {publishers: 1, streams: 1, qos: [1], rate_per_s: 10, payload_bytes: 128, max_inflight: 1, subscribers: {online: 1}}
schedule: [{fault: pause, target: leader}]
claims: [qos1-no-loss]
tiers:
  smoke: {steady_s: 1, fault_s: 2, after_s: 1, drain_s: 5, recovery_s: 9, messages: 5}
flavors:
  robustmq: {fault_s: 45, rate_per_s: 5}
---
# A test
`

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name      string
		old, new_ string
		want      string // in the error; "" for none
	}{
		{"as it is", "", "", ""},
		{"no front matter", "---\nname", "name", `first line is not "---"`},
		{"not closed", "---\n# A test", "# A test", "not closed"},
		{"unknown field", "kind: fault", "kindness: fault", `no key "kindness"`},
		{"unknown fault", "fault: pause", "fault: paws", `no fault "paws"`},
		{"a role", "target: leader", "target: follower", ""},
		{"no role", "target: leader", "target: boss", `target "boss": valid are leader, follower`},
		{"a link", "fault: pause, target: leader", `fault: partition, target: "leader>clients"`, ""},
		{"a link that is paused", "target: leader", "target: leader~clients", "pause acts on nodes"},
		{"a link with nobody", "fault: pause, target: leader", "fault: loss, target: leader~boss", "A~B (both ways)"},
		{"a link with the witness", "fault: pause, target: leader", "fault: loss, target: leader~witness", "the witness is the control"},
		{"unknown claim", "[qos1-no-loss]", "[qos1-no-lost]", `no claim "qos1-no-lost" (did you mean qos1-no-loss`},
		{"reaches", "tiers:", "reaches: {acknowledged_before_kill: 3}\ntiers:", ""},
		{"reaches, and unknown", "tiers:", "reaches: {acknowledged_before_kil: 3}\ntiers:", "did you mean acknowledged_before_kill"},
		{"reaches of nothing", "tiers:", "reaches: {acknowledged_before_kill: 0}\ntiers:", "valid: a number from 1"},
		{"not claimed", "tiers:", "not_claimed: {order-per-stream: it is asked elsewhere}\ntiers:", ""},
		{"not claimed, and unknown", "tiers:", "not_claimed: {order: it is asked elsewhere}\ntiers:", `no claim "order"`},
		{"not claimed, and nobody knows why", "tiers:", "not_claimed: {order-per-stream: ' '}\ntiers:", "say why order-per-stream is not"},
		{"claimed and not", "tiers:", "not_claimed: {qos1-no-loss: no}\ntiers:", "leave one of them out"},
		{"no claims", "[qos1-no-loss]", "[]", "at least one is required"},
		{"a QoS that is none", "qos: [1]", "qos: [3]", "valid are 0, 1, 2"},
		{"registers", "streams: 1,", "registers: 1,", ""},
		{"registers that nobody can judge", "streams: 1, qos: [1],", "registers: 1, qos: [0, 1],", "write qos: [1] or [2], or leave registers out"},
		{"another protocol", "mqtt3", "amqp", "valid are mqtt3, mqtt5"},
		{"mailboxes of MQTT", "streams: 1,", "streams: 1, mailboxes: 1,", "are of mq9"},
		{"a brief that has no end", "streams: 1,", "streams: 1, brief: {mailboxes: 1, rate_per_s: 1},", "one of mailbox_ttl_s and message_ttl_s"},
		{"a priority that is none", "streams: 1,", "streams: 1, priorities: [high],", "valid are critical, urgent, normal"},
		{"a shared subscription without members", "{online: 1}", "{online: 1, shared: {groups: 2}}", "shared needs groups, and members of each"},
		{"sessions that end, of MQTT 3.1.1", "{online: 1}", "{online: 1, expiring: 2}", "expiring subscribers need session_expiry_s"},
		{"visitors who stay for no time", "{online: 1}", "{online: 1, visiting: 2}", "visiting subscribers need visit_s"},
		{"a topic with a wildcard", "streams: 1,", "topics: [a/+],", `topics: "a/+"`},
		{"a topic twice", "streams: 1,", "topics: [a, a],", `topics: "a"`},
		{"filters", "streams: 1, qos: [1], rate_per_s: 10, payload_bytes: 128, max_inflight: 1, subscribers: {online: 1}", "topics: [a/b], qos: [1], rate_per_s: 10, payload_bytes: 128, max_inflight: 1, subscribers: {filtered: [[a/+, b], [a/#]]}", ""},
		{"a filter that matches nothing", "{online: 1}", "{filtered: [[a]]}", "matches none of the topics"},
		{"a filter that is none", "{online: 1}", "{filtered: [[a/#/b]]}", "+ is a level of its own, and # the last one"},
		{"growth without bounds", "[qos1-no-loss]", "[steady-resources]", "steady-resources needs growth"},
		{"growth with bounds", "messages: 5}", "messages: 5, growth: {memory_mib_per_h: 1, descriptors_per_h: 1, connections_per_h: 1, latency_percent_per_h: 1}}", ""},
		{"growth that MQTT asks for", "{online: 1}}\nschedule: [{fault: pause, target: leader}]\nclaims: [qos1-no-loss]", "{offline: 1}}\nclaims: [steady-resources]", "subscribers who are offline, paused or expiring"},
		{"no smoke", "smoke:", "fog:", "smoke is required"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("test", []byte(strings.Replace(minimal, test.old, test.new_, 1)))
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}

// Beside what a scenario asks everything is judged that says something in its run.
func TestBeside(t *testing.T) {
	sdk := clients.SDK{Lang: "go", Package: "x", Version: "1", Dedupes: true}
	hidden := sdk
	hidden.Cannot = []string{contract.CannotSessionPresent, contract.CannotExactlyOnce}
	taped := Conditions{SDK: sdk, Protocol: "mqtt3", Wire: true, Cluster: history.ClusterInfo{Flavor: "mosquitto", Nodes: 1, Promises: []string{"order-per-stream"}}}
	with := func(change func(c *Conditions)) Conditions {
		c := taped
		change(&c)
		return c
	}
	three := with(func(c *Conditions) { c.Cluster.Nodes = 3 })
	for _, test := range []struct {
		name, old, new_ string
		on              Conditions
		in, out         []string
	}{
		{"as it is", "", "", taped, []string{"order-per-stream", "qos2-exactly-once", "qos1-dup-flag", "session-kept", "will-once", "no-panic", "no-leak"},
			[]string{"qos1-no-loss", "progress", "recovery", "mq9-fifo", "sdk-honest", "session-expiry"}},
		{"on the embedded broker", "", "", with(func(c *Conditions) { c.Cluster.Flavor = "reference" }), []string{"session-kept"}, []string{"order-per-stream"}},
		{"a vendor who promises no order", "", "", with(func(c *Conditions) { c.Cluster.Promises = nil }), nil, []string{"order-per-stream"}},
		{"no packets, and a library that passes copies on", "", "", with(func(c *Conditions) { c.Wire, c.SDK = false, hidden }), nil, []string{"qos1-dup-flag", "qos2-exactly-once"}},
		{"packets, and a library that passes copies on", "", "", with(func(c *Conditions) { c.SDK = hidden }), []string{"qos2-exactly-once"}, []string{"session-kept", "session-fresh"}},
		{"ends without a bound", "", "", with(func(c *Conditions) { c.Protocol = "mqtt5" }), nil, []string{"session-expiry"}},
		{"ends with a bound", "", "", with(func(c *Conditions) { c.Protocol, c.ExpiryS = "mqtt5", 5 }), []string{"session-expiry"}, nil},
		{"what the scenario does not claim", "tiers:", "not_claimed: {will-once: no reason}\ntiers:", taped, nil, []string{"will-once"}},
		{"messages that become two", "fault: pause, target: leader", "fault: packet_duplicate, target: subscribers", taped, nil, []string{"qos1-dup-flag", "qos0-at-most-once", "order-per-stream", "retained-register"}},
		{"the one copy of the data is gone", "fault: pause, target: leader", "fault: replace_node, target: node-1", taped, nil, []string{"session-kept", "qos2-no-loss"}},
		{"one copy of three is gone", "fault: pause, target: leader", "fault: replace_node, target: node-1", three, []string{"session-kept", "qos2-no-loss"}, nil},
		{"most copies are gone at once", "fault: pause, target: leader", "fault: replace_node, target: majority", three, nil, []string{"session-kept", "qos2-no-loss"}},
		{"all copies are gone at once", "fault: pause, target: leader", "fault: lost_disk, target: all", three, nil, []string{"session-kept", "qos2-no-loss"}},
	} {
		s, err := Parse("test", []byte(strings.Replace(minimal, test.old, test.new_, 1)))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		claims, not := s.Beside(test.on)
		for _, c := range test.in {
			if !slices.Contains(claims, c) {
				t.Errorf("%s: %s is not judged: %v", test.name, c, claims)
			}
		}
		for _, c := range test.out {
			if slices.Contains(claims, c) {
				t.Errorf("%s: %s is judged", test.name, c)
			}
		}
		for c, why := range not {
			if why == "" || slices.Contains(claims, c) {
				t.Errorf("%s: %s is not judged because of %q, and judged: %v", test.name, c, why, claims)
			}
		}
	}
}

// A control has the workload for as long, and asks nothing about faults.
func TestControl(t *testing.T) {
	for _, name := range []string{"mqtt/broker-kill-9", "mqtt/crash-in-turn", "mqtt/bad-neighbours", "mqtt/ack-lost"} {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		tier, err := s.Tier("", "reference")
		if err != nil {
			t.Fatal(err)
		}
		control, of := s.Control(tier)
		if len(control.Schedule) > 0 || len(control.Planned(of)) > 0 || len(control.Arms()) > 0 {
			t.Errorf("%s: a control has faults: %v", name, control.Schedule)
		}
		if len(control.Claims) == 0 || slices.Contains(control.Claims, "progress") || slices.Contains(control.Claims, "fair") {
			t.Errorf("%s: a control claims %v", name, control.Claims)
		}
		if got, want := of.PublishS(nil), tier.PublishS(s.Schedule); got < want-0.01 || got > want+0.01 {
			t.Errorf("%s: a control publishes for %.1f s, the scenario for %.1f s", name, got, want)
		}
		rest, _ := s.OffNodes()
		if onNodes := len(rest.Schedule) == 0; len(s.Schedule) == 0 || onNodes != (name == "mqtt/broker-kill-9" || name == "mqtt/crash-in-turn") {
			t.Errorf("%s: acts on nodes: %v", name, onNodes)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.md")
	if err := os.WriteFile(path, []byte(minimal), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := Load(path); err != nil || s.Name != "test/minimal" {
		t.Errorf("a file of one's own: %v, %v", s, err)
	}
	if _, err := Load("mqtt/broker-kill-10"); err == nil || !strings.Contains(err.Error(), "mqtt/broker-kill-9") {
		t.Errorf("an unknown name answers %v, want the names that exist", err)
	}
	if _, err := Load("../library/mqtt/broker-kill-9"); err == nil {
		t.Error("a name leads out of the library")
	}
}
