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
		got = append(got, fmt.Sprintf("%s %s:%d %s x%d %v %d by %q from %s", p.Kind, p.File, p.Line, p.Function, p.Count, p.During, p.Others, p.Matched, p.From))
	}
	want := []string{
		`panic src/raft-store/src/apply.rs:7 Store::apply x1 true 0 by "src/raft-store/src/apply.rs:7" from node-1.log:7`,
		`text src/mqtt/src/metrics.rs:2 init x1 false 0 by "mqtt_packets_received" from `,
		`log line src/raft-store/src/apply.rs:13 Store::connect x2 true 0 by "does not answer any more" from node-1.log:3`,
		`log line src/raft-store/src/apply.rs:6 Store::apply x1 false 0 by "failed to apply entry" from node-1.log:2`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if want := []string{"openraft::core: peer 3 does not answer any more", "raft_store::apply: something that the source has not", "no_such_metric_total"}; !slices.Equal(found.Unfound, want) {
		t.Errorf("unfound %q, want %q", found.Unfound, want)
	}
	if around := found.Places[0].Around; len(around) != 13 || around[6].Number != 7 || !strings.Contains(around[6].Text, "unwrap") {
		t.Errorf("around %+v", around)
	}
	few, err := Find(context.Background(), tree, Request{Dir: ran(t), Most: 1})
	if err != nil || len(few.Places) != 1 || few.Left != 2 {
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
	for version, files := range map[string]int{"robustmq 0.4.11": 4, "v0.4.12": 3, "": 3, "HEAD~1": 4} {
		tree, err := ReadTree(ctx, dir, version)
		if err != nil || len(tree.files) != files {
			t.Errorf("%q: %v, %v", version, tree, err)
		}
	}
	if tree, err := ReadTree(ctx, filepath.Join(dir, ".git"), "v0.4.11"); err != nil || len(tree.files) != 4 {
		t.Errorf("the git directory: %v", err)
	}
	for version, want := range map[string]string{"robustmq 0.5.0": "its newest tags are v0.4.1", "--help": "has no tag or reference", " ": "no version"} {
		if _, err := ReadTree(ctx, dir, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", version, err)
		}
	}
	plain := placed(t, source)
	if tree, err := ReadTree(ctx, plain, "robustmq 0.4.11"); err != nil || len(tree.Notes) != 1 || !strings.Contains(tree.Notes[0], "nobody checked that it is the source of robustmq 0.4.11") {
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
	for _, name := range []string{"src/a/lib.rs", "src/b/lib.rs", "src/b/deep/store.rs"} {
		if err := tree.add(name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int{"src/a/lib.rs": 1, "lib.rs": 2, "/build/robustmq/src/b/lib.rs": 1, "deep/store.rs": 1, "./src/a/lib.rs": 1, "rib.rs": 0, "b.rs": 0} {
		if got := tree.named(name); len(got) != want {
			t.Errorf("%s means %d files, want %d", name, len(got), want)
		}
	}
}
