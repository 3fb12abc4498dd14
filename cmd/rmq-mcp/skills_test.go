package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/robustmq/rmq-mcp/skills"
)

// TestSkillsForOtherHosts reads every skill as a host without skills does: its
// files as resources, its procedure as a prompt.
func TestSkillsForOtherHosts(t *testing.T) {
	a := connectAgent(t, &mcp.CommandTransport{Command: rmq(t, t.TempDir(), "serve")})
	prompts, err := a.session.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	resources, err := a.session.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := skills.All()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, skill := range all {
		if !slices.ContainsFunc(prompts.Prompts, func(p *mcp.Prompt) bool { return p.Name == skill.Name && p.Description == skill.Description }) {
			t.Errorf("no prompt %s", skill.Name)
		}
		a.asksFor(skill)
		for _, file := range skill.Files {
			files++
			a.reads(file, "skill://"+skill.Name+"/"+file.Path)
		}
	}
	if len(prompts.Prompts) != len(all) || len(resources.Resources) != files {
		t.Errorf("%d prompts of %d skills, %d resources of %d files", len(prompts.Prompts), len(all), len(resources.Resources), files)
	}
	if _, err := a.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "skill://rmq-mcp/none.md"}); err == nil {
		t.Error("a resource that there is not was read")
	}
}

func (a *agent) asksFor(skill skills.Skill) {
	a.t.Helper()
	got, err := a.session.GetPrompt(a.t.Context(), &mcp.GetPromptParams{Name: skill.Name, Arguments: map[string]string{"question": "Is it safe?"}})
	if err != nil {
		a.t.Fatal(err)
	}
	text := got.Messages[0].Content.(*mcp.TextContent).Text
	if !strings.HasPrefix(text, "Is it safe?\n") || !strings.Contains(text, strings.TrimSpace(skill.Body)) {
		a.t.Errorf("prompt %s: %.200s", skill.Name, text)
	}
	for _, file := range skill.Files[1:] {
		if !strings.Contains(text, "skill://"+skill.Name+"/"+file.Path) {
			a.t.Errorf("prompt %s does not say where %s is", skill.Name, file.Path)
		}
	}
}

func (a *agent) reads(file skills.File, uri string) {
	a.t.Helper()
	got, err := a.session.ReadResource(a.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil || len(got.Contents) != 1 || got.Contents[0].Text != file.Text || got.Contents[0].MIMEType != "text/markdown" {
		a.t.Errorf("%s: %v %v", uri, got, err)
	}
}
