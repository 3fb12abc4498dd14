package cluster

import (
	"errors"
	"testing"
)

func TestExternal(t *testing.T) {
	ctx, c := startCluster(t, Config{Nodes: 1})
	_, outside := startCluster(t, Config{Flavor: "external", Endpoints: c.Endpoints("")})
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
