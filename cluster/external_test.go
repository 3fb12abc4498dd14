package cluster

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestExternal(t *testing.T) {
	ctx, c := startCluster(t, Config{Nodes: 1})
	_, outside := startCluster(t, Config{Flavor: "external", Endpoints: c.Endpoints("")})
	if err := Reach(ctx, Config{Flavor: "external", Endpoints: c.Endpoints("")}, "", 100); err != nil {
		t.Error(err)
	}
	n := outside.Nodes()[0]
	if !serves(ctx, n) {
		t.Error("the external node does not answer")
	}
	if _, err := n.State(ctx); !errors.Is(err, ErrUnsupported) {
		t.Errorf("state of an external node: %v, want unsupported", err)
	}
	if err := n.Set(ctx, "killed"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("kill an external node: %v, want unsupported", err)
	}
	if _, err := outside.Resolve(ctx, "leader", ""); !errors.Is(err, ErrUnsupported) {
		t.Errorf("leader of external nodes: %v, want unsupported", err)
	}
	if err := outside.Stop(ctx); err != nil {
		t.Error(err)
	}
	if !serves(ctx, n) {
		t.Error("stopping an external cluster stopped what is not ours")
	}
}

// The endpoints of external brokers may be their NATS listeners.
func TestExternalMQ9(t *testing.T) {
	_, c := startCluster(t, Config{Nodes: 1})
	at := c.Nodes()[0].NATS()
	ctx, outside := startCluster(t, Config{Flavor: "external", Endpoints: []string{at}, Protocol: contract.MQ9})
	n := outside.Nodes()[0]
	if n.NATS() != at || n.MQTT() != "" || outside.Endpoints("")[0] != "" {
		t.Errorf("it serves mq9 at %q and MQTT at %q, expected mq9 alone, at %s", n.NATS(), n.MQTT(), at)
	}
	if _, err := n.Probe(ctx); err != nil {
		t.Error(err)
	}
	if _, err := n.Dial(ctx); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a client of MQTT: %v, want unsupported", err)
	}
	if err := Reach(ctx, Config{Flavor: "external", Endpoints: c.Endpoints(""), Protocol: contract.MQ9}, "", 100); err == nil {
		t.Error("an MQTT listener was taken for one of mq9")
	}
	if lacks := outside.Info().Lacks; !slices.Contains(outside.Promises(), history.PromiseMailboxes) || lacks[history.LacksLimits] != "" {
		t.Errorf("it promises %v and lacks %v", outside.Promises(), lacks)
	}
	for _, wrong := range []Config{
		{Flavor: "external", Endpoints: []string{at}, Protocol: "mqtt4"},
		{Flavor: "external", Endpoints: []string{at}, Protocol: contract.MQ9, Arm: []string{ArmTap}},
		{Flavor: "external", Endpoints: []string{at}, Protocol: contract.MQ9, Transports: []string{"ws"}},
		{Flavor: "reference", Protocol: contract.MQ9},
	} {
		if _, err := Check(wrong); err == nil {
			t.Errorf("%+v was accepted", wrong)
		}
	}
}

// A broker that accepts no client is known before a run is made.
func TestReach(t *testing.T) {
	silent := hosttest.Serve(t, func(net.Conn) {})
	err := Reach(t.Context(), Config{Flavor: "external", Endpoints: []string{silent}}, "", 100)
	if err == nil || !strings.HasPrefix(err.Error(), "reach the broker: it does not serve after 3 s: connect to "+silent+": ") || !strings.Contains(err.Error(), "see that it runs") {
		t.Errorf("%v", err)
	}
	if err := Reach(t.Context(), Config{Flavor: "reference"}, "", 100); err != nil {
		t.Errorf("a broker that is still to be started: %v", err)
	}
}
