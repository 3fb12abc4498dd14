package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
	"github.com/robustmq/rmq-mcp/tools"
)

var update = flag.Bool("update", false, "write the tables of README.md anew")

const readme = "../../README.md"

// TestReadmeTables compares what README.md lists with the catalogues.
func TestReadmeTables(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	got, want := string(text), string(text)
	for name, table := range map[string]string{
		"tools": toolTable(), "commands": commandTable(t), "faults": faultTable(), "sdks": sdkTable(), "scenarios": scenarioTable(t),
	} {
		begin, end := fmt.Sprintf("<!-- table of %s -->\n", name), fmt.Sprintf("\n<!-- end of %s -->", name)
		before, rest, found := strings.Cut(want, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("%s has no table of %s between %q and %q", readme, name, begin, end)
		}
		want = before + begin + table + end + after
	}
	if *update && got != want {
		if err := os.WriteFile(readme, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Error("its tables are not what the catalogues say; `go test ./cmd/rmq-mcp -run ReadmeTables -update` writes them anew")
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

// byTool is what an agent calls in place of a command, or why it cannot.
var byTool = map[string]string{
	"run":         "`run_scenario`; a file of one's own: no, an agent runs no file",
	"matrix":      "`run_scenario` with `sdks`, one scenario at a time",
	"compare":     "`compare_runs`",
	"replay":      "`replay_run`",
	"blame":       "`run_scenario` or `replay_run` with `blame`",
	"reduce":      "`reduce_run`",
	"plan":        "`freeze_plan`",
	"list":        "`list_scenarios`, `list_runs`; claims: in each scenario's text",
	"findings":    "`list_findings`",
	"code":        "`find_code`, where `serve --source` names the source",
	"doctor":      "`preflight`; `doctor --faults` takes minutes, and its cluster is nobody's subject",
	"judge":       "`get_run`, with `with` for a series: from the record, as it was judged",
	"conformance": "no: it reports on statements and makes no run that can be published",
	"status":      "`cluster_status`, `list_runs`",
	"watch":       "no: it is there for the time when nobody asks",
	"campaign":    "no: it takes hours, and who starts it sees to the machine",
	"selftest":    "no: it judges the judge, and an agent has no part in that",
	"verify":      "no: readers of a report verify it; `push_report` does so before it publishes",
	"dashboard":   "no: it writes a site for people; `push_report` writes the pages",
	"heal":        "no: each tool heals the remains of a dead experiment before it looks",
	"sdks":        "no: `preflight` lists them, and a run fetches its own",
	"forward":     "no: an agent has no client of its own",
	"install":     "no: a person decides which hosts have the server",
	"uninstall":   "no: a person decides which hosts have the server",
	"bundle":      "no: it is for the distribution of the server",
	"lint":        "no: it is for authors of skills",
	"serve":       "the server itself",
	"version":     "the server says it when it is initialized",
}

// commandTable has a row for each command.
func commandTable(t *testing.T) string {
	t.Helper()
	rows := [][]string{{"Command", "Tool"}}
	offered := map[string]bool{}
	for _, tool := range tools.All(tools.Backend{}, envelope.Envelope{}) {
		offered[tool.Name] = true
	}
	quoted := regexp.MustCompile("`([a-z]+_[a-z]+)`")
	for _, cmd := range newRoot().Commands() {
		if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		instead, known := byTool[cmd.Name()]
		if !known {
			t.Errorf("say in byTool which tool does what `rmq-mcp %s` does, or why none does", cmd.Name())
		}
		for _, name := range quoted.FindAllStringSubmatch(instead, -1) {
			if !offered[name[1]] {
				t.Errorf("`rmq-mcp %s`: no tool %s", cmd.Name(), name[1])
			}
		}
		rows = append(rows, []string{"`" + cmd.Name() + "`", instead})
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

// markdown is a table; its first row is the heading.
func markdown(rows [][]string) string {
	line := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }
	lines := []string{line(rows[0]), strings.Repeat("|---", len(rows[0])) + "|"}
	for _, r := range rows[1:] {
		lines = append(lines, line(r))
	}
	return strings.Join(lines, "\n")
}

// TestReadmeCommand runs the first command of README.md as it stands there. The run
// is judged again and verified, and read and published by an agent.
func TestReadmeCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	wantVerdict(t, rmq(t, dir, firstCommand(t)...), 0, verdict.PassSmoke)
	rows, err := reports.List(dir, reports.Filter{})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d runs, %v", len(rows), err)
	}
	wantVerdict(t, rmq(t, dir, "judge", rows[0].ID), 0, verdict.PassSmoke)
	a := connectAgent(t, &mcp.CommandTransport{Command: rmq(t, dir, "serve")})
	a.looks()
	a.publishes(dir, rows[0].ID)
}

// TestReadmeLoss is of the broker that README.md says is caught at its loss.
func TestReadmeLoss(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	t.Parallel()
	hosttest.Program(t, "mosquitto")
	args := append(firstCommand(t), "--flavor", "mosquitto", "--no-repeat")
	wantVerdict(t, rmq(t, t.TempDir(), args...), 1, verdict.FailOnce)
}

// firstCommand are the arguments of README.md's first command.
func firstCommand(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	const program = "    go run ./cmd/rmq-mcp "
	_, rest, _ := strings.Cut(string(text), program)
	line, _, found := strings.Cut(rest, "\n")
	if !found {
		t.Fatalf("%s has no line that begins with %q", readme, program)
	}
	return strings.Fields(line)
}

// wantVerdict runs a command that prints a verdict.
func wantVerdict(t *testing.T, cmd *exec.Cmd, code int, want verdict.State) {
	t.Helper()
	out, err := cmd.Output()
	if got := exitCode(err); got != code || !strings.Contains(string(out), string(want)) {
		t.Errorf("%v: exit code %d, want %d and %s:\n%s", cmd.Args, got, code, want, out)
	}
}
