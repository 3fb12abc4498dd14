package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

const readme = "../../README.md"

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

// TestReadmeLoss runs the first command on a broker that is expected to lose messages.
func TestReadmeLoss(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	t.Parallel()
	hosttest.Program(t, "mosquitto")
	args := append(firstCommand(t), "--flavor", "mosquitto")
	wantVerdict(t, rmq(t, t.TempDir(), args...), 1, "FAIL-once: expected: mosquitto does not promise to keep acknowledged messages when its process is killed: ")
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

// TestReadmeIsShort holds README.md to a length that is read in some minutes.
func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	words := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "    ") { // code
			words += len(strings.Fields(line))
		}
	}
	if most := 1100; words > most {
		t.Errorf("%s has %d words outside code, at most %d; move details to docs/", readme, words, most)
	}
}

// TestLinks follows the links between the project's pages.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s#]+)(#[^)\s]*)?\)`)
	for _, form := range []string{"*.md", "docs/*.md", "docs/track-record/*.md", "clients/*.md", ".github/*.md"} {
		pages, err := filepath.Glob(filepath.Join("../..", form))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range link.FindAllStringSubmatch(string(text), -1) {
				if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
					continue
				}
				if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
					t.Errorf("%s links to %s: %v", page, m[1], err)
				}
			}
		}
	}
}
