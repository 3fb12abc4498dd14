package main

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// connections of the official SDK's client to the built binary.
func connections() map[string]func(testing.TB, string) mcp.Transport {
	return map[string]func(testing.TB, string) mcp.Transport{
		"stdio": func(t testing.TB, dir string) mcp.Transport {
			return &mcp.CommandTransport{Command: rmq(t, dir, "serve")}
		},
		"http": func(t testing.TB, dir string) mcp.Transport {
			url, token := served(t, dir)
			return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)}}
		},
	}
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestClientOfAnotherMaker is an agent's afternoon: look, start a cluster, put
// traffic on it, kill a node, stop, read the verdict, publish.
func TestClientOfAnotherMaker(t *testing.T) {
	hosttest.Long(t, "it runs clusters")
	t.Parallel()
	for name, transport := range connections() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			t.Cleanup(func() { stopAll(t, dir) })
			a := connectAgent(t, transport(t, dir))
			a.looks()
			run := a.explores()
			a.publishes(dir, run)
		})
	}
}

type agent struct {
	t       *testing.T
	session *mcp.ClientSession
}

func connectAgent(t *testing.T, transport mcp.Transport) *agent {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return &agent{t, session}
}

// refused calls a tool that refuses, and returns why.
func (a *agent) refused(tool string, args map[string]any) string {
	a.t.Helper()
	result, err := a.session.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil || !result.IsError {
		a.t.Fatalf("%s of %v is not refused: %v", tool, args, err)
	}
	return result.Content[0].(*mcp.TextContent).Text
}

// call answers what a host would show its model.
func (a *agent) call(tool string, args map[string]any) map[string]any {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	result, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	if result.IsError {
		a.t.Fatalf("%s: %s", tool, result.Content[0].(*mcp.TextContent).Text)
	}
	text, err := json.Marshal(result.StructuredContent)
	if err != nil {
		a.t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		a.t.Fatal(err)
	}
	return out
}

func (a *agent) looks() {
	a.t.Helper()
	list, err := a.session.ListTools(a.t.Context(), nil)
	if err != nil || len(list.Tools) != 20 {
		a.t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	if host := a.call("preflight", nil); host["isolation"] == "" {
		a.t.Errorf("preflight: %v", host)
	}
	if one := a.call("list_scenarios", map[string]any{"scenario": "mqtt/broker-kill-9"}); !strings.Contains(one["text"].(string), "kill") {
		a.t.Errorf("list_scenarios: %v", one)
	}
	bad, err := a.session.CallTool(a.t.Context(), &mcp.CallToolParams{Name: "inject_fault", Arguments: map[string]any{"type": "meteor"}})
	if err != nil || !bad.IsError {
		a.t.Errorf("a meteor: %v %v", bad, err)
	}
}

// explores drives a cluster by hand and answers the run's id.
func (a *agent) explores() string {
	a.t.Helper()
	started := a.call("cluster_start", map[string]any{"nodes": 3, "config": map[string]any{"flavor": "reference"}, "wait_s": 45})
	if started["phase"] != history.PhaseReady {
		a.t.Fatalf("cluster_start: %v", started["summary"])
	}
	a.call("run_client", map[string]any{"sdk_lang": "go", "scenario": "mqtt/qos-roundtrip", "duration_s": 20, "wait_s": 0})
	a.untilTrafficFlows()
	fault := a.call("inject_fault", map[string]any{"type": "kill", "target": "any", "params": map[string]any{"duration_s": 2}})["fault"].(map[string]any)
	healed := a.call("heal_fault", map[string]any{"fault_id": fault["fault_id"]})["fault"].(map[string]any)
	if healed["landing"] != "landed" || healed["healed"] != "verified" {
		a.t.Errorf("the fault: %v", healed)
	}
	a.call("get_logs", map[string]any{"limit": 5})
	a.call("get_metrics", nil)
	run := started["run_id"].(string)
	stopped := a.call("cluster_stop", map[string]any{"wait_s": 45})
	for stopped["running"] == true {
		stopped = a.call("get_run", map[string]any{"run_id": run, "wait_s": 45})
	}
	if v, ok := stopped["verdict"].(map[string]any); !ok || v["state"] != string(verdict.PassSmoke) || stopped["root"] == nil {
		a.t.Fatalf("cluster_stop: %v", stopped)
	}
	return run
}

func (a *agent) untilTrafficFlows() {
	a.t.Helper()
	for deadline := time.Now().Add(hosttest.Bound); time.Now().Before(deadline); {
		if a.call("cluster_status", nil)["counts"].(map[string]any)["acked"].(float64) > 10 {
			return
		}
	}
	a.t.Fatal("no traffic after run_client")
}

func (a *agent) publishes(dir, run string) {
	a.t.Helper()
	for _, view := range []string{"summary", "anomalies", "landings", "timeline", "report", "journal"} {
		if got := a.call("get_run", map[string]any{"run_id": run, "view": view}); view != "summary" && got[view] == nil {
			a.t.Errorf("view %s is empty", view)
		}
	}
	history := a.call("get_run", map[string]any{"run_id": run, "view": "history", "at": "0/1"})["history"].(map[string]any)
	if rows := history["rows"].([]any); len(rows) == 0 {
		a.t.Error("no rows of message 0/1")
	}
	report := map[string]any{"runs": []string{run}, "title": "a node was killed", "analysis": "it came back"}
	if dry := a.call("push_report", map[string]any{"report": report, "dry_run": true}); dry["published"] != false {
		a.t.Errorf("dry run: %v", dry)
	}
	pushed := a.call("push_report", map[string]any{"report": report})
	if pages, _ := pushed["pages"].([]any); pushed["published"] != true || len(pages) != 1 || pages[0] != "runs/"+run+"/report.md" {
		a.t.Errorf("push: %v", pushed)
	}
	if out, err := rmq(a.t, dir, "verify", run).Output(); err != nil {
		a.t.Errorf("verify: %v %s", err, out)
	}
}

// stopAll ends what a test left live in a state directory.
func stopAll(t testing.TB, dir string) {
	t.Helper()
	live, err := keeper.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range live {
		client, err := keeper.Connect(dir, l.ID)
		if err != nil {
			continue // it ended since
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		client.Stop(ctx, keeper.Caller{Via: "test", Tool: "stop"})
		cancel()
		client.Close()
	}
	left := filepath.Join(dir, "live", "*.lock")
	for deadline := time.Now().Add(hosttest.Bound); ; time.Sleep(10 * time.Millisecond) {
		if locks, _ := filepath.Glob(left); len(locks) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("experiments in %s did not end", dir)
		}
	}
}
