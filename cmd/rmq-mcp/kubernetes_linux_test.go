package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.yaml.in/yaml/v3"

	"github.com/robustmq/rmq-mcp/campaigns/doctor"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/kubetest"
)

// A quay is a lab with a Kubernetes cluster whose pods are processes.
type quay struct {
	*lab
	*kubetest.Server
	t *testing.T
}

// kubernetesPage has the role that a run needs.
const kubernetesPage = "../../docs/kubernetes.md"

// TestKubernetes is runtime kubernetes, each time on a cluster of its own, with the rights of
// the role in the documentation and no others.
func TestKubernetes(t *testing.T) {
	hosttest.Long(t, "it runs clusters")
	role := documentedRole(t)
	for _, test := range []struct {
		name string
		run  func(*quay, *testing.T)
	}{
		{"scenario", (*quay).scenario},
		{"driver lost", (*quay).driverLost},
		{"explored by hand", (*quay).explored},
		{"faults", (*quay).faults},
		{"keeper killed", (*quay).keeperKilled},
		{"keeper and guard killed", (*quay).bothKilled},
		{"watchdog", (*quay).watchdog},
		{"bad input", (*quay).badInput},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := &quay{newLab(t, nil, false), kubetest.New(t, binary()), t}
			q.Refuse = role
			q.env = []string{"KUBECONFIG=" + q.Kubeconfig, "RMQ_MCP_IMAGE=rmq-mcp:1"}
			t.Cleanup(func() { q.kill(q.processes()) })
			test.run(q, t)
			if err := await(leftBound, func() string { return strings.Join(q.Names("namespaces"), " ") + q.left() + q.noted() }); err != nil {
				t.Error(err)
			}
		})
	}
}

// documentedRole refuses what the documented role does not grant.
func documentedRole(t *testing.T) func(verb, kind, name string) error {
	t.Helper()
	page, err := os.ReadFile(kubernetesPage)
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "```yaml\n")
	text, _, closed := strings.Cut(after, "```")
	var role struct {
		Rules []struct{ Resources, Verbs []string }
	}
	if err := yaml.Unmarshal([]byte(text), &role); err != nil || !found || !closed || len(role.Rules) == 0 {
		t.Fatalf("%s has no role: %v", kubernetesPage, err)
	}
	return func(verb, kind, name string) error {
		if verb == "log" || verb == "exec" || verb == "attach" {
			kind, verb = "pods/"+verb, "get"
		}
		for _, r := range role.Rules {
			if slices.Contains(r.Resources, kind) && slices.Contains(r.Verbs, verb) {
				return nil
			}
		}
		return kubetest.Forbidden(verb, kind, name)
	}
}

// serve is an agent's session with a server whose operator allows the runtime.
func (q *quay) serve() *agent {
	q.t.Helper()
	envelope := filepath.Join(q.base, "envelope.yaml")
	if err := os.WriteFile(envelope, []byte("allowed_runtimes: [process, kubernetes]\n"), 0o600); err != nil {
		q.t.Fatal(err)
	}
	return connectAgent(q.t, &mcp.CommandTransport{Command: q.command("serve", "--envelope", envelope)})
}

// up starts three nodes in pods and traffic on them.
func (q *quay) up(a *agent) (run string) {
	q.t.Helper()
	started := a.call("cluster_start", map[string]any{"nodes": 3, "config": map[string]any{"runtime": "kubernetes"}, "wait_s": 45})
	if started["phase"] != history.PhaseReady {
		q.t.Fatalf("cluster_start: %v", started)
	}
	info := started["cluster"].(map[string]any)
	if info["runtime"] != "kubernetes" || info["isolation"] != "pods" || info["image"] != "rmq-mcp:1" {
		q.t.Errorf("what runs is described as %v", info)
	}
	if pods := q.Names("pods"); len(pods) != 4 {
		q.t.Fatalf("pods %v, expected three and the watchdog", pods)
	}
	a.call("run_client", map[string]any{"sdk_lang": "go", "scenario": "mqtt/qos-roundtrip", "duration_s": 120, "wait_s": 0})
	a.untilTrafficFlows()
	return started["run_id"].(string)
}

// scenario is a kill of the leader, judged on pods as it is on processes.
func (q *quay) scenario(t *testing.T) {
	out, err := q.command("run", "mqtt/broker-kill-9", "--runtime", "kubernetes", "--drivers", "2").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS-smoke") || !strings.Contains(string(out), "the nodes are pods of namespace rmq-") {
		t.Errorf("run: %v\n%s", err, out)
	}
	if runs, err := filepath.Glob(filepath.Join(q.base, "state/runs/*/evidence/run.json")); err != nil || len(runs) != 1 {
		t.Errorf("runs %q, %v", runs, err)
	} else if text, err := os.ReadFile(runs[0]); err != nil || !strings.Contains(string(text), "\"drivers\": 2,\n  \"clocks_s\": 0.01") {
		t.Errorf("the record does not say that clients have clocks of their own: %v\n%s", err, text)
	}
	if pages, err := filepath.Glob(filepath.Join(q.base, "state/runs/*/report.md")); err != nil || len(pages) != 1 {
		t.Errorf("reports %q, %v", pages, err)
	} else if text, err := os.ReadFile(pages[0]); err != nil || !strings.Contains(string(text), ", mqtt3, in pods |") {
		t.Errorf("the report does not say where clients ran: %v", err)
	}
	// A cluster may have thousands of pods: a run asks for its own by their names.
	if lists := q.Calls("list pods") + q.Calls("list namespaces"); lists > 0 {
		t.Errorf("it listed objects %d times", lists)
	}
}

// driverLost evicts clients in the middle of a run: it tells nothing of the broker.
func (q *quay) driverLost(t *testing.T) {
	var out bytes.Buffer
	run := q.command("run", "mqtt/broker-kill-9", "--runtime", "kubernetes", "--no-repeat")
	run.Stdout, run.Stderr = &out, &out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	missing := func() string {
		if names := q.Names("pods"); !slices.Contains(names, "publishers-0-2") {
			return fmt.Sprint(names)
		}
		return ""
	}
	if err := await(goneBound, missing); err != nil {
		t.Error(err)
	} else {
		q.Evict(q.Names("namespaces")[0], "subscribers-0-1")
	}
	if err := run.Wait(); err == nil || !strings.Contains(out.String(), "INCONCLUSIVE-env") || strings.Contains(out.String(), " drain of ") || !strings.Contains(out.String(), history.LostSight) {
		t.Errorf("run: %v\n%s", err, out.String())
	}
}

func (q *quay) explored(t *testing.T) {
	a := q.serve()
	run := q.up(a)
	for _, fault := range []struct{ kind, target string }{
		{"pause", "node-2"}, {"kill", "node-3"}, {"stop", "node-1"}, {"restart", "node-2"}, {"pause_client", "subscribers"}, {"kill_client", "publishers"},
	} {
		if got := a.inject(fault.kind, fault.target); got["landing"] != "landed" {
			t.Errorf("%s: %v", fault.kind, got)
		}
	}
	if why := a.refused("inject_fault", map[string]any{"type": "partition", "target": "node-2", "params": map[string]any{"duration_s": 2}}); !strings.Contains(why, "attach to the network of node-") {
		t.Errorf("partition: %s", why)
	}
	if logs := a.call("get_logs", map[string]any{"node": "node-3", "match": "started again"}); !strings.Contains(fmt.Sprint(logs["lines"]), "started again") {
		t.Errorf("logs of a pod that was killed: %v", logs)
	}
	metrics := fmt.Sprint(a.call("get_metrics", map[string]any{"node": "node-1", "names": []string{"process_threads"}})["metrics"])
	if !strings.Contains(metrics, "process_threads") {
		t.Errorf("metrics of a pod: %s", metrics)
	}
	a.stop(run)
}

// faults injects some as doctor does. Pods have no layer under their disks.
func (q *quay) faults(t *testing.T) {
	out, err := q.command("doctor", "--faults", "--runtime", "kubernetes", "--only", "kill_all,disconnect_all,connection_flood,slow", "--json").Output()
	var rows []doctor.Row
	if jsonErr := json.Unmarshal(out, &rows); err != nil || jsonErr != nil {
		t.Fatalf("doctor: %v, %v: %s", err, jsonErr, out)
	}
	for _, r := range rows {
		if r.Landed() == (r.Type == "slow") || !r.OK {
			t.Errorf("%s: %s, heal %s: %q", r.Type, r.Landing, r.Healed, r.Reasons)
		}
	}
}

// keeperKilled leaves it to the guard to remove the pods.
func (q *quay) keeperKilled(t *testing.T) {
	a := q.serve()
	q.up(a)
	q.kill(q.processes("keeper"))
	if err := await(goneBound, func() string { return strings.Join(q.Names("pods"), " ") }); err != nil {
		t.Errorf("%v after their keeper was killed: %v", goneBound, err)
	}
	a.session.Close()
}

// bothKilled leaves it to the user, who has another cluster selected by then.
func (q *quay) bothKilled(t *testing.T) {
	a := q.serve()
	run := q.up(a)
	q.kill(append(q.processes("guard"), q.processes("serve", "keeper")...))
	if len(q.Names("pods")) == 0 {
		t.Error("the pods are gone though nobody was left to remove them: this test shows nothing")
	}
	q.env = append(q.env, "KUBECONFIG="+kubetest.New(t).Kubeconfig)
	if out, err := q.command("heal").CombinedOutput(); err != nil || !strings.Contains(string(out), run) {
		t.Errorf("heal: %v\n%s", err, out)
	}
}

// watchdog leaves it to the watchdog. Another namespace stays.
func (q *quay) watchdog(t *testing.T) {
	api, err := kube.Open(t.Context(), kube.Target{Files: []string{q.Kubeconfig}})
	if err != nil {
		t.Fatal(err)
	}
	other, err := api.Make(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	q.up(q.serve())
	q.kill(append(q.processes("guard"), q.processes("serve", "keeper")...))
	if err := await(goneBound, func() string { return strings.Join(q.Names("pods"), " ") }); err != nil {
		t.Errorf("%v after nothing renewed the lease: %v", goneBound, err)
	}
	if names := q.Names("namespaces"); len(names) != 1 || names[0] != other.Name() {
		t.Errorf("there are the namespaces %v", names)
	}
	if _, err := other.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if out, err := q.command("heal").CombinedOutput(); err != nil {
		t.Errorf("heal: %v\n%s", err, out)
	}
}

func (q *quay) badInput(t *testing.T) {
	q.Refuse = func(verb, kind, name string) error {
		if verb == "create" && kind == "services" {
			return kubetest.Forbidden(verb, kind, name)
		}
		return nil
	}
	for _, test := range []struct {
		args []string
		env  string
		want string
	}{
		{nil, "KUBECONFIG=/nowhere", "set KUBECONFIG"},
		{nil, "RMQ_MCP_IMAGE=", "RMQ_MCP_IMAGE is not set"},
		{nil, "", "docs/kubernetes.md lists the rights"},
		{[]string{"--arm", "disk"}, "", "use runtime process"},
		{[]string{"--flavor", "mosquitto"}, "", "needs an image"},
	} {
		cmd := q.command(append([]string{"run", filepath.Join(q.base, "one-node.md"), "--runtime", "kubernetes"}, test.args...)...)
		cmd.Env = append(cmd.Env, test.env)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), test.want) {
			t.Errorf("%v %s: %v, expected %q:\n%s", test.args, test.env, err, test.want, out)
		}
	}
	q.Refuse = nil
	a := connectAgent(t, &mcp.CommandTransport{Command: q.command("serve")})
	if why := a.refused("cluster_start", map[string]any{"config": map[string]any{"runtime": "kubernetes"}}); !strings.Contains(why, "allowed_runtimes") {
		t.Errorf("an agent whose operator allowed nothing: %s", why)
	}
}
