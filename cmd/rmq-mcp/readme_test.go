package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
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
		"tools": toolTable(), "faults": faultTable(), "sdks": sdkTable(), "scenarios": scenarioTable(t),
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
