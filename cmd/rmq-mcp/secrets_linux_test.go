package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A planting counts the places where a secret was left, each another one.
type planting []string

// in leaves a secret at a place; %s stands for it.
func (p *planting) in(form string) string {
	*p = append(*p, fmt.Sprintf("pl4nted-%02d-hush", len(*p)))
	return fmt.Sprintf(form, (*p)[len(*p)-1])
}

// TestPlantedSecrets leaves thirty secrets where careless people and programs do,
// and finds none of them in what is kept, shown or published.
func TestPlantedSecrets(t *testing.T) {
	var secrets planting
	env := os.Environ()
	for _, form := range []string{"GITHUB_TOKEN=%s", "RMQ_GITHUB_TOKEN=%s", "RMQ_MCP_TOKEN=%s", "AWS_SECRET_ACCESS_KEY=%s", "NPM_TOKEN=%s", "DATABASE_URL=postgres://u:%s@db/x"} {
		env = append(env, secrets.in(form))
	}
	// A broker that prints its configuration and its environment, and gives up.
	lines := []string{"#!/bin/sh", "env"}
	for _, form := range []string{
		"default_password=%s", `{"jwt_secret":"%s","n":1}`, `config: {\"password\":\"%s\"}`, `Login { password: Some("%s") }`, "Authorization: Bearer %s",
		"dial mqtt://admin:%s@127.0.0.1:1883", "api_key: %s", `msg="login password=%s"`, "\x1b[3mtoken\x1b[0m=\x1b[2m%s\x1b[0m", "panicked at passwd=%s",
	} {
		lines = append(lines, fmt.Sprintf("cat <<'end'\n%s\nend", secrets.in(form)))
	}
	broker := filepath.Join(t.TempDir(), "broker-server")
	if err := os.WriteFile(broker, []byte(strings.Join(append(lines, "exit 3", ""), "\n")), 0o755); err != nil {
		t.Fatal(err)
	}

	dir, pushed, site := t.TempDir(), t.TempDir(), t.TempDir()
	terminal := ""
	say := func(args ...string) {
		t.Helper()
		cmd := rmq(t, dir, args...)
		cmd.Env, cmd.Stderr = env, nil
		out, _ := cmd.CombinedOutput() // the run cannot pass
		terminal += string(out)
	}
	say("run", "mqtt/broker-kill-9", "--flavor", "robustmq", "--binary", broker)
	if !strings.Contains(terminal, "[scrubbed]") {
		t.Fatalf("what the broker printed was not shown:\n%s", terminal)
	}

	// An agent that puts passwords wherever it thinks one belongs.
	limits := filepath.Join(t.TempDir(), "envelope.yaml")
	if err := os.WriteFile(limits, fmt.Appendf(nil, "push: [%q]\nallowed_endpoints: [\"127.0.0.1:1\"]\n", pushed), 0o600); err != nil {
		t.Fatal(err)
	}
	wire := openWireEnv(t, dir, env, "--envelope", limits)
	wire.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"%s","version":"1"}}}`, secrets.in("token=%s"))
	wire.answers(0)
	for _, call := range []struct{ tool, args string }{
		{"cluster_start", `{"config":{"flavor":"mosquitto","settings":{"password":"%s"}}}`},
		{"cluster_start", `{"config":"{\"flavor\":\"external\",\"endpoints\":[\"127.0.0.1:2\"],\"username\":\"u\",\"password\":\"%s\"}"}`},
		{"cluster_start", `{"config":{"flavor":"external","endpoints":["127.0.0.1:2"],"username":"u","passwd":"%s"}}`},
		{"cluster_start", `{"config":{"flavor":"external","endpoints":["mqtt://u:%s@127.0.0.1:2"]}}`},
		{"cluster_start", `{"config":{"flavor":"reference","username":"u","password":"%s"}}`},
		{"cluster_start", `{"password":"%s"}`},
		{"run_scenario", `{"scenario":"mqtt/broker-kill-9","config":{"flavor":"robustmq","binary":"/x","settings":{"mqtt_runtime.auth.default_password":"%s"}}}`},
		{"run_scenario", `{"scenario":"password=%s"}`},
		{"get_run", `{"run_id":"token=%s"}`},
		{"get_logs", `{"experiment":"latest","match":"password=%s"}`},
		{"inject_fault", `{"type":"kill","target":"any","params":{"password":"%s"}}`},
		{"push_report", `{"report":{"runs":["latest"],"title":"it fails","problem":"I logged in with password=%s"}}`},
		{"push_report", `{"report":{"runs":["latest"],"title":"it fails","destination":"https://u:%s@git.example/x.git"}}`},
	} {
		wire.ask(100+len(secrets), fmt.Sprintf(`{"jsonrpc":"2.0","id":%%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, call.tool, secrets.in(call.args)))
	}
	wire.end()
	for _, args := range [][]string{{"list", "runs"}, {"judge", "latest"}, {"verify", "latest"}, {"dashboard", "--out", site}} {
		say(args...)
	}

	if len(secrets) < 30 {
		t.Errorf("only %d places", len(secrets))
	}
	found := func(where, text string) {
		for _, s := range slices.Compact(slices.Clone(secrets)) {
			if strings.Contains(text, s) {
				at := strings.Index(text, s)
				t.Errorf("%s is in %s: %.200q", s, where, text[max(0, at-80):])
			}
		}
	}
	found("the terminal", terminal)
	files := 0
	for _, root := range []string{dir, pushed, site} {
		eachFile(t, root, func(path, text string) {
			files++
			found(path, text)
		})
	}
	if published, _ := filepath.Glob(filepath.Join(pushed, "runs", "*", "report.md")); len(published) == 0 {
		t.Error("nothing was published")
	}
	t.Logf("%d secrets, %d files", len(secrets), files)
}
