package main

import (
	"encoding/json"
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

// TestExternalControl runs a scenario whose fault nobody may do to somebody else's
// broker: its workload runs, and is judged as a control.
func TestExternalControl(t *testing.T) {
	hosttest.Long(t, "it runs a broker")
	t.Parallel()
	port := freePort(t)
	broker := exec.Command(hosttest.Program(t, "mosquitto"), "-p", port)
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.Process.Kill(); broker.Wait() })
	dir := t.TempDir()
	out, err := rmq(t, dir, "run", "mqtt/will", "--endpoint", "127.0.0.1:"+port, "--no-repeat", "--json").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderrOf(err))
	}
	var report struct {
		Scenario struct{ Name string }
		Verdict  struct{ State, Headline string }
		Landings []any
		Command  string `json:"reproduce"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	if report.Verdict.State != "PASS-smoke" || report.Scenario.Name != "mqtt/will (control)" || len(report.Landings) > 0 || !strings.Contains(report.Command, "--no-faults") {
		t.Errorf("%s of %s: %s; again: %s", report.Verdict.State, report.Scenario.Name, report.Verdict.Headline, report.Command)
	}
}
