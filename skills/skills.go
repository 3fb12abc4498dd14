// Package skills holds the texts that an agent reads before it tests a broker:
// one folder per skill, valid under the Agent Skills specification
// (agentskills.io), with a SKILL.md and, one level below, the texts for single
// steps.
//
// A skill is worth no more than the tools behind it: [Lint] refuses a text that
// names an unknown tool, command, scenario, fault or claim.
package skills

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Files are the skills of this program.
//
//go:embed */SKILL.md */references/*.md
var Files embed.FS

// A Skill is one folder.
type Skill struct {
	Name        string // of its folder, too
	Description string // what it does and when to use it
	Body        string // of SKILL.md, without the front matter
	Files       []File // SKILL.md first, then the references by name
}

// A File is one text of a skill.
type File struct {
	Path  string // in the folder: SKILL.md, references/plan.md
	Title string // its first heading
	Text  string // whole
}

// All are the skills of this program, by name.
func All() ([]Skill, error) {
	folders, err := fs.ReadDir(Files, ".")
	if err != nil {
		return nil, fmt.Errorf("read the skills: %w", err)
	}
	var all []Skill
	for _, folder := range folders {
		sub, err := fs.Sub(Files, folder.Name())
		if err != nil {
			return nil, fmt.Errorf("read skill %s: %w", folder.Name(), err)
		}
		s, err := read(sub)
		if err != nil {
			return nil, fmt.Errorf("read skill %s: %w", folder.Name(), err)
		}
		all = append(all, s)
	}
	return all, nil
}

// read reads the skill of a folder.
func read(folder fs.FS) (s Skill, err error) {
	names, err := texts(folder)
	if err != nil {
		return s, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return s, err
		}
		s.Files = append(s.Files, File{Path: name, Title: heading(string(text)), Text: string(text)})
	}
	front, body, err := split(s.Files[0].Text)
	s.Name, s.Description, s.Body = front.text("name"), front.text("description"), body
	return s, err
}

// texts are the paths of a folder's Markdown, SKILL.md first.
func texts(folder fs.FS) ([]string, error) {
	names := []string{entry}
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(name) == ".md" && name != entry {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// entry is the text that a skill begins with.
const entry = "SKILL.md"

func heading(text string) string {
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(title)
		}
	}
	return ""
}

// Tokens is about what a text costs a model: a token for every four bytes. A
// tokenizer of 2024 (o200k) gets 4.06 bytes a token out of the list of the tools
// and 4.3 out of their descriptions.
func Tokens(text string) int { return (len(text) + 3) / 4 }
