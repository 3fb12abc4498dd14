package skills

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// good is a skill without a problem, from which the bad ones are made.
const good = `---
name: rmq-good
description: Tests a broker. Use it when one has to be tested.
license: Apache-2.0
metadata: {version: "1"}
allowed-tools: Read
---
# Good

Two gates. Call ` + "`get_run`" + ` first, or ` + "`rmq-mcp list claims`" + `; then ` + "`{fault: kill, target: node-2}`" + `.

## Later

Read references/more.md when something fails.

    rmq-mcp list claims     what is judged

` + "```\n`not_ours`\n```\n"

// vocabulary is as little as the good skill needs.
func vocabulary() Vocabulary {
	return Vocabulary{
		Names: map[string]bool{"get_run": true, "fault": true, "kill": true, "target": true, "mqtt/qos-roundtrip": true},
		Command: func(line string) error {
			if line != "rmq-mcp list claims" {
				return errors.New("no such command")
			}
			return nil
		},
	}
}

func lint(t *testing.T, files map[string]string) []string {
	t.Helper()
	folder := fstest.MapFS{}
	for name, text := range files {
		folder[name] = &fstest.MapFile{Data: []byte(text)}
	}
	found, err := Lint(folder, "rmq-good", vocabulary())
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for _, p := range found {
		lines = append(lines, p.String())
	}
	return lines
}

func TestGoodSkill(t *testing.T) {
	more := "# More\n\nSee `mqtt/qos-roundtrip`, `fault.target`, `node-2`, `S1`, and references/more.md.\n"
	if found := lint(t, map[string]string{entry: good, "references/more.md": more}); found != nil {
		t.Errorf("%s", strings.Join(found, "\n"))
	}
}

// Each of them is the good one with one thing wrong.
func TestBadSkills(t *testing.T) {
	for what, c := range map[string]struct {
		old, new string // in SKILL.md
		more     map[string]string
		want     string
	}{
		"no front matter":        {old: "---\nname", new: "name", want: "no front matter"},
		"not YAML":               {old: "Tests a broker.", new: "Tests: a broker", want: "front matter: "},
		"a key of its own":       {old: "license:", new: "version:", want: `front matter has "version"`},
		"a list for a text":      {old: "allowed-tools: Read", new: "allowed-tools: [Read]", want: "allowed-tools is no text"},
		"numbers as metadata":    {old: `version: "1"`, new: "version: 1", want: "metadata is no map of texts"},
		"empty compatibility":    {old: "license:", new: "compatibility: ''\nlicense:", want: "compatibility has 0 characters"},
		"another name":           {old: "name: rmq-good", new: "name: rmq-other", want: `its folder is "rmq-good"`},
		"a name in capitals":     {old: "name: rmq-good", new: "name: RMQ", want: `name is "RMQ"`},
		"two hyphens":            {old: "name: rmq-good", new: "name: rmq--good", want: `name is "rmq--good"`},
		"a long name":            {old: "name: rmq-good", new: "name: " + strings.Repeat("a", 65), want: "1 to 64"},
		"no description":         {old: "description: Tests a broker. Use it when one has to be tested.", new: "description: ''", want: "description has 0 characters"},
		"a long description":     {old: "Tests a broker.", new: strings.Repeat("é", 1025), want: "1 to 1024"},
		"markup":                 {old: "Tests a broker.", new: "Tests <b>.", want: "< or >"},
		"a long body":            {old: "Two gates.", new: "Two gates. " + strings.Repeat("many words ", 2000), want: "under 5000"},
		"no gates":               {old: "Two gates.", new: "Hello.", want: "gates do not come first"},
		"gates too late":         {old: "Two gates.", new: "## Two gates.", want: "gates do not come first"},
		"a missing reference":    {old: "something fails.", new: "something fails, references/none.md too.", want: "SKILL.md:14: references/none.md is not there"},
		"an unread reference":    {more: map[string]string{"references/secret.md": "# Secret\n"}, want: "does not mention references/secret.md"},
		"a deep reference":       {more: map[string]string{"references/a/deep.md": "# Deep\n"}, want: "move it to references/deep.md"},
		"an unknown tool":        {old: "`get_run`", new: "`get_runs`", want: "SKILL.md:10: `get_runs` is no tool"},
		"what was meant":         {old: "`get_run`", new: "`get_runs`", want: "did you mean get_run"},
		"an unknown fault":       {old: "fault: kill", new: "fault: meteor", want: "`meteor` is no"},
		"an unknown field":       {old: "`get_run`", new: "`fault.meteor`", want: "`fault.meteor` is no"},
		"an unknown command":     {old: "`rmq-mcp list claims`", new: "`rmq-mcp guess`", want: "`rmq-mcp guess`: no such command"},
		"a command in a block":   {old: "    rmq-mcp list claims ", new: "    rmq-mcp guess ", want: "SKILL.md:16: `rmq-mcp guess`"},
		"a command on two lines": {old: "`rmq-mcp list claims`", new: "`rmq-mcp\nlist scenarios`", want: "`rmq-mcp list scenarios`: no such command"},
		"a scenario to run":      {old: "    rmq-mcp list claims ", new: "    rmq-mcp run mqtt/nothing ", want: "there is no scenario mqtt/nothing"},
		"a name in a reference":  {more: map[string]string{"references/more.md": "# More\n\nRun `mqtt/nothing`.\n"}, want: "references/more.md:3: `mqtt/nothing` is no"},
		"no SKILL.md":            {old: good, new: "", want: "SKILL.md"},
	} {
		t.Run(what, func(t *testing.T) {
			files := map[string]string{entry: strings.Replace(good, c.old, c.new, 1), "references/more.md": "# More\n"}
			if c.old != "" && files[entry] == good {
				t.Fatalf("%q is not in the good one", c.old)
			}
			if files[entry] == "" {
				delete(files, entry)
			}
			for name, text := range c.more {
				files[name] = text
			}
			found := strings.Join(lint(t, files), "\n")
			if !strings.Contains(found, c.want) {
				t.Errorf("want %q, got:\n%s", c.want, found)
			}
		})
	}
}

// The embedded skills can be read. Their words are checked by `rmq-mcp lint
// skill`, where the tools and the commands are known.
func TestAll(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	folders, err := fs.Glob(Files, "*/"+entry)
	if err != nil || len(all) != len(folders) || len(all) == 0 {
		t.Fatalf("%d skills, %d folders, %v", len(all), len(folders), err)
	}
	for _, s := range all {
		for _, f := range s.Files {
			if f.Title == "" {
				t.Errorf("%s: %s has no heading", s.Name, f.Path)
			}
		}
	}
}
