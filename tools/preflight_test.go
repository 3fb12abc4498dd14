package tools

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/skills"
)

var halfAHost = experiment.Preflight{
	Isolation: "namespaces",
	Abilities: []experiment.Ability{{Name: "namespaces", OK: true}, {Name: "mosquitto", Detail: "not found", Install: "apt-get install mosquitto"}},
	Flavors:   []experiment.Ability{{Name: "reference", OK: true}, {Name: "mosquitto", Detail: "not found", Install: "apt-get install mosquitto"}},
	SDKs: []experiment.Ability{
		{Name: "go/paho.mqtt.golang@1.5.1", OK: true, Detail: "mqtt3"}, {Name: "go/paho.mqtt.golang@1.4.3", OK: true, Detail: "mqtt3"}, {Name: "rust/rumqttc@0.25.1", Install: "no cargo: apt-get install cargo"},
		{Name: "go/rmq-mcp@1", OK: true, Detail: "mqtt3, mqtt5"}, {Name: "rust/async-nats@0.51.0", Install: "no cargo: apt-get install cargo"}, {Name: "js/mqtt@5.0.0", OK: true, Detail: "mqtt3, mqtt5"},
	},
	Faults: []experiment.FaultMeans{
		{Type: "kill", OK: true, Mechanism: "sigkill", Params: "duration_s: how long"},
		{Type: "full", OK: true, Mechanism: "fuse", Arms: "disk"}, {Type: "clock_jump", Missing: "no libfaketime"},
	},
}

func TestPreflightSaysWhatIsMissingOnce(t *testing.T) {
	want := []Missing{
		{Thing: "mosquitto: not found", Costs: []string{"flavor mosquitto"}, Install: "apt-get install mosquitto"},
		{Thing: "no cargo: apt-get install cargo", Costs: []string{"SDK rust/rumqttc@0.25.1", "SDK rust/async-nats@0.51.0"}},
		{Thing: "no libfaketime", Costs: []string{"fault clock_jump"}},
	}
	if diff := cmp.Diff(want, missing(halfAHost)); diff != "" {
		t.Error(diff)
	}
}

func TestPreflight(t *testing.T) {
	h := &host{preflight: halfAHost}
	c := connectTo(t, h.server(t, Options{}))
	ask := func(args map[string]any) PreflightAnswer {
		t.Helper()
		var got PreflightAnswer
		if err := json.Unmarshal([]byte(textOf(callTool(t, c, "preflight", args))), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := ask(nil)
	if want := "isolation namespaces; 1 of 2 flavors, 4 of 6 SDKs and 2 of 3 faults can be had here, within the operator's limits"; got.Summary != want {
		t.Errorf("%q, want %q", got.Summary, want)
	}
	if want := []string{"go, mqtt3: paho.mqtt.golang@1.5.1 1.4.3", "go, mqtt3+mqtt5: rmq-mcp@1", "js, mqtt3+mqtt5: mqtt@5.0.0"}; !slices.Equal(got.SDKs, want) {
		t.Errorf("SDKs %q, want %q", got.SDKs, want)
	}
	if want := []string{"arm nothing: kill", "arm disk: full"}; !slices.Equal(got.Faults, want) {
		t.Errorf("faults %q, want %q", got.Faults, want)
	}
	if got.Fault != nil || got.Detail != nil {
		t.Errorf("more than was asked: %+v", got)
	}
	if got := ask(map[string]any{"fault": "kill"}); got.Fault == nil || got.Fault.Params != "duration_s: how long" {
		t.Errorf("kill: %+v", got.Fault)
	}
	if got := ask(map[string]any{"detail": true}); got.Detail == nil {
		t.Error("no detail")
	}
	bad := callTool(t, c, "preflight", map[string]any{"fault": "meteor"})
	if text := textOf(bad); !bad.IsError || !strings.Contains(text, `no fault "meteor"; there are kill, pause, stop`) {
		t.Errorf("a fault that does not exist: %s", text)
	}
}

// An agent looks at the host before it does anything else. A host that can do all is
// the usual one, and one that can do nothing has the most to tell.
func TestPreflightIsShort(t *testing.T) {
	for _, c := range []struct {
		name string
		can  bool
		most int // tokens
	}{{"all", true, 600}, {"nothing", false, 1500}} {
		h := &host{preflight: experiment.Preflight{Isolation: "namespaces"}}
		for _, f := range cluster.Flavors() {
			h.preflight.Flavors = append(h.preflight.Flavors, experiment.Ability{Name: f.Name, OK: c.can, Detail: "not found", Install: f.Install})
		}
		for _, s := range clients.SDKs() {
			h.preflight.SDKs = append(h.preflight.SDKs, experiment.Ability{Name: s.String(), OK: c.can, Detail: "mqtt3, mqtt5", Install: "no " + s.Lang + "; apt-get install " + s.Lang})
		}
		for _, k := range faults.Catalog() {
			h.preflight.Faults = append(h.preflight.Faults, experiment.FaultMeans{Type: k.Type, OK: c.can, Arms: k.Arms, Missing: k.Family + " faults need root"})
		}
		text := textOf(callTool(t, connectTo(t, h.server(t, Options{})), "preflight", nil))
		tokens := skills.Tokens(text)
		t.Logf("a host that can do %s: about %d tokens", c.name, tokens)
		if tokens > c.most {
			t.Errorf("a host that can do %s takes %d tokens, the budget is %d:\n%s", c.name, tokens, c.most, text)
		}
	}
}

func TestLimitsInWords(t *testing.T) {
	e := envelope.Default("/state")
	e.AllowedFaults, e.AllowMajority, e.AllowedFlavors = []string{"kill", "pause"}, false, []string{"reference"}
	want := "8 experiments at once of 5 nodes, 8 faults at once of 300 s each and 3600 s in an experiment, never on more than half of the nodes; no fault but kill, pause; flavors: reference; runtimes: "
	if got := limitsOf(e); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "; reports go to /state/published") {
		t.Errorf("%q, want %q", got, want)
	}
}
