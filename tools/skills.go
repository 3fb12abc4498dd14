package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/robustmq/rmq-mcp/skills"
)

// addSkills offers every skill to hosts that have none of their own: its files
// as resources, and what it says to do as a prompt.
func (s *Server) addSkills(about []subject) error {
	all, err := skills.All()
	if err != nil {
		return err
	}
	for _, skill := range all {
		for _, file := range skill.Files {
			s.addResource(skill, file)
		}
		s.addPrompt(skill, about)
	}
	return nil
}

const markdown = "text/markdown"

// skillURI is where a file of a skill is: its path below skill://NAME/, as the
// draft of skills over MCP has it.
func skillURI(skill, path string) string { return "skill://" + skill + "/" + path }

func (s *Server) addResource(skill skills.Skill, file skills.File) {
	about := file.Title
	if file.Path == skill.Files[0].Path {
		about = skill.Description
	}
	uri := skillURI(skill.Name, file.Path)
	resource := mcp.NewResource(uri, skill.Name+"/"+file.Path, mcp.WithResourceDescription(about), mcp.WithMIMEType(markdown))
	s.mcp.AddResource(resource, func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: markdown, Text: file.Text}}, nil
	})
}

func (s *Server) addPrompt(skill skills.Skill, about []subject) {
	options := []mcp.PromptOption{mcp.WithPromptDescription(skill.Description),
		mcp.WithArgument("question", mcp.ArgumentDescription("what is to be found out, or done"))}
	for _, subject := range about {
		options = append(options, mcp.WithArgument(subject.name, mcp.ArgumentDescription(subject.about)))
	}
	s.mcp.AddPrompt(mcp.NewPrompt(skill.Name, options...), func(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text := promptText(skill, questionOf(about, request.Params.Arguments))
		return mcp.NewGetPromptResult(skill.Files[0].Title, []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))}), nil
	})
}

// questionOf is what a prompt is used for: the question, and what it is about.
func questionOf(about []subject, arguments map[string]string) string {
	var parts []string
	for _, subject := range about {
		if name := arguments[subject.name]; name != "" {
			parts = append(parts, subject.name+" "+name)
		}
	}
	question := arguments["question"]
	switch {
	case len(parts) == 0:
		return question
	case question == "":
		return "This is about " + joined(parts) + "."
	}
	return question + "\n\nThis is about " + joined(parts) + "."
}

// promptText is a skill as one message, with the question that it is used for.
func promptText(skill skills.Skill, question string) string {
	var text strings.Builder
	if question != "" {
		fmt.Fprintf(&text, "%s\n\nGo about it as follows.\n\n", question)
	}
	text.WriteString(strings.TrimSpace(skill.Body) + "\n")
	if len(skill.Files) > 1 {
		text.WriteString("\nThe files that it names are resources of this server:\n\n")
		for _, file := range skill.Files[1:] {
			fmt.Fprintf(&text, "- %s: %s\n", skillURI(skill.Name, file.Path), file.Title)
		}
	}
	return text.String()
}
