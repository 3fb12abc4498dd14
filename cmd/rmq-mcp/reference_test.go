package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/hosts"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/scenarios"
	"github.com/robustmq/rmq-mcp/tools"
)

var update = flag.Bool("update", false, "write the tables and goldens that are made of the program")

const referencePage = "../../docs/reference.md"

// TestReferenceTables compares what docs/reference.md lists with the catalogues.
func TestReferenceTables(t *testing.T) {
	text, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	got, want := string(text), string(text)
	for name, table := range map[string]string{
		"tools": toolTable(), "commands": commandTable(t), "faults": faultTable(), "sdks": sdkTable(), "scenarios": scenarioTable(t), "situations": situationTable(),
	} {
		begin, end := fmt.Sprintf("<!-- table of %s -->\n", name), fmt.Sprintf("\n<!-- end of %s -->", name)
		before, rest, found := strings.Cut(want, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has no table of %s between %q and %q", referencePage, name, begin, end)
		}
		want = before + begin + table + end + after
	}
	if *update && got != want {
		if err := os.WriteFile(referencePage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Error("the tables of docs/reference.md differ from the catalogues; `go test ./cmd/rmq-mcp -run ReferenceTables -update` writes them")
	}
}

// TestPagesName fails if a page that people write by hand lacks a flavor, a fault or a host.
func TestPagesName(t *testing.T) {
	var types []string
	for _, k := range faults.Catalog() {
		types = append(types, k.Type)
	}
	for page, names := range map[string][]string{
		"docs/reference.md": cluster.FlavorNames(cluster.Any),
		"docs/glossary.md":  cluster.FlavorNames(func(f cluster.Flavor) bool { return f.Document == nil }),
		"docs/faults.md":    types,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%s does not name %s", page, name)
			}
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range hosts.Names() {
		if !strings.Contains(string(readme), name) {
			t.Errorf("README.md does not name the host %s", name)
		}
	}
}

func toolTable() string {
	rows := [][]string{{"Tool", "Does"}}
	for _, tool := range tools.All(tools.Backend{}, envelope.Envelope{}) {
		does, _, _ := strings.Cut(tool.Description, ". ")
		rows = append(rows, []string{"`" + tool.Name + "`", strings.TrimSuffix(does, ".")})
	}
	return markdown(rows)
}

// byTool is the tool that does for an agent what a command does, or the reason why none does.
var byTool = map[string]string{
	"run":         "`run_scenario`, for scenarios of the library",
	"matrix":      "`run_scenario` with `sdks`, one scenario at a time",
	"compare":     "`compare_runs`",
	"replay":      "`replay_run`",
	"blame":       "`run_scenario` or `replay_run` with `blame`",
	"reduce":      "`reduce_run`",
	"plan":        "`freeze_plan`",
	"list":        "`list_scenarios`, `list_runs`; a scenario's text has its claims",
	"findings":    "`list_findings`",
	"code":        "`find_code`, if the server was started with `serve --source`",
	"doctor":      "`preflight`",
	"judge":       "`get_run`; `with` for a series",
	"status":      "`cluster_status`, `list_runs`",
	"dashboard":   "none; `push_report` publishes pages of runs",
	"sdks":        "none; `preflight` lists the libraries, and a run installs its own",
	"verify":      "none; `push_report` verifies a run before it publishes it",
	"heal":        "none; every tool first heals what a dead experiment left",
	"conformance": "none: it makes no runs",
	"league":      "none: it takes hours",
	"watch":       "none: it works without an agent",
	"campaign":    "none: it takes hours",
	"selftest":    "none: it tests the judge",
	"museum":      "none: it tests the judge",
	"forward":     "none: agents have no client of their own",
	"install":     "none: a person decides which hosts have the server",
	"uninstall":   "none: a person decides which hosts have the server",
	"bundle":      "none: it is for distribution",
	"lint":        "none: it is for authors of skills",
	"serve":       "the server itself",
	"version":     "the server's answer to `initialize`",
}

// commandTable has a row for each command.
func commandTable(t *testing.T) string {
	t.Helper()
	rows := [][]string{{"Command", "Does", "Tool for an agent"}}
	offered := map[string]bool{}
	for _, tool := range tools.All(tools.Backend{}, envelope.Envelope{}) {
		offered[tool.Name] = true
	}
	quoted := regexp.MustCompile("`([a-z]+_[a-z]+)`")
	root := newRoot()
	for _, group := range root.Groups() {
		rows = append(rows, []string{"**" + strings.TrimSuffix(group.Title, ":") + "**", "", ""})
		for _, cmd := range root.Commands() {
			if cmd.GroupID != group.ID {
				continue
			}
			tool, known := byTool[cmd.Name()]
			if !known {
				t.Errorf("add `rmq-mcp %s` to byTool: the tool that does the same, or the reason why none does", cmd.Name())
			}
			for _, name := range quoted.FindAllStringSubmatch(tool, -1) {
				if !offered[name[1]] {
					t.Errorf("`rmq-mcp %s`: no tool %s", cmd.Name(), name[1])
				}
			}
			rows = append(rows, []string{"`" + cmd.Name() + "`", cmd.Short, tool})
		}
	}
	return markdown(rows)
}

func faultTable() string {
	rows := [][]string{{"Family", "Faults"}}
	for _, k := range faults.Catalog() {
		name := "`" + k.Type + "`"
		if last := rows[len(rows)-1]; last[0] == k.Family {
			last[1] += " " + name
		} else {
			rows = append(rows, []string{k.Family, name})
		}
	}
	return markdown(rows)
}

func sdkTable() string {
	rows := [][]string{{"Language", "Library", "Protocols", "Versions"}}
	for _, l := range clients.Libraries() {
		versions := make([]string, len(l.Versions))
		for i, v := range l.Versions {
			versions[i] = v.Version
		}
		rows = append(rows, []string{l.Lang, l.Package, strings.Join(l.Protocols, ", "), strings.Join(versions, ", ")})
	}
	return markdown(rows)
}

func scenarioTable(t *testing.T) string {
	all, err := scenarios.Library()
	if err != nil {
		t.Fatal(err)
	}
	rows := [][]string{{"Scenario", "What happens"}}
	for _, s := range all {
		rows = append(rows, []string{"`" + s.Name + "`", s.Title})
	}
	return markdown(rows)
}

func situationTable() string {
	rows := [][]string{{"Situation", "Counts", "Claims", "Needs"}}
	for _, s := range checker.Situations {
		needs := ""
		if s.Wire {
			needs = "packets"
		}
		rows = append(rows, []string{"`" + s.Name + "`", s.Text, "`" + strings.Join(s.Claims, "` `") + "`", needs})
	}
	return markdown(rows)
}

// markdown is a table; its first row is the heading.
func markdown(rows [][]string) string {
	line := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }
	lines := []string{line(rows[0]), strings.Repeat("|---", len(rows[0])) + "|"}
	for _, r := range rows[1:] {
		lines = append(lines, line(r))
	}
	return strings.Join(lines, "\n")
}
