package tools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/reports"
)

func readResource(t testing.TB, c *client.Client, uri string) (string, error) {
	t.Helper()
	ask := mcp.ReadResourceRequest{}
	ask.Params.URI = uri
	got, err := c.ReadResource(t.Context(), ask)
	if err != nil {
		return "", err
	}
	return got.Contents[0].(mcp.TextResourceContents).Text, nil
}

// Every name of every family can be read under the address that its template makes.
func TestResources(t *testing.T) {
	h := &host{runs: runsDir(t), preflight: experiment.Preflight{Faults: []experiment.FaultMeans{{Type: "kill", OK: true, Params: "duration_s: how long"}}}}
	c := connectTo(t, h.server(t, Options{ReadOnly: true}))
	templates, err := c.ListResourceTemplates(t.Context(), mcp.ListResourceTemplatesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, template := range templates.ResourceTemplates {
		listed = append(listed, template.URITemplate.Raw())
	}
	if diff := cmp.Diff([]string{"fault://{+name}", "report://{+name}", "scenario://{+name}"}, listed); diff != "" {
		t.Error(diff)
	}
	for uri, want := range map[string]string{
		"scenario://mqtt/broker-kill-9": "# Kill",
		"report://latest":               "# Report",
		"fault://kill":                  `"params": "duration_s: how long"`,
	} {
		if text, err := readResource(t, c, uri); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %.80s, %v", uri, text, err)
		}
	}
	for uri, want := range map[string]string{
		"scenario://mqtt/nothing":   "there are: mqtt/broker-kill-9",
		"scenario:///etc/passwd":    "no scenario",
		"report://../../etc":        "not a run_id",
		"report://none":             "no run none",
		"fault://meteor":            "there are kill, pause, stop",
		"fault://pause":             "nothing is known",
		"sdk://go":                  "not found",
		"skill://rmq-mcp/../SECRET": "not found",
	} {
		if _, err := readResource(t, c, uri); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestCompletion(t *testing.T) {
	h := &host{}
	for i := range 120 {
		h.rows = append(h.rows, reports.Row{ID: fmt.Sprintf("1126-%03d", i)})
	}
	c := connectTo(t, h.server(t, Options{}))
	for _, test := range []struct {
		of, argument, typed string
		want                []string
		total               int
	}{
		{"rmq-mcp", "scenario", "qos", []string{"mqtt/qos-roundtrip"}, 1},
		{"rmq-mcp", "sdk", "PA", []string{"go/paho.mqtt.golang@1.5.1", "python/paho-mqtt@2.1.0"}, 2},
		{"rmq-mcp", "sdk", "python/", []string{"python/aiomqtt@2.4.0", "python/paho-mqtt@2.1.0"}, 2},
		{"rmq-mcp", "fault", "s", []string{"stop", "pause"}, 2}, // that which begins with it first
		{"rmq-mcp", "run", "1126-00", nil, 10},
		{"rmq-mcp", "question", "why", []string{}, 0},
		{"scenario://{+name}", "name", "mqtt/b", []string{"mqtt/broker-kill-9"}, 1},
		{"report://{+name}", "name", "", nil, 120},
		{"fault://{+name}", "name", "kil", []string{"kill"}, 1},
		{"nothing://{+name}", "name", "", []string{}, 0},
	} {
		ask := mcp.CompleteRequest{}
		ask.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: test.of}
		if strings.Contains(test.of, "://") {
			ask.Params.Ref = mcp.ResourceReference{Type: "ref/resource", URI: test.of}
		}
		ask.Params.Argument.Name, ask.Params.Argument.Value = test.argument, test.typed
		got, err := c.Complete(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		values := got.Completion.Values
		if test.want != nil && !cmp.Equal(test.want, values) || got.Completion.Total != test.total ||
			len(values) != min(test.total, 100) || got.Completion.HasMore != (test.total > 100) {
			t.Errorf("%s %s %q: %d of %d, %v", test.of, test.argument, test.typed, len(values), got.Completion.Total, values)
		}
	}
}
