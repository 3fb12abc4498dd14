package skills

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/robustmq/rmq-mcp/internal/yamlfile"
)

// front is the front matter of a SKILL.md.
type front map[string]any

// split cuts a SKILL.md into its front matter and its body.
func split(text string) (front, string, error) {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "---\n")
	head, body, closed := strings.Cut(rest, "\n---\n")
	if !ok || !closed {
		return nil, "", errors.New(`there is no front matter between two lines "---"; write one with name and description`)
	}
	var f map[string]any
	if err := yaml.Unmarshal([]byte(head), &f); err != nil {
		return nil, "", fmt.Errorf("front matter: %s; a value with a colon in it is quoted or folded with >-", yamlfile.Words(err))
	}
	return f, body, nil
}

func (f front) text(key string) string {
	text, _ := f[key].(string)
	return text
}

// allowed are the keys that the specification has, and no other.
func allowed() []string {
	return []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
}

const (
	nameLength          = 64
	descriptionLength   = 1024
	compatibilityLength = 500
)

// problems of the front matter of the skill in a folder of that name.
func (f front) problems(folder string) (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	for _, key := range slices.Sorted(keysOf(f)) {
		if !slices.Contains(allowed(), key) {
			say("front matter has %q; its keys are %s", key, strings.Join(allowed(), ", "))
		} else if _, isText := f[key].(string); !isText && key != "metadata" {
			say("%s is no text", key)
		}
	}
	switch name := f.text("name"); {
	case !nameForm.MatchString(name) || len(name) > nameLength:
		say("name is %q; write 1 to %d lower case letters, digits and single hyphens between them", name, nameLength)
	case name != folder:
		say("name is %q, its folder is %q; write the same", name, folder)
	}
	switch n := len([]rune(f.text("description"))); {
	case n < 1 || n > descriptionLength:
		say("description has %d characters; write 1 to %d: what it does, and when to use it", n, descriptionLength)
	case strings.ContainsAny(f.text("description"), "<>"):
		say("description has < or >; write it without")
	}
	if text, ok := f["compatibility"].(string); ok && (text == "" || len([]rune(text)) > compatibilityLength) {
		say("compatibility has %d characters; write 1 to %d", len([]rune(text)), compatibilityLength)
	}
	if value, ok := f["metadata"]; ok && !isTexts(value) {
		say("metadata is no map of texts; write version: \"1\"")
	}
	return found
}

func isTexts(value any) bool {
	m, ok := value.(map[string]any)
	for _, v := range m {
		_, isText := v.(string)
		ok = ok && isText
	}
	return ok
}
