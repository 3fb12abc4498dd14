package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/modeltest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// The Claude Code that docs/headless.md was tried with: its package for this platform, and
// the package's hash.
const (
	claudeVersion = "2.1.332"
	claudeSHA512  = "f4JWhzwYutJIHScC7/dYOPX6s28tt7ZADhsOi8zwOHq5fFPEuUeChh2NMfinSg0GrUckYxaeebC4h0DqiKzLcw=="
)

// claudeCode is the real Claude Code, fetched once.
func claudeCode(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		hosttest.Skip(t, "the package of Claude Code is pinned for linux-x64")
	}
	dir := filepath.Join(cmp.Or(os.Getenv("RMQ_TEST_CACHE"), t.TempDir()), "claude-code-"+claudeVersion)
	path := filepath.Join(dir, "package", "claude")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	half := t.TempDir()
	pack := exec.Command(hosttest.Program(t, "npm"), "pack", "--silent", "@anthropic-ai/claude-code-linux-x64@"+claudeVersion)
	pack.Dir = half
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("fetch Claude Code: %v\n%s", err, out)
	}
	archives, err := filepath.Glob(filepath.Join(half, "*.tgz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("fetched %v, %v", archives, err)
	}
	text, err := os.ReadFile(archives[0])
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha512.Sum512(text); base64.StdEncoding.EncodeToString(sum[:]) != claudeSHA512 {
		t.Fatalf("the package of Claude Code %s is not the one that was pinned", claudeVersion)
	}
	if out, err := exec.Command("tar", "-xzf", archives[0], "-C", half).CombinedOutput(); err != nil {
		t.Fatalf("unpack Claude Code: %v\n%s", err, out)
	}
	if err := os.Remove(archives[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(half, "package"), filepath.Join(dir, "package")); err != nil {
		if out, err := exec.Command("cp", "-a", filepath.Join(half, "package"), dir).CombinedOutput(); err != nil {
			t.Fatalf("keep Claude Code: %v\n%s", err, out)
		}
	}
	return path
}

// A transcript is what `claude -p` prints.
type transcript struct {
	tools   []string // that the agent has
	servers []string // with their states
	denied  int
	failed  bool
	words   string // its last
}

// claude asks a model by way of Claude Code. Args are those of docs/headless.md.
func claude(t *testing.T, m *modeltest.Model, env []string, args ...string) (out transcript) {
	t.Helper()
	cmd := exec.Command(claudeCode(t), append([]string{"-p", "Does the broker lose messages when a node dies?",
		"--tools", "", "--permission-mode", "dontAsk", "--max-turns", "30", "--output-format", "stream-json", "--verbose", "--no-session-persistence"}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{
		"PATH=" + binaryDir + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "CLAUDE_CONFIG_DIR=" + t.TempDir(),
		"ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line struct {
			Type, Subtype, Result string
			IsError               bool `json:"is_error"`
			Tools                 []string
			Servers               []struct{ Name, Status string } `json:"mcp_servers"`
			Denials               []any                           `json:"permission_denials"`
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue
		}
		switch line.Type + " " + line.Subtype {
		case "system init":
			out.tools = line.Tools
			for _, s := range line.Servers {
				out.servers = append(out.servers, s.Name+" "+s.Status)
			}
		case "result success":
			out.words, out.denied, out.failed = line.Result, len(line.Denials), line.IsError
		}
	}
	if err != nil || out.words == "" {
		t.Fatalf("claude: %v\n%s\n%s", err, text, stderr.String())
	}
	return out
}

// failedCalls are the answers of a conversation that say that a call failed.
func failedCalls(t *testing.T, conversation string) (texts []string) {
	t.Helper()
	var messages []struct{ Content json.RawMessage }
	if err := json.Unmarshal([]byte(conversation), &messages); err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		var blocks []struct {
			Type    string
			IsError bool `json:"is_error"`
			Content json.RawMessage
		}
		if json.Unmarshal(m.Content, &blocks) != nil { // it is one text
			continue
		}
		for _, b := range blocks {
			if b.Type == "tool_result" && b.IsError {
				texts = append(texts, string(b.Content))
			}
		}
	}
	return texts
}

var runID = regexp.MustCompile(`\d{4}-\d{4}-[a-z0-9-]+-[0-9a-f]{4}`)

// TestHeadless is one investigation without a person, by the real Claude Code and a model
// that follows a script: it starts a cluster, runs clients, kills a node, reads, runs a
// scenario, compares, publishes, and at last says something else than the truth. The agent
// has nothing but our tools, and the server's own end does not depend on its words.
func TestHeadless(t *testing.T) {
	hosttest.Long(t, "an investigation of two minutes")
	state, published := t.TempDir(), filepath.Join(t.TempDir(), "published")
	envelope := filepath.Join(t.TempDir(), "envelope.yaml")
	config := filepath.Join(t.TempDir(), "mcp.json")
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"rmq-mcp": map[string]any{
		"type": "stdio", "command": binary(), "args": []string{"serve", "--dir", state, "--envelope", envelope},
	}}})
	if err == nil {
		err = os.WriteFile(config, text, 0o644)
	}
	if err == nil {
		err = os.WriteFile(envelope, []byte("push: ["+published+"]\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool string, input map[string]any) func(string) modeltest.Turn {
		return func(string) modeltest.Turn { return modeltest.Turn{Tool: "mcp__rmq-mcp__" + tool, Input: input} }
	}
	runs := func(conversation string) (ids []string) {
		for _, id := range runID.FindAllString(conversation, -1) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	m := modeltest.New(t,
		call("preflight", nil),
		call("cluster_start", map[string]any{"nodes": 3}),
		call("run_client", map[string]any{"sdk_lang": "go", "scenario": "mqtt/broker-kill-9", "duration_s": 20}),
		call("inject_fault", map[string]any{"type": "kill", "target": "node-1", "params": map[string]any{"duration_s": 3}}),
		call("cluster_status", nil),
		call("get_logs", map[string]any{"node": "node-1"}),
		call("cluster_stop", nil),
		call("run_scenario", map[string]any{"scenario": "mqtt/qos-roundtrip"}),
		call("get_run", map[string]any{"run_id": "latest", "wait_s": 45}),
		func(said string) modeltest.Turn {
			return call("compare_runs", map[string]any{"run_ids": runs(said)})(said)
		},
		func(said string) modeltest.Turn {
			return call("push_report", map[string]any{"report": map[string]any{"destination": published, "title": "What a kill costs", "runs": runs(said)}})(said)
		},
		func(string) modeltest.Turn { return modeltest.Turn{Say: "Everything is lost. FAIL."} },
	)
	began := time.Now().UTC().Truncate(time.Second)
	got := claude(t, m, nil, "--mcp-config", config, "--strict-mcp-config", "--allowedTools", "mcp__rmq-mcp__*")
	if foreign := slices.DeleteFunc(slices.Clone(got.tools), func(n string) bool { return strings.HasPrefix(n, "mcp__rmq-mcp__") }); len(foreign) > 0 || len(got.tools) < 15 {
		t.Errorf("the agent has %q", got.tools)
	}
	if got.denied > 0 || got.failed || !slices.Equal(got.servers, []string{"rmq-mcp connected"}) {
		t.Errorf("%+v", got)
	}
	for _, text := range failedCalls(t, m.Seen()[len(m.Seen())-1]) {
		t.Errorf("a call failed: %s", text)
	}
	out, err := rmq(t, state, "status", "--since", began.Format(time.RFC3339)).Output()
	var rows []reports.Row
	listed, lerr := rmq(t, state, "list", "runs", "--json").Output()
	if lerr != nil || json.Unmarshal(listed, &rows) != nil || len(rows) != 2 {
		t.Fatalf("%v\n%s", lerr, listed)
	}
	want := verdict.Worst([]verdict.State{rows[0].State, rows[1].State}).ExitCode()
	if code := exitCode(err); code != want || !strings.Contains(string(out), "2 runs since") {
		t.Errorf("exit %d, want %d of %s and %s:\n%s", code, want, rows[0].State, rows[1].State, out)
	}
	pages, err := filepath.Glob(filepath.Join(published, "*", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Errorf("published %v, %v", pages, err)
	}
}

// TestStopHook has an agent of the plugin end while its cluster runs: the hook has it go on
// until the cluster is stopped.
func TestStopHook(t *testing.T) {
	hosttest.Long(t, "a cluster")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	call := func(tool string, input map[string]any) func(string) modeltest.Turn {
		return func(string) modeltest.Turn {
			return modeltest.Turn{Tool: "mcp__plugin_rmq-mcp_rmq-mcp__" + tool, Input: input}
		}
	}
	say := func(text string) func(string) modeltest.Turn {
		return func(string) modeltest.Turn { return modeltest.Turn{Say: text} }
	}
	m := modeltest.New(t, call("cluster_start", map[string]any{"nodes": 1}), say("I am done."), call("cluster_stop", nil), say("Now I am."))
	got := claude(t, m, []string{"XDG_STATE_HOME=" + state}, "--plugin-dir", root, "--allowedTools", "mcp__plugin_rmq-mcp_rmq-mcp__*")
	if got.words != "Now I am." || got.denied > 0 {
		t.Errorf("%+v", got)
	}
	if seen := m.Seen(); len(seen) != 4 || !strings.Contains(seen[2], "a cluster explored by hand") || !strings.Contains(seen[2], "cluster_stop") {
		t.Errorf("asked %d times:\n%s", len(seen), seen[len(seen)-1])
	}
	if out, err := rmq(t, filepath.Join(state, "rmq-mcp"), "status").Output(); err != nil || string(out) != "nothing is live\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
