package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/robustmq/rmq-mcp/internal/hosttest"
)

// TestExternalProcess pauses a broker's process that the operator allows, is
// refused to kill it, and finds it running after its keeper was killed.
func TestExternalProcess(t *testing.T) {
	hosttest.Long(t, "it runs a broker")
	path := hosttest.Program(t, "mosquitto")
	port := freePort(t)
	broker := exec.Command(path, "-p", port)
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.Process.Kill(); broker.Wait() })
	pid, endpoint := broker.Process.Pid, "127.0.0.1:"+port
	h := &harbour{lab: newLab(t, nil, false), t: t}
	t.Cleanup(func() { h.kill(h.processes()) })
	envelope := filepath.Join(h.base, "envelope")
	text := fmt.Sprintf("allowed_endpoints: [%q]\nallowed_pids: [%d]\n", endpoint, pid)
	if err := os.WriteFile(envelope, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := h.serve("--envelope", envelope)
	start := func(pid int) map[string]any {
		return map[string]any{"config": map[string]any{"flavor": "external", "endpoints": []string{endpoint}, "pids": []int{pid}}, "wait_s": 45}
	}
	refused := func(tool string, args map[string]any, want string) {
		t.Helper()
		answer, err := a.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		if said := answer.Content[0].(*mcp.TextContent).Text; !strings.Contains(said, want) {
			t.Errorf("%s %v: %s, expected %q", tool, args, said, want)
		}
	}
	refused("cluster_start", start(pid+1), "allowed_pids")
	run := a.call("cluster_start", start(pid))["run_id"].(string)
	if got := h.inject(a, "pause", "node-1"); got["landing"] != "landed" {
		t.Errorf("pause: %v", got)
	}
	refused("inject_fault", map[string]any{"type": "kill", "target": "node-1", "params": map[string]any{"duration_s": 2}}, "use pause")
	a.call("inject_fault", map[string]any{"type": "pause", "target": "node-1", "params": map[string]any{"duration_s": 60}})
	if state := stateOf(fmt.Sprintf("/proc/%d", pid)); state != "T" {
		t.Errorf("the broker is in state %s, expected T", state)
	}
	h.kill(h.processes("keeper"))
	if err := await(goneBound, func() string {
		if state := stateOf(fmt.Sprintf("/proc/%d", pid)); state == "T" {
			return "the broker is still paused"
		}
		return h.noted()
	}); err != nil {
		t.Error(err)
	}
	if err := healed(filepath.Join(h.dir, "runs", run)); err != nil {
		t.Error(err)
	}
}
