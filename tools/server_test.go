package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/skills"
)

var update = flag.Bool("update", false, "rewrite testdata")

// connectTo is an in-process client of a server.
func connectTo(t testing.TB, s *Server) *client.Client {
	t.Helper()
	c, err := client.NewInProcessClient(s.MCP())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ask := mcp.InitializeRequest{}
	ask.Params.ProtocolVersion = mcp.LATEST_LEGACY_PROTOCOL_VERSION
	ask.Params.ClientInfo = mcp.Implementation{Name: "tester", Version: "1"}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	return c
}

func callTool(t testing.TB, c *client.Client, name string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	ask := mcp.CallToolRequest{}
	ask.Params.Name, ask.Params.Arguments = name, args
	result, err := c.CallTool(t.Context(), ask)
	if err != nil {
		t.Fatalf("%s answered a protocol error: %v", name, err)
	}
	return result
}

func textOf(r *mcp.CallToolResult) string { return mcp.GetTextFromContent(r.Content[0]) }

// structured is a result as a host shows it to its model.
func structured(t testing.TB, r *mcp.CallToolResult) map[string]any {
	t.Helper()
	if r.IsError {
		t.Fatalf("error: %s", textOf(r))
	}
	text, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func listRaw(t testing.TB, s *Server) []byte {
	t.Helper()
	answer := s.MCP().HandleMessage(context.Background(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var tree struct {
		Result struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	text, _ = json.Marshal(tree.Result.Tools)
	if err := json.Indent(&out, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	return append(out.Bytes(), '\n')
}

// The tools offered to an agent are an interface: a change of them shows as a
// diff.
func TestToolsGolden(t *testing.T) {
	got := listRaw(t, (&host{}).server(t, Options{}))
	const golden = "testdata/tools.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("tools/list changed (-was +is); go test ./tools -update accepts it:\n%s", diff)
	}
}

type listed struct {
	Name, Description string
	InputSchema       map[string]any `json:"inputSchema"`
	OutputSchema      map[string]any `json:"outputSchema"`
	Annotations       map[string]any
}

func TestEveryTool(t *testing.T) {
	var all []listed
	if err := json.Unmarshal(listRaw(t, (&host{}).server(t, Options{})), &all); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, tool := range all {
		if seen[tool.Name] {
			t.Errorf("%s is there twice", tool.Name)
		}
		seen[tool.Name] = true
		if len(tool.Description) < 60 || len(tool.Description) > 300 {
			t.Errorf("%s: description of %d characters", tool.Name, len(tool.Description))
		}
		if open := tool.Annotations["openWorldHint"] != false; open != (tool.Name == "push_report") {
			t.Errorf("%s: reaches beyond this host: %v", tool.Name, open)
		}
		if tool.Annotations["readOnlyHint"] == true && tool.Annotations["destructiveHint"] == true {
			t.Errorf("%s is read-only and destructive", tool.Name)
		}
		properties, ok := tool.InputSchema["properties"].(map[string]any)
		if !ok || tool.InputSchema["type"] != "object" || len(properties) == 0 {
			t.Errorf("%s: input schema %v", tool.Name, tool.InputSchema)
		}
		if out, _ := tool.OutputSchema["properties"].(map[string]any); tool.OutputSchema["type"] != "object" || len(out) == 0 {
			t.Errorf("%s: output schema %v", tool.Name, tool.OutputSchema)
		}
		refuseVerdicts(t, tool.Name, tool.InputSchema)
	}
	for _, name := range []string{"cluster_start", "cluster_stop", "cluster_status", "inject_fault", "heal_fault", "run_client", "run_scenario",
		"get_run", "stop_run", "compare_runs", "get_logs", "get_metrics", "list_scenarios", "list_findings", "preflight", "freeze_plan", "replay_run", "reduce_run", "push_report"} {
		if !seen[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

// No tool takes what only the server may decide.
func refuseVerdicts(t *testing.T, tool string, schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	for name, inner := range properties {
		for _, word := range []string{"verdict", "passed", "count", "lost", "landed", "landing", "evidence", "status"} {
			if strings.Contains(name, word) {
				t.Errorf("%s takes %q", tool, name)
			}
		}
		if object, ok := inner.(map[string]any); ok {
			refuseVerdicts(t, tool, object)
		}
	}
}

// An agent pays for the list at every start.
func TestTokenBudget(t *testing.T) {
	var list bytes.Buffer
	real := (&host{}).backend()
	real.Faults, real.SDKs, real.Code = nil, nil, nil // as most servers are
	for _, k := range faults.Catalog() {
		real.Faults = append(real.Faults, k.Type)
	}
	for _, sdk := range clients.SDKs() {
		real.SDKs = append(real.SDKs, sdk.String())
	}
	s, err := New(Options{Backend: real, Envelope: envelope.Default("/state")})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&list, listRaw(t, s)); err != nil {
		t.Fatal(err)
	}
	tokens := skills.Tokens(list.String())
	t.Logf("the list of tools: about %d tokens", tokens)
	if tokens > 3500 {
		t.Errorf("%d tokens, the budget is 3500", tokens)
	}
	if len(Instructions) > 2000 {
		t.Errorf("instructions are %d bytes, hosts cut at 2 KB", len(Instructions))
	}
}

func TestReadOnlyServer(t *testing.T) {
	var all []listed
	if err := json.Unmarshal(listRaw(t, (&host{}).server(t, Options{ReadOnly: true})), &all); err != nil {
		t.Fatal(err)
	}
	for _, tool := range all {
		if tool.Annotations["readOnlyHint"] != true {
			t.Errorf("%s changes something", tool.Name)
		}
	}
	reading := slices.DeleteFunc(All((&host{}).backend(), envelope.Default("/state")), func(tool Tool) bool { return !tool.Hints.ReadOnly })
	if len(all) != len(reading) {
		t.Errorf("%d tools, want the %d that change nothing", len(all), len(reading))
	}
}

// Every example in an error message works, and every answer fits the schema
// that was promised for it.
func TestExamplesWork(t *testing.T) {
	for _, tool := range All((&host{}).backend(), envelope.Default("/state")) {
		t.Run(tool.Name, func(t *testing.T) {
			h := &host{runs: runsDir(t)}
			writeRun(t, filepath.Join(h.runs, "latest"), map[string]string{"verdict.json": `{"state":"PASS-smoke","headline":"PASS-smoke"}`, "report.json": `{}`})
			if tool.Name != "cluster_start" && tool.Name != "run_scenario" {
				h.live = []*fake{newFake("run-1", "")}
			}
			c := connectTo(t, h.server(t, Options{}))
			var args map[string]any
			if err := json.Unmarshal([]byte(tool.Example), &args); err != nil {
				t.Fatal(err)
			}
			if find(tool.Params, "wait_s") != nil {
				args["wait_s"] = 0
			}
			got := structured(t, callTool(t, c, tool.Name, args))
			text, err := answerSchema(tool.answer)
			if err != nil {
				t.Fatal(err)
			}
			var schema jsonschema.Schema
			if err := json.Unmarshal(text, &schema); err != nil {
				t.Fatal(err)
			}
			resolved, err := schema.Resolve(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(got); err != nil {
				t.Errorf("answer does not fit: %v\n%v", err, got)
			}
			if got["summary"] == "" {
				t.Error("no summary")
			}
			steps, _ := got["next_steps"].([]any)
			if got["next_steps"] == nil || len(steps) > 3 {
				t.Errorf("next steps: %v", got["next_steps"])
			}
			refuseNull(t, "", got)
		})
	}
}

func refuseNull(t *testing.T, path string, v any) {
	switch v := v.(type) {
	case nil:
		t.Errorf("%s is null", path)
	case map[string]any:
		for key, inner := range v {
			refuseNull(t, path+"."+key, inner)
		}
	case []any:
		for _, inner := range v {
			refuseNull(t, path+"[]", inner)
		}
	}
}

// memoryJournal keeps what a journal would write.
type memoryJournal struct {
	calls   []keeper.Caller
	answers []any
}

func (m *memoryJournal) Call(c keeper.Caller) (JournalEntry, error) {
	m.calls = append(m.calls, c)
	return JournalEntry{N: len(m.calls)}, nil
}

func (m *memoryJournal) Answer(_ JournalEntry, answer any) error {
	m.answers = append(m.answers, answer)
	return nil
}

func TestCallsAreJournalled(t *testing.T) {
	j := &memoryJournal{}
	f := newFake("run-1", "")
	h := &host{live: []*fake{f}}
	c := connectTo(t, h.server(t, Options{Journal: j}))
	ask := mcp.CallToolRequest{}
	ask.Params.Name = "inject_fault"
	ask.Params.Arguments = map[string]any{"type": "kill", "target": "leader"}
	ask.Params.Meta = mcp.NewMetaFromMap(map[string]any{"claudecode/toolUseId": "toolu_1"})
	if _, err := c.CallTool(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	callTool(t, c, "cluster_start", map[string]any{"config": map[string]any{"flavor": "external", "password": "hunter2"}})
	if len(j.calls) != 2 || len(j.answers) != 2 {
		t.Fatalf("%d calls, %d answers", len(j.calls), len(j.answers))
	}
	want := keeper.Caller{Via: "mcp", Client: "tester 1", Tool: "inject_fault", UseID: "toolu_1", Args: map[string]any{"type": "kill", "target": "leader"}}
	if diff := cmp.Diff(want, j.calls[0]); diff != "" {
		t.Error(diff)
	}
	if f.injected[0].Envelope == nil {
		t.Error("the keeper is not told the limits")
	}
	if diff := cmp.Diff(want, f.injected[0].Caller); diff != "" {
		t.Error(diff)
	}
	if len(f.noted) != 1 {
		t.Errorf("the run's journal has %d answers", len(f.noted))
	}
}
