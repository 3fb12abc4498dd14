package code

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/reports"
)

// source is a broker of three small crates, with a place for each rule.
var source = map[string]string{
	"src/raft-store/src/apply.rs": `use super::*;

impl Store {
    // failed to apply entry of a comment: no place
    pub fn apply(&self, key: &str) -> Entry {
        error!("failed to apply entry {} of shard {}: {}", 1, 2, 3);
        self.entries.get(key).unwrap()
    }

    fn connect(&self) {
        warn!(
            node = 3,
            "peer {} does not answer any more"
        );
    }
}

#[cfg(test)]
mod tests {
    fn apply_test() {
        assert_eq!("failed to apply entry 7 of shard", text());
    }
}
`,
	"src/mqtt/src/errors.rs": `#[derive(Error)]
pub enum Failure {
    #[error("connection not found: {0}")]
    NotFound(u64),
}
`,
	"src/mqtt/src/apply.rs":      "pub fn apply() {\n    warn!(\"peer {} does not answer any more\");\n}\n",
	"src/mqtt/src/metrics.rs":    "pub fn init() {\n    register(\"mqtt_packets_received\", \"Packets received\");\n}\n",
	"src/mqtt/src/target/gen.rs": "fn generated() { error!(\"failed to apply entry {} of shard\"); }\n",
	"tests/apply.rs":             "fn t() {\n    wait_for(\"peer 3 does not answer any more\");\n}\n",
	"README.md":                  "failed to apply entry\n",
}

// log is of a node of that broker.
const log = `2026-11-26T10:00:01Z  INFO raft_store::apply: peer 1 does not answer any more
2026-11-26T10:00:02Z ERROR raft_store::apply: failed to apply entry 17 of shard 9: "no such key"
2026-11-26T10:00:30Z  WARN raft_store::apply: peer 198.18.1.2:1228 does not answer any more
2026-11-26T10:00:31Z  WARN raft_store::apply: peer 198.18.1.3:1228 does not answer any more
2026-11-26T10:00:40Z  WARN openraft::core: peer 3 does not answer any more
2026-11-26T10:00:41Z ERROR raft_store::apply: something that the source has not
2026-11-26T10:00:42Z ERROR mqtt::server: closed: connection not found: 17
thread 'main' panicked at src/raft-store/src/apply.rs:7:31:
called ` + "`Option::unwrap()` on a `None` value\n"

func placed(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ran is a run directory with that log, in which a claim failed half a minute after the start.
func ran(t *testing.T) string {
	t.Helper()
	dir := placed(t, map[string]string{"evidence/logs/node-1.log": log})
	r := reports.Report{
		ID: "run", Started: time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC), Nodes: []history.Node{{Name: "node-1"}},
		Violations: []reports.Violations{{FromNS: 30e9, ToNS: 35e9}}, Cluster: history.ClusterInfo{Version: "robustmq 0.4.11"},
	}
	if err := reports.WriteJSON(filepath.Join(dir, reports.ReportFile), r); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Each clue leads to its place: not to comments, tests, generated code, the same text in
// another crate, or a library.
func TestFind(t *testing.T) {
	hosttest.Program(t, "ctags")
	tree, err := ReadTree(context.Background(), placed(t, source), "")
	if err != nil {
		t.Fatal(err)
	}
	found, err := Find(context.Background(), tree, Request{Dir: ran(t), Texts: []string{"mqtt_packets_received_total", "no_such_metric_total"}, Most: 10})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range found.Places {
		got = append(got, fmt.Sprintf("%s %s:%d %s x%d %q %d by %q from %s", p.Kind, p.File, p.Line, p.Function, p.Count, p.During, p.Others, p.Matched, p.From))
	}
	want := []string{
		`panic src/raft-store/src/apply.rs:7 Store::apply x1 "not during" 0 by "src/raft-store/src/apply.rs:7" from node-1.log:8`,
		`text src/mqtt/src/metrics.rs:2 init x1 "" 0 by "mqtt_packets_received" from `,
		`log line src/raft-store/src/apply.rs:13 Store::connect x2 "during" 0 by "does not answer any more" from node-1.log:3`,
		`log line src/mqtt/src/errors.rs:3  x1 "not during" 0 by "connection not found:" from node-1.log:7`,
		`log line src/raft-store/src/apply.rs:6 Store::apply x1 "not during" 0 by "failed to apply entry" from node-1.log:2`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	unfound := []string{
		"openraft::core: peer 3 does not answer any more (only comments, tests or another part of the program have such a text; it may be a library's)",
		"raft_store::apply: something that the source has not (the source has no such text)", "no_such_metric_total (the source has no such text)",
	}
	if !slices.Equal(found.Unfound, unfound) {
		t.Errorf("unfound %q, want %q", found.Unfound, unfound)
	}
	if around := found.Places[0].Around; len(around) != 13 || around[6].Number != 7 || !strings.Contains(around[6].Text, "unwrap") {
		t.Errorf("around %+v", around)
	}
	few, err := Find(context.Background(), tree, Request{Dir: ran(t), Most: 1})
	if err != nil || len(few.Places) != 1 || few.Left != 3 {
		t.Errorf("%+v, %v", few, err)
	}
}

// A version is read out of a git repository, whatever is checked out.
func TestReadTree(t *testing.T) {
	hosttest.Program(t, "git")
	ctx, dir := context.Background(), placed(t, source)
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "one"}, {"tag", "v0.4.11"}, {"rm", "-q", "src/mqtt/src/apply.rs"}, {"commit", "-q", "-m", "two"}, {"tag", "v0.4.12"}} {
		run(args...)
	}
	for version, files := range map[string]int{"robustmq 0.4.11": 5, "v0.4.12": 4, "": 4, "HEAD~1": 5} {
		tree, err := ReadTree(ctx, dir, version)
		if err != nil || len(tree.files) != files {
			t.Errorf("%q: %v, %v", version, tree, err)
		}
	}
	if tree, err := ReadTree(ctx, filepath.Join(dir, "src"), "v0.4.11"); err != nil || len(tree.files) != 4 || tree.files[0].path != "mqtt/src/apply.rs" || len(tree.Notes) > 0 {
		t.Errorf("a folder of it: %v, %v", tree, err)
	}
	if tree, err := ReadTree(ctx, filepath.Join(dir, ".git"), "v0.4.11"); err != nil || len(tree.files) != 5 {
		t.Errorf("the git directory: %v", err)
	}
	if tree, err := ReadTree(ctx, dir, ""); err != nil || len(tree.Notes) != 1 || !strings.Contains(tree.Notes[0], "was read as it is") {
		t.Errorf("an unknown version: %v, %v", tree, err)
	}
	for version, want := range map[string]string{"robustmq 0.5.0": "its newest tags are v0.4.1", "--help": "has no tag or reference", " ": "no version"} {
		if _, err := ReadTree(ctx, dir, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", version, err)
		}
	}
	plain := placed(t, source)
	if tree, err := ReadTree(ctx, plain, "robustmq 0.4.11"); err != nil || len(tree.Notes) != 1 || !strings.Contains(tree.Notes[0], "whether it is the source of robustmq 0.4.11 was not checked") {
		t.Errorf("a directory: %v, %v", tree, err)
	}
	for where, want := range map[string]string{filepath.Join(plain, "README.md"): "is no directory", filepath.Join(plain, "none"): "no such file", t.TempDir(): "has no file with one of the extensions"} {
		if _, err := ReadTree(ctx, where, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// A path is found by its end, as far as the tree or the log reaches.
func TestNamed(t *testing.T) {
	tree := &Tree{}
	for _, name := range []string{"src/a/lib.rs", "src/b/lib.rs", "src/b/deep/store.rs", "lib/b.rs", "src/lib/b.rs"} {
		if err := tree.add(name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int{"src/a/lib.rs": 1, "lib.rs": 2, "/build/robustmq/src/b/lib.rs": 1, "deep/store.rs": 1, "./src/a/lib.rs": 1, "rib.rs": 0, "/build/src/lib/b.rs": 1, "b.rs": 2} {
		if got := tree.named(name); len(got) != want {
			t.Errorf("%s means %d files, want %d", name, len(got), want)
		}
	}
}

// finding makes clues of a log, and says where each leads.
func finding(t *testing.T, files map[string]string, log string, report reports.Report) Places {
	t.Helper()
	tree, err := ReadTree(context.Background(), placed(t, files), "")
	if err != nil {
		t.Fatal(err)
	}
	dir := placed(t, map[string]string{"evidence/logs/node-1.log": log})
	report.Nodes = append(report.Nodes, history.Node{Name: "node-1"})
	if err := reports.WriteJSON(filepath.Join(dir, reports.ReportFile), report); err != nil {
		t.Fatal(err)
	}
	found, err := Find(context.Background(), tree, Request{Dir: dir, Most: 100})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A panic of a library is none of the broker's, whatever the tree has under such a name. One
// without a place, or of another version, is told.
func TestPanicsOfOthers(t *testing.T) {
	hosttest.Program(t, "ctags")
	files := map[string]string{"src/db.rs": strings.Repeat("x\n", 20), "server/stream.go": strings.Repeat("y\n", 20), "go.mod": "module github.com/nats-io/nats-server/v2\n"}
	found := finding(t, files, `thread 'a' panicked at /home/build/.cargo/registry/src/index.crates.io-1/rocksdb-0.22.0/src/db.rs:7:1:
no
thread 'main' has overflowed its stack
thread 'a' panicked at src/db.rs:99:1:
no
panic: x
goroutine 1 [running]:
main.f()
	github.com/nats-io/nats-server/v2@v2.15.2/server/stream.go:12 +0x1
`, reports.Report{})
	if len(found.Places) != 1 || found.Places[0].File != "server/stream.go" || found.Places[0].During != Unknown {
		t.Errorf("%+v", found.Places)
	}
	want := []string{"no (a panic at src/db.rs:7 of the library rocksdb)", "stack overflow (a panic of which the log names no place)", "no (a panic at src/db.rs:99, which this source does not have)"}
	if !slices.Equal(found.Unfound, want) {
		t.Errorf("%q, want %q", found.Unfound, want)
	}
}

// Lines that differ in more than values are clues of their own.
func TestCluesApart(t *testing.T) {
	found := finding(t, map[string]string{"a.go": "var a = \"disk is full now\"\nvar b = \"no such key here\"\nvar c = \"can't open the log\"\nvar d = \"can't bind the port\"\n"},
		"level=ERROR msg=\"disk is full now\"\nlevel=ERROR msg=\"no such key here\"\nERROR can't open the log, won't start\nERROR can't bind the port, won't start\nTask ERROR\n", reports.Report{})
	var lines []int
	for _, p := range found.Places {
		lines = append(lines, p.Line)
	}
	if !slices.Equal(lines, []int{1, 2, 3, 4}) {
		t.Errorf("lines %v, unfound %q", lines, found.Unfound)
	}
}

// A text at many places is at none, and what fits one place alone is not counted with what
// fits many.
func TestManyPlaces(t *testing.T) {
	many := map[string]string{"a.go": strings.Repeat("var a = \"connection refused by peer\"\n", mostSpots+1)}
	if found := finding(t, many, "ERROR connection refused by peer\n", reports.Report{}); len(found.Places) > 0 || !strings.Contains(found.Unfound[0], "is at 21 places") {
		t.Errorf("%+v, %q", found.Places, found.Unfound)
	}
	got := merged([]Place{
		{File: "a", Line: 1, Matched: "x", Others: 9, Count: 499}, {File: "a", Line: 1, Matched: "xyz", Count: 1}, {File: "a", Line: 1, Matched: "xyz", Count: 2, During: During},
	})
	if len(got) != 1 || got[0].Count != 3 || got[0].Others != 0 || got[0].During != During {
		t.Errorf("%+v", got)
	}
}

// A run without logs, and one with quiet logs, say which they are. A node's name leads to no
// file outside of the run.
func TestNotes(t *testing.T) {
	files := map[string]string{"a.go": "package a\n"}
	if found := finding(t, files, "INFO fine\n", reports.Report{}); !strings.Contains(strings.Join(found.Notes, "\n"), "have no panic, no warning and no error") {
		t.Errorf("%q", found.Notes)
	}
	tree, err := ReadTree(context.Background(), placed(t, files), "")
	if err != nil {
		t.Fatal(err)
	}
	dir := placed(t, map[string]string{"secret.log": "ERROR something that is not the run's\n", "run/evidence/logs/x": ""})
	if err := reports.WriteJSON(filepath.Join(dir, "run", reports.ReportFile), reports.Report{Nodes: []history.Node{{Name: "../../../secret"}}}); err != nil {
		t.Fatal(err)
	}
	found, err := Find(context.Background(), tree, Request{Dir: filepath.Join(dir, "run"), Most: 1})
	if err != nil || !strings.Contains(strings.Join(found.Notes, "\n"), "has no logs of its nodes") || len(found.Unfound) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := Find(context.Background(), tree, Request{Dir: dir}); err == nil {
		t.Error("no place is asked for, and that is no error")
	}
}

// A line is in the innermost function that is open there, and in none below a function's end.
func TestAround(t *testing.T) {
	hosttest.Program(t, "ctags")
	of := file{"a.rs", []byte("fn outer() {\n    fn inner() {\n        a();\n    }\n    b();\n}\n\nstatic C: u8 = 1;\n")}
	f := newFunctions()
	for line, want := range map[int]string{1: "outer", 3: "inner", 5: "outer", 8: ""} {
		if got := f.around(context.Background(), of, line).Name; got != want {
			t.Errorf("line %d is in %q, want %q", line, got, want)
		}
	}
}

// A log of a hostile broker is bounded.
func TestCluesAreBounded(t *testing.T) {
	var log strings.Builder
	word := func(n int) string {
		return string(rune('a'+n%26)) + string(rune('a'+n/26%26)) + string(rune('a'+n/676%26))
	}
	for n := range mostClues + 7 {
		fmt.Fprintf(&log, "ERROR %s %s\n", word(n), strings.Repeat("x", 2*mostLine))
	}
	dir := placed(t, map[string]string{"evidence/logs/node-1.log": log.String()})
	c, err := cluesOf(dir, &reports.Report{Nodes: []history.Node{{Name: "node-1"}}}, "")
	if err != nil || len(c.list) != mostClues || c.more != 7 || len(c.list[0].text) > mostLine {
		t.Errorf("%d clues, %d more, %v", len(c.list), c.more, err)
	}
}

func TestMessage(t *testing.T) {
	for line, want := range map[string]string{
		"2026-11-26T10:00:01.123456Z  WARN raft_store::apply: x": "raft_store::apply: x",
		"[17] 2026/11/21 01:42:42.872783 [ERR] JetStream failed": "JetStream failed",
		"1763689356: Warning: Mosquitto should not be run":       "Mosquitto should not be run",
		"[warning] mqtt: refused":                                "mqtt: refused",
		"Task ZERO failed":                                       "Task ZERO failed",
		"Errors happen":                                          "Errors happen",
	} {
		if got := message(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
