package kube_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
)

// chaos is of a Chaos Mesh as kubetest has it: an API without controllers.
func chaos() kube.NetworkChaos {
	return kube.NetworkChaos{Name: "f1-1", Pod: "node-1-1", To: []string{"198.18.16.2", "198.18.128.7"},
		Fields: map[string]any{"action": "delay", "delay": map[string]any{"latency": "50ms"}}}
}

func TestNetworkChaos(t *testing.T) {
	s, api := open(t)
	if err := api.ChaosMesh(t.Context()); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "has no Chaos Mesh") {
		t.Errorf("without Chaos Mesh: %v", err)
	}
	s.ChaosMesh = true
	if err := api.ChaosMesh(t.Context()); err != nil {
		t.Errorf("with Chaos Mesh: %v", err)
	}
	n := made(t, api)
	if err := n.Inject(t.Context(), chaos()); err != nil {
		t.Fatal(err)
	}
	spec, _ := s.Object("networkchaos", n.Name(), "f1-1")["spec"].(map[string]any)
	want := map[string]any{
		"mode": "all", "selector": map[string]any{"pods": map[string]any{n.Name(): []any{"node-1-1"}}}, "direction": "to",
		"externalTargets": []any{"198.18.16.2", "198.18.128.7"}, "duration": "1h0m0s",
		"action": "delay", "delay": map[string]any{"latency": "50ms"},
	}
	if !reflect.DeepEqual(spec, want) {
		t.Errorf("%v, want %v", spec, want)
	}
	is, err := n.Injected(t.Context(), "f1-1")
	if err != nil || is.Done || is.Gone {
		t.Errorf("before its controllers saw it: %+v, %v", is, err)
	}
	done := []any{map[string]any{"type": "AllInjected", "status": "True"}}
	s.Change("networkchaos", n.Name(), "f1-1", map[string]any{"status": map[string]any{"conditions": done}})
	if is, err := n.Injected(t.Context(), "f1-1"); err != nil || is.Done {
		t.Errorf("all of no pods: %+v, %v", is, err)
	}
	s.Change("networkchaos", n.Name(), "f1-1", map[string]any{"status": map[string]any{
		"experiment": map[string]any{"containerRecords": []any{map[string]any{"id": n.Name() + "/node-1-1", "phase": "Injected", "injectedCount": int64(1)}}},
	}})
	is, err = n.Injected(t.Context(), "f1-1")
	if err != nil || !is.Done {
		t.Errorf("injected: %+v, %v", is, err)
	}
	if _, err := n.Recover(t.Context(), "f1-1"); err != nil {
		t.Fatal(err)
	}
	if is, err := n.Recover(t.Context(), "f1-1"); err != nil || !is.Gone {
		t.Errorf("recovered: %+v, %v", is, err)
	}
}

// Chaos Mesh does not remove a NetworkChaos that it could not inject, so its attempts are ended. Those of
// others are not.
func TestNetworkChaosThatIsNotInjected(t *testing.T) {
	s, api := open(t)
	n := made(t, api)
	if err := n.Inject(t.Context(), chaos()); err != nil {
		t.Fatal(err)
	}
	s.Change("networkchaos", n.Name(), "f1-1", map[string]any{
		"metadata": map[string]any{"finalizers": []any{"chaos-mesh/records"}},
		"status": map[string]any{"experiment": map[string]any{"containerRecords": []any{map[string]any{
			"id": n.Name() + "/node-1-1", "phase": "Not Injected/Wait",
			"events": []any{map[string]any{"type": "Failed", "operation": "Apply", "message": "unable to set tcs"}},
		}}}},
	})
	of := func(name string) any { return map[string]any{"source": n.Name() + "/" + name} }
	s.Make("podnetworkchaos", n.Name(), "node-1-1", map[string]any{"spec": map[string]any{"tcs": []any{of("f1-1"), of("f2-1")}, "ipsets": []any{of("f1-1")}}})

	is, err := n.Recover(t.Context(), "f1-1")
	if err != nil || is.Gone || is.Why != "unable to set tcs" {
		t.Errorf("%+v, %v", is, err)
	}
	spec, _ := s.Object("podnetworkchaos", n.Name(), "node-1-1")["spec"].(map[string]any)
	tcs, _ := spec["tcs"].([]any)
	ipsets, _ := spec["ipsets"].([]any)
	if len(tcs) != 1 || len(ipsets) != 0 || tcs[0].(map[string]any)["source"] != n.Name()+"/f2-1" {
		t.Errorf("what is left at the pod: %v", spec)
	}
}
