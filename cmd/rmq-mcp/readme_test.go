package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/hosttest"
	"github.com/robustmq/rmq-mcp/internal/verdict"
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
		rows = append(rows, []string{"`" + tool.Name + "`", tool.Title})
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

// TestReadmeCommands runs the first command of README.md as it stands there, and
// the same on the broker that README.md says is caught at its loss.
func TestReadmeCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs clusters")
	}
	hosttest.Program(t, "mosquitto")
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	const program = "    go run ./cmd/rmq-mcp "
	_, rest, _ := strings.Cut(string(text), program)
	first, _, found := strings.Cut(rest, "\n")
	if !found {
		t.Fatalf("%s has no line that begins with %q", readme, program)
	}
	for _, c := range []struct {
		args []string
		code int
		want verdict.State
	}{
		{nil, 0, verdict.PassSmoke},
		{[]string{"--flavor", "mosquitto", "--no-repeat"}, 1, verdict.FailOnce},
	} {
		args := slices.Concat(strings.Fields(first), c.args)
		out, err := rmq(t, t.TempDir(), args...).Output()
		code := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if code != c.code || !strings.Contains(string(out), string(c.want)) {
			t.Errorf("%v: exit code %d, want %d and %s:\n%s", args, code, c.code, c.want, out)
		}
	}
}
