package faults

import (
	"errors"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// Every protocol fault lands on clients that publish. It never lands if it
// matches no client, although its probe shows that the tap would act.
func TestProtocolFaults(t *testing.T) {
	t.Parallel()
	tests := map[string]map[string]any{
		"packet_drop":      {"packet": "puback", "nth": 3},
		"packet_delay":     {"packet": "puback", "delay_ms": 100},
		"packet_duplicate": {"direction": "to_broker", "percent": 30},
		"packet_cut_after": {"packet": "puback", "nth": 10},
		"packet_truncate":  {"direction": "to_broker", "nth": 10},
		"packet_mutate":    {"what": "topic", "nth": 10},
	}
	for _, k := range protocolKinds() {
		for _, pattern := range []string{"pub-*", "nobody"} {
			t.Run(k.Type+" of "+pattern, func(t *testing.T) {
				t.Parallel()
				l := newTapLab(t)
				l.publish("pub-1")
				params := map[string]any{"client": pattern, "duration_s": 0.6}
				for name, v := range tests[k.Type] {
					params[name] = v
				}
				want := history.Landed
				if pattern == "nobody" {
					want, params["duration_s"] = history.NotLanded, 0.2
				}
				l.lands(k.Type, params, l.clients(), want)
			})
		}
	}
}

// A fault about one node's connections is not about another's.
func TestProtocolFaultOnNode(t *testing.T) {
	l := newTapLab(t)
	l.publish("pub-1")
	target := l.clients()
	target.Clients = nil
	target.Nodes, target.Peers = target.Peers, nil
	l.lands("packet_delay", map[string]any{"duration_s": 0.5}, target, history.Landed)
	target.Nodes = []Node{&fakeNode{name: "node-2", state: Running}}
	l.lands("packet_delay", map[string]any{"duration_s": 0.5}, target, history.NotLanded)
}

// A fault on two nodes, one of which no client is connected to, lands on the other alone.
func TestProtocolFaultOnIdleNode(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"packet_drop", "reconnect_storm"} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			l := newTapLab(t)
			if _, err := l.tap.Listen("node-2", "127.0.0.1:0", l.broker.address); err != nil {
				t.Fatal(err)
			}
			l.publish("pub-1")
			target := l.clients()
			idle := &tapNode{fakeNode{name: "node-2", state: Running}, l.broker}
			target.Asked, target.Nodes, target.Clients, target.Peers = "all", []Node{target.Peers[0], idle}, nil, nil
			l.lands(typ, map[string]any{"duration_s": 0.6}, target, history.Partial)
		})
	}
}

func TestConnectionFaults(t *testing.T) {
	t.Parallel()
	for _, k := range clientKinds() {
		if k.Arms != "tap" {
			continue
		}
		for _, want := range []history.LandingState{history.Landed, history.NotLanded} {
			t.Run(k.Type+" is "+string(want), func(t *testing.T) {
				t.Parallel()
				l := newTapLab(t)
				if want == history.Landed {
					l.publish("pub-1")
					l.publish("pub-2")
				}
				duration := 0.2
				if want == history.Landed {
					duration = 1.5
				}
				l.lands(k.Type, map[string]any{"duration_s": duration}, l.clients(), want)
				if want == history.Landed { // and everybody is back
					l.await(func() bool { return len(l.tap.Connections(tap.Rule{})) == 2 })
				}
			})
		}
	}
}

// Faults overlap in the tap and are healed in any order.
func TestTapOverlap(t *testing.T) {
	l := newTapLab(t)
	l.publish("pub-1")
	var ids []string
	for _, typ := range []string{"packet_delay", "packet_drop", "reconnect_storm"} {
		params := map[string]any{"duration_s": 60.0}
		if typ == "packet_drop" {
			params["nth"] = 5
		}
		ids = append(ids, l.inject(typ, params, l.clients()).Fault)
	}
	for _, i := range []int{1, 2, 0} {
		if _, err := l.engine.Heal(t.Context(), ids[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, landing := range l.engine.Landings() {
		if landing.State != history.Landed || landing.Healed != history.HealVerified {
			t.Errorf("%s: %s, healed %s: %q\n%s", landing.Type, landing.State, landing.Healed, landing.Reasons, encode(landing.Proofs))
		}
	}
}

func TestTapIsNotArmed(t *testing.T) {
	l := newTapLab(t)
	target := l.clients()
	target.Site.Tap = nil
	for _, k := range Catalog() {
		if k.Arms != "tap" {
			continue
		}
		req, err := Parse(k.Type, k.Example.Params)
		if err != nil {
			t.Fatal(err)
		}
		landing, err := l.engine.Inject(t.Context(), req, target)
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "arm: [tap]") || landing.State != history.Unsupported {
			t.Errorf("%s: %s, %v", k.Type, landing.State, err)
		}
	}
}

func TestDriverFaults(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		typ    string
		driver *fakeDriver
		want   history.LandingState
	}{
		{"lands", "pause_client", &fakeDriver{}, history.Landed},
		{"lands", "kill_client", &fakeDriver{}, history.Landed},
		{"waits and says nothing", "kill_client", &fakeDriver{idle: true}, history.Landed},
		{"was not connected anyway", "kill_client", &fakeDriver{alone: true}, history.NotLanded},
		{"was silent anyway", "pause_client", &fakeDriver{idle: true}, history.NotLanded},
		{"hears no signal", "pause_client", &fakeDriver{deaf: true}, history.NotLanded},
		{"hears no signal", "kill_client", &fakeDriver{deaf: true}, history.NotLanded},
	} {
		t.Run(test.typ+" "+test.name, func(t *testing.T) {
			t.Parallel()
			l := newTapLab(t)
			l.driver = test.driver
			l.lands(test.typ, map[string]any{"duration_s": 0.1}, l.clients(), test.want)
			state, _ := test.driver.State()
			if want := "exited: signal: killed"; test.typ == "kill_client" && !test.driver.deaf && state != want {
				t.Errorf("healed, the driver is %s, want %s", state, want)
			}
		})
	}
}

func TestClientTargets(t *testing.T) {
	for want, ask := range map[string][2]string{
		"":                                   {"packet_drop", "client:publisher-1"},
		"kill acts on nodes, not on clients": {"kill", "clients"},
		"pause_client acts on clients, not on leader": {"pause_client", "leader"},
	} {
		err := CheckTarget(ask[0], ask[1])
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s on %s: %v, want %q", ask[0], ask[1], err, want)
		}
	}
}

func TestProtocolParamsSayWhatIsWrong(t *testing.T) {
	for want, params := range map[string]map[string]any{
		"only publish has a topic": {"packet": "puback", "topic": "a"},
		"give one of them":         {"nth": 2, "percent": 10},
		"only goes to_broker":      {"packet": "pingreq", "direction": "to_client"},
		"a whole number":           {"nth": 1.5},
		"syntax error in pattern":  {"client": "["},
		"valid: any, connect":      {"packet": "puback1"},
	} {
		if _, err := Parse("packet_drop", params); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", params, err, want)
		}
	}
}
